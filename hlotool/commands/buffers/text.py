"""The sentences of `hlotool buffers`: around the tables of a program, and of a message."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Final

from hlotool.analysis.graph.backend import find_space_name
from hlotool.analysis.memory import reduction_plan as plan
from hlotool.analysis.memory.answer import INSTANT
from hlotool.analysis.memory.donation import CopiedArray, DonationRow, find_copied_array
from hlotool.analysis.memory.figures import ESTIMATED, FIT, PEAK, TOTALS, Fit
from hlotool.analysis.memory.placed import REPLICATED, ReplicatedRow
from hlotool.analysis.memory.reasons import find_kept, find_padded
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.memory.rows import BufferRow
from hlotool.analysis.memory.timeline import Instant, Reason, XlaDifference, explain_xla_peak
from hlotool.analysis.memory_text import (
    COPIED,
    MESSAGE_FIGURES,
    SMALL_PROGRAM,
    MessageFigures,
    MessageReport,
    find_copied_arguments,
    find_small_program,
)
from hlotool.commands.shared.memory_text import write_accuracy
from hlotool.dump.names import short_path
from hlotool.oom.wordings import OutOfMemory
from hlotool.program.oom_match import SUSPICION, MatchedProgram, is_far_smaller, suspect
from hlotool.program.program import Program
from hlotool.table import Block, Line, quote_braces
from hlotool.table.words import count_noun, join_words, plural

_VERBS: Final = {"compile": "compiling", "load": "loading", "run": "running"}
_REASONS: Final[dict[Reason, str]] = {
    "tuples": "sizes tuple elements as pointers",
    "shared": "counts shared bytes more than once",
    "spaces": "adds up all memory spaces",
    "padding": "omits tile padding",
}


def describe_program(
    program: Program,
    report: MemoryReport,
    color: int,
    instant: Instant | None,
    without: plan.Without | None,
) -> Iterator[Line]:
    """Yield the lines above the tables: the peak, what is allocated, and the instant shown."""
    name = program.module.name if program.module else ""
    name = name or os.path.basename(program.paths.path)  # noqa: PTH119
    title = f"{name} ({report.figures.backend})" if report.figures.backend else name
    is_estimate = report.figures.estimated is not None
    yield from (_estimate if is_estimate else _assigned)(report, title, color)
    if without is not None:
        values = plural(without.value_count, "value")
        text = (
            f"without {{value_count}} {values} ({{removed_bytes}} at peak): peak {{peak_bytes}} "
            "at {position}, {instruction}, {saves_bytes} less"
        )
        yield Line(text, plan.WITHOUT, without)
    peak_at = report.peak_of(color).position if without is None else without.position
    if instant is not None and instant.position != peak_at:
        # Spaces do not add up; each has a total below its values.
        in_use = "" if instant.space is None else ", where {bytes} are in use"
        text = f"shown: position {{position}}, {{instruction}}{in_use}"
        yield Line(text, INSTANT, instant)


_REPLICATED_ROW: Final = Block("group", ReplicatedRow, REPLICATED.meaning)
_MOST_REPLICATED: Final = 2  # groups; --rows replicated has all


def say_replicated(rows: Sequence[ReplicatedRow]) -> Iterator[Line]:
    """Say how much of the peak other devices hold too, over which axes, the most first."""
    for row in rows[:_MOST_REPLICATED]:
        over = "over {replicated_over}" if row.replicated_over else "on {copies} devices"
        text = f"{{peak_bytes}} of the peak is replicated {over}: {{parameter_count:parameter}}"
        yield Line(text, _REPLICATED_ROW, row)
    more = len(rows) - _MOST_REPLICATED
    if more > 0:
        yield Line(f"and {more:,} more such groups; --rows replicated lists every one")


def _assigned(report: MemoryReport, title: str, color: int) -> list[Line]:
    peak, totals = report.peak_of(color), report.totals_of(color)
    space = _space(report, color)
    return [
        Line(
            f"{quote_braces(title)}: peak {{bytes}} at {{position}} of {{sequence_length}}, "
            f"{{instruction}}{space}",
            PEAK,
            peak,
        )
        if peak.bytes is not None
        else Line(f"{title}: peak unknown, because live ranges are unknown{space}"),
        Line(
            "allocated {allocated_bytes} = arguments {argument_bytes} + outputs {output_bytes} "
            "− aliased {alias_bytes} + constants {constant_bytes} + temp {temp_bytes}",
            TOTALS,
            totals,
        ),
    ]


def _estimate(report: MemoryReport, title: str, color: int) -> list[Line]:
    """Say what is estimated; each promise stands behind the figure it was measured for."""
    estimated, space = report.estimated_of(color), _space(report, color)
    if estimated is None:
        return []
    backend = report.figures.backend
    peak = write_accuracy("peak", estimated, backend, color)
    temp = write_accuracy("temp_peak", estimated, backend, color)
    allocated = f"allocated {write_accuracy('allocated', estimated, backend, color)}; "
    is_known = estimated.allocated_bytes is not None
    most = (
        f"{quote_braces(title)}: estimate without a buffer assignment: peak {peak} at "
        f"{{position}} of {{sequence_length}}, {{instruction}}{space}"
    )
    parts = (
        f"estimated: {allocated * is_known}arguments {{argument_bytes}}, outputs {{output_bytes}}, "
        f"aliased {{alias_bytes}}; temp peak {temp}"
    )
    return [Line(text, ESTIMATED, estimated) for text in (most, parts)]


def _space(report: MemoryReport, color: int) -> str:
    """Name the space where there are several, or another than the default is shown."""
    if len(report.map.colors()) < 2 and not color:  # noqa: PLR2004
        return ""
    name = find_space_name(report.figures.backend, color)
    return f" (space {color}, {name})" if name else f" (space {color})"


_VALUE: Final = Block("value", BufferRow, "a value at the peak")


def say_reasons(report: MemoryReport, rows: Sequence[BufferRow], *, is_all: bool) -> Iterator[Line]:
    """Say why large values are there or so large, and of all spaces if the host has none."""
    padded, kept = find_padded(rows), find_kept(report, rows)
    if padded is not None:
        owner = " of {origin}" if padded.origin else ""
        text = f"{{value}} {{shape}}{owner} is padded {padded.padding_factor:.3g}×: "
        text += "{unpadded_bytes} of data take {size_bytes}"
        yield Line(text, _VALUE, padded)
    if kept is not None:
        text = "{value} {shape}, {live_bytes}, is kept for the backward pass"
        yield Line(text, _VALUE, kept)
    if is_all and not any(space.name == "host" for space in report.figures.spaces):
        yield Line("nothing in host memory")


_UNDONE: Final = Line(
    "jax.checkpoint is not offered: XLA:CPU merges what it would recompute with the first "
    "computation."
)


def say_relief(fit: Fit, planned: plan.Plan) -> tuple[Line, ...]:
    """Return the lines above the ways to fit: what becomes of the program with them."""
    undone = (_UNDONE,) if planned.is_checkpoint_undone else ()
    if not planned.rows:
        return (Line("No known change saves memory here."), *undone)
    if all(row.option_saves_bytes is None for row in planned.rows):
        text = "No change with tried savings makes it fit {limit_bytes}."
        return (Line(text, FIT, fit), *undone)
    text = (
        f"No set of up to {plan.MOST_TOGETHER} changes is certain to make it fit {{limit_bytes}}; "
        "those below save most."
    )
    if {"fits", "may fit"} & {row.verdict for row in planned.rows}:
        text = (
            "Apply all changes of an option together; the savings of each alone need not add up. "
            "Options are sorted by likely savings."
        )
    return (Line(text, FIT, fit), Line(plan.SAVES_CAVEAT), *undone)


_MOST_UNUSED: Final = 3


def say_donation(donations: Sequence[DonationRow]) -> Iterator[Line]:
    """Say what XLA could not use, and how far to trust what others would save."""
    unused = [row for row in donations if row.status == "donated-unused"]
    for row in unused[:_MOST_UNUSED]:
        name = row.parameter_name or f"parameter {row.parameter_number}"
        yield Line(f"{name} is {row.says}")
    if len(unused) > _MOST_UNUSED:
        yield Line(f"and {len(unused) - _MOST_UNUSED:,} more that are donated and not reused")
    yield from _say_copied(donations)
    if any(row.saves_bytes for row in donations):
        yield Line(plan.SAVES_CAVEAT)


_DONATION: Final = Block("donation", DonationRow, "an array of the arguments")
_COPIED_ARRAY: Final = Block("copied", CopiedArray, "a donated array that is copied")


def _say_copied(donations: Sequence[DonationRow]) -> Iterator[Line]:
    """Say which array is there twice though it is donated, and whether nothing is donated."""
    copied = find_copied_array(donations)
    if copied is not None:
        text = "{name} is donated but not updated in place: {copy_instruction} copies it first, "
        yield Line(f"{text}both take {{both_bytes}}", _COPIED_ARRAY, copied)
    if donations and not any(row.is_donated for row in donations):
        largest = max(donations, key=lambda row: row.size_bytes)
        why = "" if largest.is_missed else ": no output has the shape of {parameter_name}"
        yield Line(f"nothing is donated{why}", _DONATION, largest)


def note_program(report: MemoryReport, color: int, *, asks_peaks: bool) -> Iterator[Line]:
    """Yield the lines below the tables: what the reader should know about the figures.

    Other peaks than the true one are told where somebody asks about peaks.
    """
    figures = report.figures
    if figures.sizes_from == "buffer-assignment" and figures.live_ranges_from == "derived":
        yield Line("Live ranges are derived from the schedule, because XLA dumped none.")
    if figures.live_ranges_from is None:
        yield Line("For live ranges, give --live-range or the module text (--module-text).")
    if asks_peaks:
        text = (
            "reserved peak {reserved_peak_bytes}, including temp {temp_peak_bytes} at "
            "{temp_peak_position}; fragmentation {fragmentation_bytes}"
        )
        yield Line(text, TOTALS, report.totals_of(color))
        difference = None if color else explain_xla_peak(report)
        if difference is not None:
            yield _say_xla_peak(report, difference)


def _say_xla_peak(report: MemoryReport, difference: XlaDifference) -> Line:
    """Say what XLA prints as its peak, which is not ours, and why."""
    text = "XLA's own peak: {xla_bytes} at {xla_position}, "
    if difference.is_slight:
        return Line(f"{text}less than 0.1 % off.", PEAK, report.figures.peak)
    reasons = [_REASONS[reason] for reason in difference.reasons]
    why = f"; XLA {join_words(reasons, 'and')}" if reasons else ""
    text += f"actually {{bytes_at_xla_position}} in use there{why}."
    if difference.misses_tuples:
        text += f" XLA misses the peak at {{position}} because it {_REASONS['tuples']}."
    return Line(text, PEAK, report.figures.peak)


# A message.


def describe_message(figures: MessageFigures) -> Iterator[Line]:
    """Say what was asked and what was there."""
    where = f" in {figures.space}" if figures.space else ""
    program = f" {figures.program}" if figures.program else ""
    device = f" on {figures.device}" if figures.device else ""
    known = {
        "{requested_bytes} asked": figures.requested_bytes,
        "{available_bytes} there": figures.available_bytes,
        "{missing_bytes} too much": figures.missing_bytes,
    }
    said = ", ".join(text for text, size in known.items() if size is not None)
    said = said or "the message does not give the requested size"
    before = quote_braces(f"out of memory{where} when {_VERBS[figures.when]}{program}{device}: ")
    yield Line(before + said, MESSAGE_FIGURES, figures)
    if figures.listed_bytes is not None and figures.listed_count:
        is_padded = figures.listed_padding_bytes is not None
        padded = ", {listed_padding_bytes} of it padding" if is_padded else ""
        yield Line(f"the listed buffers hold {{listed_bytes}}{padded}", MESSAGE_FIGURES, figures)


def say_why(report: MessageReport) -> Iterator[Line]:
    """Say what the message shows of the reason."""
    small, copied = find_small_program(report), find_copied_arguments(report.rows)
    if small is not None:
        text = "The program needs only {program_bytes}. If the device has 1 GiB or more, other "
        text += "programs or arrays hold the rest."
        yield Line(text, SMALL_PROGRAM, small)
    if copied is not None:
        text = "Copies of {copy_count:argument} take {size_bytes}: {parameter}"
        more = ", …" if copied.copy_count > 1 else ""
        ask = ". The cause may be a different layout; a dump shows it."
        yield Line(text + more + ask, COPIED, copied)


_OF_XLA: Final = re.compile(
    r"[XJ]\w+RuntimeError|RESOURCE_EXHAUSTED: Out of memory|\b(?:jax|xla)\b"
)
_OF_TENSORFLOW: Final = re.compile(r"OOM when allocating tensor|\btensorflow\b")
_OF_PYTORCH: Final = re.compile(r"\btorch\b|PYTORCH_|\bPyTorch\b|(?:CUDA|HIP) out of memory")
_DUMP: Final = 'export XLA_FLAGS="--xla_dump_to=/tmp/dump --xla_dump_hlo_as_text"'


def note_message(figures: MessageFigures, text: str) -> tuple[Line, ...]:
    """Say what the reader should know about the figures, and what to type next.

    The same flags dump on CPU, GPU and TPU, there also from a compilation that fails. `text` is
    what holds the message. Of TensorFlow's own, XLA's program is dumped if XLA compiles the step.
    """
    said = {
        "{message_count} messages of different sizes; the last is shown.": figures.message_count
        > 1,
        "The text ends inside {cut_size}…, so that size is unknown.": figures.cut_size is not None,
        "The message is cut: its beginning or a part of its list is missing.": (
            not figures.is_complete
        ),
        "Sizes are rounded as in the message.": figures.is_rounded,
        "Add --dump DIR, a dump of the program, for ways to fit.": True,
    }
    notes = [Line(one, MESSAGE_FIGURES, figures) for one, is_so in said.items() if is_so]
    is_of_xla = figures.when != "run" or _OF_XLA.search(text)
    if is_of_xla or _OF_TENSORFLOW.search(text):
        limit = f" --hbm {figures.limit_bytes}B" if figures.limit_bytes else ""
        first = "" if is_of_xla else "compile the step with tf.function(jit_compile=True), "
        notes[-1] = Line(f"For ways to fit, {first}dump the program in another run, then ask:")
        notes += [Line(_DUMP), Line(f"hlotool buffers /tmp/dump{limit}")]
    elif _OF_PYTORCH.search(text):
        notes.append(Line("Plain PyTorch has no dump; flags for PyTorch/XLA were not tried."))
    return tuple(notes)


def name_program(matched: MatchedProgram, message: OutOfMemory, path: str) -> str:
    """Say which program it is, and how that is known."""
    name = matched.chosen.name or matched.chosen.path
    if not matched.is_found:
        listed = ", and its list does not match" if message.buffers else ""
        return f"The message names no program{listed}; the dump has only {name}."
    place = short_path(matched.chosen.path, path)
    listed_count = len(message.buffers)
    by_list = f"by {matched.matched_count:,} of {listed_count:,} listed buffers"
    how = [
        *(["by its name"] if matched.is_named else []),
        *([by_list] if listed_count else []),
        *([f"by its size, in {place}"] if matched.is_by_size else []),
    ]
    count = matched.rival_count
    others = count_noun(count, "other fits", "others fit")
    rivals = f"; {others} as well" if count else ""
    begin = (
        f"No program needs the requested size; the nearest is {name}"
        if is_far_smaller(message, matched.need)
        else f"The message matches {name}"
    )
    return f"{begin}, found {' and '.join(how)}{rivals}."


def say_fit(
    message: OutOfMemory, matched: MatchedProgram, limit_bytes: int | None
) -> Iterator[Line]:
    """Say what speaks against the program, and whether it fits in what was there.

    Where that is the limit, what is said of every program with a limit says it.
    """
    found = suspect(message, matched.need)
    if found is None:
        return
    asked = "the message asks for {requested_bytes}"
    if found.is_excluded or found.is_doubtful:
        most, other = " at most" * found.is_excluded, "they may be from different compilations"
        other = "they are from different compilations" if found.is_excluded else other
        text = f"the dump needs {{needed_bytes}}{most}, {asked}: {other}"
        yield Line(text, SUSPICION, found, tone="error")
    if found.available_bytes is not None and found.available_bytes != limit_bytes:
        verdict = {
            True: "it fits",
            False: "it does not fit",
            None: "only its temporaries, {temp_bytes}, fit",
        }[found.fits]
        text = f"the program needs {{needed_bytes}}, available {{available_bytes}}: {verdict}"
        yield Line(text, SUSPICION, found, tone="error" if found.fits is False else "")
