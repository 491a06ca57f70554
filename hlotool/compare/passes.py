"""The steps of a compilation, what differs between two, and what the answer to it holds.

Steps are the texts between passes, each with the pass that made it. A step is compared with the one
before it by the names of instructions, which a pass leaves to what it leaves alone; with the same
step of another compilation, whose names say nothing, as programs are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct

from hlotool.compare.causes.cause import list_executed
from hlotool.compare.changes.instructions import InstructionDiff, compare_instructions
from hlotool.compare.changes.reasons import Reasoner
from hlotool.compare.match.comparable import Terms
from hlotool.compare.match.signature import Signatures
from hlotool.compare.match.structure import compare_structure
from hlotool.dump.files import DumpedProgram, DumpFile
from hlotool.dump.names import DumpFileName, Stage
from hlotool.hlo import Instruction
from hlotool.hlo.opcodes import FREE, OPCODES
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.table import COUNT, NUMBER, RowList, column, figure

_STEP: Final = "XLA's number of the dump; null before and after all passes"
_SENT: Final = "their bytes sent per step, "
_MADE: Final = "bytes of all arrays that instructions outside fusions make, "
_PEAK: Final = "estimated peak {}; null until scheduled"


def _count(meaning: str, heading: str) -> Meta:
    return column(meaning, COUNT, heading=heading, null_text="")


_AFTER: Final = _count("instructions after the pass, or in NEW", "instructions")
_REMOVED: Final = _count("instructions that are gone after it", "removed")
_ADDED: Final = _count("instructions that are new after it", "added")
_CHANGED: Final = _count("instructions that it changed in place", "changed")


class PassRow(Struct, frozen=True):
    """A dump, and how it differs from the one before, or from that of another compilation.

    `differs_in` are the respects in which it does. Counts are of instructions, bytes sent per
    device and run; peaks are estimates, known once the module is scheduled.
    """

    step: Annotated[int | None, column(_STEP, NUMBER, null_text="")]
    pass_name: Annotated[
        str, column("the pass before this dump, or the passes around it", heading="by")
    ]
    pipeline: Annotated[str, column("the pipeline of that pass, blank without one")]
    path: Annotated[str, figure("the dump")]
    differs_in: Annotated[
        tuple[str, ...],
        column(
            "differences: structure, collectives, memory; or the only side that has it",
            heading="differs",
        ),
    ]
    old_instruction_count: Annotated[
        int | None, figure("instructions before the pass, or in OLD")
    ] = None
    new_instruction_count: Annotated[int | None, _AFTER] = None
    old_only_count: Annotated[int | None, _REMOVED] = None
    new_only_count: Annotated[int | None, _ADDED] = None
    changed_count: Annotated[int | None, _CHANGED] = None
    old_collective_count: Annotated[int | None, figure("collectives before")] = None
    new_collective_count: Annotated[
        int | None, column("collectives after", heading="collectives")
    ] = None
    old_sent_bytes: Annotated[int | None, figure(_SENT + "before")] = None
    new_sent_bytes: Annotated[int | None, column(_SENT + "after", heading="sent/step")] = None
    old_fusion_count: Annotated[int | None, figure("fusions before")] = None
    new_fusion_count: Annotated[int | None, column("fusions after", heading="fusions")] = None
    old_copy_count: Annotated[int | None, figure("copies before")] = None
    new_copy_count: Annotated[int | None, column("copies after", heading="copies")] = None
    old_peak_bytes: Annotated[int | None, figure(_PEAK.format("before"))] = None
    new_peak_bytes: Annotated[
        int | None, column(_PEAK.format("after"), heading="peak (estimate)", null_text="")
    ] = None
    old_result_bytes: Annotated[int | None, figure(_MADE + "before")] = None
    new_result_bytes: Annotated[
        int | None, figure(_MADE + "after", heading="arrays", null_text="", is_summed=False)
    ] = None
    constant_bytes: Annotated[
        int | None,
        figure("bytes of constants that it made, or renamed", heading="constants", null_text=""),
    ] = None
    own_seconds: Annotated[
        float | None,
        figure(
            "by `hlotool passes`: its time, without passes inside it",
            heading="time",
            null_text="",
            is_summed=True,
        ),
    ] = None
    opcodes: Annotated[
        tuple[str, ...],
        column(
            "opcodes whose count it changed, those with work first; `--rows opcodes` "
            "lists every one"
        ),
    ] = ()

    @property
    def growth(self) -> int:
        """By how many instructions there are more after the pass."""
        return (self.new_instruction_count or 0) - (self.old_instruction_count or 0)


class PassOpcodeRow(Struct, frozen=True):
    """How many instructions of one opcode there are before and after a pass, where that differs."""

    step: Annotated[int | None, column(_STEP, NUMBER, null_text="")]
    pass_name: Annotated[str, column("the pass, as in `passes`", heading="by")]
    opcode: Annotated[str, column("the opcode", words=OPCODES)]
    old_count: Annotated[int, column("instructions before it, or in OLD", heading="before")]
    new_count: Annotated[int, column("instructions after it, or in NEW", heading="after")]
    delta: Annotated[int, column("new minus old", COUNT, heading="difference", is_signed=True)]


class PassesFacts(Struct, frozen=True):
    """Where two compilations part; null where one is walked, or where there is no such dump."""

    last_identical_path: Annotated[
        str | None, figure("of two compilations: NEW's last dump before any difference")
    ] = None
    first_different_path: Annotated[
        str | None, figure("of two compilations: NEW's first dump that differs from OLD's")
    ] = None
    first_different_pass: Annotated[str | None, figure("the pass that ran before that dump")] = None


PASSES: Final = RowList(
    "passes",
    PassRow,
    "dumps between passes, in order; XLA dumps after those that changed something",
    has_total=False,
    limit=0,
    screen="step,pass_name,differs_in,own_seconds,new_instruction_count,old_only_count,"
    "new_only_count,changed_count,new_peak_bytes,new_result_bytes,constant_bytes",
    wide_screen="pipeline,new_collective_count,opcodes",
)
PASS_OPCODES: Final = RowList(
    "opcodes",
    PassOpcodeRow,
    "changes of each pass to the number of instructions per opcode",
    key="opcode",
    has_total=False,
    limit=0,
)
_Key: TypeAlias = tuple[str, str, int]
START: Final = "pipeline-start"


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
    if before := program.find_text(Stage.BEFORE):
        name = "before optimizations"
        steps.append(Step(None, ("", name), name, "", before))
    names = [each.name for each in program.passes]
    for index, (own, each) in enumerate(zip(names, program.passes, strict=True)):
        key = own.pipeline, _after(own)
        steps.append(Step(own.step, key, *_name_culprit(names, index), each.file))
    if after := program.find_text(Stage.AFTER):
        name = "after optimizations"
        steps.append(Step(None, ("", name), name, "", after))
    return steps


def _after(text: DumpFileName) -> str:
    return text.after_pass.removeprefix("after_")


def _name_culprit(passes: Sequence[DumpFileName], index: int) -> tuple[str, str]:
    """Name what changed the module between the text before this one and this one, and its pipeline.

    That is the pass that the file's name says it follows. At the start of a pipeline there is
    none: the pipeline's passes are yet to run. If a pass of another pipeline opened it, that pass
    is running, and the next text of its pipeline names it: `spmd-partitioning` cleans up in a
    pipeline of its own, at whose start all is partitioned. Otherwise something ran between two
    pipelines (xla/hlo/pass/hlo_pass_pipeline.cc dumps at the start of each).
    """
    this = passes[index]
    if _after(this) != START:
        return _after(this), this.pipeline
    known = {one.pipeline for one in passes[:index]} - {this.pipeline}
    for later in passes[index + 1 :]:
        if later.pipeline in known:
            if _after(later) != START:
                return _after(later), later.pipeline
            known.discard(later.pipeline)  # begun anew: it was not open here
    before = passes[index - 1].pipeline if index else ""
    return (f"between {before} and {this.pipeline}" if before else f"before {this.pipeline}"), ""


def name_steps(steps: Sequence[Step]) -> list[_Key]:
    """Name each step by its pass, and which run of it this is."""
    seen: Counter[tuple[str, str]] = Counter()
    keys = []
    for step in steps:
        keys.append((*step.name, seen[step.name]))
        seen[step.name] += 1
    return keys


def merge_keys(old: Sequence[_Key], new: Sequence[_Key]) -> list[_Key]:
    """Put the keys of both into one order that both have."""
    known = set(old)
    behind: dict[_Key | None, list[_Key]] = {}
    last: _Key | None = None
    for key in new:
        if key in known:
            last = key
        else:
            behind.setdefault(last, []).append(key)
    merged = list(behind.get(None, ()))
    for key in old:
        merged += [key, *behind.get(key, ())]
    return merged


class State:
    """What one text holds; steps with equal texts share it."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.module = program.expect_module()
        self.text = self.module.source.text

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
    def figures(self) -> Mapping[str, int | None]:
        """What a row has of each side; the peak is an estimate, None until scheduled."""
        totals, memory = self.program.collective_totals, self.program.memory
        estimated = memory.figures.estimated if memory else None
        return {
            "instruction_count": self.opcodes.total(),
            "collective_count": totals.count,
            "sent_bytes": totals.sent_bytes_per_step,
            "fusion_count": self.opcodes["fusion"] + self.opcodes["fusion-start"],
            "copy_count": self.opcodes["copy"] + self.opcodes["copy-start"],  # fused ones too
            "peak_bytes": estimated.peak_bytes if estimated else None,
            "result_bytes": sum(
                one.shape.size_bytes or 0
                for one, _ in list_executed(self.program)
                if one.opcode not in FREE
            ),
        }


