"""One program: a node, compared with `is`. It lists its computations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from msgspec import field

from hlotool.ir.attribute_reader import AttributeReader
from hlotool.ir.computation import Computation
from hlotool.ir.debug_info import DebugInfo
from hlotool.ir.header import Header
from hlotool.ir.instruction import Instruction
from hlotool.ir.node import Node
from hlotool.source import Source


class Module(Node, eq=False, dict=True):
    """One program. `reader` reads attributes on demand; computations keep dump order.

    There is at least one computation. XLA prints callees first, but any order is read, and
    nothing here keeps a computation from calling itself.
    """

    name: str
    source: Source
    reader: AttributeReader
    header: Header = field(default_factory=Header)
    debug_info: DebugInfo = field(default_factory=DebugInfo)
    computations: dict[str, Computation] = field(default_factory=dict)

    @cached_property
    def entry(self) -> Computation:
        """The computation marked ENTRY, else the last one."""
        for computation in self.computations.values():
            if computation.is_entry:
                return computation
        return next(reversed(self.computations.values()))

    @cached_property
    def repeated_names(self) -> frozenset[str]:
        """Names that instructions of several computations have, as in canonical prints."""
        names = [one.name for each in self.computations.values() for one in each.instructions]
        if len(set(names)) == len(names):
            return frozenset()
        return frozenset(name for name, count in Counter(names).items() if count > 1)

    def instructions(self) -> Iterator[Instruction]:
        """Yield every instruction of every computation, in dump order."""
        for computation in self.computations.values():
            yield from computation.instructions

    def instruction_count(self) -> int:
        """Count the instructions of all computations."""
        return sum(len(one.instructions) for one in self.computations.values())

    def find_instruction(self, name: str) -> Instruction | None:
        """Return the instruction of that full name (a leading % is ignored), or None."""
        wanted = name.removeprefix("%")
        return next((one for one in self.instructions() if one.full_name == wanted), None)
