"""The sentences of `hlotool diff`: the verdict of a pair, and what stands round every table.

The verdict has at most five rows of 80 columns: what differs in memory, in time and work, why, and
who did it, the program, a flag or the compiler. What finds no room is told by the lists behind it.
Reasons are written by `cause_text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final

from msgspec.structs import replace

from hlotool.commands.diff.cause_text import write_cause, write_place
from hlotool.compare.answer import FACTS, METRICS, ORDER, DiffFacts
from hlotool.compare.causes.account import measure_unexplained
from hlotool.compare.causes.cause import Cause, Triage
from hlotool.compare.changes.figures import (
    ESTIMATED_TIME,
    MetricRow,
    TimeChange,
    by_path,
    choose_peaks,
)
from hlotool.compare.changes.header import FlagChange
from hlotool.compare.changes.memory import SpaceChange, pick_telling
from hlotool.compare.directory import MODULES, ModuleDiff, Status, average_changes
from hlotool.compare.pairing import Division
from hlotool.compare.passes import MEMORY, RESPECTS, PassRow, find_first
from hlotool.compare.report import DiffReport
from hlotool.compare.several import SideFigure, SideRow
from hlotool.compare.trace import TraceFacts
from hlotool.hlo import Instruction
from hlotool.table import Line, Unit, quote_braces
from hlotool.table.terminal import cut, cut_apart
from hlotool.table.units import format_bounds, format_field, format_sizes, format_value, wrap
from hlotool.table.words import count_noun, join_words, list_some, plural, shorten_list

# One pair.


_MOST_WHY: Final = 2
_WIDTH: Final = 80  # columns of the verdict, on a wider terminal as well
_MOST_ROWS: Final = 5
_WIDTHS: Final = (60, 40, 30, 24, 16, 12)  # of names in a reason that finds no room
# What runs out comes first; the others only where they differ by something else.
_ASSIGNED: Final = {
    "buffers.reserved_peak_bytes": "reserved peak",
    "buffers.peak_bytes": "peak",
    "buffers.allocated_bytes": "allocated",
}
_ESTIMATED: Final = {
    "buffers.estimated.peak_bytes": "peak (estimate)",
    "buffers.estimated.allocated_bytes": "allocated (estimate)",
}
_EXPOSED_BYTES: Final = "collectives.exposed_bytes_per_step"
_EXPOSED_TIME: Final = "collectives.exposed_seconds"
_FUSIONS: Final = "fusions.fusion_count"
_WORK: Final = {
    "cost.total_flops_per_step": "flops/step",
    "cost.traffic_bytes_per_step": "memory traffic/step",
    "collectives.sent_bytes_per_step": "sent/step",
    _EXPOSED_BYTES: "exposed/step",
    _EXPOSED_TIME: "exposed time",
    _FUSIONS: "fusions",
}
_TITLES: Final = {**_ASSIGNED, **_ESTIMATED, ESTIMATED_TIME: "time (estimate)", **_WORK}


def say_difference(report: DiffReport, units: str) -> Iterator[Line]:
    """Say what differs, and why."""
    if report.identical and not report.differs:
        is_other = report.triage is not None
        same = "identical: the same program except for names, numbering and metadata"
        yield Line(
            "XLA compiles two different input programs to the same result" if is_other else same
        )
        why = "why: " * is_other
        for cause in report.causes[:_MOST_WHY]:
            yield Line(f"{why}{write_cause(cause, units)}")
    elif report.identical is None and not report.differs:
        yield Line("no difference in the figures that both sides have")
    else:
        yield from map(Line, write_verdict(report, units))
    if report.measured:
        worst = max(report.measured, key=lambda row: row.delta_seconds)
        total = sum(row.delta_seconds for row in report.measured)
        lost, in_all = (
            format_value(one, Unit.SECONDS, units, is_signed=True)
            for one in (worst.delta_seconds, total)
        )
        said = f"{worst.name} {lost}" if worst.delta_seconds > 0 else "none"
        yield Line(f"measured per step: instructions {in_all}, largest increase: {said}")


def write_verdict(report: DiffReport, units: str) -> list[str]:
    """Write what differs in memory and work, the reasons, and who did it.

    Each has a row; what is left of five goes to the first reason, to who did it, and to a second
    reason, which is told whole or not at all. If the sides are of two kinds, that comes first, and
    who did it is left out.
    """
    rows = by_path(report.metrics)
    who = write_triage(report.triage, report.flags) if report.triage else []
    comes_first = report.triage is not None and report.triage.has_other_backend
    memory = [*_memory(rows, units), *_spaces(report.spaces, rows, units)]
    memory[:1] = [f"memory: {one}" for one in memory[:1]]
    work = _work(report, rows, units)
    kinds = _say_kinds(report)
    doubt = _say_unexplained(report, units)
    heads = (kinds, who if comes_first else (), doubt, memory, work)
    is_last = bool(who) and not comes_first and not kinds
    room = _MOST_ROWS - is_last - bool(report.causes)  # for a reason there is always a row
    first = [_fit(each) for each in heads if each][:room]
    free = _MOST_ROWS - len(first) - is_last
    why: list[str] = []
    for cause in report.causes[:_MOST_WHY]:
        text = f"why: {write_cause(cause, units)}"
        if why and count_rows(text) > free:
            break
        for width in _WIDTHS if count_rows(text) > free else ():
            old, new = cut_apart((cause.old, cause.new), width)
            subject = cause.subject and cut(shorten_list(cause.subject), width)
            named = replace(cause, subject=subject, old=old, new=new)
            text = f"why: {write_cause(named, units)}"
            if count_rows(text) <= free:
                break
        placed = f"{text}{write_place(cause)}"
        is_last_told = why or len(report.causes) == 1
        has_room = count_rows(placed) <= free - (not is_last_told)
        text = placed if has_room or count_rows(placed) == count_rows(text) else text
        why.append(_shorten(text, free))
        free -= count_rows(why[-1])
    left = len(report.causes) - len(why)
    if left:  # those who find no room for it see the list of them
        rows_before = count_rows(why[-1])
        why[-1] = _fit([why[-1], count_noun(left, "more reason")], rows_before + free)
        free -= count_rows(why[-1]) - rows_before
    last = [_fit(who, 1 + free)] if is_last else []
    if last and report.structure is not None:
        said = f"{report.structure.new.name}: {last[0]}"
        last = [said] if count_rows(said) <= 1 + free else last
    return [*first, *why, *last]


def list_untold(causes: Sequence[Cause], lines: Iterable[Line]) -> Iterator[Cause]:
    """List the reasons that no line tells with their place."""
    told = [one.template for one in lines if one.template.startswith(("why:", "metadata:"))]
    for cause, line in zip_longest(causes, told):
        if line is None or write_place(cause) not in line:
            yield cause


def _say_kinds(report: DiffReport) -> list[str]:
    """Say what both sides are, where these are two stages, or run on other numbers of devices."""
    parts = []
    if report.stages:
        parts.append(f"{report.stages[0]} against {report.stages[1]} optimizations")
    counts = report.old_devices, report.new_devices
    if counts != (1, 1):
        if not report.stages:
            parts.append(f"{count_noun(counts[0], 'device')} against {counts[1]:,}")
        parts.append("figures are of all devices together")
    return parts


def _fit(parts: Sequence[str], most: int = 1) -> str:
    """Write parts of a sentence, of all but the first those for which there is room.

    A part may have a shorter wording behind a line break.
    """
    text = parts[0].partition("\n")[0]
    for part in parts[1:]:
        worded = (f"{text}; {one}" for one in part.split("\n"))
        text = next((one for one in worded if count_rows(one) <= most), text)
    return _shorten(text, most)


def count_rows(text: str) -> int:
    """Count the rows that a line of prose takes on a terminal of 80 columns."""
    return wrap(text, _WIDTH, "  ").count("\n") + 1


def _shorten(text: str, most: int) -> str:
    """Cut a text in the middle until it has no more rows, one at least."""
    most = max(most, 1)
    width = _WIDTH * most
    short = text
    while count_rows(short) > most:
        short = cut(text, width)
        width -= 1
    return short


def _work(report: DiffReport, rows: Mapping[str, MetricRow], units: str) -> list[str]:
    """Write how long a step takes by estimate, behind it the work that differs most."""
    told = [row for row in _list_work(rows) if row.old or row.new]  # else it has no such things
    told.sort(key=lambda row: (not row.delta, row.metric == _FUSIONS, -abs(_find_part(row))))
    work = [_write_work(row, units) for row in told if row.delta or row is told[0]]
    if report.time is not None and report.time.relative_delta is not None:
        return [f"time (estimate): {_time(report.time, report.time.relative_delta, units)}", *work]
    if _is_known(rows, ESTIMATED_TIME):  # of a saved document nothing but the figure is there
        return [_figure(rows[ESTIMATED_TIME], "time (estimate):", units), *work]
    return [f"work: {work[0]}", *work[1:]] if work else []


def _list_work(rows: Mapping[str, MetricRow]) -> list[MetricRow]:
    """List the known figures of work; what is exposed is told once."""
    is_timed = _is_known(rows, _EXPOSED_TIME)
    paths = (path for path in _WORK if not (is_timed and path == _EXPOSED_BYTES))
    return [rows[path] for path in paths if _is_known(rows, path)]


def _say_unexplained(report: DiffReport, units: str) -> list[str]:
    """Say of what more than a quarter has no reason."""
    shares = measure_unexplained(report.account)
    parts = [
        f"{figure} {format_value(share, Unit.PERCENT, units)}"
        for figure, share in shares.items()
        if share > _UNEXPLAINED
    ]
    return [f"unexplained: {list_some(parts, 2)}"] if parts else []


def _find_part(row: MetricRow) -> float:
    return float("inf") if row.relative_delta is None else row.relative_delta


def _write_work(row: MetricRow, units: str) -> str:
    """Write by how much a figure differs: as a part of the old side, where that is known."""
    part = format_field(METRICS.field("relative_delta"), row, units) if row.delta else ""
    if not part:
        return f"{_WORK[row.metric]} {_delta(row, units)}"
    bounds = {"is_lower": row.is_lower_bound, "is_upper": row.is_upper_bound}
    return f"{_WORK[row.metric]} {format_bounds(part, **bounds)}"


def say_time(report: DiffReport) -> Iterator[Line]:
    """Say what the estimate of time rests on."""
    time = report.time
    if time is None or time.relative_delta is None:
        if report.triage is not None and report.triage.old_backend == "cpu":
            yield Line("time is unknown: no chip is assumed for CPU")
        return
    hint = "" if time.old_seconds is not None else "; --chip gives seconds"
    types = ", ".join(time.assumed_bf16)
    rest = f", {types} assumed as fast as bf16" if types else ""
    yield Line(f"time is rough, at the peaks of {time.chip}{write_links(time.links)}{rest}{hint}")


def write_links(links: Sequence[str]) -> str:
    """Write the links that the user states; '' where they are the chip's."""
    return f" and links of {', '.join(links)}" if links else ""


