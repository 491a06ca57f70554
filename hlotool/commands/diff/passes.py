"""`hlotool diff --passes DIR`: what each pass changed, or where two compilations part.

`hlotool diff --passes DIR --trace EXPR`: which pass made what, and which removed it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct, field

from hlotool.commands.shared.options import RowOptions
from hlotool.commands.shared.output import print_document
from hlotool.commands.shared.request import track
from hlotool.compare.passes import (
    DIFF_PASSES,
    MEMORY,
    RESPECTS,
    STRUCTURE,
    PassesFacts,
    PassOpcodeRow,
    PassRow,
    Snapshot,
    Step,
    compare_in_step,
    compare_in_turn,
    count_opcodes,
    find_first,
    find_parting,
    list_steps,
    lone_row,
    merge_keys,
    name_steps,
    read_snapshot,
)
from hlotool.compare.trace import DIFF_TRACE, TraceFacts, Tracer
from hlotool.dump.directory import choose_programs, collect_programs
from hlotool.dump.files import DumpedProgram
from hlotool.dump.find import parse_module_pattern
from hlotool.errors import InputError, NothingCheckedError, UsageError
from hlotool.table import Document, InputPaths, Line, quote_braces
from hlotool.table.words import list_some, plural

_MOST_LISTED: Final = 8
_MOST_STEPS: Final = 15  # so that the answer finds room on a screen


class _Walk(Struct):
    """The rows of a walk."""

    rows: list[PassRow] = field(default_factory=list)
    opcodes: list[PassOpcodeRow] = field(default_factory=list)


def print_passes(
    directories: tuple[str, ...], module: str | None, options: RowOptions, *, is_strict: bool
) -> bool:
    """Walk the passes of one compilation, or of two in step, and name where they change."""
    walks = [list_steps(choose_compilation(directory, module)) for directory in directories]
    if len(walks) == 1:
        walk, facts = _walk(walks[0], is_strict=is_strict), PassesFacts()
        lines = list(_first_lines(walk.rows, "first changed", "by"))
    else:
        walk = _walk_both(walks[0], walks[1], is_strict=is_strict)
        facts = find_parting(walk.rows)
        lines = [*_parting_lines(walk.rows), *_first_lines(walk.rows, "first differs", "after")]
    shown = walk.rows
    if options.wants_overview:
        shown = _choose_steps(walk.rows, options.limit, is_one=len(walks) == 1)
    document = Document(
        DIFF_PASSES,
        InputPaths(directories[-1]),
        scalars=facts,
        rows={"passes": shown, "opcodes": walk.opcodes},
        lines=tuple(lines),
        notes=tuple(_notes(walk.rows, shown, len(walks))),
    )
    print_document(document, options)
    return any(row.differs_in for row in walk.rows)


def choose_compilation(directory: str, module: str | None) -> DumpedProgram:
    """Return the one compilation of a directory whose passes were dumped."""
    programs, _ = collect_programs(directory)
    pattern = parse_module_pattern(module)
    matching = choose_programs(directory, programs, pattern) if pattern else programs
    found = [one for one in matching if one.passes]
    if not matching:
        raise NothingCheckedError(f"{directory}: --module {module!r} matches no module.")
    if not found:
        raise InputError(
            f"{directory}: there are no dumps of passes; add --xla_dump_hlo_pass_re=.* to "
            "XLA_FLAGS and compile again."
        )
    if len(found) > 1:
        names = list_some(sorted({one.name for one in found}), _MOST_LISTED, "")
        raise UsageError(f"--passes takes one module; choose with --module: {names}.")
    return found[0]


def _walk(steps: Sequence[Step], *, is_strict: bool) -> _Walk:
    """Compare every step with the one before."""
    walk = _Walk()
    before: Snapshot | None = None
    for step in track(steps, "passes", len(steps)):
        snapshot = read_snapshot(step, before)
        if before is None:
            walk.rows.append(lone_row(snapshot))
        else:
            walk.rows.append(compare_in_turn(before, snapshot, is_strict=is_strict)[0])
            walk.opcodes += count_opcodes(before, snapshot)
        before = snapshot
    return walk


def _walk_both(left: Sequence[Step], right: Sequence[Step], *, is_strict: bool) -> _Walk:
    """Compare steps of the same pass; what only one side ran stands where it ran."""
    walk = _Walk()
    here = dict(zip(name_steps(left), left, strict=True))
    there = dict(zip(name_steps(right), right, strict=True))
    old: Snapshot | None = None
    new: Snapshot | None = None
    for key in track(merge_keys(list(here), list(there)), "passes", len({*here, *there})):
        if key in here:
            old = read_snapshot(here[key], old)
        if key in there:
            new = read_snapshot(there[key], new)
        if key in here and key in there and old and new:
            walk.rows.append(compare_in_step(old, new, is_strict=is_strict))
            walk.opcodes += count_opcodes(old, new)
        elif key in here and old:
            walk.rows.append(lone_row(old, "OLD"))
        elif new:
            walk.rows.append(lone_row(new, "NEW"))
    return walk


def _first_lines(rows: Sequence[PassRow], verb: str, link: str) -> Iterator[Line]:
    for respect in RESPECTS:
        row = find_first(rows, respect)
        if row is None:
            known = sum(one.right_peak_bytes is not None for one in rows)
            is_late = respect == MEMORY and known < len(rows)
            when = f"in the {known} scheduled steps" if is_late else "throughout"
            yield Line(f"{respect}: the same {when}")
        else:
            yield Line(f"{respect} {verb} {_name(row, link)}")


def _parting_lines(rows: Sequence[PassRow]) -> Iterator[Line]:
    """Name the last step that is the same in both compilations, and the first that is not."""
    place = next((index for index, row in enumerate(rows) if row.differs_in), None)
    if place is None:
        yield Line("both compilations are the same after every pass")
        return
    last = (
        f"last the same {_name(rows[place - 1], 'after')}" if place else "different from the start"
    )
    first = rows[place]
    yield Line(f"{last}; first different {_name(first, 'after')}: {', '.join(first.differs_in)}")


def _name(row: PassRow, link: str) -> str:
    """Write which pass made a dump, and where it ran; `link` is the word before a pass."""
    if row.step is None:
        return f"in the text {row.pass_name}"
    words = f"{link} {row.pass_name} of {row.pipeline}" if row.pipeline else row.pass_name
    return quote_braces(f"{words} (step {row.step})")


def _choose_steps(rows: Sequence[PassRow], limit: int | None, *, is_one: bool) -> list[PassRow]:
    """Return the steps worth a look, in order; all that changed something for a limit of 0.

    Of one compilation these are the steps that changed collectives or memory, then those that
    changed most instructions; of two the first that differ.
    """
    changed = [row for row in rows if row.differs_in]
    most = _MOST_STEPS if limit is None else limit
    if not most or len(changed) <= most:
        return changed
    if not is_one:
        return changed[:most]
    chosen = {id(row) for row in sorted(changed, key=_weigh, reverse=True)[:most]}
    return [row for row in changed if id(row) in chosen]


def _weigh(row: PassRow) -> tuple[bool, int]:
    counts = row.left_only_count, row.right_only_count, row.changed_count
    is_rare = not {*row.differs_in} <= {STRUCTURE}
    return is_rare, sum(count or 0 for count in counts)


def _notes(rows: Sequence[PassRow], shown: Sequence[PassRow], side_count: int) -> Iterator[Line]:
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


def print_trace(directory: str, module: str | None, expression: str, options: RowOptions) -> None:
    """Print which pass made, and which removed, what an expression chooses."""
    tracer = Tracer(expression)
    before: Snapshot | None = None
    steps = list_steps(choose_compilation(directory, module))
    for step in track(steps, "passes", len(steps)):
        snapshot = read_snapshot(step, before)
        if before is None:
            tracer.start(snapshot)
        elif before.state is not snapshot.state:
            tracer.follow(snapshot, compare_in_turn(before, snapshot)[1])
        before = snapshot
    tracer.expect_words()
    facts = tracer.facts()
    document = Document(
        DIFF_TRACE,
        InputPaths(directory),
        scalars=facts,
        rows={"trace": tracer.rows()},
        lines=tuple(_trace_lines(facts)),
    )
    print_document(document, options)


def _trace_lines(facts: TraceFacts) -> Iterator[Line]:
    if facts.first_pass is None:
        yield Line("no dump has an instruction for which the expression holds")
        return
    yield Line(f"first appears {_write_pass(facts.first_pass, facts.first_step)}")
    if facts.last_pass is None:
        yield Line(f"{facts.left_count:,} of {facts.seen_count:,} are there to the end")
    elif facts.going_on_count < facts.seen_count:
        yield Line(f"the last is gone {_write_pass(facts.last_pass, facts.last_step)}")
    if facts.going_on_count:
        names = ", ".join(facts.going_on_opcodes)
        verb = plural(facts.going_on_count, "goes", "go")
        text = f"{facts.going_on_count:,} of {facts.seen_count:,} {verb} on as {names}"
        if facts.last_pass is not None and facts.going_on_count == facts.seen_count:
            text += f", the last {_write_pass(facts.last_pass, facts.last_step)}"
        yield Line(text)


def _write_pass(name: str, step: int | None) -> str:
    """Write which pass it was; without a step it is a text before or after all passes."""
    if step is None:
        return f"in the text {name}"
    link = "" if name.startswith(("between ", "before ")) else "by "
    return quote_braces(f"{link}{name} (step {step})")
