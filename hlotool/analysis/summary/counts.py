"""How many results of each shape does every opcode have? Counted once, for several lists.

Which opcodes does a module have, how often do they run, and how much do they make?

Which element types do a module's results have, and how many bytes of each?

What is in a module, counted, before any question about time or memory?
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Annotated, TypeAlias

from msgspec import Struct

from hlotool.analysis.graph.executions import Executions
from hlotool.analysis.summary.module_facts import ModuleFacts, describe_module
from hlotool.hlo import Computation, Module, Shape
from hlotool.hlo.opcodes import OPCODES, PASSES_ON
from hlotool.hlo.shape import DTYPES
from hlotool.table import BYTES, COUNT, SECONDS, column, figure

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


def add_known(total: int | None, part: int | None) -> int | None:
    """Add a part to a total; None as soon as one is unknown."""
    return None if total is None or part is None else total + part


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
            give_way=1,
        ),
    ]
    executions: Annotated[
        int | None,
        column(
            "how often executed instructions run in one run of the entry; null under a loop of "
            "unknown trip count",
            COUNT,
            heading="runs",
            once="known_executions",
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


class _OpcodeTally(Struct, eq=False):
    """Counts of one opcode while they are taken; None as soon as a part is unknown."""

    count: int = 0
    executed_count: int = 0
    executions: int | None = 0
    known_executions: int = 0
    result_bytes: int | None = 0
    executed_bytes: int | None = 0


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
    tallies: defaultdict[str, _OpcodeTally] = defaultdict(_OpcodeTally)
    for group in results.groups:
        runs, known_runs = group.executions, group.known_executions
        for opcode, counts in group.by_opcode.items():
            tally, count, size = tallies[opcode], counts.total(), results.sum_bytes(counts)
            tally.count += count
            tally.result_bytes = add_known(tally.result_bytes, size)
            if group.is_executed:
                tally.executed_count += count
                tally.executions = add_known(
                    tally.executions, None if runs is None else runs * count
                )
                tally.known_executions += known_runs * count
                if opcode not in PASSES_ON:
                    tally.executed_bytes = add_known(tally.executed_bytes, size)
    return tuple(_row(opcode, tally) for opcode, tally in sorted(tallies.items()))


def _row(opcode: str, tally: _OpcodeTally) -> OpcodeRow:
    return OpcodeRow(
        opcode=opcode,
        count=tally.count,
        executed_count=tally.executed_count,
        fused_count=tally.count - tally.executed_count,
        executions=tally.executions,
        known_executions=tally.known_executions,
        result_bytes=tally.result_bytes,
        executed_bytes=tally.executed_bytes,
    )


class DtypeRow(Struct, frozen=True):
    """One element type of array results."""

    dtype: Annotated[str, column("the element type of array results", words=DTYPES)]
    count: Annotated[int, column("array results of that type, including fused ones", COUNT)]
    result_bytes: Annotated[
        int | None,
        column("size of these results, each instruction counted once", BYTES, heading="results"),
    ]


class _DtypeTally(Struct, eq=False):
    count: int = 0
    result_bytes: int | None = 0


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
    tallies: defaultdict[str, _DtypeTally] = defaultdict(_DtypeTally)
    for key, count in made.items():
        for leaf in results.shapes[key].leaves():
            tally, size = tallies[leaf.dtype], results.size_of(leaf)
            tally.count += count
            part = None if size is None else size * count
            tally.result_bytes = add_known(tally.result_bytes, part)
    return tuple(
        DtypeRow(dtype, tally.count, tally.result_bytes) for dtype, tally in sorted(tallies.items())
    )


class ModuleCounts(Struct, frozen=True):
    """Answer of `count_module`."""

    module: ModuleFacts
    opcodes: tuple[OpcodeRow, ...]
    dtypes: tuple[DtypeRow, ...]


def count_module(module: Module, executions: Executions) -> ModuleCounts:
    """Count instructions and result bytes of a module; each part says what it counts."""
    results = ResultCounts(module, executions)
    return ModuleCounts(
        describe_module(module, executions),
        count_opcodes(results),
        count_dtypes(results),
    )