def _time(time: TimeChange, change: float, units: str) -> str:
    """Write the time of one step."""
    bounds = time.is_old_lower_bound, time.is_new_lower_bound
    share = format_value(change, Unit.PERCENT, units, is_signed=True)
    text = format_bounds(share, is_lower=bounds[1], is_upper=bounds[0])
    if share.lstrip("+−") == format_value(0.0, Unit.PERCENT, units):
        text = "the same, as far as known" if any(bounds) else "the same"
    if time.old_seconds is None or time.new_seconds is None:
        return text
    sides = zip((time.old_seconds, time.new_seconds), bounds, strict=True)
    old, new = (
        format_bounds(format_value(each, Unit.SECONDS, units), is_lower=is_lower, is_upper=False)
        for each, is_lower in sides
    )
    return f"{old} → {new} ({text})"


def _memory(rows: Mapping[str, MetricRow], units: str) -> Iterator[str]:
    """Write the reserved peak, and what differs by something else."""
    for titles in (_ASSIGNED, _ESTIMATED):
        known = {path: title for path, title in titles.items() if _is_known(rows, path)}
        if known:
            (lead, title), *others = known.items()
            parts = [_figure(rows[lead], title, units)]
            deltas = {_delta(rows[lead], units)}
            for path, other in others:
                delta = _delta(rows[path], units)
                if delta not in deltas:
                    parts.append(f"{other} {delta}")
            yield from parts
            return
    old, new, _ = choose_peaks(rows)
    if old is not None and new is not None:
        delta = format_value(new - old, Unit.BYTES, units, is_signed=True)
        yield f"peak (one side estimated) {delta}"


