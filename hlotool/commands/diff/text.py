"""Who can have done it, as a sentence: the program, a flag, the compiler?

The reasons of a diff as sentences.

The verdict of a diff, in at most five lines: bigger? slower? why? who did it?
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, TypeAlias

from hlotool.compare.answer import METRICS
from hlotool.compare.causes.cause import Cause, CauseKind, Triage
from hlotool.compare.changes.figures import (
    ESTIMATED_TIME,
    MetricRow,
    TimeChange,
    by_path,
    choose_peaks,
)
from hlotool.compare.changes.header import FlagChange
from hlotool.compare.changes.memory import SpaceChange, pick_telling
from hlotool.compare.report import DiffReport
from hlotool.table import Line, Unit, quote_braces
from hlotool.table.units import format_bounds, format_field, format_value
from hlotool.table.words import count_noun, join_words, list_some, plural

_FLAGS: Final = 3
_LONGEST: Final = 40  # characters of a flag's value


def write_triage(
    triage: Triage,
    flags: Sequence[FlagChange],
    causes: Sequence[Cause],
) -> str:
    """Say who did it; '' where nothing tells."""
    if triage.has_other_backend:  # then flags and builds are of different compilers
        return f"compiled for {triage.left_backend} and for {triage.right_backend}"
    parts = [*_input(triage, causes), *_flags(triage, flags)]
    return "; ".join(parts)


def _input(triage: Triage, causes: Sequence[Cause]) -> list[str]:
    """Say whether the input program did it, else who can have; builds in any case."""
    builds = _builds(triage)
    if triage.is_input_identical is None:
        return builds
    if triage.is_input_identical:
        return [f"input program identical: {_name_doers(triage)}"]
    if not triage.has_same_operations:
        return ["input program differs", *builds]
    if any(cause.kind.startswith("donation") for cause in causes):
        return ["input program differs in donation, not in its operations", *builds]
    return [f"input program has the same operations: {_name_doers(triage, 'their order')}"]


def _name_doers(triage: Triage, *others: str) -> str:
    """Name who can have done it where the program did not: the compiler, a flag, and others.

    Builds are known of TPU alone: other dumps name no version of the compiler.
    """
    old, new = triage.left_build, triage.right_build
    has_builds = old is not None and new is not None
    names = [] if has_builds and old == new else ["another compiler"]
    names += [] if triage.flag_count == 0 else ["a flag"]
    names = [*names, *others] or ["what no dump tells"]
    doers = join_words(names, "or")
    if has_builds:
        known = _builds(triage) or [f"the build is cl_{old} on both sides"]
        return f"{doers} did it; {known[0]}"
    return f"{doers} did it; the dumps name no version of the compiler"


def _flags(triage: Triage, flags: Sequence[FlagChange]) -> list[str]:
    if triage.flag_count == 0:
        return ["no printed flag differs"]
    shown = [f"{one.flag} {_value(one.left)} → {_value(one.right)}" for one in flags]
    return [f"flags: {list_some(shown, _FLAGS)}"] if flags else []


def _value(text: str | None) -> str:
    if text is None:
        return "(not printed)"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _builds(triage: Triage) -> list[str]:
    old, new = triage.left_build, triage.right_build
    return [f"compiler cl_{old} → cl_{new}"] if old != new and old and new else []


_Write: TypeAlias = Callable[[Cause, str], str]


def write_cause(cause: Cause, units: str) -> str:
    """Write one reason as half a sentence."""
    return _SENTENCES[cause.kind](cause, units)


def _rematerialization(cause: Cause, units: str) -> str:
    is_lost = cause.kind == "rematerialization lost"
    what = "lost" if is_lost else "new"
    more = "more" if is_lost else "fewer"
    if cause.subject is None:
        makes = "makes nothing again" if is_lost else "makes values again"
        return f"rematerialization {what}: the backward pass {makes}"
    return (
        f"rematerialization {what} in {cause.subject}: {cause.count} {more} values live from the "
        f"forward to the backward pass ({_bytes(cause, units)} at the peak)"
    )


def _donation(cause: Cause, units: str) -> str:
    size = format_value(abs(cause.delta_bytes or 0), Unit.BYTES, units)
    arrays = count_noun(str(cause.count), "array")
    if cause.kind == "donation lost":
        own = "its output has memory of its own"
        has = plural(cause.count, own, "their outputs have memory of their own")
        return f"donation of {cause.subject} is gone: {arrays}, {size}; {has}"
    return f"donation of {cause.subject} is new: {arrays}, {size}, take their outputs"


def _layers(cause: Cause, units: str) -> str:
    verb = "new" if cause.kind == "layers added" else "gone"
    be = plural(cause.count, "is", "are")
    flops = format_value(cause.delta_flops, Unit.FLOPS, units, is_signed=True)
    held = f"all of {cause.scope} hold {_bytes(cause, units)} at the peak"
    parts = [held, f"{flops} flops/run"]
    if cause.delta_wire_bytes:
        parts.append(f"{_signed(cause.delta_wire_bytes, units)} wire/run")
    return f"{cause.subject} {be} {verb} ({', '.join(parts)})"


def _unrolled(cause: Cause, units: str) -> str:
    del units
    over = f"over {cause.left} layers " if cause.left else ""
    copies = f"{cause.count} copies, {cause.scope}{_more_layers(cause)}"
    return f"the loop {over}({cause.subject}) is unrolled: {copies}"


def _rolled(cause: Cause, units: str) -> str:
    del units
    over = f"over {cause.right} layers " if cause.right else ""
    loop = f"a loop {over}now ({cause.subject}){_more_layers(cause)}"
    return f"{cause.count} copies, {cause.scope}, are {loop}"


def _more_layers(cause: Cause) -> str:
    """Say how many layers are new or gone, as work grows with them; '' where none, or unknown."""
    if not cause.more:
        return ""
    word = "more" if cause.more > 0 else "fewer"
    return f", and so {count_noun(str(abs(cause.more)), 'layer')} {word}"


def _trip_count(cause: Cause, units: str) -> str:
    flops = format_value(cause.delta_flops, Unit.FLOPS, units, is_signed=True)
    return (
        f"trip count of {cause.subject} {cause.left} → {cause.right} ({flops} flops/run, "
        f"{_bytes(cause, units)} memory traffic/run)"
    )


def _dimension(cause: Cause, units: str) -> str:
    factor = Fraction(int(cause.right or 0), int(cause.left or 1))
    be = plural(cause.count, "is", "are")
    follow = f"{count_noun(str(cause.count), 'result')} {be} ×{factor}"
    return (
        f"{cause.subject} {cause.left} → {cause.right}: {follow} "
        f"({_bytes(cause, units)} of results/run)"
    )


def _products(cause: Cause, units: str) -> str:
    del units
    products = count_noun(str(cause.count), "matrix product")
    return f"{products} moved from {cause.left} to {cause.right}"


def _dtype(cause: Cause, units: str) -> str:
    be = plural(cause.count, "is", "are")
    wire = f", {_signed(cause.delta_wire_bytes, units)} wire/run" if cause.delta_wire_bytes else ""
    return (
        f"{count_noun(str(cause.count), 'result')} {be} {cause.right} in place of {cause.left} "
        f"({_bytes(cause, units)} of results/run{wire})"
    )


def _overlap(cause: Cause, units: str) -> str:
    word = "lost" if cause.kind == "overlap lost" else "gained"
    most = f", most of it {cause.subject}" if cause.subject else ""
    exposed = f"({_bytes(cause, units)} exposed/run{most})"
    if not cause.more or (cause.more > 0) != (cause.kind == "overlap lost"):  # parts of others
        return f"collectives {word} overlap {exposed}"
    count = f"{cause.left} → {cause.right} instructions have nothing that hides them"
    return f"collectives {word} overlap: {count} {exposed}"


def _collectives(cause: Cause, units: str) -> str:
    return f"{cause.left} → {cause.right} {cause.subject} ({_bytes(cause, units)} wire/run)"


def _axes(cause: Cause, units: str) -> str:
    return (
        f"{cause.count} {cause.subject} over {cause.right} in place of {cause.left} "
        f"({_bytes(cause, units)} wire/run)"
    )


def _sharding(cause: Cause, units: str) -> str:
    del units
    return (
        f"{count_noun(str(cause.count), 'parameter')} sharded otherwise: {cause.subject}, "
        f"{cause.left} → {cause.right}"
    )


def _operations(cause: Cause, units: str) -> str:
    del units
    gone = [f"{cause.left} gone"] if cause.left else []
    new = [f"{cause.right} new"] if cause.right else []
    return f"{cause.scope or 'the program'} computes something else: {'; '.join([*gone, *new])}"


def _fusing(cause: Cause, units: str) -> str:
    return (
        f"the same work in other fusions, {cause.left} → {cause.right} "
        f"({_bytes(cause, units)} memory traffic/run)"
    )


def _values(cause: Cause, units: str) -> str:
    """Say how many came and how many went: that is what the number at the peak changed by."""
    counts = ((cause.right, "came"), (cause.left, "went"))
    moved = [f"{count} {verb}" for count, verb in counts if count != "0"]
    what = " and ".join(moved) or f"{count_noun(str(cause.count), 'value')} of another size"
    scope = f" in {cause.scope}" if cause.scope else ""
    largest = f"{cause.subject}{scope} ({_bytes(cause, units)})"
    return f"values at the peak: {what}, the largest {largest}"


def _inside_fusions(cause: Cause, units: str) -> str:
    del units
    operations = count_noun(str(cause.count), "operation")
    be = plural(cause.count, "computes", "compute")
    return f"{operations} inside fusions {be} in {cause.right} in place of {cause.left}"


def _other(cause: Cause, units: str) -> str:
    del units
    return f"what differs is {cause.subject}"


_SENTENCES: Final[Mapping[CauseKind, _Write]] = {
    "rematerialization lost": _rematerialization,
    "rematerialization gained": _rematerialization,
    "donation lost": _donation,
    "donation gained": _donation,
    "layers added": _layers,
    "layers removed": _layers,
    "loop unrolled": _unrolled,
    "loop rolled": _rolled,
    "trip count": _trip_count,
    "dimension": _dimension,
    "products moved": _products,
    "dtype widened": _dtype,
    "dtype narrowed": _dtype,
    "overlap lost": _overlap,
    "overlap gained": _overlap,
    "collectives": _collectives,
    "axes": _axes,
    "sharding": _sharding,
    "operations": _operations,
    "fusing": _fusing,
    "values at the peak": _values,
    "dtype inside fusions": _inside_fusions,
    "other": _other,
}


def _bytes(cause: Cause, units: str) -> str:
    return _signed(cause.delta_bytes, units)


def _signed(value: int | None, units: str) -> str:
    return format_value(value, Unit.BYTES, units, is_signed=True)


MOST_WHY: Final = 2
_MOST_SPACES: Final = 2
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
_EXPOSED_BYTES: Final = "collectives.exposed_wire_bytes_per_run"
_EXPOSED_TIME: Final = "collectives.exposed_seconds"
_SAME_TIME: Final = 0.0005  # what would read as 0.0 %
_WORK: Final = {
    "cost.total_flops_per_run": "flops/run",
    "cost.memory_bytes_per_run": "memory traffic/run",
    "collectives.wire_bytes_per_run": "wire/run",
    _EXPOSED_BYTES: "exposed/run",
    _EXPOSED_TIME: "exposed time",
    "fusions.fusion_count": "fusions",
}


def write_verdict(report: DiffReport, units: str) -> Iterator[Line]:
    """Write what differs in memory and work, the reasons, and who did it."""
    rows = by_path(report.metrics)
    has_other_backend = report.triage is not None and report.triage.has_other_backend
    if report.triage is not None and has_other_backend:
        yield Line(write_triage(report.triage, report.flags, report.causes))
    memory = "; ".join([*_memory(rows, units), *_spaces(report.spaces, rows, units)])
    if memory:
        yield Line(f"memory: {memory}")
    yield from _work(report, rows, units)
    more = len(report.causes) - MOST_WHY
    for index, cause in enumerate(report.causes[:MOST_WHY], start=1):
        rest = f"; and {more} more below" if index == MOST_WHY and more > 0 else ""
        yield Line(f"why: {write_cause(cause, units)}{rest}")
    if report.triage is not None and not has_other_backend:
        triage = write_triage(report.triage, report.flags, report.causes)
        if triage:
            yield Line(triage)


def _work(report: DiffReport, rows: Mapping[str, MetricRow], units: str) -> Iterator[Line]:
    """Write how long a run takes by estimate, and the work that it does."""
    work = ", ".join(
        _figure(rows[path], title, units, is_brief=True)
        for path, title in _WORK.items()
        if _says(rows, path)
    )
    if report.time is not None and report.time.relative_delta is not None:
        links = write_links(report.time.links)
        title = f"estimate at the peaks of {report.time.chip}{links}, rough"
        if report.time.priced_as_bf16:
            types = ", ".join(report.time.priced_as_bf16)
            title += f": products in {types} taken as fast as in bf16"
        hint = "" if report.time.left_seconds is not None else "; --chip gives seconds"
        parts = [_time(report.time, report.time.relative_delta, units), *[work] * bool(work)]
        yield Line(f"time ({title}{hint}): {'; '.join(parts)}")
    elif _is_known(rows, ESTIMATED_TIME):  # of a saved document nothing but the figure is there
        figure = _figure(rows[ESTIMATED_TIME], "time (estimates at the peaks, rough):", units)
        yield Line("; ".join([figure, *[work] * bool(work)]))
    elif work:
        is_cpu = report.triage is not None and report.triage.left_backend == "cpu"
        no_time = " (no chip stands for CPU, so no time)" * is_cpu
        yield Line(f"work{no_time}: {work}")


def write_links(links: Sequence[str]) -> str:
    """Write the links that the user states; '' where they are the chip's."""
    return f" and links of {', '.join(links)}" if links else ""


