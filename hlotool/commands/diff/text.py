"""The sentences of `hlotool diff`: the verdict of a pair, and what stands round every table.

The verdict has at most five lines: what differs in memory, in time and work, why, and who did it,
the program, a flag or the compiler. Reasons are written by `cause_text`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from hlotool.commands.diff.cause_text import write_cause
from hlotool.commands.shared.messages import quote_command
from hlotool.compare.answer import FACTS, METRICS, ORDER, DiffFacts
from hlotool.compare.causes.cause import Triage
from hlotool.compare.changes.figures import (
    ESTIMATED_TIME,
    MetricRow,
    TimeChange,
    by_path,
    choose_peaks,
)
from hlotool.compare.changes.header import FlagChange
from hlotool.compare.changes.memory import SpaceChange, pick_telling
from hlotool.compare.directory import ModuleDiff
from hlotool.compare.inputs import Argument
from hlotool.compare.passes import MEMORY, RESPECTS, PassRow, find_first
from hlotool.compare.report import DiffReport
from hlotool.compare.several import SideFigure, SideRow
from hlotool.compare.trace import TraceFacts
from hlotool.hlo import Instruction
from hlotool.table import Line, Unit, quote_braces
from hlotool.table.units import format_bounds, format_field, format_value
from hlotool.table.words import count_noun, join_words, list_some, plural

# One pair.


def say_difference(report: DiffReport, units: str) -> Iterator[Line]:
    """Say what differs, why, and what was not compared."""
    if report.identical and not report.differs:
        yield Line("identical: the same program except for names, numbering and metadata")
    elif report.identical is None and not report.differs:
        yield Line("no difference in the figures that both sides have")
    else:
        yield from write_verdict(report, units)
    if report.not_compared:
        yield Line(f"not compared: {', '.join(report.not_compared)}")


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
_EXPOSED_BYTES: Final = "collectives.exposed_bytes_per_step"
_EXPOSED_TIME: Final = "collectives.exposed_seconds"
_WORK: Final = {
    "cost.total_flops_per_step": "flops/step",
    "cost.traffic_bytes_per_step": "memory traffic/step",
    "collectives.sent_bytes_per_step": "sent/step",
    _EXPOSED_BYTES: "exposed/step",
    _EXPOSED_TIME: "exposed time",
    "fusions.fusion_count": "fusions",
}


def write_verdict(report: DiffReport, units: str) -> Iterator[Line]:
    """Write what differs in memory and work, the reasons, and who did it."""
    rows = by_path(report.metrics)
    who = write_triage(report.triage, report.flags) if report.triage else ""
    comes_first = report.triage is not None and report.triage.has_other_backend
    if who and comes_first:
        yield Line(who)
    memory = "; ".join([*_memory(rows, units), *_spaces(report.spaces, rows, units)])
    if memory:
        yield Line(f"memory: {memory}")
    yield from _work(report, rows, units)
    more = len(report.causes) - MOST_WHY
    for index, cause in enumerate(report.causes[:MOST_WHY], start=1):
        rest = f"; and {more} more below" if index == MOST_WHY and more > 0 else ""
        yield Line(f"why: {write_cause(cause, units)}{rest}")
    if who and not comes_first:
        yield Line(who)


def _work(report: DiffReport, rows: Mapping[str, MetricRow], units: str) -> Iterator[Line]:
    """Write how long a step takes by estimate, and the work that it does."""
    told = [path for path in _WORK if _is_known(rows, path)]
    if _EXPOSED_TIME in told and _EXPOSED_BYTES in told:  # what is exposed is told once
        told.remove(_EXPOSED_BYTES)
    work = ", ".join(
        _figure(rows[path], _WORK[path], units, is_brief=True)
        for path in told
        if rows[path].old or rows[path].new  # else the program has no such things
    )
    if report.time is not None and report.time.relative_delta is not None:
        links = write_links(report.time.links)
        title = f"estimate at the peaks of {report.time.chip}{links}, rough"
        if report.time.assumed_bf16:
            types = ", ".join(report.time.assumed_bf16)
            title += f": products in {types} taken as fast as in bf16"
        hint = "" if report.time.old_seconds is not None else "; --chip gives seconds"
        parts = [_time(report.time, report.time.relative_delta, units), *[work] * bool(work)]
        yield Line(f"time ({title}{hint}): {'; '.join(parts)}")
    elif _is_known(rows, ESTIMATED_TIME):  # of a saved document nothing but the figure is there
        figure = _figure(rows[ESTIMATED_TIME], "time (estimates at the peaks, rough):", units)
        yield Line("; ".join([figure, *[work] * bool(work)]))
    elif work:
        is_cpu = report.triage is not None and report.triage.old_backend == "cpu"
        no_time = " (no chip stands for CPU, so no time)" * is_cpu
        yield Line(f"work{no_time}: {work}")


def write_links(links: Sequence[str]) -> str:
    """Write the links that the user states; '' where they are the chip's."""
    return f" and links of {', '.join(links)}" if links else ""