def list_headlines(metrics: Sequence[MetricRow]) -> list[MetricRow]:
    """Return memory, time and work by the words of a verdict: what differs, or else the first.

    Of figures of memory it is the first that differs; the verdict has the others.
    """
    rows = by_path(metrics)
    memory = [path for path in (*_ASSIGNED, *_ESTIMATED) if _is_known(rows, path)]
    memory = [path for path in memory if rows[path].delta][:1] or memory[:1]
    time = [ESTIMATED_TIME] if _is_known(rows, ESTIMATED_TIME) else []
    told = [rows[path] for path in (*memory, *time)] + _list_work(rows)
    told = [row for row in told if row.delta and abs(_find_part(row)) >= _LEAST_PART] or told[:1]
    return [replace(row, metric=_TITLES[row.metric]) for row in told if row.metric != _FUSIONS]


def _spaces(
    spaces: tuple[SpaceChange, ...], rows: Mapping[str, MetricRow], units: str
) -> Iterator[str]:
    """Write the peaks of other spaces, the largest differences."""
    known = [rows[path] for path in (*_ASSIGNED, *_ESTIMATED) if path in rows]
    moved = pick_telling(spaces, (peak for row in known for peak in (row.old, row.new)))
    for row in moved:
        sides = (row.old_peak_bytes, row.new_peak_bytes)
        old, new = (format_value(size, Unit.BYTES, units) for size in sides)
        delta = format_value(row.delta_peak_bytes, Unit.BYTES, units, is_signed=True)
        yield f"{row.name or f'space {row.space}'} peak {old} → {new} ({delta})"


