"""What is in a module, counted: its facts, opcodes, element types and loops.

Bytes are those of shapes with tile padding (docs/numbers.md), None where a shape's size is unknown.
`ResultCounts` counts all results once, by how often they run, opcode and shape; opcodes and element
types are sums over it. `executions` of None are those under a loop of unknown trip count, which
`known_executions` take as one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, replace

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.graph.backend import Backend, find_backend
from hlotool.analysis.graph.calls import CallGraph, reach
from hlotool.analysis.graph.executions import Executions, Loop
from hlotool.analysis.graph.trip_counts import TripCountSource
from hlotool.analysis.measured import join_times
from hlotool.hlo import ArrayShape, Computation, Instruction, Module, Shape
from hlotool.hlo.measurement import Measurement
from hlotool.hlo.opcodes import OPCODES, PASSES_ON
from hlotool.hlo.shape import DTYPES
from hlotool.table import BYTES, COUNT, NUMBER, SECONDS, Shown, column, figure


class ModuleFacts(Struct, frozen=True):
    """The module itself. Bytes are those of shapes, per device."""

    name: Annotated[str, figure("the module's name")]
    backend: Annotated[
        Backend | None,
        figure("the backend, recognized by its marks in the text; null before optimization"),
    ]
    is_scheduled: Annotated[bool, figure("whether the order of instructions is a schedule")]
    num_partitions: Annotated[
        int | None, figure("partitions the program is split into; null if nothing says", COUNT)
    ]
    replica_count: Annotated[
        int | None, figure("copies of the program that run; null if nothing says", COUNT)
    ]
    entry: Annotated[str, figure("the entry computation")]
    computation_count: Annotated[int, figure("computations in the text", COUNT)]
    instruction_count: Annotated[int, figure("instructions in the text", COUNT)]
    executed_instruction_count: Annotated[
        int,
        figure(
            "instructions of computations that run on their own: entry, loop bodies, branches",
            COUNT,
        ),
    ]
    parameter_count: Annotated[int, figure("parameters of the entry", COUNT)]
    parameter_bytes: Annotated[
        int | None, figure("size of the parameters, tile padding included", BYTES)
    ]
    result_bytes: Annotated[int | None, figure("the size of the entry's result", BYTES)]
    donated_parameter_count: Annotated[
        int,
        figure(
            "parameters whose memory is donated: aliased with a result, or buffer donors", COUNT
        ),
    ]
    donated_bytes: Annotated[int | None, figure("the size of the donated memory", BYTES)]


def describe_module(module: Module, executions: Executions) -> ModuleFacts:
    """Return what is known of a module; sizes are None where a shape's is unknown."""
    parameters = module.entry.parameters
    header = module.header
    # A parameter may be donated in parts, and both be aliased and a donor: each part counts once.
    donated = {(one.number, one.index) for one in header.aliases}
    donated |= {(one.parameter, one.index) for one in header.donors}
    shapes = {one.parameter_number: one.shape for one in parameters}
    return ModuleFacts(
        name=module.name,
        backend=find_backend(module),
        is_scheduled=header.is_scheduled,
        num_partitions=header.num_partitions,
        replica_count=header.replica_count,
        entry=module.entry.name,
        computation_count=len(module.computations),
        instruction_count=module.instruction_count(),
        executed_instruction_count=sum(len(one.instructions) for one in executions.executed),
        parameter_count=len(parameters),
        parameter_bytes=_add_sizes(one.shape for one in parameters),
        result_bytes=module.entry.root.shape.size_bytes,
        donated_parameter_count=len({number for number, _ in donated}),
        donated_bytes=_add_sizes(
            _find_part(shapes.get(number), index) for number, index in donated
        ),
    )


def _find_part(shape: Shape | None, index: tuple[int, ...]) -> Shape | None:
    """Return one element of a parameter; None where there is no such element."""
    for place in index:
        if shape is None or isinstance(shape, ArrayShape) or place >= len(shape.elements):
            return None
        shape = shape.elements[place]
    return shape


def _add_sizes(shapes: Iterable[Shape | None]) -> int | None:
    """Add the sizes of shapes up; None as soon as one is unknown."""
    total: int | None = 0
    for shape in shapes:
        total = _add_known(total, shape.size_bytes if shape else None)
    return total


def _add_known(total: int | None, part: int | None) -> int | None:
    """Add a part to a total; None as soon as one is unknown."""
    return None if total is None or part is None else total + part


