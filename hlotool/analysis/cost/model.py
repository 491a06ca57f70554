"""How do the costs of instructions add up, over computations, calls and loops?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hlotool.analysis.cost.cost import NOTHING, Cost, add_costs
from hlotool.analysis.cost.custom_calls import CustomCall, FindStated, state_nothing
from hlotool.analysis.cost.fused_traffic import FusionTraffic, measure_fusion_traffic
from hlotool.analysis.cost.instruction_costs import FLOW, IDLE, InstructionCosts, TripCounts
from hlotool.analysis.cost.invocations import find_offloaded
from hlotool.analysis.cost.memory_traffic import measure_memory
from hlotool.analysis.cost.sizes import MALFORMED, UnknownCostError
from hlotool.analysis.graph.call_graph import CallGraph, reach
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction
from hlotool.ir.module import Module
from hlotool.ir.opcodes import ELEMENTWISE, FREE, TRANSCENDENTAL
from hlotool.ir.shape import Shape

_FREE: Final = FREE - {"tuple"}  # XLA counts its table of pointers
_IDLE_INSIDE: Final = IDLE - FLOW
_FLOPS: Final = ELEMENTWISE - TRANSCENDENTAL


def measure_costs(
    module: Module, graph: CallGraph, find_stated: FindStated = state_nothing
) -> CostModel:
    """Work out the costs of a module, whose call graph is `graph`.

    `find_stated` says what the text does not tell of a custom call.
    """
    return CostModel(module, graph, find_stated)


class CostModel:
    """Costs of one module's instructions and computations, loop bodies counted once.

    Follows HloCostAnalysis (xla/service/hlo_cost_analysis.cc, 0.10.2), in exact integers
    where XLA adds in float32, with 0 where it counts -1 for a custom call. Bodies of fusions
    and reducers access no memory of their own, so `of_computation` has no bytes for them.
    What the text leaves open counts nothing and makes a cost `is_lower_bound`; `unknown` says
    why, for each instruction but custom calls. Beside XLA's `bytes_accessed` each cost has
    `memory_bytes`, see `memory_traffic`.
    """

    def __init__(self, module: Module, graph: CallGraph, find_stated: FindStated) -> None:
        self._order = graph.callees_first
        self._standalone = _find_standalone(module, graph)
        self._own: dict[Instruction, Cost] = {}  # of what runs on its own
        self._plain: dict[Computation, Cost] = {}  # without control flow
        self._flow: dict[Computation, list[Instruction]] = {}
        self._once: dict[Computation, Cost] = {}
        self._each = InstructionCosts(graph, find_stated, self._once, self._flow, self._standalone)
        self._sizes = self._each.sizes
        self.unknown = self._each.unknown
        for computation in self._order:
            self._measure(computation)

    def of(self, instruction: Instruction) -> Cost:
        """Return the cost of one execution of an instruction, with all that it calls."""
        if instruction.opcode in FLOW:
            return self._each.flow_cost(instruction, self._once, None)
        return self._own.get(instruction) or self._each.own_cost(instruction)

    def of_with_trip_counts(self, instruction: Instruction, trips: TripCounts) -> Cost:
        """Return the cost of one execution of an instruction, loops run as `trips` says."""
        if instruction.opcode not in FLOW:
            return self.of(instruction)
        return self._each.flow_cost(instruction, self.all_with_trip_counts(trips), trips)

    def of_computation(self, computation: Computation) -> Cost:
        """Return the cost of one execution of a computation."""
        return self._once[computation]

    def read_call(self, instruction: Instruction) -> CustomCall:
        """Return what is known of a custom call: from its text, what it calls, or a rule."""
        return self._each.read_call(instruction)

    def size_bytes(self, shape: Shape) -> int:
        """Return the bytes of all arrays of a shape, as costs count them; 0 where unknown."""
        return self.find_size_bytes(shape) or 0

    def find_size_bytes(self, shape: Shape) -> int | None:
        """Return the same, None where unknown."""
        try:
            return self._sizes.content_bytes(shape)
        except UnknownCostError:
            return None

    def operand_bytes(self, instruction: Instruction) -> int:
        """Return the bytes of all operands; what is one twice counts once."""
        return sum(self.size_bytes(one.shape) for one in self._sizes.distinct(instruction.operands))

    def memory_by_space(self, instruction: Instruction) -> tuple[tuple[int, int], ...]:
        """Return the bytes that cross each memory space in one execution; none where unknown."""
        try:
            return tuple(sorted(measure_memory(instruction, self._sizes).items()))
        except MALFORMED:
            return ()

    def fusion_traffic(self, fusion: Instruction) -> FusionTraffic | None:
        """Return what a fusion reads and writes, by operand; None where that is unknown."""
        try:
            return measure_fusion_traffic(fusion, self._sizes)
        except MALFORMED:
            return None

    def with_trip_counts(self, computation: Computation, trips: TripCounts) -> Cost:
        """Return the cost of a computation whose loops run as often as `trips` says.

        A loop that `trips` does not know counts once and makes a lower bound.
        """
        return self.all_with_trip_counts(trips)[computation]

    def all_with_trip_counts(self, trips: TripCounts) -> Mapping[Computation, Cost]:
        """Return the costs of all computations, loops counted as in `with_trip_counts`."""
        totals = dict(self._plain)
        for one in self._order:
            if one in self._flow:
                parts = [self._each.flow_cost(each, totals, trips) for each in self._flow[one]]
                totals[one] = add_costs([self._plain[one], *parts])
        return totals

    def of_loops(self, trips: TripCounts) -> Mapping[Instruction, Cost]:
        """Return what one execution of each loop costs, all its iterations together."""
        totals = self.all_with_trip_counts(trips)
        return {loop: self._each.flow_cost(loop, totals, trips) for loop in trips}

    def _measure(self, computation: Computation) -> None:
        """Add up a computation whose callees have been measured."""
        is_standalone = computation in self._standalone
        measure = self._standalone_cost if is_standalone else self._body_cost
        flow: list[Instruction] = []
        plain = measure(computation, flow)
        self._plain[computation] = self._once[computation] = plain
        if flow:
            self._flow[computation] = flow
            parts = [self._each.flow_cost(each, self._once, None) for each in flow]
            self._once[computation] = add_costs([plain, *parts])

    def _standalone_cost(self, computation: Computation, flow: list[Instruction]) -> Cost:
        """Add up what runs on its own, and keep each part; `flow` gets what is left out."""
        own = self._own
        plain: list[Cost] = []
        for instruction in computation.instructions:
            opcode = instruction.opcode
            if opcode in _FREE:
                continue
            if opcode in FLOW:
                flow.append(instruction)
            else:
                own[instruction] = cost = self._each.own_cost(instruction)
                plain.append(cost)
        return add_costs(plain)

    def _body_cost(self, computation: Computation, flow: list[Instruction]) -> Cost:
        """Add up the arithmetic of a body; elementwise operations, most of it, without ado."""
        flops = transcendentals = 0
        others: list[Cost] = []
        count = self._sizes.count_elements
        for instruction in computation.instructions:
            opcode = instruction.opcode
            if opcode in _IDLE_INSIDE:
                continue
            try:
                if opcode in _FLOPS:
                    flops += count(instruction.shape)
                elif opcode in TRANSCENDENTAL:
                    transcendentals += count(instruction.shape)
                elif opcode in FLOW:
                    flow.append(instruction)
                else:
                    others.append(self._each.work_cost(instruction))
            except UnknownCostError as error:
                others.append(self._each.leave_out(instruction, error))
        if not (flops or transcendentals or others):
            return NOTHING
        return add_costs([Cost(flops, transcendentals), *others])


def _find_standalone(module: Module, graph: CallGraph) -> set[Computation]:
    """Find the computations that run on their own: the entry, and what control flow calls.

    What a custom call stands for is run like what a call calls.
    """

    def run_by(computation: Computation) -> list[Computation]:
        flow = [one for one in computation.instructions if one.opcode in FLOW]
        calls = [one for one in computation.instructions if one.opcode == "custom-call"]
        offloaded = [body for one in calls if (body := find_offloaded(one))]
        return [callee for one in flow for callee in graph.callees.get(one, ())] + offloaded

    return set(reach([module.entry], run_by))