def _is_known(rows: Mapping[str, MetricRow], path: str) -> bool:
    return path in rows and rows[path].delta is not None


def _figure(row: MetricRow, title: str, units: str) -> str:
    """Write a figure: both sides, and the difference; that alone where they read the same."""
    old, new = (format_field(METRICS.field(name), row, units) for name in ("old", "new"))
    share = format_field(METRICS.field("relative_delta"), row, units)
    if old != new and row.unit is Unit.BYTES:
        old, new = format_sizes((row.old or 0, row.new or 0), units)
    if old == new:
        return f"{title} {_delta(row, units)}" + f" ({share})" * bool(row.delta and share)
    old = format_bounds(old, is_lower=row.is_old_lower_bound, is_upper=row.is_old_upper_bound)
    new = format_bounds(new, is_lower=row.is_new_lower_bound, is_upper=row.is_new_upper_bound)
    return f"{title} {old} → {new} ({', '.join(filter(None, (_delta(row, units), share)))})"


def _delta(row: MetricRow, units: str) -> str:
    delta = format_field(METRICS.field("delta"), row, units) if row.delta else "+0"
    return format_bounds(delta, is_lower=row.is_lower_bound, is_upper=row.is_upper_bound)


def worse_line(rows: Sequence[MetricRow], label: str = "") -> Line:
    """Name the figures that have grown by more than `--threshold` allows, with how much."""
    parts = []
    for row in rows:
        delta = format_value(row.delta, row.unit, is_signed=True)
        share = format_value(row.relative_delta, Unit.PERCENT, is_signed=True)
        grown = delta if row.relative_delta is None else f"{delta} ({share})"
        parts.append(f"{row.metric} {grown}")
    side = f"{label} is " if label else ""
    return Line(f"{side}worse than --threshold allows: {', '.join(parts)}")


# Who did it.

_UNEXPLAINED: Final = 0.25  # of a figure's difference, so that the verdict says so
_LEAST_PART: Final = 0.0005  # of a figure: less reads +0.0 %
_FLAGS: Final = 3
_LONGEST: Final = 40  # characters of a flag's value


