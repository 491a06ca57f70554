"""What is in this module? Counts and sizes before any question about time or memory."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from msgspec import Struct

from hlotool.analysis.graph.backend import Backend, find_backend
from hlotool.analysis.graph.executions import Executions
from hlotool.analysis.graph.trip_counts import TripCountSource
from hlotool.ir import ArrayShape, Computation, Module, Shape
from hlotool.ir.opcodes import PASSES_ON

_Runs: TypeAlias = tuple[int | None, int]  # of one computation: exact, and with unknown ones as 1
# How many results of each shape, by its id, every opcode has in computations that run so often.
_Counted: TypeAlias = Sequence[tuple[_Runs | None, dict[str, Counter[int]]]]


class ModuleFacts(Struct, frozen=True):
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


class OpcodeRow(Struct, frozen=True):
    """One opcode. `executions` is None under a loop of unknown trip count."""

    opcode: str
    count: int
    executed_count: int
    fused_count: int
    executions: int | None
    known_executions: int
    result_bytes: int | None
    executed_bytes: int | None


class DtypeRow(Struct, frozen=True):
    """One element type of array results."""

    dtype: str
    count: int
    result_bytes: int | None


class LoopRow(Struct, frozen=True):
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


class Inventory(Struct, frozen=True):
    """Answer of `take_inventory`."""

    module: ModuleFacts
    opcodes: tuple[OpcodeRow, ...]
    dtypes: tuple[DtypeRow, ...]
    loops: tuple[LoopRow, ...]


class _Tally(Struct, eq=False):
    """Counts of one opcode while they are taken; None as soon as a part is unknown."""

    count: int = 0
    executed_count: int = 0
    executions: int | None = 0
    known_executions: int = 0
    result_bytes: int | None = 0
    executed_bytes: int | None = 0


class _TypeTally(Struct, eq=False):
    count: int = 0
    result_bytes: int | None = 0


class _Shapes:
    """The shapes of a module, each measured once; the parser makes one object a spelling."""

    def __init__(self) -> None:
        self.known: dict[int, Shape] = {}  # by id
        self._sizes: dict[int, int | None] = {}

    def count(self, computations: Iterable[Computation]) -> dict[str, Counter[int]]:
        """Count the results of some computations by opcode, and by the id of their shape."""
        results: defaultdict[str, list[Shape]] = defaultdict(list)
        for computation in computations:
            for instruction in computation.instructions:
                results[instruction.opcode].append(instruction.shape)
        counts: dict[str, Counter[int]] = {}
        for opcode, shapes in results.items():
            keys = list(map(id, shapes))
            self.known.update(zip(keys, shapes, strict=True))
            counts[opcode] = Counter(keys)
        return counts

    def sum_bytes(self, counts: Counter[int]) -> int | None:
        """Add up the bytes of so many results of each shape; None when one is unknown."""
        total = 0
        for key, count in counts.items():
            size = self.size_of(self.known[key])
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
    shapes = _Shapes()
    groups = _group_by_runs(module, executions)
    counted = [(runs, shapes.count(computations)) for runs, computations in groups.items()]
    return Inventory(
        _describe_module(module, executions),
        _count_opcodes(counted, shapes),
        _count_dtypes(counted, shapes),
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


def _group_by_runs(module: Module, executions: Executions) -> dict[_Runs | None, list[Computation]]:
    """Put together computations that run equally often; under None what others embed."""
    groups: defaultdict[_Runs | None, list[Computation]] = defaultdict(list)
    executed = set(executions.executed)
    for computation in module.computations.values():
        is_executed = computation in executed
        runs = executions.of(computation), executions.lower_bound(computation)
        groups[runs if is_executed else None].append(computation)
    return groups


def _count_opcodes(counted: _Counted, shapes: _Shapes) -> tuple[OpcodeRow, ...]:
    tallies: defaultdict[str, _Tally] = defaultdict(_Tally)
    for runs, counts_of in counted:
        for opcode, counts in counts_of.items():
            tally, count, size = tallies[opcode], counts.total(), shapes.sum_bytes(counts)
            tally.count += count
            tally.result_bytes = _plus(tally.result_bytes, size)
            if runs is not None:
                exact, known = runs
                tally.executed_count += count
                tally.executions = _plus(tally.executions, None if exact is None else exact * count)
                tally.known_executions += known * count
                if opcode not in PASSES_ON:
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


def _count_dtypes(counted: _Counted, shapes: _Shapes) -> tuple[DtypeRow, ...]:
    """Count array results by element type; a tuple's elements where the tuple is made.

    Opcodes that only pass a tuple on are left out, or its elements would count again.
    """
    made: Counter[int] = Counter()
    for _, counts_of in counted:
        for opcode, counts in counts_of.items():
            passes_on = opcode in PASSES_ON
            for key, count in counts.items():
                if not (passes_on and shapes.known[key].is_tuple):
                    made[key] += count
    tallies: defaultdict[str, _TypeTally] = defaultdict(_TypeTally)
    for key, count in made.items():
        for leaf in shapes.known[key].leaves():
            tally, size = tallies[leaf.dtype], shapes.size_of(leaf)
            tally.count += count
            part = None if size is None else size * count
            tally.result_bytes = _plus(tally.result_bytes, part)
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
