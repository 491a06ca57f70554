"""What is in a module, counted: its facts, opcodes, element types and loops; its compilation.

Bytes are those of shapes with tile padding (docs/numbers.md), None where a shape's size is unknown.
Results are counted once, by how often they run, opcode and shape; opcodes and element types are
sums over that. `executions` of None are those under a loop of unknown trip count, which
`known_executions` take as one. Under what a program was compiled is told as far as its files do:
mesh, flags, the compiler's build.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, TypeAlias

from msgspec import Struct

from hlotool.analysis.collectives.rows import CollectiveRow, KnownHowOften
from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.graph.backend import Backend, find_backend
from hlotool.analysis.graph.calls import CallGraph, reach
from hlotool.analysis.graph.executions import Executions, TripCountSource
from hlotool.analysis.measured import JoinedTime, join_times
from hlotool.hlo import Module, Shape
from hlotool.hlo.opcodes import OPCODES, PASSES_ON
from hlotool.hlo.shape import DTYPES, find_part, sum_known
from hlotool.hlo.values import Measurement
from hlotool.table import COUNT, NUMBER, Shown, column, figure
from hlotool.table.sums import group_by


class ModuleFacts(Struct, frozen=True):
    """The module itself. Bytes are those of shapes, per device."""

    name: Annotated[str, figure("the module's name")]
    backend: Annotated[
        Backend | None, figure("the backend, recognized from the text; null before optimization")
    ]
    is_scheduled: Annotated[bool, figure("whether the instructions are in schedule order")]
    num_partitions: Annotated[
        int | None, figure("partitions the program is split into; null if unknown", COUNT)
    ]
    replica_count: Annotated[int | None, figure("copies of the program that run; null if unknown")]
    entry: Annotated[str, figure("the entry computation")]
    computation_count: Annotated[int, figure("computations in the text")]
    instruction_count: Annotated[int, figure("instructions in the text")]
    executed_instruction_count: Annotated[
        int,
        figure("instructions outside fusions and reducers: in the entry, loop bodies, branches"),
    ]
    parameter_count: Annotated[int, figure("parameters of the entry")]
    parameter_bytes: Annotated[int | None, figure("size of the parameters, with tile padding")]
    result_bytes: Annotated[int | None, figure("the size of the entry's result")]
    donated_parameter_count: Annotated[
        int,
        figure("donated parameters: aliased with a result or, before XLA decides, buffer donors"),
    ]
    donated_bytes: Annotated[int | None, figure("the size of the donated memory")]
    is_lower_bound: Annotated[
        bool, figure("whether the text is part of a program, so that counts are lower bounds")
    ] = False


def _describe_module(module: Module, executions: Executions) -> ModuleFacts:
    """Return what is known of a module; sizes are None where a shape's is unknown."""
    parameters = module.entry.parameters
    header = module.header
    # A parameter may be donated in parts, and both be aliased and a donor: each part counts once.
    donated = {(one.number, one.index) for one in header.aliases}
    if not header.is_scheduled:  # else it could not use them
        donated |= {(one.parameter, one.index) for one in header.donors}
    shapes = {one.parameter_number: one.shape for one in parameters}
    parts = [find_part(shapes[one], index) if one in shapes else None for one, index in donated]
    is_part = module.source.is_fragment
    outside = [one for one in module.instructions() if one.is_outside] if is_part else []
    computations = module.computations.values() if is_part else ()
    outside_run = [one for one in outside if one.computation in executions.counts]
    return ModuleFacts(
        name=module.name,
        backend=find_backend(module),
        is_scheduled=header.is_scheduled,
        num_partitions=header.num_partitions,
        replica_count=header.replica_count,
        entry=module.entry.name,
        computation_count=len(module.computations)
        - sum(one.root.is_outside and len(one.instructions) == 1 for one in computations),
        instruction_count=module.instruction_count() - len(outside),
        executed_instruction_count=sum(len(one.instructions) for one in executions.executed)
        - len(outside_run),
        parameter_count=len(parameters),
        parameter_bytes=sum_known(one.shape.size_bytes for one in parameters),
        result_bytes=module.entry.root.shape.size_bytes,
        donated_parameter_count=len({number for number, _ in donated}),
        donated_bytes=sum_known(part.size_bytes if part else None for part in parts),
        is_lower_bound=is_part,
    )