def write_triage(triage: Triage, flags: Sequence[FlagChange]) -> list[str]:
    """Say who did it, in parts of which the first tells most; none where nothing tells."""
    if triage.has_other_backend:  # then flags and builds are of different compilers
        return [f"compiled for {triage.old_backend} and for {triage.new_backend}"]
    parts = _say_input(triage)
    if triage.flag_count == 0:
        parts.append("no printed flag differs")
    elif flags:
        sides = [cut_apart((one.old, one.new), _LONGEST) for one in flags]
        shown = [
            f"{one.flag} {' → '.join(side or '(not printed)' for side in both)}"
            for one, both in zip(flags, sides, strict=True)
        ]
        count = count_noun(len(flags), "flag differs", "flags differ")
        parts.append(f"flags: {list_some(shown, _FLAGS)}\n{count}")
    return parts


def _say_input(triage: Triage) -> list[str]:
    """Say whether the input program did it, else who can have; builds in any case."""
    builds = _builds(triage)
    if triage.is_input_identical is None:
        return ["concluded only from the compiled programs", *builds]
    if triage.is_input_identical:
        return [f"input program identical: {_name_doers(triage)}", *_tell_builds(triage)]
    return ["input program differs", *builds]


def _name_doers(triage: Triage) -> str:
    """Name who can have done it where the program did not: the compiler or a flag.

    Builds are known of TPU alone: another one is blamed where both are, and differ.
    """
    old, new = triage.old_build, triage.new_build
    flag = [] if triage.flag_count == 0 else ["a flag"]
    if old is None or new is None:
        return f"due to {' or '.join([*flag, 'the compiler'])}"
    names = [*(["another build of the compiler"] if old != new else []), *flag]
    return f"due to {join_words(names or ['something that no dump shows'], 'or')}"


def _tell_builds(triage: Triage) -> list[str]:
    """Say of which builds the compiler is: known of TPU alone, other dumps name no version."""
    if triage.old_build is None or triage.new_build is None:
        return ["the dumps name no compiler version"]
    return _builds(triage) or [f"the build is cl_{triage.old_build} on both sides"]


def _builds(triage: Triage) -> list[str]:
    old, new = triage.old_build, triage.new_build
    return [f"compiler cl_{old} → cl_{new}"] if old != new and old and new else []


# Round the tables of a pair.


def count_changes(facts: DiffFacts, report: DiffReport, labels: tuple[str, str]) -> Iterator[Line]:
    """Say how much of the programs is the same."""
    if report.identical is False and facts.matched_count is not None:
        yield Line(
            "{matched_count:instruction} matched ({changed_count} differ); "
            f"{{old_only_count}} only in {quote_braces(labels[0])}, "
            f"{{new_only_count}} only in {quote_braces(labels[1])}"
            + f", {facts.copied_count:,} copies of loop instructions"
            * bool(facts.copied_count),
            FACTS,
            facts,
        )
    elif report.identical and report.differs:
        yield Line("the structure is identical")
    if report.order is not None:
        yield Line(
            "order: {moved_count} of {matched_count:instruction} moved, "
            "most of them in {computation}",
            ORDER,
            report.order,
        )


def say_missing(report: DiffReport) -> Iterator[Line]:
    """Say what was not compared."""
    if report.not_compared:
        yield Line(f"not compared: {', '.join(report.not_compared)}")
    if report.identical is None and report.causes:
        yield Line("reasons refer to the program before optimizations, on all devices together")


def explain_rest(hidden: Mapping[str, int]) -> Iterator[Line]:
    """Say which lists are not shown, with how many rows, and what shows them."""
    parts = [f"{name} ({count:,})" for name, count in hidden.items() if count]
    if parts:
        yield Line(f"hidden: {', '.join(parts)}; --full shows everything")


def name_counterparts(
    before: Instruction | None, after: Instruction | None, labels: tuple[str, str]
) -> str:
    """Name the pair."""
    old = f"{before.full_name} of {labels[0]}" if before else ""
    new = f"{after.full_name} of {labels[1]}" if after else ""
    if old and new:
        return f"{old} is {new}"
    return f"{old or new} has no counterpart in {labels[1] if old else labels[0]}"


# Several sides, and directories.


