"""`hlotool diff --passes`: what each pass changed, or where two compilations part.

`--trace EXPR` follows the instructions for which an expression holds: which pass made them, and
which removed them. Only the state after one pass is kept at a time, of each compilation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field

from hlotool.commands.diff.answers import Asked
from hlotool.commands.diff.text import count_left_out, say_first, say_parting, say_slower, say_trace
from hlotool.commands.shared.output import print_document
from hlotool.commands.shared.request import track
from hlotool.compare import passes
from hlotool.compare.pass_times import find_slower, read_runs
from hlotool.compare.survivors import DIFF_PASSES, Survivors
from hlotool.compare.trace import DIFF_TRACE, Tracer
from hlotool.dump.budget import ByteBudget
from hlotool.dump.directory import choose_programs, collect_programs
from hlotool.dump.files import DumpedProgram
from hlotool.dump.find import parse_module_pattern
from hlotool.dump.siblings import find_pass_metadata
from hlotool.errors import InputError, NothingCheckedError, UsageError
from hlotool.table import Document, InputPaths
from hlotool.table.words import list_some

_MOST_LISTED: Final = 8
_MOST_STEPS: Final = 15  # so that the answer finds room on a screen


class _Walk(Struct):
    """The rows of a walk."""

    rows: list[passes.PassRow] = field(default_factory=list)
    opcodes: list[passes.PassOpcodeRow] = field(default_factory=list)
    survivors: Survivors = field(default_factory=Survivors)


def print_passes(directories: tuple[str, ...], asked: Asked) -> bool:
    """Walk the passes of one compilation, or of two in step, and name where they change."""
    budget = asked.unpacking
    programs = [choose_compilation(each, asked.module, budget) for each in directories]
    walks = list(map(passes.list_steps, programs))
    is_strict, options = asked.compared.is_strict, asked.options
    if len(walks) == 1:
        walk, facts = _walk(walks[0], is_strict=is_strict), passes.PassesFacts()
        lines = list(say_first(walk.rows, "first changed", "by"))
    else:
        walk = _walk_both(walks[0], walks[1], is_strict=is_strict)
        last, first = passes.find_parting(walk.rows)
        facts = passes.PassesFacts(
            last.path if last else None,
            first.path if first else None,
            first.pass_name if first else None,
        )
        slower = find_slower(*(read_runs(find_pass_metadata(one, budget)) for one in programs))
        lines = [*say_slower(slower, options.units), say_parting(last, first)]
        lines += say_first(walk.rows, "first differs", "after")
    shown, survivors = walk.rows, walk.survivors.rows()
    if options.wants_overview:
        shown = _choose_steps(walk.rows, options.limit, is_one=len(walks) == 1)
    document = Document(
        DIFF_PASSES,
        InputPaths(directories[-1]),
        scalars=facts,
        rows={"passes": shown, "survivors": survivors, "opcodes": walk.opcodes},
        shown=(*(("survivors",) if survivors else ()), "passes"),
        lines=tuple(lines),
        notes=tuple(count_left_out(walk.rows, shown, len(walks))),
    )
    print_document(document, options)
    return any(row.differs_in for row in walk.rows)


def choose_compilation(
    directory: str, module: str | None, budget: ByteBudget, *, is_timed: bool = False
) -> DumpedProgram:
    """Return the one compilation of a directory whose passes were dumped, or timed."""
    programs, _ = collect_programs(directory, budget=budget)
    pattern = parse_module_pattern(module)
    matching = choose_programs(directory, programs, pattern) if pattern else programs
    found = [one for one in matching if one.passes]
    found = found or [one for one in matching if is_timed and find_pass_metadata(one, budget)]
    if not matching:
        raise NothingCheckedError(f"{directory}: --module {module!r} matches no module.")
    if not found:
        raise InputError(
            f"{directory}: dumps of passes are missing; add --xla_dump_hlo_pass_re=.* to "
            "XLA_FLAGS and compile again."
        )
    if len(found) > 1:
        names = list_some(sorted({one.name for one in found}), _MOST_LISTED, "")
        raise UsageError(f"--passes reads one module; choose it with --module: {names}.")
    return found[0]


def _walk(steps: Sequence[passes.Step], *, is_strict: bool) -> _Walk:
    """Compare every step with the one before."""
    walk = _Walk()
    for before, snapshot in passes.read_in_turn(track(steps, "passes", len(steps))):
        if before is None:
            walk.rows.append(passes.lone_row(snapshot))
        else:
            walk.rows.append(passes.compare_in_turn(before, snapshot, is_strict=is_strict)[0])
            walk.opcodes += passes.count_opcodes(before, snapshot)
    return walk


def _walk_both(old: Sequence[passes.Step], new: Sequence[passes.Step], *, is_strict: bool) -> _Walk:
    """Compare steps of the same pass; what only one side ran stands where it ran."""
    walk = _Walk()
    here = dict(zip(passes.name_steps(old), old, strict=True))
    there = dict(zip(passes.name_steps(new), new, strict=True))
    before: passes.Snapshot | None = None
    after: passes.Snapshot | None = None
    for key in track(passes.merge_keys(list(here), list(there)), "passes", len({*here, *there})):
        if key in here:
            before = passes.read_snapshot(here[key], before)
        if key in there:
            after = passes.read_snapshot(there[key], after)
        if before and after:  # a pass that only one side ran can be what they part over
            row, found = passes.compare_in_step(before, after, is_strict=is_strict)
            walk.survivors.add(before, after, here.get(key) or there[key], found)
        if key in here and key in there and before and after:
            walk.rows.append(row)
            walk.opcodes += passes.count_opcodes(before, after)
        elif key in here and before:
            walk.rows.append(passes.lone_row(before, "OLD"))
        elif after:
            walk.rows.append(passes.lone_row(after, "NEW"))
    return walk


def _choose_steps(
    rows: Sequence[passes.PassRow], limit: int | None, *, is_one: bool
) -> list[passes.PassRow]:
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


def _weigh(row: passes.PassRow) -> tuple[bool, int]:
    counts = row.old_only_count, row.new_only_count, row.changed_count
    return not {*row.differs_in} <= {passes.STRUCTURE}, sum(count or 0 for count in counts)


def print_trace(directory: str, asked: Asked, expression: str) -> None:
    """Print which pass made, and which removed, what an expression chooses."""
    tracer = Tracer(expression)
    steps = passes.list_steps(choose_compilation(directory, asked.module, asked.unpacking))
    for before, snapshot in passes.read_in_turn(track(steps, "passes", len(steps))):
        if before is None:
            tracer.start(snapshot)
        elif before.state is not snapshot.state:
            tracer.follow(snapshot, passes.compare_in_turn(before, snapshot)[1])
    tracer.expect_words()
    facts = tracer.facts()
    rows, lines = {"trace": tracer.rows()}, tuple(say_trace(facts))
    document = Document(DIFF_TRACE, InputPaths(directory), scalars=facts, rows=rows, lines=lines)
    print_document(document, asked.options)
