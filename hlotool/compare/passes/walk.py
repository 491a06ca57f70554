"""Which texts between passes does a compilation have, and which pass made each?

The program at one step: which figures does a walk compare?

What did a pass do to the instructions of one compilation, which keep their names?

How does a step differ from the one before it, or from the same step of another compilation?
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final, TypeAlias

from msgspec import Struct

from hlotool.compare.changes.instructions import compare_instructions
from hlotool.compare.changes.reasons import make_reasoner
from hlotool.compare.match.comparable import Terms
from hlotool.compare.match.pairing_steps import compare_structure
from hlotool.compare.match.signature import Signatures
from hlotool.compare.passes.answer import PassesFacts, PassOpcodeRow, PassRow
from hlotool.dump.files import DumpedProgram, DumpFile, PassText
from hlotool.hlo import Instruction, Module
from hlotool.hlo.opcodes import FREE
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program

Key: TypeAlias = tuple[str, str, int]
_START: Final = "pipeline-start"


class Step(Struct, frozen=True):
    """One text. `culprit` is the pass that ran since the text before, or what it ran between."""

    number: int | None
    name: tuple[str, str]  # the pipeline and the pass, as the file's name says them
    culprit: str
    pipeline: str  # of the culprit, '' where it is of none
    file: DumpFile


def list_steps(program: DumpedProgram) -> list[Step]:
    """List the texts of one program's passes, with those before and after all of them."""
    steps: list[Step] = []
    if program.before:
        steps.append(_end("before optimizations", program.before))
    for index, each in enumerate(program.passes):
        name = each.pipeline, _after(each)
        steps.append(Step(each.step, name, *find_culprit(program.passes, index), each.file))
    if program.after:
        steps.append(_end("after optimizations", program.after))
    return steps


def _end(name: str, file: DumpFile) -> Step:
    return Step(None, ("", name), name, "", file)


def _after(text: PassText) -> str:
    return text.after_pass.removeprefix("after_")


def find_culprit(passes: Sequence[PassText], index: int) -> tuple[str, str]:
    """Name what changed the module between the text before this one and this one, and its pipeline.

    That is the pass that the file's name says it follows. At the start of a pipeline there is
    none: the pipeline's passes are yet to run. If a pass of another pipeline opened it, that pass
    is running, and the next text of its pipeline names it: `spmd-partitioning` cleans up in a
    pipeline of its own, at whose start all is partitioned. Otherwise something ran between two
    pipelines (xla/hlo/pass/hlo_pass_pipeline.cc dumps at the start of each).
    """
    this = passes[index]
    if _after(this) != _START:
        return _after(this), this.pipeline
    known = {one.pipeline for one in passes[:index]} - {this.pipeline}
    for later in passes[index + 1 :]:
        if later.pipeline in known:
            if _after(later) != _START:
                return _after(later), later.pipeline
            known.discard(later.pipeline)  # begun anew: it was not open here
    before = passes[index - 1].pipeline if index else ""
    return (f"between {before} and {this.pipeline}" if before else f"before {this.pipeline}"), ""


def name_steps(steps: Sequence[Step]) -> list[Key]:
    """Name each step by its pass, and which run of it this is."""
    seen: Counter[tuple[str, str]] = Counter()
    keys = []
    for step in steps:
        keys.append((*step.name, seen[step.name]))
        seen[step.name] += 1
    return keys


def merge_keys(left: Sequence[Key], right: Sequence[Key]) -> list[Key]:
    """Put the keys of both into one order that both have."""
    known = set(left)
    behind: dict[Key | None, list[Key]] = {}
    last: Key | None = None
    for key in right:
        if key in known:
            last = key
        else:
            behind.setdefault(last, []).append(key)
    merged = list(behind.get(None, ()))
    for key in left:
        merged += [key, *behind.get(key, ())]
    return merged


_COPIES: Final = frozenset(("copy", "copy-start"))
_FUSIONS: Final = frozenset(("fusion", "fusion-start"))


class State:
    """What one text holds; steps with equal texts share it."""

    def __init__(self, program: Program, text: str) -> None:
        self.program = program
        self.text = text

    @property
    def module(self) -> Module:
        """The module."""
        return self.program.expect_module()

    @cached_property
    def texts(self) -> dict[str, tuple[Instruction, str]]:
        """Each instruction by its name, with its text up to the line of the next."""
        instructions = list(self.module.instructions())
        lines = [self.text.rfind("\n", 0, one.start) for one in instructions]
        ends = [*lines[1:], len(self.text)]
        return {
            one.full_name: (one, self.text[start : max(start, end)])
            for one, start, end in zip(instructions, lines, ends, strict=True)
        }

    @cached_property
    def opcodes(self) -> Counter[str]:
        """How many instructions of each opcode there are."""
        return Counter(one.opcode for one in self.module.instructions())

    @cached_property
    def collectives(self) -> tuple[int, int]:
        """How many there are, and their wire bytes."""
        totals = self.program.collective_totals
        return totals.count, totals.wire_bytes_per_run

    @cached_property
    def peak_bytes(self) -> int | None:
        """The estimated peak, None for a module that is not scheduled."""
        memory = self.program.memory
        return memory.figures.estimated.peak_bytes if memory and memory.figures.estimated else None

    @property
    def fusion_count(self) -> int:
        """How many fusions there are."""
        return sum(self.opcodes[opcode] for opcode in _FUSIONS)

    @property
    def copy_count(self) -> int:
        """How many copies there are, fused ones too."""
        return sum(self.opcodes[opcode] for opcode in _COPIES)