def say_backends(sides: Sequence[SideRow]) -> Iterator[Line]:
    """Say which side was compiled for which backend, where these differ."""
    labels: dict[str, list[str]] = {}
    for side in sides:
        if side.backend is not None:
            labels.setdefault(side.backend, []).append(side.label)
    if len(labels) > 1:
        parts = [f"for {backend} ({', '.join(these)})" for backend, these in labels.items()]
        yield Line(f"compiled {join_words(parts, 'and')}")


def note_several(
    hidden_count: int,
    missing: Sequence[str],
    figures: Sequence[SideFigure],
    links: Sequence[str],
    command: str,
) -> Iterator[Line]:
    """Say what the figures of several sides rest on, and which command shows what is not shown."""
    at = write_links(links)
    times = [one.figure for one in figures if one.metric == ESTIMATED_TIME]
    if any(times):
        yield Line(f"{ESTIMATED_TIME} is rough: all steps at the chip's peaks{at}")
    elif times:
        yield Line(
            f"{ESTIMATED_TIME} is rough: all steps at the ratios of the reference chip{at}; "
            "--chip gives seconds"
        )
    if missing:
        yield Line(f"not compared: {', '.join(missing)}")
    if hidden_count:
        yield Line(f"{hidden_count:,} figures are equal on all sides and hidden; all of them:")
        yield Line(f"  {command}", is_typed=True)


def count_statuses(
    rows: Sequence[ModuleDiff], labels: tuple[str, str], *, is_told: bool
) -> Iterator[Line]:
    """Say how many modules compare how; name those that are told of nowhere else."""
    parts = []
    for status, word in name_statuses(labels).items():
        names = [row.program for row in rows if row.status == status]
        if names:
            of = f" ({list_some(names)})" if is_told and status == "identical" else ""
            parts.append(f"{len(names)} {word}{of}")
    yield Line(", ".join(parts))


def say_devices(rows: Sequence[ModuleDiff]) -> Iterator[Line]:
    """Say of how many devices figures are sums, where any are."""
    if any((row.old_devices, row.new_devices) != (1, 1) for row in rows):
        yield Line("figures of programs on different numbers of devices are of all devices")


def say_names(
    rows: Sequence[ModuleDiff], divisions: Sequence[Division], labels: tuple[str, str]
) -> Iterator[Line]:
    """Say which programs were renamed, split or joined: by what they do, whatever their names."""
    renamed = [f"{row.old_name} → {row.module}" for row in rows if row.old_name]
    if renamed:
        yield Line(f"renamed: {list_some(renamed)}")
    old, new = labels
    for one in divisions:
        parts = join_words([each.name for each in one.parts], "and")
        if one.is_joined:
            yield Line(f"{parts} of {old} are joined: {one.whole.name} of {new}")
        else:
            yield Line(f"{one.whole.name} of {old} is split: {parts} of {new}")


_PAIR_FIGURES: Final = {
    "delta_peak_bytes": "peak",
    "time_change": "time (estimate)",
    "delta_sent_bytes": "sent/step",
    "delta_flops": "flops/step",
}


def say_pair(row: ModuleDiff, words: str, typed: str, units: str) -> Line:
    """Say how a pair of programs differs, and what to type to see why; `words` of its status."""
    parts = [
        f"{title} {format_field(MODULES.field(name), row, units)}"
        for name, title in _PAIR_FIGURES.items()
        if getattr(row, name)
    ]
    said = row.error or ", ".join(parts) or "the same figures"
    return Line(": ".join(filter(None, (row.program, words, said, typed))), is_typed=True)


def say_means(rows: Sequence[ModuleDiff], units: str) -> Iterator[Line]:
    """Say by how much all pairs together changed."""
    parts = [
        f"{name} {format_value(change, Unit.PERCENT, units, is_signed=True)} of {count:,} pairs"
        for name, (change, count) in average_changes(rows).items()
    ]
    if parts:
        yield Line(f"geometric mean: {', '.join(parts)}")


def list_ambiguous(rows: Sequence[ModuleDiff]) -> Iterator[Line]:
    """List the programs that could have several counterparts, with their paths."""
    paths = [row.old_path or row.new_path or "" for row in rows if row.status == "ambiguous"]
    if paths:
        yield Line("ambiguous, pair two with --map OLD_PATH=NEW_PATH:")
        yield from (Line(f"  {path}") for path in paths)


