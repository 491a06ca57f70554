"""What does each instruction cost, once the computations that it calls have been measured?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, TypeAlias

from msgspec.structs import replace

from hlotool.analysis.cost.cost import NOTHING, Cost, add_costs, largest_cost
from hlotool.analysis.cost.custom_calls import (
    CustomCall,
    CustomCallKind,
    FindStated,
    StatedCost,
    read_custom_call,
)
from hlotool.analysis.cost.fused_traffic import measure_fusion_bytes
from hlotool.analysis.cost.fusion_forms import Form, FusionForms
from hlotool.analysis.cost.invocations import (
    APPLYING,
    find_applications,
    find_custom_body,
    find_offloaded,
)
from hlotool.analysis.cost.memory_traffic import MAIN_SPACE, measure_memory
from hlotool.analysis.cost.operations import WORKING, find_work
from hlotool.analysis.cost.products import find_product_type
from hlotool.analysis.cost.sizes import MALFORMED, Sizes, UnknownCostError, explain
from hlotool.analysis.cost.traffic import measure_bytes
from hlotool.analysis.graph.call_graph import CallGraph, find_branches, reach
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction
from hlotool.ir.opcodes import CONTROL_FLOW, LATER_STEPS, OPCODES

TripCounts: TypeAlias = Mapping[Instruction, int | None]

FLOW: Final = CONTROL_FLOW - LATER_STEPS  # costs what it runs, as often as it runs that
IDLE: Final = OPCODES - WORKING - APPLYING - {"custom-call"}  # moves data, or not even that
_APPLYING: Final = APPLYING - FLOW
_UNKNOWN: Final = Cost(is_lower_bound=True)


class InstructionCosts:
    """Costs of instructions. What the text leaves open is kept in `unknown`, with the reason.

    `once` are the costs of computations, loops counted once, and `flow` the control flow in
    each: both are filled in meanwhile, callees first. Those of `standalone` run on their own.
    """

    def __init__(
        self,
        graph: CallGraph,
        find_stated: FindStated,
        once: Mapping[Computation, Cost],
        flow: Mapping[Computation, Sequence[Instruction]],
        standalone: AbstractSet[Computation],
    ) -> None:
        self.unknown: dict[Instruction, str] = {}
        self.sizes = Sizes(_find_repeated(graph))
        self._graph = graph
        self._find_stated = find_stated
        self._once = once
        self._flow = flow
        self._standalone = standalone
        self._forms = FusionForms(self.sizes)
        self._traffic: dict[Form, tuple[int, int]] = {}  # of fusions, those alike once

    def own_cost(self, instruction: Instruction) -> Cost:
        """Return the cost of an instruction that is not control flow."""
        opcode = instruction.opcode
        if opcode == "custom-call":
            return self._call_cost(instruction)
        body = self._find_body(instruction) if opcode == "fusion" else None
        cost = self._once[body] if body else self.work_cost(instruction)
        try:
            if body:
                size, memory = self._measure_fusion(instruction, body)
            else:
                size = measure_bytes(instruction, self.sizes)
                memory = measure_memory(instruction, self.sizes).get(MAIN_SPACE, 0)
        except MALFORMED as error:
            return add_costs((cost, self.leave_out(instruction, error)))
        return cost.with_bytes(size, memory)

    def _measure_fusion(self, fusion: Instruction, body: Computation) -> tuple[int, int]:
        """Return the traffic of a fusion: as XLA counts, and of the main memory."""
        form = self._forms.write(fusion, body)
        found = self._traffic.get(form)
        if found is None:
            found = self._traffic[form] = (
                measure_fusion_bytes(fusion, body, self.sizes),
                measure_memory(fusion, self.sizes).get(MAIN_SPACE, 0),
            )
        return found

    def work_cost(self, instruction: Instruction) -> Cost:
        """Return the arithmetic of an instruction that is not control flow."""
        opcode = instruction.opcode
        try:
            if opcode in WORKING:
                work = find_work(instruction)
                name = find_product_type(instruction) if work.matrix_flops else None
                products = ((name, work.flops),) if name else ()
                return Cost(
                    work.flops, work.transcendentals, 0, work.matrix_flops, products=products
                )
            if opcode in _APPLYING:
                applied = find_applications(instruction)
                return add_costs([self._once[body].times(times) for body, times in applied])
        except MALFORMED as error:
            return self.leave_out(instruction, error)
        if opcode == "custom-call":
            return _hidden_work(self.read_call(instruction))
        if opcode in IDLE:
            return NOTHING
        return self.leave_out(instruction, UnknownCostError(f"no opcode {opcode!r} is known"))

    def flow_cost(
        self,
        instruction: Instruction,
        totals: Mapping[Computation, Cost],
        trips: TripCounts | None,
    ) -> Cost:
        """Return the cost of the computations that control flow runs; without `trips`, once."""
        if instruction.opcode == "conditional":
            branches = find_branches(instruction)
            if not branches:
                return self.leave_out(instruction, UnknownCostError("conditional has no branches"))
            return largest_cost(totals[branch] for branch in branches)
        try:
            applied = find_applications(instruction)
        except MALFORMED as error:
            return self.leave_out(instruction, error)
        once = add_costs([totals[body].times(times) for body, times in applied])
        if instruction.opcode != "while" or trips is None:
            return once
        trip_count = trips.get(instruction)
        return once.times(1 if trip_count is None else trip_count, is_exact=trip_count is not None)

    def read_call(self, instruction: Instruction) -> CustomCall:
        """Return what is known of a custom call: from its text, what it calls, or a rule."""
        return read_custom_call(instruction, self._find_stated, self._find_offloaded_cost)

    def leave_out(self, instruction: Instruction, error: Exception) -> Cost:
        """Keep why a cost is unknown, and return one that says so."""
        self.unknown.setdefault(instruction, explain(error))
        return _UNKNOWN

    def _call_cost(self, instruction: Instruction) -> Cost:
        """XLA gives a custom call neither flops nor bytes; what it hides is counted apart."""
        call = self.read_call(instruction)
        cost = _hidden_work(call)
        try:
            memory = measure_memory(instruction, self.sizes, call).get(MAIN_SPACE, 0)
        except MALFORMED:
            return replace(cost, unknown_traffic_count=1)
        return cost.with_bytes(0, memory)

    def _find_offloaded_cost(self, call: Instruction) -> StatedCost:
        """Say what the computation costs that a custom call stands for, where all of it is known.

        Nobody counts the rounds of a loop in there: it is in no computation that runs on its own.
        """
        body = find_offloaded(call)
        if body is None or self._has_loop(body):
            return StatedCost()
        cost = self._once[body]
        has_bytes = body in self._standalone and not cost.is_memory_lower_bound
        return StatedCost(
            None if cost.is_total_lower_bound else cost.total_flops,
            cost.memory_bytes if has_bytes else None,
            cost.is_upper_bound,
        )

    def _has_loop(self, computation: Computation) -> bool:
        """Whether a computation runs a loop, itself or in what it calls."""
        below = reach([computation], self._graph.called_by)
        flow = (one for each in below for one in self._flow.get(each, ()))
        return any(one.opcode == "while" for one in flow)

    def _find_body(self, fusion: Instruction) -> Computation | None:
        """Return the body of a fusion that costs what its body does, None for any other."""
        called = self._graph.callees.get(fusion, ())
        if len(called) != 1 or "calls" not in fusion.attributes:
            return None
        return None if find_custom_body(fusion, called[0]) else called[0]


def _hidden_work(call: CustomCall) -> Cost:
    """Return the arithmetic that a custom call hides, which is in no figure of XLA's."""
    if call.kind is CustomCallKind.NOTHING:
        return NOTHING
    return Cost(
        custom_call_flops=call.flops or 0,
        unknown_custom_call_count=int(call.flops is None),
        is_upper_bound=call.is_upper_bound,
        products=call.products,
    )


def _find_repeated(graph: CallGraph) -> dict[Instruction, Instruction]:
    """Find parameters of asynchronous computations that are given an operand once more.

    The start alone knows that its computation reads one array through both.
    """
    found: dict[Instruction, Instruction] = {}
    for start, called in graph.callees.items():
        if start.opcode == "async-start" and len(set(start.operands)) < len(start.operands):
            firsts: dict[Instruction, Instruction] = {}
            for parameter, operand in zip(called[0].parameters, start.operands, strict=False):
                first = firsts.setdefault(operand, parameter)
                if first is not parameter:
                    found[parameter] = first
    return found
