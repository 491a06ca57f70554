"""XLA's sums to the last bit: our figures, added in float32 in the order XLA visits them.

HloCostAnalysis keeps every sum as a float and visits a computation depth-first from its
unused instructions, then from its root (HloComputation::Accept). Whatever does not come out
equal is in `EXCEPTIONS`, with the reason.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import pytest
from cost_cases import Case, list_dumps

from hlotool.analysis.cost.arithmetic import count_work, list_applications
from hlotool.analysis.graph.calls import read_call_graph
from hlotool.hlo import Computation, Instruction

EXCEPTIONS: dict[str, str] = {}

DUMPS = list_dumps()
BRANCH_KEYS = ("true_computation", "false_computation", "branch_computations")


def f32(value: float) -> float:
    """Round to float32; a double holds the sum or product of two floats well enough for that."""
    (rounded,) = struct.unpack("f", struct.pack("f", value))
    return float(rounded)


@dataclass(frozen=True)
class Sums:
    """Flops and transcendentals of a computation, as XLA's floats."""

    flops: float = 0.0
    transcendentals: float = 0.0

    def plus(self, other: Sums, times: int = 1) -> Sums:
        factor = f32(times)
        return Sums(
            f32(self.flops + f32(other.flops * factor)),
            f32(self.transcendentals + f32(other.transcendentals * factor)),
        )


def visit(computation: Computation) -> list[Instruction]:
    """Order instructions as HloInstruction::Accept visits them."""
    by_name = {one.name: one for one in computation.instructions}
    before = {
        one: [by_name[name.strip().removeprefix("%")] for name in text.strip("{}").split(",")]
        for one in computation.instructions
        if (text := one.attributes.get("control-predecessors", ""))
    }
    awaited = {one for names in before.values() for one in names}
    order: dict[Instruction, None] = {}
    roots = [
        one
        for one in computation.instructions
        if not one.users and one not in awaited and one is not computation.root
    ]
    for root in [*roots, computation.root]:
        stack = [root]
        opened: set[Instruction] = set()
        while stack:
            instruction = stack[-1]
            if instruction in order or instruction in opened:
                order.setdefault(stack.pop())
                continue
            opened.add(instruction)
            children = [*instruction.operands, *before.get(instruction, ())]
            stack.extend(one for one in reversed(children) if one not in order)
    return list(order)


def sum_up(computation: Computation, done: dict[Computation, Sums]) -> Sums:
    total = Sums()
    for instruction in visit(computation):
        total = total.plus(sums_of(instruction, done))
    return total


def sums_of(instruction: Instruction, done: dict[Computation, Sums]) -> Sums:
    if instruction.opcode == "custom-call":
        return Sums(-1.0)
    if instruction.opcode == "conditional":
        branches = [done[one] for key in BRANCH_KEYS for one in instruction.callees(key)]
        return Sums(
            max(one.flops for one in branches), max(one.transcendentals for one in branches)
        )
    work = count_work(instruction)
    sums = Sums(f32(work.flops), f32(work.transcendentals))
    for body, times in list_applications(instruction):
        sums = sums.plus(done[body], times)
    return sums


@pytest.mark.parametrize("case", DUMPS, ids=lambda case: case.name)
def test_equal_to_the_last_bit(case: Case) -> None:
    done: dict[Computation, Sums] = {}
    for computation in read_call_graph(case.module).callees_first:
        done[computation] = sum_up(computation, done)
    total = done[case.module.entry]
    expected = Sums(case.expected.flops, case.expected.transcendentals)
    assert (total == expected) is (case.name not in EXCEPTIONS)