class Snapshot(Struct, frozen=True, eq=False):
    """A step, and what its text holds."""

    step: Step
    state: State


def read_snapshot(step: Step, before: Snapshot | None = None) -> Snapshot:
    """Read a step; a text that is the same as the one before is not read again.

    Raises what reading a module raises.
    """
    source = step.file.read()
    if before is not None and before.state.text == source.text:
        return Snapshot(step, before.state)
    module = parse_module(source)
    return Snapshot(step, State(Program(module.name, module)))


def read_in_turn(steps: Iterable[Step]) -> Iterator[tuple[Snapshot | None, Snapshot]]:
    """Yield each step behind the one before it, of which no more are kept."""
    before: Snapshot | None = None
    for step in steps:
        snapshot = read_snapshot(step, before)
        yield before, snapshot
        before = snapshot


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


def compare_by_name(old: State, new: State, *, is_strict: bool = False) -> NamedChanges:
    """Compare two texts of one compilation.

    XLA gives each instruction a name of its own, and a pass that leaves it alone leaves it its
    name. What a pass makes anew, be it equal to what was there, counts as added.
    """
    exact = partial(Signatures(Terms(is_strict=is_strict)).exact, callees=())
    here, there = old.texts, new.texts
    removed = [one for name, (one, _) in here.items() if name not in there]
    added = [one for name, (one, _) in there.items() if name not in here]
    # A pass that renames all would otherwise have removed everything, and added it again.
    if removed and len(removed) == len(added):
        every = [[one for one, _ in texts.values()] for texts in (here, there)]
        pairs = _pair_renamed(every[0], every[1], exact)
        if pairs:
            names = {one.full_name: other.full_name for one, other in pairs}
            return NamedChanges(reworded=tuple(pairs), renamed=names)
    reworded, changed = [], []
    for name in (name for name in here if name in there):
        (one, before), (other, after) = here[name], there[name]
        if before != after:
            reworded.append((one, other))
            if exact(one) != exact(other) or _names_of(one) != _names_of(other):
                changed.append((one, other))
    return NamedChanges(tuple(removed), tuple(added), tuple(changed), tuple(reworded))