class ModuleCounts(Struct, frozen=True):
    """Answer of `count_module`."""

    module: ModuleFacts
    opcodes: tuple[OpcodeRow, ...]
    dtypes: tuple[DtypeRow, ...]


def count_module(module: Module, executions: Executions) -> ModuleCounts:
    """Count instructions and result bytes of a module; each part says what it counts."""
    results = ResultCounts(module, executions)
    facts = describe_module(module, executions)
    return ModuleCounts(facts, count_opcodes(results), count_dtypes(results))


_ShapeCounts: TypeAlias = Counter[int]  # results by the id of their shape


class ResultGroup(Struct, frozen=True):
    """The results of all computations that run equally often, counted by opcode.

    `executions` is None where the number is unknown; `known_executions` then takes unknown
    trip counts as one. What others embed (`is_executed` False) does not run on its own.
    """

    is_executed: bool
    executions: int | None
    known_executions: int
    by_opcode: dict[str, _ShapeCounts]


class ResultCounts:
    """The results of a module, and the sizes of their shapes, each measured once.

    The parser makes one object a spelling, so that shapes are known by their id.
    """

    def __init__(self, module: Module, executions: Executions) -> None:
        self.shapes: dict[int, Shape] = {}
        self._sizes: dict[int, int | None] = {}
        alike: defaultdict[tuple[bool, int | None, int], list[Computation]] = defaultdict(list)
        executed = set(executions.executed)
        for computation in module.computations.values():
            runs = executions.of(computation), executions.lower_bound(computation)
            key = (True, *runs) if computation in executed else (False, 0, 0)
            alike[key].append(computation)
        self.groups = tuple(
            ResultGroup(*key, self._count(computations)) for key, computations in alike.items()
        )

    def _count(self, computations: Iterable[Computation]) -> dict[str, _ShapeCounts]:
        """Count the results of some computations by opcode, and by the id of their shape."""
        results: defaultdict[str, list[Shape]] = defaultdict(list)
        for computation in computations:
            for instruction in computation.instructions:
                results[instruction.opcode].append(instruction.shape)
        counts: dict[str, _ShapeCounts] = {}
        for opcode, shapes in results.items():
            keys = list(map(id, shapes))
            self.shapes.update(zip(keys, shapes, strict=True))
            counts[opcode] = Counter(keys)
        return counts

    def sum_bytes(self, counts: _ShapeCounts) -> int | None:
        """Add up the bytes of so many results of each shape; None when one is unknown."""
        total = 0
        for key, count in counts.items():
            size = self.size_of(self.shapes[key])
            if size is None:
                return None
            total += size * count
        return total

    def size_of(self, shape: Shape) -> int | None:
        """Return the bytes of a shape, or of a part of one; None when unknown."""
        key = id(shape)
        if key not in self._sizes:
            self._sizes[key] = shape.size_bytes
        return self._sizes[key]


class OpcodeRow(Struct, frozen=True):
    """One opcode. `executions` is None under a loop of unknown trip count."""

    opcode: Annotated[str, column("the opcode; async sugar is undone", words=OPCODES)]
    count: Annotated[int, figure("instructions in the text", COUNT)]
    executed_count: Annotated[
        int,
        column(
            "instructions that run on their own: in the entry, loop bodies, branches",
            COUNT,
            heading="executed",
        ),
    ]
    fused_count: Annotated[
        int,
        column(
            "instructions inside fusions, reducers and other embedded computations",
            COUNT,
            heading="fused",
            hide_order=1,
        ),
    ]
    executions: Annotated[
        int | None,
        column(
            "how often executed instructions run in one run of the entry; null under a loop of "
            "unknown trip count",
            COUNT,
            heading="runs",
            total_from="known_executions",
        ),
    ]
    known_executions: Annotated[
        int, figure("the same with unknown trip counts taken as one", COUNT)
    ]
    result_bytes: Annotated[
        int | None, figure("size of all results, each instruction counted once", BYTES)
    ]
    executed_bytes: Annotated[
        int | None,
        column(
            "size of the results of executed instructions, each counted once; opcodes that only "
            "pass values on make none",
            BYTES,
            heading="makes",
        ),
    ]
    measured_count: Annotated[
        int | None,
        figure(
            "from a profile: how often they ran there, in all runs on all devices; null if never",
            COUNT,
            heading="measured",
            null_text="",
            is_summed=False,
        ),
    ] = None
    measured_seconds: Annotated[
        float | None,
        figure(
            "from a profile: time of all their executions in one run on one device, the mean of "
            "those profiled; a loop's is that of all it runs",
            SECONDS,
            heading="measured/run",
            null_text="",
            is_summed=False,
        ),
    ] = None


