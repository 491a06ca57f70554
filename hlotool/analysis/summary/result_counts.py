"""How many results of each shape does every opcode have? Counted once, for several lists."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct

from hlotool.analysis.graph.executions import Executions
from hlotool.ir import Computation, Module, Shape

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