def _time(time: TimeChange, change: float, units: str) -> str:
    """Write the time of one run, and what takes how much of it."""
    bounds = time.is_left_lower_bound, time.is_right_lower_bound
    share = format_value(change, Unit.PERCENT, units, is_signed=True)
    text = format_bounds(share, is_lower=bounds[1], is_upper=bounds[0])
    if abs(change) < _SAME_TIME:
        text = "the same, as far as it is known" if any(bounds) else "the same"
    if time.left_seconds is not None and time.right_seconds is not None:
        seconds = (time.left_seconds, time.right_seconds)
        old, new = (
            format_bounds(
                format_value(each, Unit.SECONDS, units), is_lower=is_lower, is_upper=False
            )
            for each, is_lower in zip(seconds, bounds, strict=True)
        )
        text = f"{old} → {new} ({text})"
    memory = _shares(time.left_memory_share, time.right_memory_share, units)
    parts = [f"{memory} is memory traffic"]
    if time.left_exposed_share or time.right_exposed_share:
        exposed = _shares(time.left_exposed_share, time.right_exposed_share, units)
        parts.append(f"{exposed} exposed transfers")
    return f"{text}; of each side's time {', '.join(parts)}"


def _shares(left: float | None, right: float | None, units: str) -> str:
    """Write a part of the time on both sides, once where it reads the same."""
    texts = [format_value(part, Unit.PERCENT, units) for part in (left, right)]
    return " → ".join(dict.fromkeys(texts))


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
            yield ", ".join(parts)
            return
    left, right, _ = choose_peaks(rows)
    if left is not None and right is not None:
        yield f"peak (one side estimated) {_signed(right - left, units)}"