def count_opcodes(results: ResultCounts) -> tuple[OpcodeRow, ...]:
    """Count instructions, executions and bytes of each opcode; in alphabetical order.

    `count` is of all instructions in the text, `executed_count` of those in computations
    that run on their own, `fused_count` the rest (bodies of fusions, reducers, comparators,
    and computations nothing calls). `executions` is how often the executed ones run in one
    run of the entry. `result_bytes` adds up the results of all of them, `executed_bytes` of
    the executed ones, each instruction once; opcodes that only pass on what exists (tuple,
    get-tuple-element, while, …) make nothing in `executed_bytes`. Bytes are those of the
    shapes with tile padding (docs/numbers.md); None where a shape's size is unknown.
    """
    rows: dict[str, OpcodeRow] = {}
    for group in results.groups:
        for opcode, counts in group.by_opcode.items():
            row = rows.get(opcode) or OpcodeRow(opcode, 0, 0, 0, 0, 0, 0, 0)
            count, size = counts.total(), results.sum_bytes(counts)
            row = replace(
                row, count=row.count + count, result_bytes=_add_known(row.result_bytes, size)
            )
            if group.is_executed:
                runs = None if group.executions is None else group.executions * count
                made = 0 if opcode in PASSES_ON else size
                rows[opcode] = replace(
                    row,
                    executed_count=row.executed_count + count,
                    executions=_add_known(row.executions, runs),
                    known_executions=row.known_executions + group.known_executions * count,
                    executed_bytes=_add_known(row.executed_bytes, made),
                )
            else:
                rows[opcode] = replace(row, fused_count=row.fused_count + count)
    return tuple(row for _, row in sorted(rows.items()))