class Snapshot:
    """A step, and what its text holds."""

    def __init__(self, step: Step, state: State) -> None:
        self.step = step
        self.state = state


def read_snapshot(step: Step, before: Snapshot | None = None) -> Snapshot:
    """Read a step; a text that is the same as the one before is not read again.

    Raises what reading a module raises.
    """
    source = step.file.read()
    if before is not None and before.state.text == source.text:
        return Snapshot(step, before.state)
    module = parse_module(source)
    return Snapshot(step, State(Program(module.name, module), module.source.text))


Pair: TypeAlias = tuple[Instruction, Instruction]


class NamedChanges(Struct, frozen=True):
    """What differs between two texts of one compilation.

    `changed` are pairs that differ in more than notes such as metadata, `reworded` those whose
    text differs at all. `renamed` are old names and new where a pass did nothing but rename.
    """

    removed: tuple[Instruction, ...] = ()
    added: tuple[Instruction, ...] = ()
    changed: tuple[Pair, ...] = ()
    reworded: tuple[Pair, ...] = ()
    renamed: Mapping[str, str] = {}

    @property
    def differs(self) -> bool:
        """Whether the program differs, in more than names and notes."""
        return bool(self.removed or self.added or self.changed)


def compare_by_name(left: State, right: State, *, is_strict: bool = False) -> NamedChanges:
    """Compare two texts of one compilation.

    XLA gives each instruction a name of its own, and a pass that leaves it alone leaves it its
    name. What a pass makes anew, be it equal to what was there, counts as added.
    """
    comparer = _Comparer(is_strict=is_strict)
    here, there = left.texts, right.texts
    shared = [name for name in here if name in there]
    reworded = [
        (here[name][0], there[name][0]) for name in shared if here[name][1] != there[name][1]
    ]
    removed = [one for name, (one, _) in here.items() if name not in there]
    added = [one for name, (one, _) in there.items() if name not in here]
    changed = [pair for pair in reworded if comparer.differ(*pair)]
    if removed and len(removed) == len(added):
        pairs = comparer.find_renamed(
            [one for one, _ in here.values()], [one for one, _ in there.values()]
        )
        if pairs:
            names = {one.full_name: other.full_name for one, other in pairs}
            return NamedChanges(reworded=tuple(pairs), renamed=names)
    return NamedChanges(tuple(removed), tuple(added), tuple(changed), tuple(reworded))


class _Comparer:
    """Says of two instructions whether they differ in what counts."""

    def __init__(self, *, is_strict: bool) -> None:
        self.signatures = Signatures(Terms(is_strict=is_strict))

    def differ(self, left: Instruction, right: Instruction) -> bool:
        """Whether two instructions of one name differ, in operands and callees by their names."""
        if self._exact(left) != self._exact(right):
            return True
        return _names_of(left) != _names_of(right)

    def find_renamed(self, left: Sequence[Instruction], right: Sequence[Instruction]) -> list[Pair]:
        """Pair all instructions in their order, if they differ in nothing but names; else none."""
        if len(left) != len(right):
            return []
        pairs = list(zip(left, right, strict=True))
        partner = dict(pairs)
        for one, other in pairs:
            if self._exact(one) != self._exact(other):
                return []
            if tuple(map(partner.get, one.operands)) != other.operands:
                return []
            called = [each.root for each in one.called_computations()]
            if [partner.get(root) for root in called] != [
                each.root for each in other.called_computations()
            ]:
                return []
        return pairs

    def _exact(self, one: Instruction) -> int:
        return self.signatures.exact(one, ())