def _spaces(
    spaces: tuple[SpaceChange, ...], rows: Mapping[str, MetricRow], units: str
) -> Iterator[str]:
    """Write the peaks of other spaces, the largest differences."""
    known = [rows[path] for path in (*_ASSIGNED, *_ESTIMATED) if path in rows]
    moved = pick_telling(spaces, (peak for row in known for peak in (row.left, row.right)))
    for row in moved[:_MOST_SPACES]:
        old, new = (
            format_value(value, Unit.BYTES, units)
            for value in (row.left_peak_bytes, row.right_peak_bytes)
        )
        delta = format_value(row.delta_peak_bytes, Unit.BYTES, units, is_signed=True)
        yield f"{row.name or f'space {row.space}'} peak {old} → {new} ({delta})"


def _is_known(rows: Mapping[str, MetricRow], path: str) -> bool:
    return path in rows and rows[path].delta is not None


def _says(rows: Mapping[str, MetricRow], path: str) -> bool:
    """Say whether a figure is known, and of a program that has such things.

    What is exposed is told as time where that is known.
    """
    if path == _EXPOSED_BYTES and _is_known(rows, _EXPOSED_TIME):
        return False
    return _is_known(rows, path) and bool(rows[path].left or rows[path].right)


def _figure(row: MetricRow, title: str, units: str, *, is_brief: bool = False) -> str:
    """Write a figure: both sides, and the difference; that alone where they read the same.

    If brief, the difference is a part of the left side, where that is known.
    """
    old, new = (format_field(METRICS.field(name), row, units) for name in ("left", "right"))
    share = format_field(METRICS.field("relative_delta"), row, units)
    if old == new:
        return f"{title} {_delta(row, units)}" + f" ({share})" * bool(row.delta and share)
    old = format_bounds(old, is_lower=row.is_left_lower_bound, is_upper=row.is_left_upper_bound)
    new = format_bounds(new, is_lower=row.is_right_lower_bound, is_upper=row.is_right_upper_bound)
    delta = _delta(row, units)
    if is_brief and share:
        parts = format_bounds(share, is_lower=row.is_lower_bound, is_upper=row.is_upper_bound)
    else:
        parts = ", ".join([delta, *[share] * bool(share)])
    return f"{title} {old} → {new} ({parts})"


def _delta(row: MetricRow, units: str) -> str:
    if not row.delta:
        return format_bounds("+0", is_lower=row.is_lower_bound, is_upper=row.is_upper_bound)
    delta = format_field(METRICS.field("delta"), row, units)
    return format_bounds(delta, is_lower=row.is_lower_bound, is_upper=row.is_upper_bound)


def worse_line(rows: Sequence[MetricRow], label: str = "") -> Line:
    """Name the figures that have grown by more than `--threshold` allows, with how much."""
    parts = ", ".join(f"{row.metric} {_write_growth(row)}" for row in rows)
    side = f"{label} is " if label else ""
    return Line(quote_braces(f"{side}worse than --threshold allows: {parts}"))


def _write_growth(row: MetricRow) -> str:
    delta = format_value(row.delta, row.unit, is_signed=True)
    if row.relative_delta is None:
        return delta
    return f"{delta} ({format_value(row.relative_delta, Unit.PERCENT, is_signed=True)})"
