"""What do the budgets of each module come to in the runs of a history, and since when?

Since when is a figure what it is? Each metric of a history, and where it last changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Annotated, Final, TypeAlias

from msgspec import Struct

from hlotool.check.history import HistoryLine
from hlotool.check.results import VERDICTS, Verdict
from hlotool.compare.changes.figures import DIFFED
from hlotool.program.metrics import METRICS
from hlotool.table import (
    COUNT,
    MEASURE,
    NUMBER,
    WHOLE,
    Block,
    DocumentSpec,
    RowList,
    Unit,
    column,
    figure,
)


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
        str | None,
        column("time from which on it is so", heading="time", null_text="", hide_order=2),
    ]
    since_line: Annotated[
        int,
        column("line of the history from which on it is so", NUMBER, heading="line", hide_order=1),
    ]
    fail_count: Annotated[int, figure("lines of the module that fail", COUNT)]
    line_count: Annotated[int, figure("lines of the module that have a verdict", COUNT)]


class ExceededRow(Struct, frozen=True):
    """One budget that was exceeded in the newest line of a module that has a verdict."""

    name: Annotated[str, column("the budget's name", heading="budget", min_width=WHOLE)]
    module: Annotated[str, column("the module, as baselines name it", hide_if_constant=True)]
    since_commit: Annotated[
        str | None,
        column("commit from which on it is exceeded", heading="since", null_text=""),
    ]
    since_time: Annotated[
        str | None,
        column("time from which on it is exceeded", heading="time", null_text="", hide_order=2),
    ]
    since_line: Annotated[
        int,
        column(
            "line of the history from which on it is exceeded", NUMBER, heading="line", hide_order=1
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
    rows = [_find_verdict_row(name, modules[name]) for name in sorted(modules)]
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


def _find_verdict_row(module: str, lines: Mapping[int, HistoryLine]) -> VerdictRow:
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


Value: TypeAlias = int | float | None
_MOST: Final = 1e300  # no figure is larger, and none is no number


class TrendRow(Struct, frozen=True, kw_only=True):
    """One metric of one module over the lines of a history; `unit` is that of its figures.

    A step is a line whose figure is another than the last one known before it.
    """

    module: Annotated[str, column("the module, as baselines name it", hide_if_constant=True)]
    metric: Annotated[str, column("the figure, as budgets name it", min_width=WHOLE)]
    values: Annotated[
        tuple[Value, ...],
        column("the figure in each line, oldest first", heading="trend", is_curve=True),
    ]
    first: Annotated[
        Value,
        column(
            "the figure in the first line", MEASURE,
            lower_if="is_first_lower_bound", upper_if="is_first_upper_bound", hide_order=3,
        ),
    ]  # fmt: skip
    last: Annotated[
        Value,
        column(
            "the figure in the last line", MEASURE,
            lower_if="is_last_lower_bound", upper_if="is_last_upper_bound",
        ),
    ]  # fmt: skip
    delta: Annotated[
        Value,
        column(
            "last minus first", MEASURE,
            heading="change", is_signed=True, hide_order=2,
            lower_if="is_delta_lower_bound", upper_if="is_delta_upper_bound",
        ),
    ]  # fmt: skip
    last_change: Annotated[
        Value,
        column(
            "what the last step changed; null if there is none", MEASURE,
            heading="last step", null_text="", is_signed=True, hide_order=1,
            lower_if="is_step_lower_bound", upper_if="is_step_upper_bound",
        ),
    ] = None  # fmt: skip
    since_commit: Annotated[
        str | None, column("commit of the last step", heading="since", null_text="")
    ] = None
    since_time: Annotated[
        str | None, column("time of the last step", heading="time", null_text="", hide_order=5)
    ] = None
    since_line: Annotated[
        int | None,
        column(
            "line of the last step in the history",
            NUMBER,
            heading="line",
            null_text="",
            hide_order=4,
        ),
    ] = None
    unknown_count: Annotated[int, figure("lines that do not tell the figure", COUNT)]
    is_first_lower_bound: Annotated[bool, figure("whether the first may be larger")]
    is_first_upper_bound: Annotated[bool, figure("whether the first may be smaller")]
    is_last_lower_bound: Annotated[bool, figure("whether the last may be larger")]
    is_last_upper_bound: Annotated[bool, figure("whether the last may be smaller")]
    is_delta_lower_bound: Annotated[bool, figure("whether the change may be larger")]
    is_delta_upper_bound: Annotated[bool, figure("whether the change may be smaller")]
    is_step_lower_bound: Annotated[bool, figure("whether the last step may be larger")]
    is_step_upper_bound: Annotated[bool, figure("whether the last step may be smaller")]
    unit: Unit


class _Bounds(Struct, frozen=True):
    """Whether a figure may be larger, and whether it may be smaller."""

    is_lower: bool
    is_upper: bool

    @classmethod
    def of(cls, line: HistoryLine, path: str) -> _Bounds:
        """Return what a line says of one figure."""
        return cls(path in line.lower_bounds, path in line.upper_bounds)

    def __sub__(self, before: _Bounds) -> _Bounds:
        """Return the bounds of a difference: the less was before, the larger it is."""
        return _Bounds(self.is_lower or before.is_upper, self.is_upper or before.is_lower)


_EXACT: Final = _Bounds(is_lower=False, is_upper=False)


class TrendFacts(Struct, frozen=True):
    """The whole history."""

    line_count: Annotated[int, figure("lines, each a module in a run", COUNT)]
    module_count: Annotated[int, figure("modules that they are about", COUNT)]
    metric_count: Annotated[int, figure("metrics of all modules", COUNT)]
    changed_count: Annotated[int, figure("metrics that have a step", COUNT)]


TRENDS: Final = RowList(
    "trends",
    TrendRow,
    "metrics of every module, those that changed last first",
    key="metric",
    has_total=False,
)
TREND_FACTS: Final = Block("facts", TrendFacts, "the whole history")
TREND: Final = DocumentSpec(
    "check-trend",
    "a history of checks",
    scalars=TREND_FACTS,
    row_lists=(TRENDS, VERDICT_ROWS, EXCEEDED_ROWS),
)


def find_trends(lines: Mapping[int, HistoryLine]) -> tuple[TrendRow, ...]:
    """Return a row for each metric of each module; `lines` by their numbers, oldest first.

    What changed stands first, the latest step before earlier ones. Times of another machine than
    that of a module's last line are unknown.
    """
    modules: dict[str, dict[int, HistoryLine]] = {}
    for number, line in lines.items():
        modules.setdefault(line.module, {})[number] = line
    rows = [row for name in sorted(modules) for row in _find_rows(name, modules[name])]
    return tuple(sorted(rows, key=lambda row: -(row.since_line or 0)))


def count_trends(lines: Mapping[int, HistoryLine], rows: Sequence[TrendRow]) -> TrendFacts:
    """Count what a history holds."""
    return TrendFacts(
        line_count=len(lines),
        module_count=len({line.module for line in lines.values()}),
        metric_count=len(rows),
        changed_count=sum(row.since_line is not None for row in rows),
    )


def _find_rows(module: str, lines: Mapping[int, HistoryLine]) -> Iterator[TrendRow]:
    """Yield the metrics that a line of a module tells, in the order of reports."""
    told = {path for line in lines.values() for path in line.metrics}
    for path in (*DIFFED, *sorted(told - set(DIFFED))):
        if path in told:
            yield _find_row(module, path, lines)


def _find_row(module: str, path: str, lines: Mapping[int, HistoryLine]) -> TrendRow:
    """Follow one metric of one module."""
    oldest, newest = min(lines), max(lines)
    unit = METRICS[path].unit if path in METRICS else Unit.RATIO
    machine = lines[newest].machine if unit is Unit.SECONDS else None
    values = {number: _read(line, path, machine) for number, line in lines.items()}
    bounds = {number: _Bounds.of(line, path) for number, line in lines.items()}
    before, since = _find_step(values)
    delta = bounds[newest] - bounds[oldest]
    step = bounds[since] - bounds[before] if since and before else _EXACT
    return TrendRow(
        module=module,
        metric=path,
        values=tuple(values.values()),
        first=values[oldest],
        last=values[newest],
        delta=_subtract(values[newest], values[oldest]),
        last_change=_subtract(values[since], values[before]) if since and before else None,
        since_commit=lines[since].commit if since else None,
        since_time=lines[since].time if since else None,
        since_line=since,
        unknown_count=sum(value is None for value in values.values()),
        is_first_lower_bound=bounds[oldest].is_lower,
        is_first_upper_bound=bounds[oldest].is_upper,
        is_last_lower_bound=bounds[newest].is_lower,
        is_last_upper_bound=bounds[newest].is_upper,
        is_delta_lower_bound=delta.is_lower,
        is_delta_upper_bound=delta.is_upper,
        is_step_lower_bound=step.is_lower,
        is_step_upper_bound=step.is_upper,
        unit=unit,
    )


def _read(line: HistoryLine, path: str, machine: str | None) -> Value:
    """Return a figure, None where it is unknown, or a time of another machine."""
    value = line.metrics.get(path)
    if value is None or not -_MOST < value < _MOST:
        return None
    return None if machine is not None and line.machine != machine else value


def _find_step(values: Mapping[int, Value]) -> tuple[int | None, int | None]:
    """Return the last line that tells another figure than was known before, behind that one."""
    known = [number for number, value in values.items() if value is not None]
    for before, since in reversed(list(pairwise(known))):
        if values[before] != values[since]:
            return before, since
    return None, None


def _subtract(last: Value, first: Value) -> Value:
    return None if last is None or first is None else last - first