class ModuleCounts(Struct, frozen=True):
    """Answer of `count_module`."""

    module: ModuleFacts
    opcodes: tuple[OpcodeRow, ...]
    dtypes: tuple[DtypeRow, ...]


def count_module(
    module: Module, graph: CallGraph, executions: Executions, measured: Measurement | None = None
) -> ModuleCounts:
    """Count instructions and result bytes of a module; each part says what it counts."""
    is_part = module.source.is_fragment
    results = _count_results(graph, executions, is_part=is_part)
    names: defaultdict[str, list[str]] = defaultdict(list)
    for computation in executions.executed if measured else ():
        for one in computation.instructions:
            names[one.opcode].append(one.name)
    times = {opcode: join_times(measured, found) for opcode, found in names.items()}
    facts = _describe_module(module, executions)
    rows = _count_opcodes(results, times, is_part=is_part)
    return ModuleCounts(facts, rows, _count_dtypes(results))


_HowOften: TypeAlias = tuple[bool, int | None, int]  # as the first fields of `_Results`


class _Results(Struct, frozen=True):
    """The results of one opcode and shape, in computations that run equally often.

    `executions` of one of them is None where the number is unknown; `known_executions` then takes
    unknown trip counts as one. What others embed (`is_executed` False) does not run on its own.
    """

    is_executed: bool
    executions: int | None
    known_executions: int
    opcode: str
    shape: Shape
    count: int
    size_bytes: int | None  # of all of them


def _count_results(graph: CallGraph, executions: Executions, *, is_part: bool) -> list[_Results]:
    """Count the results of a module that are alike; of computations with the same steps once.

    What stands for something outside the text of a fragment is none of it.

    The parser makes one object a spelling, so that shapes are known by their id.
    """
    shapes: dict[int, Shape] = {}
    counts: defaultdict[_HowOften, Counter[tuple[str, int]]] = defaultdict(Counter)
    executed = set(executions.executed)
    for ones in graph.same_steps:
        steps = ones[0].instructions
        shapes.update((id(each.shape), each.shape) for each in steps)
        pairs = [
            (each.opcode, id(each.shape)) for each in steps if not (is_part and each.is_outside)
        ]
        keys = Counter(
            (True, executions.of(one), executions.lower_bound(one))
            if one in executed
            else (False, 0, 0)
            for one in ones
        )
        for key, times in keys.items():
            if times == 1:
                counts[key].update(pairs)
            else:
                found = {pair: count * times for pair, count in Counter(pairs).items()}
                counts[key].update(found)
    sizes = {key: shape.size_bytes for key, shape in shapes.items()}
    return [
        _Results(*runs, opcode, shapes[key], count, _times(sizes[key], count))
        for runs, found in counts.items()
        for (opcode, key), count in found.items()
    ]


def _times(figure: int | None, count: int) -> int | None:
    return None if figure is None else figure * count


class OpcodeRow(Struct, frozen=True):
    """One opcode. `executions` is None under a loop of unknown trip count."""

    opcode: Annotated[str, column("the opcode, without async wrappers", words=OPCODES)]
    count: Annotated[int, figure("instructions in the text")]
    executed_count: Annotated[
        int,
        column(
            "instructions in the entry, loop bodies and branches",
            heading="executed",
            lower_if="is_lower_bound",
        ),
    ]
    fused_count: Annotated[
        int,
        column(
            "instructions inside fusions, reducers and other embedded computations",
            heading="fused",
            lower_if="is_lower_bound",
        ),
    ]
    executions: Annotated[
        int | None,
        column(
            "runs per step, outside fusions and reducers; null under a loop of unknown trip count",
            heading="runs",
            lower_if="is_lower_bound",
        ),
    ]
    known_executions: KnownHowOften
    result_bytes: Annotated[
        int | None, figure("size of all results, each instruction counted once")
    ]
    executed_bytes: Annotated[
        int | None,
        column(
            "size of the results of executed instructions, each counted once; opcodes "
            "that only forward values count 0",
            heading="makes",
            lower_if="is_lower_bound",
        ),
    ]
    is_lower_bound: Annotated[
        bool, figure("whether the text is part of a program, so that more may exist")
    ]
    measured_count: Annotated[
        int | None,
        figure(
            "executions in a profile, in all runs on all devices; null if zero",
            heading="measured",
            null_text="",
            is_summed=False,
        ),
    ] = None
    measured_seconds: Annotated[
        float | None,
        figure(
            "from a profile: time of all executions per step, the mean over profiled "
            "devices; a loop's includes its body",
            heading="measured/step",
            null_text="",
        ),
    ] = None