def _names_of(one: Instruction) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of what an instruction reads and calls, and whether it is the result."""
    operands = tuple(operand.name for operand in one.operands)
    called = tuple(each.name for each in one.called_computations())
    controls = tuple(each.name for each in one.control_predecessors())
    return (*operands, "root" if one.is_root else ""), (*called, "", *controls)


STRUCTURE: Final = "structure"
COLLECTIVES: Final = "collectives"
MEMORY: Final = "memory"
RESPECTS: Final = (STRUCTURE, COLLECTIVES, MEMORY)
_MOST_NAMED: Final = 3  # opcodes in a row of `passes`


def compare_in_turn(
    left: Snapshot, right: Snapshot, *, is_strict: bool = False
) -> tuple[PassRow, NamedChanges]:
    """Compare a step with the one before it. Raises what the analyses raise."""
    if left.state is right.state:
        return _row(right, left, (), (0, 0, 0)), NamedChanges()
    found = compare_by_name(left.state, right.state, is_strict=is_strict)
    counts = len(found.removed), len(found.added), len(found.changed)
    differs_in = _list_respects(left, right, is_other=found.differs)
    return _row(right, left, differs_in, counts), found


def compare_in_step(left: Snapshot, right: Snapshot, *, is_strict: bool = False) -> PassRow:
    """Compare a step with the same step of another compilation, whose names say nothing.

    Raises what the analyses raise.
    """
    if left.state.text == right.state.text:
        return _row(right, left, (), (0, 0, 0))
    structure = compare_structure(left.state.program, right.state.program, is_strict=is_strict)
    found = compare_instructions(structure, make_reasoner(structure))
    counts = found.left_only_count, found.right_only_count, found.changed_count
    differs_in = _list_respects(left, right, is_other=not structure.is_equal)
    return _row(right, left, differs_in, counts)


def first_row(snapshot: Snapshot) -> PassRow:
    """Make the row of the step that has none before it."""
    return _row(snapshot, None, ())


def lone_row(snapshot: Snapshot, label: str) -> PassRow:
    """Make the row of a step that only one of two compilations has."""
    return _row(snapshot, None, (f"only in {label}",))


def find_first(rows: Iterable[PassRow], respect: str) -> PassRow | None:
    """Return the first row that differs in a respect, None if none does."""
    return next((row for row in rows if respect in row.differs_in), None)


def find_parting(rows: Sequence[PassRow]) -> PassesFacts:
    """Say where two compilations part: the last dump before any difference, and the first after.

    What only one of them ran is a difference as well.
    """
    place = next((index for index, row in enumerate(rows) if row.differs_in), None)
    last = rows[-1] if place is None else rows[place - 1] if place else None
    first = None if place is None else rows[place]
    return PassesFacts(
        last.path if last else None,
        first.path if first else None,
        first.pass_name if first else None,
    )


def count_opcodes(left: Snapshot, right: Snapshot) -> list[PassOpcodeRow]:
    """List the opcodes of which two steps have not equally many, largest difference first."""
    here, there = left.state.opcodes, right.state.opcodes
    if here == there:
        return []
    step = right.step
    rows = [
        PassOpcodeRow(
            step.number, step.culprit, opcode, here[opcode], there[opcode],
            there[opcode] - here[opcode],
        )
        for opcode in {**here, **there}
        if here[opcode] != there[opcode]
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (-abs(row.delta), row.opcode))


def _list_respects(left: Snapshot, right: Snapshot, *, is_other: bool) -> tuple[str, ...]:
    """List in what two steps differ; `is_other` says whether they do in structure."""
    here, there = left.state, right.state
    what = []
    if is_other:
        what.append(STRUCTURE)
    if here.collectives != there.collectives:
        what.append(COLLECTIVES)
    if here.peak_bytes != there.peak_bytes and None not in {here.peak_bytes, there.peak_bytes}:
        what.append(MEMORY)
    return tuple(what)


def _row(
    right: Snapshot,
    left: Snapshot | None,
    differs_in: tuple[str, ...],
    counts: tuple[int, int, int] | None = None,
) -> PassRow:
    left_only, right_only, changed = counts or (None, None, None)
    step, now, before = right.step, right.state, left.state if left else None
    return PassRow(
        step=step.number,
        pass_name=step.culprit,
        pipeline=step.pipeline,
        path=step.file.path,
        differs_in=differs_in,
        left_instruction_count=before.opcodes.total() if before else None,
        right_instruction_count=now.opcodes.total(),
        left_only_count=left_only,
        right_only_count=right_only,
        changed_count=changed,
        left_collective_count=before.collectives[0] if before else None,
        right_collective_count=now.collectives[0],
        left_wire_bytes=before.collectives[1] if before else None,
        right_wire_bytes=now.collectives[1],
        left_fusion_count=before.fusion_count if before else None,
        right_fusion_count=now.fusion_count,
        left_copy_count=before.copy_count if before else None,
        right_copy_count=now.copy_count,
        left_peak_bytes=before.peak_bytes if before else None,
        right_peak_bytes=now.peak_bytes,
        opcodes=_name_opcodes(count_opcodes(left, right)) if left else (),
    )


def _name_opcodes(rows: Sequence[PassOpcodeRow]) -> tuple[str, ...]:
    """Name a few, those that do work first."""
    ranked = sorted(rows, key=lambda row: row.opcode in FREE)
    named = [f"{row.opcode} {row.delta:+,}" for row in ranked[:_MOST_NAMED]]
    rest = len(rows) - len(named)
    return (*named, f"{rest} more") if rest else tuple(named)
