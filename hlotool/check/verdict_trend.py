"""What do the budgets of each module come to in the runs of a history, and since when?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Annotated, Final

from msgspec import Struct

from hlotool.check.history import HistoryLine
from hlotool.check.results import VERDICTS, Verdict
from hlotool.fields import COUNT, NUMBER, WHOLE, RowList, column, figure


class VerdictRow(Struct, frozen=True):
    """One module, by its newest line that says what its budgets came to."""

    verdict: Annotated[
        Verdict,
        column("the worst of what the module's budgets came to, last", is_verdict=True),
    ]
    module: Annotated[str, column("the module, as baselines name it")]
    exceeded: Annotated[tuple[str, ...], figure("the budgets that were exceeded last, by name")]
    since_commit: Annotated[
        str | None, column("commit from which on it is so", heading="since", null_text="")
    ]
    since_time: Annotated[
        str | None, column("time from which on it is so", heading="time", null_text="", give_way=2)
    ]
    since_line: Annotated[
        int,
        column("line of the history from which on it is so", NUMBER, heading="line", give_way=1),
    ]
    fail_count: Annotated[int, figure("lines of the module that fail", COUNT)]
    line_count: Annotated[int, figure("lines of the module that have a verdict", COUNT)]


class ExceededRow(Struct, frozen=True):
    """One budget that was exceeded in the newest line of a module that has a verdict."""

    name: Annotated[str, column("the budget's name", heading="budget", wants=WHOLE)]
    module: Annotated[str, column("the module, as baselines name it", leaves_alike=True)]
    since_commit: Annotated[
        str | None,
        column("commit from which on it is exceeded", heading="since", null_text=""),
    ]
    since_time: Annotated[
        str | None,
        column("time from which on it is exceeded", heading="time", null_text="", give_way=2),
    ]
    since_line: Annotated[
        int,
        column(
            "line of the history from which on it is exceeded", NUMBER, heading="line", give_way=1
        ),
    ]
    exceeded_count: Annotated[int, figure("lines of the module in which it is exceeded", COUNT)]


VERDICT_ROWS: Final = RowList(
    "verdicts",
    VerdictRow,
    "what the budgets of each module came to last, and since when, the worst first",
    key="module",
    has_total=False,
    title="Verdicts",
)
EXCEEDED_ROWS: Final = RowList(
    "exceeded",
    ExceededRow,
    "the budgets that were exceeded last, and each since when, the latest first",
    key="name",
    has_total=False,
    title="Exceeded",
)


def find_verdicts(lines: Mapping[int, HistoryLine]) -> tuple[VerdictRow, ...]:
    """Return a row for each module of which a line has a verdict; `lines` by their numbers."""
    modules = _divide(lines)
    rows = [_find_row(name, modules[name]) for name in sorted(modules)]
    return tuple(sorted(rows, key=lambda row: (VERDICTS.index(row.verdict), -row.since_line)))


def find_exceeded(lines: Mapping[int, HistoryLine]) -> tuple[ExceededRow, ...]:
    """Return a row for each budget that the last verdict of a module found exceeded."""
    modules = _divide(lines)
    rows = [row for name in sorted(modules) for row in _list_exceeded(name, modules[name])]
    return tuple(sorted(rows, key=lambda row: -row.since_line))


def _divide(lines: Mapping[int, HistoryLine]) -> dict[str, dict[int, HistoryLine]]:
    """Return the lines of each module that have a verdict, the oldest first."""
    modules: dict[str, dict[int, HistoryLine]] = {}
    for number in sorted(lines):
        if lines[number].verdict is not None:
            modules.setdefault(lines[number].module, {})[number] = lines[number]
    return modules


def _find_row(module: str, lines: Mapping[int, HistoryLine]) -> VerdictRow:
    """Find since when a module comes to what it comes to."""
    newest = max(lines)
    verdict = lines[newest].verdict or "no-match"
    since = _find_since(lines, [key for key, line in lines.items() if line.verdict == verdict])
    return VerdictRow(
        verdict=verdict,
        module=module,
        exceeded=lines[newest].exceeded,
        since_commit=lines[since].commit,
        since_time=lines[since].time,
        since_line=since,
        fail_count=sum(line.verdict == "fail" for line in lines.values()),
        line_count=len(lines),
    )


def _list_exceeded(module: str, lines: Mapping[int, HistoryLine]) -> Iterator[ExceededRow]:
    """Yield the budgets that the newest line found exceeded, each name once."""
    for name in dict.fromkeys(lines[max(lines)].exceeded):
        numbers = [number for number, line in lines.items() if name in line.exceeded]
        since = _find_since(lines, numbers)
        yield ExceededRow(
            name=name,
            module=module,
            since_commit=lines[since].commit,
            since_time=lines[since].time,
            since_line=since,
            exceeded_count=len(numbers),
        )


def _find_since(lines: Iterable[int], held: Collection[int]) -> int:
    """Go back from the newest line as long as they are `held`, and return the last of these."""
    return list(takewhile(held.__contains__, sorted(lines, reverse=True)))[-1]
