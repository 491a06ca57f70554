"""Costs of the instructions and computations of one module, over calls and loops.

Follows HloCostAnalysis (xla/service/hlo_cost_analysis.cc, 0.10.2): callees are measured before
what calls them, loop bodies count once, and of a conditional the most expensive branch. Trip
counts are multiplied in only where they are given. A `CostReport` has the figures of a summary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.cost import arithmetic, custom_calls
from hlotool.analysis.cost.cost import (
    ACCESSED,
    ELEMENTARY,
    MALFORMED,
    NOTHING,
    OF_TYPES,
    TYPES,
    Cost,
    Sizes,
    UnknownCostError,
    add_costs,
    explain,
    find_product_type,
    largest_cost,
    list_flops,
    list_types,
)
from hlotool.analysis.cost.fused_traffic import FusionTraffic, measure_fusion_traffic
from hlotool.analysis.cost.traffic import MAIN_SPACE, PADDED, VMEM, measure_bytes, measure_memory
from hlotool.analysis.graph.backend import is_partitioned
from hlotool.analysis.graph.calls import CallGraph, list_branches, reach
from hlotool.analysis.graph.executions import Executions
from hlotool.hlo import Computation, Instruction, Module, Shape
from hlotool.hlo.opcodes import CONTROL_FLOW, FREE, LATER_STEPS, OPCODES
from hlotool.table import RATIO, Block, figure

TripCounts: TypeAlias = Mapping[Instruction, int | None]

_FLOW: Final = CONTROL_FLOW - LATER_STEPS  # costs what it runs, as often as it runs that
_IDLE: Final = (
    OPCODES - arithmetic.WORKING - arithmetic.APPLYING - {"custom-call"}
)  # moves data, or not even that
_FREE: Final = FREE - {"tuple"}  # XLA counts its table of pointers
_IDLE_INSIDE: Final = _IDLE - _FLOW
TOLD_PADDING: Final = 1.01  # tile padding that adds less to traffic or time is not told
_UNKNOWN: Final = Cost(is_lower_bound=True)


class CostModel:
    """Costs of one module's instructions and computations, loop bodies counted once.

    In exact integers where XLA adds in float32, with 0 where it counts -1 for a custom call.
    Bodies of fusions and reducers access no memory of their own, so `of_computation` has no
    bytes for them. What the text leaves open counts nothing and makes a cost `is_lower_bound`;
    `unknown` says why, for each instruction but custom calls. `products` are what runs
    on its own and holds products of matrices, or custom calls that stand for some. Beside XLA's
    `bytes_accessed` each cost has `traffic_bytes`, see `traffic.measure_memory`. `find_stated` says
    what the text does not tell of a custom call.
    """

    def __init__(
        self,
        module: Module,
        graph: CallGraph,
        executions: Executions,
        find_stated: custom_calls.FindStated = custom_calls.state_nothing,
    ) -> None:
        self.unknown: dict[Instruction, str] = {}
        self.products: list[Instruction] = []
        self.graph = graph
        self.executions = executions
        self._find_stated = find_stated
        self.trips = {loop.instruction: loop.trips.count for loop in executions.loops}
        self._sizes = Sizes(_list_repeated(graph))
        self._standalone = set(reach([module.entry], self._list_run_by))
        self._own: dict[Instruction, Cost] = {}  # of what runs on its own
        self._plain: dict[Computation, Cost] = {}  # without control flow
        self._flow: dict[Computation, list[Instruction]] = {}
        self._once: dict[Computation, Cost] = {}
        self._fusions: dict[object, Cost] = {}  # by what is written alike
        measured: dict[Computation, Computation] = {}  # bodies without flow whose costs are known
        for computation in graph.callees_first:
            first = graph.first_alike[computation]
            if first in measured and computation not in self._standalone:
                self._plain[computation] = self._once[computation] = self._once[measured[first]]
                continue
            count = len(self.unknown)
            self._plain[computation] = self._measure(computation)
            self._once[computation] = self._add_flow(computation, self._once, None)
            is_known = len(self.unknown) == count and computation not in self._flow
            if is_known and computation not in self._standalone:
                measured[first] = computation

    def of(self, instruction: Instruction) -> Cost:
        """Return the cost of one execution of an instruction, with all that it calls."""
        if instruction.opcode in _FLOW:
            return self._flow_cost(instruction, self._once, None)
        return self._own.get(instruction) or self._own_cost(instruction)

    def of_all_rounds(self, instruction: Instruction) -> Cost:
        """Return the same, every loop in it run as often as its trip count says."""
        if instruction.opcode not in _FLOW:
            return self.of(instruction)
        return self._flow_cost(instruction, self._all_rounds, self.trips)

    def of_computation(self, computation: Computation) -> Cost:
        """Return the cost of one execution of a computation."""
        return self._once[computation]

    def of_computation_all_rounds(self, computation: Computation) -> Cost:
        """Return the same, every loop in it run as often as its trip count says.

        One of unknown trip count counts once and makes a lower bound.
        """
        return self._all_rounds[computation]

    def read_call(self, instruction: Instruction) -> custom_calls.CustomCall:
        """Return what is known of a custom call: from its text, what it calls, or a rule."""
        return custom_calls.read_custom_call(
            instruction, self._find_stated, self._find_offloaded_cost
        )

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
            found = measure_memory(instruction, self._sizes)
            return tuple(sorted(each for each in found.items() if each[0] != PADDED))
        except MALFORMED:
            return ()

    def fusion_traffic(self, fusion: Instruction) -> FusionTraffic | None:
        """Return what a fusion reads and writes, by operand; None where that is unknown."""
        try:
            return measure_fusion_traffic(fusion, self._sizes)
        except MALFORMED:
            return None

    def _measure(self, computation: Computation) -> Cost:
        """Add up a computation whose callees have been measured; control flow is noted for later.

        What runs on its own has its parts kept. Bodies of fusions and reducers move nothing.
        """
        is_standalone = computation in self._standalone
        left_out = _FREE if is_standalone else _IDLE_INSIDE
        plain: list[Cost] = []
        for instruction in computation.instructions:
            if instruction.opcode in left_out:
                continue
            if instruction.opcode in _FLOW:
                self._flow.setdefault(computation, []).append(instruction)
            elif is_standalone:
                self._own[instruction] = cost = self._own_cost(instruction)
                plain.append(cost)
                if cost.matrix_flops or cost.custom_call_flops:
                    self.products.append(instruction)
            else:
                plain.append(self._work_cost(instruction))
        return add_costs(plain)

    def _own_cost(self, instruction: Instruction) -> Cost:
        """Return the cost of an instruction that is not control flow.

        XLA gives a custom call neither flops nor bytes; what it hides is counted apart.
        """
        opcode, called = instruction.opcode, self.graph.callees.get(instruction, ())
        call = self.read_call(instruction) if opcode == "custom-call" else None
        if call is not None and instruction.is_outside:
            return replace(_hidden_work(call), unknown_traffic_count=1)  # it may be a view
        is_body = opcode == "fusion" and len(called) == 1 and "calls" in instruction.attributes
        fusion = self._write_fusion(instruction, called[0]) if is_body else None
        if fusion in self._fusions:
            return self._fusions[fusion]
        if call is not None:
            cost = _hidden_work(call)
        elif is_body and not arithmetic.find_custom_body(instruction, called[0]):
            cost = self._once[called[0]]
        else:
            cost = self._work_cost(instruction)
        try:
            size = measure_bytes(instruction, self._sizes)
            moved = measure_memory(instruction, self._sizes, call)
        except MALFORMED as error:
            if call is not None:
                return replace(cost, unknown_traffic_count=1)
            return add_costs((cost, self._leave_out(instruction, error)))
        cost = replace(
            cost,
            bytes_accessed=size,
            traffic_bytes=moved.get(MAIN_SPACE, 0),
            padded_bytes=moved.get(PADDED, 0),
            vmem_bytes=moved.get(VMEM, 0),
        )
        if fusion is not None and instruction not in self.unknown:
            self._fusions[fusion] = cost
        return cost

    def _write_fusion(self, fusion: Instruction, body: Computation) -> tuple[object, ...]:
        """Return what is equal in fusions of one cost: body, shapes, and what is given twice."""
        given = [self._sizes.find_first(one) for one in fusion.operands]
        places: dict[Instruction, int] = {}
        return (
            self.graph.first_alike[body],
            body in self._standalone,
            fusion.attributes.get("kind"),
            id(fusion.shape),
            *(id(one.shape) for one in given),
            *(places.setdefault(one, len(places)) for one in given),
        )

    def _work_cost(self, instruction: Instruction) -> Cost:
        """Return the arithmetic of an instruction that is not control flow."""
        opcode = instruction.opcode
        try:
            if opcode in arithmetic.WORKING:
                work = arithmetic.count_work(instruction)
                name = find_product_type(instruction) if work.matrix_flops else None
                return replace(work, products=((name, work.flops),)) if name else work
            if opcode in arithmetic.APPLYING:
                applied = arithmetic.list_applications(instruction)
                return add_costs([self._once[body].times(times) for body, times in applied])
        except MALFORMED as error:
            return self._leave_out(instruction, error)
        if opcode == "custom-call":
            return _hidden_work(self.read_call(instruction))
        if opcode in _IDLE:
            return NOTHING
        return self._leave_out(instruction, UnknownCostError(f"opcode {opcode!r} is unknown"))

    def _find_offloaded_cost(self, call: Instruction) -> custom_calls.StatedCost:
        """Say what the computation costs that a custom call stands for, where all of it is known.

        Nobody counts the rounds of a loop in there: it is in no computation that runs on its own.
        """
        body = arithmetic.find_offloaded(call)
        if body is None or any(
            flow.opcode == "while"
            for below in reach([body], self.graph.called_by)
            for flow in self._flow.get(below, ())
        ):
            return custom_calls.StatedCost()
        cost = self._once[body]
        has_bytes = body in self._standalone and not cost.is_traffic_lower_bound
        return custom_calls.StatedCost(
            None if cost.is_total_lower_bound else cost.total_flops,
            cost.traffic_bytes if has_bytes else None,
            cost.is_upper_bound,
        )

    @cached_property
    def _all_rounds(self) -> Mapping[Computation, Cost]:
        """The costs of all computations with their loops' trip counts."""
        totals: dict[Computation, Cost] = {}
        for one in self.graph.callees_first:
            totals[one] = self._add_flow(one, totals, self.trips)
        return totals

    def _add_flow(
        self, computation: Computation, totals: Mapping[Computation, Cost], trips: TripCounts | None
    ) -> Cost:
        """Add the control flow of a computation, whose callees `totals` has, to the rest of it."""
        plain, flow = self._plain[computation], self._flow.get(computation)
        if flow is None:
            return plain
        return add_costs([plain, *(self._flow_cost(one, totals, trips) for one in flow)])

    def _flow_cost(
        self, instruction: Instruction, totals: Mapping[Computation, Cost], trips: TripCounts | None
    ) -> Cost:
        """Return the cost of the computations that control flow runs; without `trips`, once."""
        if instruction.opcode == "conditional":
            if not (branches := list_branches(instruction)):
                return self._leave_out(instruction, UnknownCostError("conditional has no branches"))
            return largest_cost(totals[branch] for branch in branches)
        try:
            applied = arithmetic.list_applications(instruction)
        except MALFORMED as error:
            return self._leave_out(instruction, error)
        once = add_costs([totals[body].times(times) for body, times in applied])
        if instruction.opcode != "while" or trips is None:
            return once
        trip_count = trips.get(instruction)
        return once.times(1 if trip_count is None else trip_count, is_exact=trip_count is not None)

    def _leave_out(self, instruction: Instruction, error: Exception) -> Cost:
        """Keep why a cost is unknown, and return one that says so."""
        self.unknown.setdefault(instruction, explain(error))
        return _UNKNOWN

    def _list_run_by(self, computation: Computation) -> Iterator[Computation]:
        """List what runs on its own because a computation does: all that its control flow calls.

        What a custom call stands for is run like what a call calls.
        """
        for one in computation.instructions:
            if one.opcode in _FLOW:
                yield from self.graph.callees.get(one, ())
            elif one.opcode == "custom-call" and (body := arithmetic.find_offloaded(one)):
                yield body


