"""What is an instruction to someone who reads a program as it runs?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.collectives.overlap.pricing import Pricing
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.cost import CostModel
from hlotool.analysis.graph.executions import Executions
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction
from hlotool.ir.module import Module
from hlotool.ir.opcodes import (
    ASYNC_DONES,
    COLLECTIVES,
    CONTROL_FLOW,
    DEVICE_NUMBERS,
    FREE,
    LATER_STEPS,
    PASSES_ON,
    SLICES,
)

StepKind: TypeAlias = Literal[
    "loop", "conditional", "branch", "call", "repeat", "collective", "wait", "compute", "memory"
]

_RUNS_OTHERS: Final[Mapping[str, StepKind]] = {
    "while": "loop",
    "conditional": "conditional",
    "call": "call",
    "async-start": "call",
}
_PASSING: Final = (PASSES_ON | FREE | DEVICE_NUMBERS | LATER_STEPS | {"constant"}) - CONTROL_FLOW
_MOVING: Final = SLICES | COLLECTIVES | {"parameter", "copy"}


class OutlineEvidence(Struct, frozen=True, dict=True):
    """The analyses of one module that an outline is made from."""

    module: Module
    executions: Executions
    costs: CostModel
    collectives: Sequence[CollectiveRow]
    pricing: Pricing

    @cached_property
    def begins(self) -> Mapping[str, CollectiveRow]:
        """The collectives by the instruction with which each begins."""
        return {row.name: row for row in self.collectives}

    @cached_property
    def ends(self) -> Mapping[str, CollectiveRow]:
        """The asynchronous collectives by the instruction with which each ends."""
        return {row.members[-1]: row for row in self.collectives if len(row.members) > 1}

    @cached_property
    def waited(self) -> frozenset[str]:
        """The collectives whose end is an instruction that waits for it, where they begin.

        Others end in a fusion that carries them on, or in another computation.
        """
        asked = {*self.ends, *(row.name for row in self.ends.values())}
        named: dict[str, Instruction] = {}
        for one in self.module.instructions():
            if one.full_name in asked:
                named.setdefault(one.full_name, one)
        found = set()
        for name, row in self.ends.items():
            done, begin = named.get(name), named.get(row.name)
            if done is not None and begin is not None and done.opcode in ASYNC_DONES:
                found |= {row.name} if done.computation is begin.computation else set()
        return frozenset(found)

    @cached_property
    def trips(self) -> Mapping[Instruction, int | None]:
        """The trip counts of loops, None where unknown."""
        return {loop.instruction: loop.trip_count for loop in self.executions.loops}


def find_kind(instruction: Instruction, evidence: OutlineEvidence) -> StepKind | None:
    """Return what an instruction is; None for names, views, and copies that run beside the work.

    Work without arithmetic is `memory`.
    """
    name, opcode = instruction.full_name, instruction.opcode
    if name in evidence.begins:
        return "collective"
    if name in evidence.ends and opcode in ASYNC_DONES:
        return "wait"
    if opcode in _RUNS_OTHERS:
        called = instruction.called_computations()
        is_run = any(one in evidence.executions.counts for one in called)
        is_move = opcode == "async-start" and all(map(_only_moves, called))
        return _RUNS_OTHERS[opcode] if is_run and not is_move else None
    if opcode in _PASSING or opcode in ASYNC_DONES:
        return None
    cost = evidence.costs.of(instruction)
    is_unknown = cost.unknown_custom_call_count > 0
    return "compute" if cost.total_flops or cost.transcendentals or is_unknown else "memory"


def _only_moves(computation: Computation) -> bool:
    """Whether what is started only copies, or communicates: a lane beside the work."""
    return all(one.opcode in _MOVING for one in computation.instructions)
