"""The sentences around the tables of `hlotool buffers`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from hlotool.analysis.graph.backend import find_space_name
from hlotool.analysis.memory.answer import INSTANT
from hlotool.analysis.memory.donation import DonationRow
from hlotool.analysis.memory.figures import ESTIMATED, HEADROOM, PEAK, TOTALS, Headroom
from hlotool.analysis.memory.reduction_plan import (
    GAIN_CAVEAT,
    MOST_TOGETHER,
    WITHOUT,
    ReliefRow,
    Without,
)
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.memory.timeline import Instant
from hlotool.analysis.memory.xla_peak import Reason, explain_xla_peak
from hlotool.commands.shared.messages import write_promised
from hlotool.program.program import Program
from hlotool.table import Line, quote_braces
from hlotool.table.words import join_words, plural

_REASONS: Final[dict[Reason, str]] = {
    "tuples": "gives tuple elements the size of the tuple's table",
    "shared": "counts shared bytes more than once",
    "spaces": "adds up all memory spaces",
    "padding": "leaves out tile padding",
}


def heading(
    program: Program,
    report: MemoryReport,
    color: int,
    instant: Instant | None,
    without: Without | None,
) -> tuple[Line, ...]:
    """Return the lines above the tables: the peak, what is allocated, and the instant shown."""
    name = program.module.name if program.module else ""
    name = name or os.path.basename(program.paths.path)  # noqa: PTH119
    title = f"{name} ({report.figures.backend})" if report.figures.backend else name
    is_estimate = report.figures.estimated is not None
    lines = (_estimate if is_estimate else _assigned)(report, title, color)
    if without is not None:
        values = plural(without.value_count, "value")
        text = (
            f"without {{value_count}} {values}, {{taken_bytes}} of the peak: peak {{peak_bytes}} "
            "at {position}, {instruction}; {gain_bytes} less"
        )
        lines.append(Line(text, WITHOUT, without))
    peak_at = report.peak_of(color).position if without is None else without.position
    if instant is not None and instant.position != peak_at:
        # Spaces do not add up; each has a total below its values.
        in_use = "" if instant.space is None else ", where {bytes} are in use"
        text = f"shown: position {{position}}, {{instruction}}{in_use}"
        lines.append(Line(text, INSTANT, instant))
    return tuple(lines)


def _assigned(report: MemoryReport, title: str, color: int) -> list[Line]:
    peak, totals = report.peak_of(color), report.totals_of(color)
    space = _space(report, color)
    lines = [
        Line(
            f"{quote_braces(title)}: peak {{bytes}} at {{position}} of {{sequence_length}}, "
            f"{{instruction}}{space}",
            PEAK,
            peak,
        )
        if peak.bytes is not None
        else Line(f"{title}: peak unknown, as the lifetimes of values are unknown{space}"),
        Line(
            "allocated {allocated_bytes} = arguments {argument_bytes} + outputs {output_bytes} "
            "− aliased {alias_bytes} + constants {constant_bytes} + temp {temp_bytes}",
            TOTALS,
            totals,
        ),
    ]
    if peak.bytes is not None:
        lines.append(
            Line(
                "reserved peak {reserved_peak_bytes}, including temp {temp_peak_bytes} at "
                "{temp_peak_position}; fragmentation {fragmentation_bytes}"
                + (
                    "; padding at the peak {padding_bytes}"
                    if report.figures.backend == "tpu"
                    else ""
                ),
                TOTALS,
                totals,
            )
        )
    return lines


def _estimate(report: MemoryReport, title: str, color: int) -> list[Line]:
    """Say what is estimated; each promise stands behind the figure it was measured for."""
    estimated, space = report.estimated_of(color), _space(report, color)
    if estimated is None:
        return []
    backend = report.figures.backend
    peak = write_promised("peak", estimated, backend, color)
    temp = write_promised("temp_peak", estimated, backend, color)
    allocated = write_promised("allocated", estimated, backend, color)
    is_known = estimated.allocated_bytes is not None
    return [
        Line(
            f"{quote_braces(title)}: estimate, as there is no buffer assignment: peak {peak} at "
            f"{{position}} of {{sequence_length}}, {{instruction}}{space}",
            ESTIMATED,
            estimated,
        ),
        Line(
            f"estimated: {f'allocated {allocated}; ' if is_known else ''}"
            "arguments {argument_bytes}, outputs {output_bytes}, aliased {alias_bytes}; "
            f"temp peak {temp}",
            ESTIMATED,
            estimated,
        ),
    ]


def _space(report: MemoryReport, color: int) -> str:
    """Name the space where there are several, or another than the default is shown."""
    if len(report.map.colors()) < 2 and not color:  # noqa: PLR2004
        return ""
    name = find_space_name(report.figures.backend, color)
    return f" (space {color}, {name})" if name else f" (space {color})"


def say_relief(headroom: Headroom, relief: Sequence[ReliefRow]) -> tuple[Line, ...]:
    """Return the line above the sets of parts: what becomes of the program without them."""
    text = "Without the parts of one set it fits; the easiest remedy comes first."
    if any(row.headroom_bytes < 0 for row in relief):
        beside = " beside donation" if relief[0].kind == "missed-donation" else ""
        text = (
            f"No {MOST_TOGETHER} parts{beside} bring it under {{limit_bytes}}; these go furthest."
        )
    return (Line(f"{text} {GAIN_CAVEAT}", HEADROOM, headroom),)


def say_donation(donations: Sequence[DonationRow]) -> tuple[Line, ...]:
    """Return the line below parameters to donate: how far to trust what they gain."""
    return (Line(GAIN_CAVEAT),) if any(row.gain_bytes for row in donations) else ()


def notes(report: MemoryReport, color: int) -> tuple[Line, ...]:
    """Return the lines below the tables: what the reader should know about the figures."""
    lines: list[Line] = []
    if report.figures.sizes_from == "buffer-assignment" and report.figures.lifetimes == "derived":
        lines.append(
            Line("Lifetimes are derived from the schedule, as no live ranges were dumped.")
        )
    if report.figures.lifetimes is None:
        lines.append(
            Line(
                "For lifetimes, give the live ranges (--live-range) or the module text "
                "(--module-text)."
            )
        )
    if not color:
        lines += _xla_peak(report)
    return tuple(lines)


def _xla_peak(report: MemoryReport) -> list[Line]:
    """Say what XLA prints as its peak, where that is not ours, and why."""
    difference = explain_xla_peak(report)
    if difference is None:
        return []
    if difference.is_slight:
        text = "XLA's own peak: {xla_bytes} at {xla_position}, less than 0.1 % off."
        return [Line(text, PEAK, report.figures.peak)]
    reasons = [_REASONS[reason] for reason in difference.reasons]
    why = join_words(reasons, "and") if reasons else ""
    text = "XLA's own peak: {xla_bytes} at {xla_position}, where {bytes_at_xla_position} are in use"
    text += f"; XLA {why}." if why else "."
    if difference.misses_tuples:
        text += f" XLA misses the peak at {{position}}: there it {_REASONS['tuples']}."
    return [Line(text, PEAK, report.figures.peak)]
