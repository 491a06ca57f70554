"""What do the budgets of each module come to in the runs of a history, and since when?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import Struct

from hlotool.check.history import HistoryLine
from hlotool.check.results import VERDICTS, Verdict
from hlotool.fields import COUNT, NUMBER, RowList, column, figure


class VerdictRow(Struct, frozen=True):
    """One module, by its newest line that says what its budgets came to."""

    verdict: Annotated[
        Verdict,
        column("the worst of what the module's budgets came to, last", is_verdict=True),
    ]
    module: Annotated[str, column("the module, as baselines name it")]
    exceeded: Annotated[tuple[str, ...], column("the budgets that were exceeded, by name")]
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


VERDICT_ROWS: Final = RowList(
    "verdicts",
    VerdictRow,
    "what the budgets of each module came to last, and since when, the worst first",
    key="module",
    has_total=False,
    title="Verdicts",
)


def find_verdicts(lines: Mapping[int, HistoryLine]) -> tuple[VerdictRow, ...]:
    """Return a row for each module of which a line has a verdict; `lines` by their numbers."""
    modules: dict[str, dict[int, HistoryLine]] = {}
    for number in sorted(lines):
        if lines[number].verdict is not None:
            modules.setdefault(lines[number].module, {})[number] = lines[number]
    rows = [_find_row(name, modules[name]) for name in sorted(modules)]
    return tuple(sorted(rows, key=lambda row: (VERDICTS.index(row.verdict), -row.since_line)))


def _find_row(module: str, lines: Mapping[int, HistoryLine]) -> VerdictRow:
    """Go back from the newest line as long as they say the same."""
    newest = since = max(lines)
    verdict = lines[newest].verdict or "no-match"
    for number in sorted(lines, reverse=True):
        if lines[number].verdict != verdict:
            break
        since = number
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
