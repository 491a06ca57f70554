"""What is in this module? Counts and sizes before any question about time or memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from hlotool.analysis.backend import Backend, find_backend
from hlotool.analysis.executions import Executions
from hlotool.analysis.trip_counts import TripCountSource
from hlotool.ir import ArrayShape, Module, Shape
from hlotool.ir.opcodes import PASSES_ON
from hlotool.records import node_class, record


@record
class ModuleFacts:
    """The module itself. Bytes are those of shapes, per device."""

    name: str
    backend: Backend | None
    is_scheduled: bool
    num_partitions: int
    replica_count: int
    entry: str
    computation_count: int
    instruction_count: int
    executed_instruction_count: int
    parameter_count: int
    parameter_bytes: int | None
    result_bytes: int | None
    donated_parameter_count: int
    donated_bytes: int | None


@record
class OpcodeRow:
    """One opcode. `executions` is None under a loop of unknown trip count."""

    opcode: str
    count: int
    executed_count: int
    fused_count: int
    executions: int | None
    known_executions: int
    result_bytes: int | None
    executed_bytes: int | None


@record
class DtypeRow:
    """One element type of array results."""

    dtype: str
    count: int
    result_bytes: int | None


@record
class LoopRow:
    """One while instruction that the entry reaches, in the order of the program."""

    name: str
    computation: str
    body: str
    trip_count: int | None
    trip_count_source: TripCountSource | None
    depth: int
    parent: str | None
    executions: int | None
    carried_bytes: int | None


@record
class Inventory:
    """Answer of `take_inventory`."""

    module: ModuleFacts
    opcodes: tuple[OpcodeRow, ...]
    dtypes: tuple[DtypeRow, ...]
    loops: tuple[LoopRow, ...]


@node_class
class _Tally:
    """Counts of one opcode while they are taken; None as soon as a part is unknown."""

    count: int = 0
    executed_count: int = 0
    executions: int | None = 0
    known_executions: int = 0
    result_bytes: int | None = 0
    executed_bytes: int | None = 0


@node_class
class _TypeTally:
    count: int = 0
    result_bytes: int | None = 0


def take_inventory(module: Module, executions: Executions) -> Inventory:
    """Count instructions, result bytes and loops of a module.

    `count` is of all instructions in the text, `executed_count` of those in computations
    that run on their own, `fused_count` the rest (bodies of fusions, reducers, comparators,
    and computations nothing calls). `executions` is how often the executed ones run in one
    run of the entry. `result_bytes` adds up the results of all of them, `executed_bytes` of
    the executed ones, each instruction once; opcodes that only pass on what exists (tuple,
    get-tuple-element, while, …) make nothing in `executed_bytes`. Bytes are those of the
    shapes with tile padding (docs/semantics.md); None where a shape's size is unknown.
    """
    return Inventory(
        _describe_module(module, executions),
        _count_opcodes(module, executions),
        _count_dtypes(module),
        _list_loops(executions),
    )


def _describe_module(module: Module, executions: Executions) -> ModuleFacts:
    parameters = module.entry.parameters
    header = module.header
    donated = {(one.number, one.index) for one in header.aliases}
    donated |= {(one.parameter, one.index) for one in header.donors}
    shapes = {one.parameter_number: one.shape for one in parameters}
    return ModuleFacts(
        module.name,
        find_backend(module),
        header.is_scheduled,
        header.num_partitions,
        header.replica_count,
        module.entry.name,
        len(module.computations),
        module.instruction_count(),
        sum(len(one.instructions) for one in executions.executed),
        len(parameters),
        add_known(one.shape.size_bytes for one in parameters),
        module.entry.root.shape.size_bytes,
        len({number for number, _ in donated}),
        add_known(_element_bytes(shapes.get(number), index) for number, index in sorted(donated)),
    )


def _element_bytes(shape: Shape | None, index: tuple[int, ...]) -> int | None:
    """Return the size of one element of a parameter; None where there is no such element."""
    for place in index:
        if shape is None or isinstance(shape, ArrayShape) or place >= len(shape.elements):
            return None
        shape = shape.elements[place]
    return shape.size_bytes if shape is not None else None


def _count_opcodes(module: Module, executions: Executions) -> tuple[OpcodeRow, ...]:
    tallies: defaultdict[str, _Tally] = defaultdict(_Tally)
    executed = set(executions.executed)
    sizes: dict[int, int | None] = {}
    for computation in module.computations.values():
        is_executed = computation in executed
        runs, known_runs = executions.of(computation), executions.lower_bound(computation)
        for instruction in computation.instructions:
            shape = instruction.shape
            size = sizes.get(id(shape), -1)
            if size == -1:
                size = sizes[id(shape)] = shape.size_bytes
            tally = tallies[instruction.opcode]
            tally.count += 1
            tally.result_bytes = _plus(tally.result_bytes, size)
            if is_executed:
                tally.executed_count += 1
                tally.executions = _plus(tally.executions, runs)
                tally.known_executions += known_runs
                if instruction.opcode not in PASSES_ON:
                    tally.executed_bytes = _plus(tally.executed_bytes, size)
    return tuple(
        OpcodeRow(
            opcode,
            tally.count,
            tally.executed_count,
            tally.count - tally.executed_count,
            tally.executions,
            tally.known_executions,
            tally.result_bytes,
            tally.executed_bytes,
        )
        for opcode, tally in sorted(tallies.items())
    )


def _count_dtypes(module: Module) -> tuple[DtypeRow, ...]:
    """Count array results by element type; a tuple's elements where the tuple is made.

    Opcodes that only pass a tuple on are left out, or its elements would count again.
    """
    tallies: defaultdict[str, _TypeTally] = defaultdict(_TypeTally)
    sizes: dict[int, tuple[tuple[str, int | None], ...]] = {}
    for instruction in module.instructions():
        shape = instruction.shape
        if shape.is_tuple and instruction.opcode in PASSES_ON:
            continue
        leaves = sizes.get(id(shape))
        if leaves is None:
            leaves = sizes[id(shape)] = tuple((x.dtype, x.size_bytes) for x in shape.leaves())
        for dtype, size in leaves:
            tally = tallies[dtype]
            tally.count += 1
            tally.result_bytes = _plus(tally.result_bytes, size)
    return tuple(
        DtypeRow(dtype, tally.count, tally.result_bytes) for dtype, tally in sorted(tallies.items())
    )


def _list_loops(executions: Executions) -> tuple[LoopRow, ...]:
    """List the loops, each behind the loop around it."""
    rows = [
        LoopRow(
            loop.instruction.name,
            loop.instruction.computation.name,
            loop.body.name,
            loop.trip_count,
            loop.trip_count_source,
            loop.depth,
            loop.parent.name if loop.parent else None,
            executions.of(loop.instruction.computation),
            loop.instruction.shape.size_bytes,
        )
        for loop in executions.loops
    ]
    inside: defaultdict[str | None, list[LoopRow]] = defaultdict(list)
    for row in rows:
        inside[row.parent].append(row)
    ordered: list[LoopRow] = []
    pending = inside[None][::-1]
    while pending:
        row = pending.pop()
        ordered.append(row)
        pending.extend(inside[row.name][::-1])
    return tuple(ordered)


def _plus(total: int | None, part: int | None) -> int | None:
    return None if total is None or part is None else total + part


def add_known(parts: Iterable[int | None]) -> int | None:
    """Add sizes up; None as soon as one is unknown."""
    total: int | None = 0
    for part in parts:
        total = _plus(total, part)
    return total