def _count_opcodes(
    results: Iterable[_Results], times: Mapping[str, JoinedTime], *, is_part: bool
) -> tuple[OpcodeRow, ...]:
    """Count instructions, executions and bytes of each opcode; in alphabetical order.

    `count` is of all instructions in the text, `executed_count` of those in computations
    that run on their own, `fused_count` the rest (bodies of fusions, reducers, comparators,
    and computations nothing calls). `executions` is how often the executed ones run in one
    run of the entry. `result_bytes` adds up the results of all of them, `executed_bytes` of
    the executed ones, each instruction once; opcodes that only pass on what exists (tuple,
    get-tuple-element, while, …) make nothing in `executed_bytes`. Bytes are those of the
    shapes with tile padding (docs/numbers.md); None where a shape's size is unknown.
    """
    rows = []
    for opcode, found in sorted(group_by(results, lambda one: one.opcode).items()):
        executed = [one for one in found if one.is_executed]
        makes = () if opcode in PASSES_ON else executed
        time = times.get(opcode, JoinedTime())
        rows.append(
            OpcodeRow(
                opcode,
                count=sum(one.count for one in found),
                executed_count=sum(one.count for one in executed),
                fused_count=sum(one.count for one in found if not one.is_executed),
                executions=sum_known(_times(one.executions, one.count) for one in executed),
                known_executions=sum(one.known_executions * one.count for one in executed),
                result_bytes=sum_known(one.size_bytes for one in found),
                executed_bytes=sum_known(one.size_bytes for one in makes),
                is_lower_bound=is_part,
                measured_count=time.count,
                measured_seconds=time.seconds,
            )
        )
    return tuple(rows)


class DtypeRow(Struct, frozen=True):
    """One element type of array results."""

    dtype: Annotated[str, column("the element type of array results", words=DTYPES)]
    count: Annotated[int, column("array results of that type, including fused ones")]
    result_bytes: Annotated[
        int | None,
        column("size of these results, each instruction counted once", heading="results"),
    ]


def _count_dtypes(results: Iterable[_Results]) -> tuple[DtypeRow, ...]:
    """Count array results by element type; a tuple's elements where the tuple is made.

    Opcodes that only pass a tuple on are left out, or its elements would count again. Bytes
    are those of the shapes with tile padding; None where one is unknown.
    """
    counts: Counter[str] = Counter()
    sizes: defaultdict[str, list[int | None]] = defaultdict(list)
    for one in results:
        if not (one.opcode in PASSES_ON and one.shape.is_tuple):
            for leaf in one.shape.leaves():
                counts[leaf.dtype] += one.count
                sizes[leaf.dtype].append(_times(leaf.size_bytes, one.count))
    return tuple(DtypeRow(name, counts[name], sum_known(sizes[name])) for name in sorted(counts))


def _show_name(row: LoopRow) -> object:
    return Shown(row.name, "  " * row.depth)