def _time(time: TimeChange, change: float, units: str) -> str:
    """Write the time of one step, and what takes how much of it."""
    bounds = time.is_old_lower_bound, time.is_new_lower_bound
    share = format_value(change, Unit.PERCENT, units, is_signed=True)
    text = format_bounds(share, is_lower=bounds[1], is_upper=bounds[0])
    if share.lstrip("+−") == format_value(0.0, Unit.PERCENT, units):
        text = "the same, as far as it is known" if any(bounds) else "the same"
    if time.old_seconds is not None and time.new_seconds is not None:
        seconds = (time.old_seconds, time.new_seconds)
        old, new = (
            format_bounds(
                format_value(each, Unit.SECONDS, units), is_lower=is_lower, is_upper=False
            )
            for each, is_lower in zip(seconds, bounds, strict=True)
        )
        text = f"{old} → {new} ({text})"
    memory = _shares(time.old_memory_share, time.new_memory_share, units)
    parts = [f"{memory} is memory traffic"]
    if time.old_exposed_share or time.new_exposed_share:
        exposed = _shares(time.old_exposed_share, time.new_exposed_share, units)
        parts.append(f"{exposed} exposed transfers")
    return f"{text}; of each side's time {', '.join(parts)}"


def _shares(old: float | None, new: float | None, units: str) -> str:
    """Write a part of the time on both sides, once where it reads the same."""
    texts = [format_value(part, Unit.PERCENT, units) for part in (old, new)]
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
    old, new, _ = choose_peaks(rows)
    if old is not None and new is not None:
        delta = format_value(new - old, Unit.BYTES, units, is_signed=True)
        yield f"peak (one side estimated) {delta}"


def _spaces(
    spaces: tuple[SpaceChange, ...], rows: Mapping[str, MetricRow], units: str
) -> Iterator[str]:
    """Write the peaks of other spaces, the largest differences."""
    known = [rows[path] for path in (*_ASSIGNED, *_ESTIMATED) if path in rows]
    moved = pick_telling(spaces, (peak for row in known for peak in (row.old, row.new)))
    for row in moved[:_MOST_SPACES]:
        sides = (row.old_peak_bytes, row.new_peak_bytes)
        old, new = (format_value(size, Unit.BYTES, units) for size in sides)
        delta = format_value(row.delta_peak_bytes, Unit.BYTES, units, is_signed=True)
        yield f"{row.name or f'space {row.space}'} peak {old} → {new} ({delta})"


def _is_known(rows: Mapping[str, MetricRow], path: str) -> bool:
    return path in rows and rows[path].delta is not None


