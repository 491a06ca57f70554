"""The verdict of a diff, in at most five lines: bigger? slower? why? who did it?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from hlotool.commands.diffing.who import write_triage
from hlotool.commands.diffing.why import write_cause
from hlotool.compare.answer import METRICS
from hlotool.compare.blocks.headline import HEADLINE, pick_headline
from hlotool.compare.blocks.metrics import ESTIMATED_TIME, MetricRow, by_path
from hlotool.compare.blocks.run_time import TimeChange
from hlotool.compare.blocks.spaces import SpaceChange, pick_telling
from hlotool.compare.comparison import DiffReport
from hlotool.fields import Line, Unit
from hlotool.render.prose import render_line
from hlotool.render.units import format_bounds, format_field, format_value

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
    headline = pick_headline(rows)
    if headline.peak_delta_bytes is not None:
        line = Line("peak (one side estimated) {peak_delta_bytes}", HEADLINE, headline)
        yield render_line(line, units)


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