class LoopRow(Struct, frozen=True):
    """One while instruction that the entry reaches; what it moves and sends, known parts alone."""

    name: Annotated[str, column("the while instruction", heading="loop", shown=_show_name)]
    computation: Annotated[str, figure("the computation that holds it")]
    body: Annotated[str, figure("its body")]
    trip_count: Annotated[
        int | None, column("iterations per execution; null if unknown", NUMBER, heading="trips")
    ]
    trip_count_source: Annotated[
        TripCountSource | None,
        column(
            "source of the trip count: printed in the backend config, or derived from "
            "condition, step and init",
            heading="from",
        ),
    ]
    contradicting_trip_count: Annotated[
        int | None,
        column(
            "count derived from condition, step and init if it contradicts the printed "
            "one, which is used; else null",
            NUMBER,
            heading="but derived",
            null_text="",
        ),
    ]
    depth: Annotated[int, figure("number of loops around it", NUMBER)]
    parent: Annotated[str | None, figure("the loop around it; null at the top level", null_text="")]
    executions: Annotated[int | None, column("starts of the loop per step", heading="runs")]
    loop_state_bytes: Annotated[int | None, column("size of the state carried between iterations")]
    traffic_bytes_per_step: Annotated[
        int | None,
        column(
            "bytes that all its iterations move in memory space 0 per step, with inner loops",
            is_summed=False,
            lower_if="is_traffic_lower_bound",
        ),
    ]
    sent_bytes_per_step: Annotated[
        int | None,
        column(
            "bytes that a device sends in them per step",
            is_summed=False,
            lower_if="is_sent_lower_bound",
        ),
    ]
    is_traffic_lower_bound: Annotated[
        bool, figure("whether a trip count or the traffic of an instruction is unknown")
    ]
    is_sent_lower_bound: Annotated[
        bool, figure("whether a trip count or the bytes of a collective are unknown")
    ]
    is_upper_bound: Annotated[bool, figure("whether they include work that might not run")]


def list_loops(costs: CostModel, collectives: Sequence[CollectiveRow]) -> tuple[LoopRow, ...]:
    """List the loops in the order of the program, each behind the loop around it.

    Moved bytes are those of `memory_traffic`, sent ones those of the collectives in the
    computations that the loop reaches, each with all its executions; loops inside count too.
    Unknown trip counts count once and make a lower bound.
    """
    executions = costs.executions
    inside = group_by(executions.loops, lambda loop: loop.parent)
    rows: list[LoopRow] = []
    # A stack, as loops may be nested deeper than Python recurses.
    pending = inside.get(None, [])[::-1]
    while pending:
        loop = pending.pop()
        pending.extend(inside.get(loop.instruction, [])[::-1])
        cost = costs.of_all_rounds(loop.instruction)
        runs = executions.runs_of(loop.instruction.computation)
        reached = {one.name for one in reach((loop.body, loop.condition), costs.graph.called_by)}
        sent = [row for row in collectives if row.computation in reached]
        rows.append(
            LoopRow(
                name=loop.instruction.full_name,
                computation=loop.instruction.computation.name,
                body=loop.body.name,
                trip_count=loop.trips.count,
                trip_count_source=loop.trips.source,
                contradicting_trip_count=loop.trips.contradicting,
                depth=loop.depth,
                parent=loop.parent.full_name if loop.parent else None,
                executions=runs.exact,
                loop_state_bytes=loop.instruction.shape.size_bytes,
                traffic_bytes_per_step=cost.traffic_bytes * runs.known,
                sent_bytes_per_step=sum(row.known_sent_bytes_per_step for row in sent),
                is_traffic_lower_bound=cost.is_traffic_lower_bound or not runs.is_exact,
                is_sent_lower_bound=any(row.sent_bytes_per_step is None for row in sent),
                is_upper_bound=cost.is_upper_bound
                or runs.is_conditional
                or any(row.is_upper_bound or row.is_conditional for row in sent),
            )
        )
    return tuple(rows)


class Compilation(Struct, frozen=True):
    """The mesh of the user's program, the compiler's flags and its build."""

    mesh: Annotated[
        tuple[str, ...] | None,
        figure("the axes of the mesh, as axis=size; null if no text names exactly one mesh"),
    ] = None
    flags: Annotated[
        tuple[str, ...] | None,
        figure(
            "flags that .debug_options prints, without those about dumping; null without that file"
        ),
    ] = None
    build: Annotated[
        int | None, figure("number of the TPU compiler's build: N of cl_N in a file's name", NUMBER)
    ] = None
    flags_path: Annotated[str | None, figure("the file that prints the flags")] = None
    tpu_flag_count: Annotated[
        int | None,
        figure("flags that tpu_comp_env.txt prints, default or not; null without that file"),
    ] = None
    tpu_flags_path: Annotated[str | None, figure("the tpu_comp_env.txt of the program")] = None