_STATUS_WORDS: Final[Mapping[Status, str]] = {
    "changed": "changed",
    "removed": "removed",
    "added": "added",
    "ambiguous": "ambiguous",
    "error": "not readable",
    "identical": "identical",
}


def name_statuses(labels: tuple[str, str]) -> Mapping[Status, str]:
    """Return how statuses are called, of what is alone by the side that has it."""
    old, new = labels
    return {**_STATUS_WORDS, "removed": f"only in {old}", "added": f"only in {new}"}


# Passes.


def say_first(rows: Sequence[PassRow], verb: str, link: str) -> Iterator[Line]:
    """Say of each respect which pass changed it first."""
    for respect in RESPECTS:
        row = find_first(rows, respect)
        if row is None:
            known = sum(one.new_peak_bytes is not None for one in rows)
            is_late = respect == MEMORY and known < len(rows)
            when = f"in the {known} scheduled steps" if is_late else "throughout"
            yield Line(f"{respect}: the same {when}")
        else:
            yield Line(f"{respect} {verb} {_name_step(row, link)}")


def say_parting(last: PassRow | None, first: PassRow | None) -> Line:
    """Name the last step that is the same in both compilations, and the first that is not."""
    if first is None:
        return Line("both compilations are the same after every pass")
    before = f"still the same {_name_step(last, 'after')}" if last else "different from the start"
    after = _name_step(first, "after")
    return Line(f"{before}; first different {after}: {', '.join(first.differs_in)}")


def say_slower(found: tuple[str, float, float] | None, units: str) -> Iterator[Line]:
    """Say which pass took longer, or less long, than it did before."""
    if found:
        name, *sides = found
        old, new = (format_value(each, Unit.SECONDS, units) for each in sides)
        delta = format_value(sides[1] - sides[0], Unit.SECONDS, units, is_signed=True)
        yield Line(f"time: {name} {old} → {new} ({delta})")


def _name_step(row: PassRow, link: str) -> str:
    """Write which pass made a dump, and where it ran; `link` is the word before a pass."""
    link = link if row.pipeline else ""
    return _write_pass(row.pass_name, row.step, link, f" of {row.pipeline}" * bool(row.pipeline))


def count_left_out(
    rows: Sequence[PassRow], shown: Sequence[PassRow], side_count: int
) -> Iterator[Line]:
    """Say how many steps are left out."""
    differing = sum(bool(row.differs_in) for row in rows)
    less, none = differing - len(shown), len(rows) - differing
    if len(shown) == len(rows):
        return
    if side_count == 1:
        words = (f"{less:,} that changed less", f"{none:,} that changed nothing")
    else:
        words = (f"{less:,} that differ later", f"{none:,} that left both sides the same")
    parts = [word for word, count in zip(words, (less, none), strict=True) if count]
    yield Line(f"hidden steps: {', '.join(parts)}; --rows passes lists every one")


def say_trace(facts: TraceFacts) -> Iterator[Line]:
    """Say which pass made what an expression chooses, and which removed it."""
    if facts.first_pass is None:
        yield Line("no dump has an instruction that matches the expression")
        return
    yield Line(f"first appears {_write_pass(facts.first_pass, facts.first_pass_number)}")
    if facts.last_pass is None:
        yield Line(f"{facts.remaining_count:,} of {facts.seen_count:,} remain at the end")
    elif facts.continued_count < facts.seen_count:
        yield Line(f"the last is gone {_write_pass(facts.last_pass, facts.last_pass_number)}")
    if facts.continued_count:
        names = ", ".join(facts.continued_opcodes)
        verb = plural(facts.continued_count, "continues", "continue")
        text = f"{facts.continued_count:,} of {facts.seen_count:,} {verb} as {names}"
        if facts.last_pass is not None and facts.continued_count == facts.seen_count:
            text += f", the last {_write_pass(facts.last_pass, facts.last_pass_number)}"
        yield Line(text)


def _write_pass(name: str, step: int | None, link: str = "by", of: str = "") -> str:
    """Write which pass it was; without a step it is a text before or after all passes."""
    if step is None:
        return f"in the text {name}"
    word = "" if not link or name.startswith(("between ", "before ")) else f"{link} "
    return f"{word}{name}{of} (step {step})"
