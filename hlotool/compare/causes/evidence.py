"""What the finders of causes look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from hlotool.analysis.origin.origin import find_origin
from hlotool.compare.blocks.collectives import CollectiveChange
from hlotool.compare.blocks.fold import InstructionChange
from hlotool.compare.blocks.header import HeaderChange
from hlotool.compare.blocks.memory_pairs import ValuePair, pair_rows
from hlotool.compare.blocks.metrics import MetricRow
from hlotool.compare.blocks.reasons import Reasoner
from hlotool.compare.causes.input_program import InputPair
from hlotool.compare.causes.op_names import list_op_names
from hlotool.ir import Instruction, Module
from hlotool.program.program import Program


class Evidence:
    """Two programs that have modules, what their comparison lists, and what XLA was given."""

    def __init__(
        self,
        programs: tuple[Program, Program],
        reasoner: Reasoner,
        inputs: InputPair,
        metrics: Mapping[str, MetricRow],
        *,
        collectives: Sequence[CollectiveChange],
        instructions: Sequence[InstructionChange],
        header: Sequence[HeaderChange],
    ) -> None:
        self.left, self.right = programs
        self.pairs = reasoner.pairs
        self._reasoner = reasoner
        self.inputs = inputs
        self.metrics = metrics
        self.collectives = collectives
        self.instructions = instructions
        self.header = header

    @property
    def modules(self) -> tuple[Module, Module]:
        """Both modules."""
        return self.left.expect_module(), self.right.expect_module()

    @cached_property
    def op_names(self) -> tuple[frozenset[str], frozenset[str]]:
        """All op_names of both sides: of what XLA was given where both are there."""
        inputs = self.inputs
        if inputs.is_whole:
            left, right = inputs.texts
        else:
            left, right = (module.source.text for module in self.modules)
        return list_op_names(left), list_op_names(right)

    @cached_property
    def values(self) -> Sequence[ValuePair]:
        """The values that hold memory at either peak, those that are the same in pairs."""
        return pair_rows(self.left.peak_rows, self.right.peak_rows, self.pairs)

    def have_same_operands(self, left: Instruction, right: Instruction) -> bool:
        """Say whether partners have partners for operands."""
        return all(one.kind != "operands" for one in self._reasoner.reasons(left, right))

    def has_same_opcode(self, one: Instruction) -> bool:
        """Say whether an instruction of either side has a partner that is what it is."""
        partner = self.pairs.get(one) or self._reasoner.back.get(one)
        return partner is not None and partner.opcode == one.opcode

    def delta(self, path: str) -> float:
        """Return by how much a metric differs, 0 where a side does not know it."""
        row = self.metrics.get(path)
        return (row.delta if row else None) or 0


def list_executed(program: Program) -> Iterator[tuple[Instruction, int]]:
    """Yield what runs on its own, with how often it does in one run, at least."""
    executions = program.executions
    for computation in executions.executed:
        runs = executions.lower_bound(computation)
        for one in computation.instructions:
            yield one, runs


def find_inner_scope(one: Instruction) -> str | None:
    """Return the scope of an instruction, or of the last inside a fusion that has one."""
    body = one.callee() if one.opcode == "fusion" else None
    return find_origin(one, reversed(body.instructions) if body else ()).scope