def _pair_renamed(
    old: Sequence[Instruction], new: Sequence[Instruction], exact: Callable[[Instruction], int]
) -> list[Pair]:
    """Pair all instructions in their order, if they differ in nothing but names; else none."""
    if len(old) != len(new):
        return []
    pairs = list(zip(old, new, strict=True))
    counterpart = dict(pairs)
    for one, other in pairs:
        called = [counterpart.get(each.root) for each in one.called_computations()]
        if (
            exact(one) != exact(other)
            or tuple(map(counterpart.get, one.operands)) != other.operands
            or called != [each.root for each in other.called_computations()]
        ):
            return []
    return pairs


def _names_of(one: Instruction) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of what an instruction reads and calls, and whether it is the result."""
    operands = tuple(operand.name for operand in one.operands)
    called = tuple(each.name for each in one.called_computations())
    controls = tuple(each.name for each in one.control_predecessors())
    return (*operands, "root" if one.is_root else ""), (*called, "", *controls)


STRUCTURE: Final = "structure"
_COLLECTIVES: Final = "collectives"
MEMORY: Final = "memory"
RESPECTS: Final = (STRUCTURE, _COLLECTIVES, MEMORY)
_MOST_NAMED: Final = 3  # opcodes in a row of `passes`


def compare_in_turn(
    old: Snapshot, new: Snapshot, *, is_strict: bool = False
) -> tuple[PassRow, NamedChanges]:
    """Compare a step with the one before it. Raises what the analyses raise."""
    if old.state is new.state:
        return _row(new, old, (), (0, 0, 0)), NamedChanges()
    found = compare_by_name(old.state, new.state, is_strict=is_strict)
    counts = len(found.removed), len(found.added), len(found.changed)
    return _row(new, old, _list_respects(old, new, is_other=found.differs), counts), found


def compare_in_step(
    old: Snapshot, new: Snapshot, *, is_strict: bool = False
) -> tuple[PassRow, InstructionDiff | None]:
    """Compare a step with the same step of another compilation, whose names say nothing.

    Returns all differences as well, None where the texts are equal. Raises what the analyses raise.
    """
    if old.state.text == new.state.text:
        return _row(new, old, (), (0, 0, 0)), None
    structure = compare_structure(old.state.program, new.state.program, is_strict=is_strict)
    found = compare_instructions(structure, Reasoner(structure), is_folded=False)
    counts = found.old_only_count, found.new_only_count, found.changed_count
    return _row(new, old, _list_respects(old, new, is_other=not structure.is_equal), counts), found


def lone_row(snapshot: Snapshot, label: str = "") -> PassRow:
    """Make the row of a step that has none before it, or that one of two compilations has alone."""
    return _row(snapshot, None, (f"only in {label}",) if label else ())


def find_first(rows: Iterable[PassRow], respect: str) -> PassRow | None:
    """Return the first row that differs in a respect, None if none does."""
    return next((row for row in rows if respect in row.differs_in), None)


def find_parting(rows: Sequence[PassRow]) -> tuple[PassRow | None, PassRow | None]:
    """Return where two compilations part: the last dump before any difference, the first after.

    What only one of them ran is a difference as well.
    """
    place = next((index for index, row in enumerate(rows) if row.differs_in), len(rows))
    return (rows[place - 1] if place else None), (rows[place] if place < len(rows) else None)


def count_opcodes(old: Snapshot, new: Snapshot) -> list[PassOpcodeRow]:
    """List the opcodes of which two steps have not equally many, largest difference first."""
    here, there = old.state.opcodes, new.state.opcodes
    if here == there:
        return []
    sides = ((opcode, here[opcode], there[opcode]) for opcode in {**here, **there})
    rows = [
        PassOpcodeRow(new.step.number, new.step.culprit, opcode, before, after, after - before)
        for opcode, before, after in sides
        if before != after
    ]
    return sorted(rows, key=lambda row: (-abs(row.delta), row.opcode))


def _list_respects(old: Snapshot, new: Snapshot, *, is_other: bool) -> tuple[str, ...]:
    """List in what two steps differ; `is_other` says whether they do in structure."""
    here, there = old.state.figures, new.state.figures
    sent = "collective_count", "sent_bytes"
    is_sent_otherwise = any(here[name] != there[name] for name in sent)
    peaks = {here["peak_bytes"], there["peak_bytes"]} - {None}
    is_different = is_other, is_sent_otherwise, len(peaks) > 1
    return tuple(what for what, differs in zip(RESPECTS, is_different, strict=True) if differs)


def _row(
    new: Snapshot,
    old: Snapshot | None,
    differs_in: tuple[str, ...],
    counts: tuple[int, int, int] | None = None,
) -> PassRow:
    old_only, new_only, changed = counts or (None, None, None)
    step, before = new.step, old.state.figures if old else {}
    opcodes = count_opcodes(old, new) if old else []
    ranked = sorted(opcodes, key=lambda row: row.opcode in FREE)  # those that do work first
    named = [f"{row.opcode} {row.delta:+,}" for row in ranked[:_MOST_NAMED]]
    rest = [f"{len(ranked) - _MOST_NAMED} more"] if len(ranked) > _MOST_NAMED else []
    return PassRow(
        step=step.number,
        pass_name=step.culprit,
        pipeline=step.pipeline,
        path=step.file.path,
        differs_in=differs_in,
        old_only_count=old_only,
        new_only_count=new_only,
        changed_count=changed,
        opcodes=(*named, *rest),
        **{f"old_{name}": value for name, value in before.items()},
        **{f"new_{name}": value for name, value in new.state.figures.items()},
    )