def measure_opcodes(
    rows: Iterable[OpcodeRow], executions: Executions, measured: Measurement
) -> tuple[OpcodeRow, ...]:
    """Set what was measured of the executed instructions of every opcode."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    for computation in executions.executed:
        for instruction in computation.instructions:
            names[instruction.opcode].append(instruction.name)
    timed = ((row, join_times(measured, names[row.opcode])) for row in rows)
    return tuple(
        replace(row, measured_count=time.count, measured_seconds=time.seconds)
        for row, time in timed
    )


class DtypeRow(Struct, frozen=True):
    """One element type of array results."""

    dtype: Annotated[str, column("the element type of array results", words=DTYPES)]
    count: Annotated[int, column("array results of that type, including fused ones", COUNT)]
    result_bytes: Annotated[
        int | None,
        column("size of these results, each instruction counted once", BYTES, heading="results"),
    ]


def count_dtypes(results: ResultCounts) -> tuple[DtypeRow, ...]:
    """Count array results by element type; a tuple's elements where the tuple is made.

    Opcodes that only pass a tuple on are left out, or its elements would count again. Bytes
    are those of the shapes with tile padding; None where one is unknown.
    """
    made: Counter[int] = Counter()
    for group in results.groups:
        for opcode, counts in group.by_opcode.items():
            passes_on = opcode in PASSES_ON
            for key, count in counts.items():
                if not (passes_on and results.shapes[key].is_tuple):
                    made[key] += count
    totals: Counter[str] = Counter()
    sizes: dict[str, int | None] = {}
    for key, count in made.items():
        for leaf in results.shapes[key].leaves():
            size = results.size_of(leaf)
            part = None if size is None else size * count
            totals[leaf.dtype] += count
            sizes[leaf.dtype] = _add_known(sizes.get(leaf.dtype, 0), part)
    return tuple(DtypeRow(dtype, totals[dtype], sizes[dtype]) for dtype in sorted(totals))


class LoopLoad(Struct, frozen=True, kw_only=True):
    """What one loop moves and sends in one run, known parts alone."""

    memory_bytes_per_run: Annotated[
        int | None,
        column(
            "bytes that all its iterations move in memory space 0 in one run, inner loops too",
            BYTES,
            heading="moves/run",
            is_summed=False,
            lower_if="is_memory_lower_bound",
        ),
    ] = None
    wire_bytes_per_run: Annotated[
        int | None,
        column(
            "bytes that a device sends in them in one run",
            BYTES,
            heading="sends/run",
            is_summed=False,
            lower_if="is_wire_lower_bound",
        ),
    ] = None
    is_memory_lower_bound: Annotated[
        bool, figure("whether a trip count, or what an instruction moves, is unknown")
    ] = False
    is_wire_lower_bound: Annotated[
        bool, figure("whether a trip count, or what a collective sends, is unknown")
    ] = False
    is_upper_bound: Annotated[bool, figure("whether they count work that may not run")] = False


def _show_name(row: LoopRow) -> object:
    return Shown(row.name, "  " * row.depth)


class LoopRow(LoopLoad, frozen=True):
    """One while instruction that the entry reaches; what it moves and sends comes last."""

    name: Annotated[str, column("the while instruction", heading="loop", shown=_show_name)]
    computation: Annotated[str, figure("the computation that holds it")]
    body: Annotated[str, figure("the computation it repeats")]
    trip_count: Annotated[
        int | None,
        column("how often one execution runs the body; null when unknown", NUMBER, heading="trips"),
    ]
    trip_count_source: Annotated[
        TripCountSource | None,
        column(
            "printed in the backend config, or derived from condition, step and init",
            heading="from",
            hide_order=4,
        ),
    ]
    contradicting_trip_count: Annotated[
        int | None,
        column(
            "what condition, step and init come to, where another count is printed, which is "
            "followed; null if none is",
            NUMBER,
            heading="but derived",
            null_text="",
        ),
    ]
    depth: Annotated[int, figure("number of loops around it", NUMBER)]
    parent: Annotated[str | None, figure("the loop around it; null if there is none", null_text="")]
    executions: Annotated[
        int | None,
        column(
            "how often the loop itself is started in one run of the entry",
            COUNT,
            heading="runs",
            hide_order=2,
        ),
    ]
    carried_bytes: Annotated[
        int | None,
        column(
            "size of the state carried between iterations", BYTES, heading="carries", hide_order=3
        ),
    ]


_NO_LOADS: Final[Mapping[Instruction, LoopLoad]] = {}


def list_loops(
    executions: Executions, loads: Mapping[Instruction, LoopLoad] = _NO_LOADS
) -> tuple[LoopRow, ...]:
    """List the loops in the order of the program, each behind the loop around it."""
    inside: defaultdict[Instruction | None, list[Loop]] = defaultdict(list)
    for loop in executions.loops:
        inside[loop.parent].append(loop)
    rows: list[LoopRow] = []
    # A stack, as loops may be nested deeper than Python recurses.
    pending = inside[None][::-1]
    while pending:
        loop = pending.pop()
        pending.extend(inside[loop.instruction][::-1])
        rows.append(
            LoopRow(
                name=loop.instruction.full_name,
                computation=loop.instruction.computation.name,
                body=loop.body.name,
                trip_count=loop.trip_count,
                trip_count_source=loop.trip_count_source,
                contradicting_trip_count=loop.contradicting_trip_count,
                depth=loop.depth,
                parent=loop.parent.full_name if loop.parent else None,
                executions=executions.of(loop.instruction.computation),
                carried_bytes=loop.instruction.shape.size_bytes,
                **asdict(loads.get(loop.instruction, LoopLoad())),
            )
        )
    return tuple(rows)


def weigh_loops(
    executions: Executions,
    costs: CostModel,
    graph: CallGraph,
    collectives: Sequence[CollectiveRow],
) -> Mapping[Instruction, LoopLoad]:
    """Add up, for each loop, what all its iterations in one run of the entry move and send.

    Moved bytes are those of `memory_traffic`, sent ones those of the collectives in the
    computations that the loop reaches, each with all its executions; loops inside count too.
    Unknown trip counts count once and make a lower bound.
    """
    found: dict[Instruction, LoopLoad] = {}
    for loop in executions.loops:
        cost = costs.of_all_rounds(loop.instruction)
        computation = loop.instruction.computation
        inside = {one.name for one in reach((loop.body, loop.condition), graph.called_by)}
        sent = [row for row in collectives if row.computation in inside]
        found[loop.instruction] = LoopLoad(
            memory_bytes_per_run=cost.memory_bytes * executions.lower_bound(computation),
            wire_bytes_per_run=sum(row.known_wire_bytes_per_run for row in sent),
            is_memory_lower_bound=cost.is_memory_lower_bound or executions.of(computation) is None,
            is_wire_lower_bound=any(row.wire_bytes_per_run is None for row in sent),
            is_upper_bound=cost.is_upper_bound
            or executions.is_conditional(computation)
            or any(row.is_upper_bound or row.is_conditional for row in sent),
        )
    return found
