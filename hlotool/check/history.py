"""The figures of many runs of `hlotool check`, and since when each is what it is.

A history is JSON Lines: one line a module and run, with its figures, and what its budgets came to.
Trends are read from it by line number, the oldest first: a change is a line whose figure is another
than the last one known before it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise, takewhile
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, Struct, convert, to_builtins

from hlotool import __version__
from hlotool.check.baseline import known_metrics, note_alike, pair_modules
from hlotool.check.config import Number
from hlotool.check.results import VERDICTS, RuleResult, Verdict, choose_verdict
from hlotool.compare.changes.figures import DIFFED
from hlotool.compare.changes.instructions import subtract, subtract_bounds
from hlotool.compare.inputs import Candidate
from hlotool.dump.identity import Identity, name_programs
from hlotool.dump.saved import PLACE_MARK, SavedModule, SavedSummary, update_document
from hlotool.errors import InputError, UsageError
from hlotool.program.metrics import METRICS
from hlotool.program.program import Program
from hlotool.table import MEASURE, NUMBER, Block, DocumentSpec, RowList, Unit, column, figure

HISTORY_SCHEMA: Final = "hlotool/check-history/v2"
_EPOCH: Final = re.compile(r"[0-9]{1,11}")


class HistoryLine(Struct, frozen=True, kw_only=True, tag_field="schema", tag=HISTORY_SCHEMA):
    """One module in one run; time and commit are as the caller gave them, null if not."""

    hlotool_version: str = ""
    time: Annotated[str | None, Meta(description="time of the check, ISO 8601")] = None
    commit: Annotated[str | None, Meta(description="the compiled commit")] = None
    module: Annotated[str, Meta(description="name of the module, unique in the run")]
    name: Annotated[str | None, Meta(description="the module's name; null in older lines")] = None
    folder: Annotated[str, Meta(description="folder of the module below PATH")] = ""
    arguments: Annotated[
        tuple[str, ...] | None, Meta(description="arguments of the module; null if unknown")
    ] = None
    fingerprint: Annotated[
        str | None, Meta(description="fingerprint of the content; null if unknown")
    ] = None
    machine: Annotated[
        str | None, Meta(description="the machine of estimated times; null without estimates")
    ] = None
    metrics: Annotated[
        dict[str, int | float | None],
        Meta(description="figures by the names that budgets use; missing ones are unknown"),
    ]
    verdict: Annotated[
        Verdict | None,
        Meta(description="the worst outcome of the module's budgets; null without budgets"),
    ] = None
    exceeded: Annotated[
        tuple[str, ...], Meta(description="the budgets that were exceeded, by name")
    ] = ()
    lower_bounds: Annotated[tuple[str, ...], Meta(description="metrics with an unknown part")] = ()
    upper_bounds: Annotated[
        tuple[str, ...], Meta(description="metrics with a part that might not run")
    ] = ()

    def identify(self) -> Identity | None:
        """Return which program it is about; None in a line of before that was kept."""
        if self.name is None:
            return None
        return Identity(self.name, self.folder, self.arguments, self.fingerprint)


def measure_line(program: Program, module: str, results: Sequence[RuleResult] = ()) -> HistoryLine:
    """Return the figures of a program, as far as they are known, and what its budgets came to.

    Time and commit are the caller's to add.
    """
    metrics: dict[str, int | float | None] = {
        path: value
        for path, value in known_metrics(program).items()
        if isinstance(value, int | float)
    }
    bounds = {path: program.bounds(path) for path in metrics}
    return HistoryLine(
        hlotool_version=__version__,
        module=module,
        machine=program.collectives.totals.machine if program.module else None,
        metrics=metrics,
        verdict=choose_verdict(results),
        exceeded=tuple(one.name for one in results if one.status == "fail"),
        lower_bounds=tuple(path for path, (is_lower, _) in bounds.items() if is_lower),
        upper_bounds=tuple(path for path, (_, is_upper) in bounds.items() if is_upper),
    )


def write_lines(lines: Iterable[HistoryLine]) -> str:
    """Return the text of lines: JSON, each on a line of its own."""
    return "".join(json.dumps(to_builtins(line), allow_nan=False) + "\n" for line in lines)


def read_lines(data: bytes, name: str) -> dict[int, HistoryLine]:
    """Read a history, its lines by their numbers; raise InputError for a line of another kind."""
    found: dict[int, HistoryLine] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            written = json.loads(line.decode("utf-8"))
            found[number] = convert(update_document(written), HistoryLine)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{name}:{number}: hlotool check --history did not write this line: {error}."
            ) from error
    return found


def parse_time(text: str) -> str:
    """Return a time as ISO 8601; seconds since 1970 become UTC.

    time = digits | ISO 8601 date, or date and time
    """
    if _EPOCH.fullmatch(text):
        return datetime.fromtimestamp(int(text), UTC).isoformat().replace("+00:00", "Z")
    try:
        datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"--time {text!r}: expected ISO 8601, as in 2026-01-31T12:00:00Z, or seconds since "
            "1970."
        ) from error
    return text


# Trends.


def _since(what: str) -> tuple[Meta, Meta, Meta]:
    """Declare from which commit, time and line on something is so."""
    return (
        column(f"commit since which it {what}", heading="since", null_text=""),
        column(f"time since which it {what}", heading="time", null_text=""),
        column(f"line of the history since which it {what}", NUMBER, heading="line", null_text=""),
    )


_MODULE: Final = "name of the module, unique in the history"
_SO: Final = _since("is so")
_EXCEEDED: Final = _since("is exceeded")
_ARGUMENTS: Final = _since("has these arguments, or exists")


class VerdictRow(Struct, frozen=True):
    """One module, by its newest line that says what its budgets came to."""

    verdict: Annotated[
        Verdict,
        column("the worst outcome of the module's budgets in the last line", is_verdict=True),
    ]
    module: Annotated[str, column(_MODULE)]
    exceeded: Annotated[tuple[str, ...], figure("the budgets that were exceeded last, by name")]
    since_commit: Annotated[str | None, _SO[0]]
    since_time: Annotated[str | None, _SO[1]]
    since_line: Annotated[int, _SO[2]]
    fail_count: Annotated[int, figure("lines of the module that fail")]
    line_count: Annotated[int, figure("lines of the module that have a verdict")]


class ExceededRow(Struct, frozen=True):
    """One budget that was exceeded in the newest line of a module that has a verdict."""

    name: Annotated[str, column("the budget's name", heading="budget")]
    module: Annotated[str, column(_MODULE)]
    since_commit: Annotated[str | None, _EXCEEDED[0]]
    since_time: Annotated[str | None, _EXCEEDED[1]]
    since_line: Annotated[int, _EXCEEDED[2]]
    exceeded_count: Annotated[int, figure("lines of the module in which it is exceeded")]


VERDICT_ROWS: Final = RowList(
    "verdicts",
    VerdictRow,
    "last outcome of each module's budgets, and since when, worst first",
    key="module",
    has_total=False,
    title="Verdicts",
    screen="verdict,module,since_commit",
    wide_screen="since_time,since_line",
)
EXCEEDED_ROWS: Final = RowList(
    "exceeded",
    ExceededRow,
    "budgets exceeded in the last line, and since when, latest first",
    has_total=False,
    title="Exceeded",
    screen="name,module,since_commit",
    wide_screen="since_time,since_line",
)


Presence: TypeAlias = Literal["there", "new", "gone", "ambiguous"]


class FollowedRow(Struct, frozen=True):
    """One module over the lines of a history."""

    module: Annotated[str, column(_MODULE)]
    status: Annotated[
        Presence,
        column("new: the first run lacks it; gone: the last does; ambiguous: others are alike"),
    ]
    arguments: Annotated[
        str | None, column("differences of its arguments from earlier ones", null_text="")
    ]
    since_commit: Annotated[str | None, _ARGUMENTS[0]]
    since_line: Annotated[int | None, _ARGUMENTS[2]]


FOLLOWED_ROWS: Final = RowList(
    "programs",
    FollowedRow,
    "modules that are new, gone, or have new arguments",
    has_total=False,
    limit=0,
    title="Modules",
    screen="module,status,arguments,since_commit",
    wide_screen="since_line",
)


Value: TypeAlias = Number | None
_MOST: Final = 1e300  # no figure is larger, and none is no number
_EXACT: Final = False, False


def _measured(
    meaning: str, name: str, heading: str = "", null_text: str = "?", *, is_signed: bool = False
) -> Meta:
    """Declare a figure with its own marks of bounds."""
    return column(
        meaning,
        MEASURE,
        heading=heading,
        null_text=null_text,
        is_signed=is_signed,
        lower_if=f"is_{name}_lower_bound",
        upper_if=f"is_{name}_upper_bound",
    )


class TrendRow(Struct, frozen=True, kw_only=True):
    """One metric of one module over the lines of a history; `unit` is that of its figures.

    A change is a line whose figure is another than the last one known before it.
    """

    module: Annotated[str, column(_MODULE)]
    metric: Annotated[str, column("the figure, as budgets name it")]
    values: Annotated[
        tuple[Value, ...],
        column("the figure in each line, oldest first", heading="trend", is_curve=True),
    ]
    first: Annotated[Value, _measured("the figure in the first line", "first")]
    last: Annotated[Value, _measured("the figure in the last line", "last")]
    delta: Annotated[Value, _measured("last minus first", "delta", "change", is_signed=True)]
    last_change: Annotated[
        Value,
        _measured(
            "size of its last change; null without one", "change", "last change", "", is_signed=True
        ),
    ] = None
    since_commit: Annotated[
        str | None, column("commit of the last change", heading="since", null_text="")
    ] = None
    since_time: Annotated[
        str | None, column("time of the last change", heading="time", null_text="")
    ] = None
    since_line: Annotated[
        int | None, column("line of the last change in the history", heading="line", null_text="")
    ] = None
    unknown_count: Annotated[int, figure("lines without the figure")]
    is_first_lower_bound: Annotated[bool, figure("whether the first may be larger")]
    is_first_upper_bound: Annotated[bool, figure("whether the first may be smaller")]
    is_last_lower_bound: Annotated[bool, figure("whether the last may be larger")]
    is_last_upper_bound: Annotated[bool, figure("whether the last may be smaller")]
    is_delta_lower_bound: Annotated[bool, figure("whether the change may be larger")]
    is_delta_upper_bound: Annotated[bool, figure("whether the change may be smaller")]
    is_change_lower_bound: Annotated[bool, figure("whether the last change may be larger")]
    is_change_upper_bound: Annotated[bool, figure("whether the last change may be smaller")]
    unit: Unit


class TrendFacts(Struct, frozen=True):
    """The whole history."""

    line_count: Annotated[int, figure("lines, one per module and run")]
    module_count: Annotated[int, figure("their modules")]
    metric_count: Annotated[int, figure("metrics of all modules")]
    changed_count: Annotated[int, figure("metrics that changed")]


TRENDS: Final = RowList(
    "trends",
    TrendRow,
    "metrics of every module, latest change first",
    key="metric",
    has_total=False,
    screen="module,metric,values,first,last,delta,since_commit",
    wide_screen="last_change,since_line,since_time",
)
TREND_FACTS: Final = Block("facts", TrendFacts, "the whole history")
TREND: Final = DocumentSpec(
    "check-trend",
    "a history of checks",
    scalars=TREND_FACTS,
    row_lists=(TRENDS, VERDICT_ROWS, EXCEEDED_ROWS, FOLLOWED_ROWS),
)


def list_verdicts(lines: Mapping[int, HistoryLine]) -> tuple[VerdictRow, ...]:
    """Return a row for each module of which a line has a verdict; `lines` by their numbers."""
    rows = []
    for module, own in _divide(lines, with_verdict=True):
        newest = max(own)
        verdict = own[newest].verdict or "not-measured"
        since = _go_back(own, [key for key, line in own.items() if line.verdict == verdict])
        fails = sum(line.verdict == "fail" for line in own.values())
        rows.append(VerdictRow(verdict, module, own[newest].exceeded, *since, fails, len(own)))
    return tuple(sorted(rows, key=lambda row: (VERDICTS.index(row.verdict), -row.since_line)))


def list_exceeded(lines: Mapping[int, HistoryLine]) -> tuple[ExceededRow, ...]:
    """Return a row for each budget that the last verdict of a module found exceeded, each once."""
    rows = []
    for module, own in _divide(lines, with_verdict=True):
        for name in dict.fromkeys(own[max(own)].exceeded):
            held = [number for number, line in own.items() if name in line.exceeded]
            rows.append(ExceededRow(name, module, *_go_back(own, held), len(held)))
    return tuple(sorted(rows, key=lambda row: -row.since_line))


def list_trends(lines: Mapping[int, HistoryLine]) -> tuple[TrendRow, ...]:
    """Return a row for each metric of each module; `lines` by their numbers, oldest first.

    What changed stands first, the latest change before earlier ones. Times of another machine than
    that of a module's last line are unknown.
    """
    rows = []
    for module, own in _divide(lines):
        told = {path for line in own.values() for path in line.metrics}
        known = [path for path in DIFFED if path in told]
        rows += [_follow(module, path, own) for path in (*known, *sorted(told - set(DIFFED)))]
    return tuple(sorted(rows, key=lambda row: -(row.since_line or 0)))


def list_followed(lines: Mapping[int, HistoryLine]) -> tuple[FollowedRow, ...]:
    """Return a row for each module; None stands where no line says what it is."""
    runs = _list_runs(lines)
    rows = []
    divided = _divide(lines)
    keys = [_make_candidate(own[max(own)]).call_key for _, own in divided]
    for (module, own), key in zip(divided, keys, strict=True):
        is_new, is_gone = min(own) > max(runs[0]), max(own) < min(runs[-1])
        since, change = min(own) if is_new else None, None
        for old, new in pairwise(own):
            here, there = own[old].identify(), own[new].identify()
            if here and there and (told := here.tell_change(there)):
                since, change = new, told
        status: Presence = "gone" if is_gone else "new" if is_new else "there"
        status = "ambiguous" if (is_gone or is_new) and keys.count(key) > 1 else status
        commit = own[since].commit if since else None
        rows.append(FollowedRow(module, status, change, commit, since))
    return tuple(rows)


def note_followed(lines: Mapping[int, HistoryLine]) -> tuple[str, ...]:
    """Say which modules of the last run nothing but their content tells apart."""
    last = [lines[number] for number in _list_runs(lines)[-1]]
    made = [_make_candidate(line) for line in last if line.identify()]
    return note_alike(made, name_programs([one.named() for one in made]))


def count_trends(lines: Mapping[int, HistoryLine], rows: Sequence[TrendRow]) -> TrendFacts:
    """Count what a history holds."""
    return TrendFacts(
        line_count=len(lines),
        module_count=len({row.module for row in rows}) or len(_divide(lines)),
        metric_count=len(rows),
        changed_count=sum(row.since_line is not None for row in rows),
    )


def _divide(
    lines: Mapping[int, HistoryLine], *, with_verdict: bool = False
) -> list[tuple[str, dict[int, HistoryLine]]]:
    """Return the modules by what they are called, each with its lines, the oldest first.

    The modules of a run are paired with those of all runs before as diffs pair them.
    """
    followed: list[dict[int, HistoryLine]] = []
    newest: list[Candidate] = []
    for run in _list_runs(lines):
        made = [_make_candidate(lines[number]) for number in run]
        places = {id(one): place for place, one in enumerate(newest)}
        for pair in pair_modules(newest, made):
            if pair.new is None:
                continue
            number = run[next(at for at, one in enumerate(made) if one is pair.new)]
            if pair.old is None:
                followed.append({})
                newest.append(pair.new)
            place = len(followed) - 1 if pair.old is None else places[id(pair.old)]
            followed[place][number], newest[place] = lines[number], pair.new
    names = name_programs([one.named() for one in newest])
    kept = (
        {number: line for number, line in own.items() if line.verdict or not with_verdict}
        for own in followed
    )
    return sorted((name, own) for name, own in zip(names, kept, strict=True) if own)


def _list_runs(lines: Mapping[int, HistoryLine]) -> list[list[int]]:
    """Return the numbers of lines, those of one run together: of one commit, no module twice."""
    runs: list[list[int]] = []
    seen: set[object] = set()
    for number, line in sorted(lines.items()):
        told = line.commit, line.time, line.module
        last = lines[runs[-1][-1]] if runs else None
        if last is None or (last.commit, last.time) != told[:2] or told in seen:
            runs.append([])
            seen.clear()
        seen.add(told)
        runs[-1].append(number)
    return runs


def _make_candidate(line: HistoryLine) -> Candidate:
    """Return the module of a line; older lines tell name and place alone, as baselines did."""
    known, (name, _, place) = line.identify(), line.module.partition(PLACE_MARK)
    name = known.name if known else name
    saved = SavedModule(name, SavedSummary(), "" if known else place, known, line.module)
    return Candidate(name, "", saved=saved, schema=HISTORY_SCHEMA)


def _go_back(
    lines: Mapping[int, HistoryLine], held: Collection[int]
) -> tuple[str | None, str | None, int]:
    """Go back from the newest line as long as they are `held`, and return when that began."""
    since = list(takewhile(held.__contains__, sorted(lines, reverse=True)))[-1]
    return lines[since].commit, lines[since].time, since


def _follow(module: str, path: str, lines: Mapping[int, HistoryLine]) -> TrendRow:
    """Follow one metric of one module."""
    oldest, newest = min(lines), max(lines)
    unit = METRICS[path].unit if path in METRICS else Unit.RATIO
    # A time that was estimated for another machine says nothing of how the program changed.
    machine = lines[newest].machine if unit is Unit.SECONDS else None
    values = {number: _read(line, path, machine) for number, line in lines.items()}
    bounds = {
        number: (path in line.lower_bounds, path in line.upper_bounds)
        for number, line in lines.items()
    }
    # The last line that tells another figure than was known before, behind that one.
    known = [number for number, value in values.items() if value is not None]
    before = since = None
    for old, new in pairwise(known):
        if values[old] != values[new]:
            before, since = old, new
    marks = {"first": bounds[oldest], "last": bounds[newest]}
    marks["delta"] = subtract_bounds(bounds[newest], bounds[oldest])
    changed = (bounds[since], bounds[before]) if since and before else (_EXACT, _EXACT)
    marks["change"] = subtract_bounds(*changed)
    return TrendRow(
        module=module,
        metric=path,
        values=tuple(values.values()),
        first=values[oldest],
        last=values[newest],
        delta=subtract(values[newest], values[oldest]),
        last_change=subtract(values[since], values[before]) if since and before else None,
        since_commit=lines[since].commit if since else None,
        since_time=lines[since].time if since else None,
        since_line=since,
        unknown_count=sum(value is None for value in values.values()),
        unit=unit,
        **{f"is_{name}_lower_bound": is_lower for name, (is_lower, _) in marks.items()},
        **{f"is_{name}_upper_bound": is_upper for name, (_, is_upper) in marks.items()},
    )


def _read(line: HistoryLine, path: str, machine: str | None) -> Value:
    """Return a figure, None where it is unknown, or a time of another machine."""
    value = line.metrics.get(path)
    if value is None or not -_MOST < value < _MOST:
        return None
    return None if machine is not None and line.machine != machine else value