def _hidden_work(call: custom_calls.CustomCall) -> Cost:
    """Return the arithmetic that a custom call hides, which is in no figure of XLA's."""
    if call.kind is custom_calls.CustomCallKind.NOTHING:
        return NOTHING
    return Cost(
        custom_call_flops=call.flops or 0,
        unknown_custom_call_count=int(call.flops is None),
        is_upper_bound=call.is_upper_bound,
        products=call.products,
    )


def _list_repeated(graph: CallGraph) -> dict[Instruction, Instruction]:
    """Map parameters of asynchronous computations that are given an operand once more to the first.

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


CostScope: TypeAlias = Literal["device", "program", "mixed"]

# What is between these, or in these, has one device's shapes already (shard_map of JAX):
# xla/service/sharding_propagation.cc, and xla/service/spmd/shardy/constants.h.
_MANUAL_CALLS: Final = frozenset(("SPMDFullToShardShape", "xla.sdy.GlobalToLocalShape"))
_MANUAL_BODY: Final = "xla.sdy.manual_computation_body"

_FLOPS: Final = "floating-point operations as in XLA's cost analysis, without custom calls"
_TOTAL: Final = "all known floating-point operations: flops and custom_call_flops"
_MATRIX: Final = "flops of dots and convolutions alone"
_MEMORY: Final = "bytes that cross memory space 0 (HBM on TPU); a slice counts only what it touches"
_HIDDEN: Final = "operations inside known custom calls"
_UNKNOWN_COST: Final = "custom calls of unknown cost; they make total_flops a lower bound"
_UNKNOWN_TRAFFIC: Final = "custom calls of unknown traffic; they make traffic_bytes a lower bound"
_ONCE: Final = "; loop bodies once"
_PER_STEP: Final = "; with trip counts, per step of the entry"
_LOWER_FLOPS: Final = "is_total_lower_bound"
_LOWER_MEMORY: Final = "is_traffic_lower_bound"


LacksFlops: TypeAlias = Annotated[
    bool, figure("whether a size, a trip count or the flops of a custom call is unknown")
]
LacksTraffic: TypeAlias = Annotated[
    bool, figure("whether a size, a trip count or the traffic of a custom call is unknown")
]


class CostReport(Struct, frozen=True, kw_only=True):
    """Figures of the entry: once as XLA's cost analysis, `*_per_step` with trip counts.

    `is_lower_bound` and `is_upper_bound` hold if any of the figures is one; `total_flops` and
    `traffic_bytes` are lower bounds too where a custom call is unknown.
    """

    counted_for: Annotated[
        CostScope,
        figure(
            "device: of one device; program: of the whole program before partitioning; "
            "mixed: of the program, with parts written for one device (shard_map) "
            "counted once"
        ),
    ]
    total_flops: Annotated[int, figure(_TOTAL + _ONCE, lower_if=_LOWER_FLOPS)]
    flops: Annotated[int, figure(_FLOPS + _ONCE)]
    matrix_flops: Annotated[int, figure(_MATRIX + _ONCE)]
    transcendentals: Annotated[int, figure(ELEMENTARY + _ONCE)]
    custom_call_flops: Annotated[int, figure(_HIDDEN + _ONCE, lower_if=_LOWER_FLOPS)]
    unknown_custom_call_count: Annotated[int, figure(_UNKNOWN_COST + _ONCE)]
    bytes_accessed: Annotated[int, figure(ACCESSED + _ONCE)]
    traffic_bytes: Annotated[int, figure(_MEMORY + _ONCE, lower_if=_LOWER_MEMORY)]
    unknown_traffic_count: Annotated[int, figure(_UNKNOWN_TRAFFIC + _ONCE)]
    total_flops_per_step: Annotated[int, figure(_TOTAL + _PER_STEP, lower_if=_LOWER_FLOPS)]
    flops_per_step: Annotated[int, figure(_FLOPS + _PER_STEP)]
    matrix_flops_per_step: Annotated[int, figure(_MATRIX + _PER_STEP)]
    transcendentals_per_step: Annotated[int, figure(ELEMENTARY + _PER_STEP)]
    custom_call_flops_per_step: Annotated[int, figure(_HIDDEN + _PER_STEP, lower_if=_LOWER_FLOPS)]
    unknown_custom_call_count_per_step: Annotated[int, figure(_UNKNOWN_COST + _PER_STEP)]
    product_types: Annotated[tuple[str, ...], figure(f"of total_flops_per_step, {TYPES}")]
    product_flops_per_step: Annotated[
        tuple[int, ...], figure(f"of total_flops_per_step, {OF_TYPES}")
    ]
    bytes_accessed_per_step: Annotated[int, figure(ACCESSED + _PER_STEP)]
    traffic_bytes_per_step: Annotated[int, figure(_MEMORY + _PER_STEP, lower_if=_LOWER_MEMORY)]
    padded_traffic_bytes_per_step: Annotated[
        int,
        figure(
            "traffic_bytes_per_step with all tile padding, some of which may not cross",
            lower_if=_LOWER_MEMORY,
        ),
    ]
    unknown_traffic_count_per_step: Annotated[int, figure(_UNKNOWN_TRAFFIC + _PER_STEP)]
    arithmetic_intensity: Annotated[
        float | None,
        figure(
            "total_flops_per_step per byte of traffic_bytes_per_step; null if either is a bound",
            RATIO,
        ),
    ]
    is_lower_bound: Annotated[bool, figure("whether a size or a trip count is unknown")]
    is_total_lower_bound: LacksFlops
    is_traffic_lower_bound: LacksTraffic
    is_upper_bound: Annotated[bool, figure("whether the figures include work that might not run")]


# Those that a cost has once and per step, by the same names.
_FIGURES: Final = (
    "total_flops", "flops", "matrix_flops", "transcendentals", "custom_call_flops",
    "unknown_custom_call_count", "bytes_accessed", "traffic_bytes", "unknown_traffic_count",
)  # fmt: skip

COST: Final = Block("cost", CostReport, "work of the module", is_nullable=True)


def analyze_cost(module: Module, costs: CostModel) -> CostReport:
    """Add up what the entry costs, per device or, before partitioning, for the whole program.

    `flops`, `transcendentals` and `bytes_accessed` are those of XLA's HloCostAnalysis (loop
    bodies once, the most expensive branch of a conditional, nothing for custom calls).
    `total_flops` add what is known of the arithmetic of custom calls, else the call is counted
    in `unknown_custom_call_count`. `traffic_bytes` is the traffic of `measure_memory`.
    `*_per_step` multiplies every loop body and condition by the loop's trip count; an unknown
    one counts once and makes the report a lower bound, as does a text that is a part of one.
    """
    once = costs.of_computation(module.entry)
    run = costs.of_computation_all_rounds(module.entry)
    is_part = module.source.is_fragment
    is_bound = (
        is_part or run.is_total_lower_bound or run.is_traffic_lower_bound or run.is_upper_bound
    )
    intensity = run.total_flops / run.traffic_bytes if run.traffic_bytes and not is_bound else None
    return CostReport(
        counted_for=_choose_scope(module),
        product_types=list_types(run.products),
        product_flops_per_step=list_flops(run.products),
        padded_traffic_bytes_per_step=run.padded_bytes,
        arithmetic_intensity=intensity,
        is_lower_bound=is_part or run.is_lower_bound,
        is_total_lower_bound=is_part or run.is_total_lower_bound,
        is_traffic_lower_bound=is_part or run.is_traffic_lower_bound,
        is_upper_bound=run.is_upper_bound,
        **{name: getattr(once, name) for name in _FIGURES},
        **{f"{name}_per_step": getattr(run, name) for name in _FIGURES},
    )


def _choose_scope(module: Module) -> CostScope:
    """Say whose shapes a module has.

    The partitioner leaves its mark in the entry's name, and only a partitioned module is
    scheduled. Before it, all shapes are those of the whole program, but for manual parts.
    """
    if module.header.num_partitions in {0, 1} or is_partitioned(module):
        return "device"
    is_mixed = any(name.startswith(_MANUAL_BODY) for name in module.computations) or any(
        one.opcode == "custom-call" and one.custom_call_target in _MANUAL_CALLS
        for one in module.instructions()
    )
    return "mixed" if is_mixed else "program"