def _figure(row: MetricRow, title: str, units: str, *, is_brief: bool = False) -> str:
    """Write a figure: both sides, and the difference; that alone where they read the same.

    If brief, the difference is a part of the old side, where that is known.
    """
    old, new = (format_field(METRICS.field(name), row, units) for name in ("old", "new"))
    share = format_field(METRICS.field("relative_delta"), row, units)
    if old == new:
        return f"{title} {_delta(row, units)}" + f" ({share})" * bool(row.delta and share)
    old = format_bounds(old, is_lower=row.is_old_lower_bound, is_upper=row.is_old_upper_bound)
    new = format_bounds(new, is_lower=row.is_new_lower_bound, is_upper=row.is_new_upper_bound)
    parts = ", ".join(filter(None, (_delta(row, units), share)))
    if is_brief and share:
        parts = format_bounds(share, is_lower=row.is_lower_bound, is_upper=row.is_upper_bound)
    return f"{title} {old} → {new} ({parts})"


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
    return Line(quote_braces(f"{side}worse than --threshold allows: {', '.join(parts)}"))


# Who did it.

_FLAGS: Final = 3
_LONGEST: Final = 40  # characters of a flag's value


def write_triage(triage: Triage, flags: Sequence[FlagChange]) -> str:
    """Say who did it; '' where nothing tells."""
    if triage.has_other_backend:  # then flags and builds are of different compilers
        return f"compiled for {triage.old_backend} and for {triage.new_backend}"
    parts = _say_input(triage)
    if triage.flag_count == 0:
        parts.append("no printed flag differs")
    elif flags:
        shown = [f"{one.flag} {_cut(one.old)} → {_cut(one.new)}" for one in flags]
        parts.append(f"flags: {list_some(shown, _FLAGS)}")
    return "; ".join(parts)


def _say_input(triage: Triage) -> list[str]:
    """Say whether the input program did it, else who can have; builds in any case."""
    builds = _builds(triage)
    if triage.is_input_identical is None:
        return ["concluded from the compiled programs, as a text before optimization is missing", *builds]
    if triage.is_input_identical:
        return [f"input program identical: {_name_doers(triage)}"]
    return ["input program differs", *builds]


def _name_doers(triage: Triage) -> str:
    """Name who can have done it where the program did not: the compiler or a flag.

    Builds are known of TPU alone: other dumps name no version of the compiler.
    """
    old, new = triage.old_build, triage.new_build
    flag = "a flag" if triage.flag_count != 0 else ""
    if old is None or new is None:
        doer = f"{flag} did it, or" if flag else "the dumps do not tell who did it:"
        return f"{doer} the compiler, of which they name no version"
    if old != new:
        return f"{join_words(['the build of the compiler', *filter(None, [flag])], 'or')} did it; {_builds(triage)[0]}"
    return f"{flag or 'what no dump tells'} did it; the build is cl_{old} on both sides"


def _cut(text: str | None) -> str:
    if text is None:
        return "(not printed)"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _builds(triage: Triage) -> list[str]:
    old, new = triage.old_build, triage.new_build
    return [f"compiler cl_{old} → cl_{new}"] if old != new and old and new else []


# Round the tables of a pair.


def count_changes(facts: DiffFacts, report: DiffReport, labels: tuple[str, str]) -> Iterator[Line]:
    """Say how much of the programs is the same."""
    if report.identical is False and facts.matched_count is not None:
        yield Line(
            "{matched_count:instruction} matched, {changed_count} of them differ; "
            f"{{old_only_count}} are only in {quote_braces(labels[0])}, "
            f"{{new_only_count}} only in {quote_braces(labels[1])}"
            + f", {facts.copied_count:,} are copies of a loop's" * bool(facts.copied_count),
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


def explain_flags(flags: Sequence[FlagChange]) -> Iterator[Line]:
    """Say what it means that a side does not print a flag."""
    count = sum(one.is_of_one_side for one in flags)
    if count:
        be = plural(count, "is", "are")
        yield Line(
            f"{count:,} of {len(flags):,} flags {be} printed on one side alone: XLA prints no "
            "default, and a release no flag of another; --rows flags -n 0 lists all"
        )


def say_hidden(hidden: int) -> Iterator[Line]:
    """Say how many instructions other tables tell of."""
    if hidden:
        rows = count_noun(hidden, "row is", "rows are")
        yield Line(
            f"{rows} not shown: instructions inside fusions, fusions and collectives themselves, "
            "instructions that move no data; see --rows instructions"
        )


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
    hidden_count: int, missing: Sequence[str], figures: Sequence[SideFigure], links: Sequence[str]
) -> Iterator[Line]:
    """Say what the figures of several sides rest on, and what is not shown."""
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
        yield Line(
            f"{hidden_count:,} figures that are the same on all sides not shown; "
            "--rows figures has all"
        )


def count_statuses(rows: Sequence[ModuleDiff], arguments: tuple[Argument, Argument]) -> str:
    """Say how many modules compare how."""
    counts = {status: sum(row.status == status for row in rows) for status in _STATUS_WORDS}
    old, new = (argument.label for argument in arguments)
    words = {**_STATUS_WORDS, "removed": f"only in {old}", "added": f"only in {new}"}
    return ", ".join(f"{count} {words[status]}" for status, count in counts.items() if count)


def list_ambiguous(rows: Sequence[ModuleDiff]) -> Iterator[Line]:
    """List the programs that could have several counterparts, with their paths."""
    paths = [row.old_path or row.new_path or "" for row in rows if row.status == "ambiguous"]
    if paths:
        yield Line("ambiguous, pair two with --map OLD_PATH=NEW_PATH:")
        yield from (Line(quote_braces(f"  {path}")) for path in paths)


def point_to_pair(rows: Sequence[ModuleDiff]) -> Iterator[Line]:
    """Say what to type to see why a pair differs: the one that differs most."""
    changed = next((row for row in rows if row.status == "changed"), None)
    if changed is None or changed.old_path is None or changed.new_path is None:
        return
    if Path(changed.old_path).is_file() and Path(changed.new_path).is_file():
        typed = quote_command("diff", changed.old_path, changed.new_path)
        yield Line(f"{quote_braces(typed)}  # why the first differs", is_typed=True)


_STATUS_WORDS: Final = {
    "changed": "changed",
    "removed": "removed",
    "added": "added",
    "ambiguous": "ambiguous",
    "error": "not readable",
    "identical": "identical",
}


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
    before = f"last the same {_name_step(last, 'after')}" if last else "different from the start"
    after = _name_step(first, "after")
    return Line(f"{before}; first different {after}: {', '.join(first.differs_in)}")


def _name_step(row: PassRow, link: str) -> str:
    """Write which pass made a dump, and where it ran; `link` is the word before a pass."""
    if row.step is None:
        return f"in the text {row.pass_name}"
    words = f"{link} {row.pass_name} of {row.pipeline}" if row.pipeline else row.pass_name
    return quote_braces(f"{words} (step {row.step})")


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
    yield Line(f"steps not shown: {', '.join(parts)}; --rows passes has all")


def say_trace(facts: TraceFacts) -> Iterator[Line]:
    """Say which pass made what an expression chooses, and which removed it."""
    if facts.first_pass is None:
        yield Line("no dump has an instruction for which the expression holds")
        return
    yield Line(f"first appears {_write_pass(facts.first_pass, facts.first_pass_number)}")
    if facts.last_pass is None:
        yield Line(f"{facts.remaining_count:,} of {facts.seen_count:,} are there to the end")
    elif facts.continued_count < facts.seen_count:
        yield Line(f"the last is gone {_write_pass(facts.last_pass, facts.last_pass_number)}")
    if facts.continued_count:
        names = ", ".join(facts.continued_opcodes)
        verb = plural(facts.continued_count, "goes", "go")
        text = f"{facts.continued_count:,} of {facts.seen_count:,} {verb} on as {names}"
        if facts.last_pass is not None and facts.continued_count == facts.seen_count:
            text += f", the last {_write_pass(facts.last_pass, facts.last_pass_number)}"
        yield Line(text)


def _write_pass(name: str, step: int | None) -> str:
    """Write which pass it was; without a step it is a text before or after all passes."""
    if step is None:
        return f"in the text {name}"
    link = "" if name.startswith(("between ", "before ")) else "by "
    return quote_braces(f"{link}{name} (step {step})")
