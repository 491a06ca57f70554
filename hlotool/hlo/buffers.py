"""Buffer assignments: allocations, the values placed in them, and when each is live.

Nouns are those of xla/service/buffer_assignment.h and xla/hlo/utils/hlo_live_range.h.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct, field

from hlotool.hlo.module import Node
from hlotool.hlo.shape import Shape
from hlotool.hlo.values import Metadata, ShapeIndex
from hlotool.text import Source

AllocationType: TypeAlias = Literal["parameter", "output", "temp", "constant", "thread-local"]
# The first that fits is the type of an allocation.
ALLOCATION_TYPES: Final[Mapping[AllocationType, str]] = {
    "thread-local": "memory of one thread of the host; other totals exclude it",
    "constant": "holds a constant of the program",
    "parameter": "holds a parameter of the entry, donated or not",
    "output": "may hold a part of the result",
    "temp": "holds temporary values: everything else",
}
ValueKey: TypeAlias = tuple[str, ShapeIndex]  # defining instruction and index: unique in a module


class LiveRange(Struct, frozen=True, gc=False):
    """First and last position at which a value is live, both included."""

    start: int
    end: int


class BufferValue(Node, eq=False, gc=False):
    """One value of an allocation: what an instruction defines at one index of its shape.

    `index` is None where the instruction is no tuple; () is then a tuple's own table.
    `is_phi` values are where branches or loop rounds meet; they name no memory of their
    own. `size_bytes` is what the backend gives it, at `offset` inside its allocation.
    `start` is where its line begins in the dump. `live` is None where nothing says when it is.
    There may be millions, none of them in a cycle: the collector need not know them.
    """

    number: int
    instruction: str
    index: ShapeIndex | None
    is_phi: bool
    color: int
    size_bytes: int
    offset: int
    shape: Shape
    start: int = 0
    live: LiveRange | None = None

    @property
    def key(self) -> ValueKey:
        """Instruction and index; () for an instruction that is no tuple."""
        return self.instruction, self.index or ()

    @property
    def name(self) -> str:
        """As XLA prints it: `fusion.10{4}`, `copy.1`."""
        return format_position(self.instruction, self.index)


class Allocation(Node, eq=False):
    """A range of memory that the runtime reserves, in one memory space (`color`).

    `other` holds the fields of the line that this reader has not met, as printed. `reusers` are the
    numbers of the values of another space that its lines say reuse its memory.
    """

    number: int
    size_bytes: int
    color: int = 0
    parameter: int | None = None
    parameter_index: ShapeIndex = ()
    is_constant: bool = False
    is_thread_local: bool = False
    is_live_out: bool = False
    values: list[BufferValue] = field(default_factory=list)
    other: tuple[str, ...] = ()
    reusers: frozenset[int] = frozenset()
    start: int = 0

    @property
    def allocation_type(self) -> AllocationType:
        """The first that holds: thread-local, constant, parameter, output, temp."""
        if self.is_thread_local:
            return "thread-local"
        if self.is_constant:
            return "constant"
        if self.parameter is not None:
            return "parameter"
        return "output" if self.is_live_out else "temp"

    @property
    def is_donated(self) -> bool:
        """Whether a parameter's memory holds an output in the end."""
        return self.parameter is not None and self.is_live_out


class PeakEntry(Struct, frozen=True):
    """One line of XLA's own list of what lives at its peak; old dumps print no index."""

    instruction: str
    index: ShapeIndex | None
    size_bytes: int


class LiveRanges(Struct, frozen=True):
    """The HloLiveRange section; positions run from 0 to `end`, the sequence's length.

    When each value is live stands with the value.

    `peak_position` and `peak_entries` are XLA's own and not to be trusted: it charges a
    value the size of its instruction's whole shape (docs/memory.md). `peak_total_bytes` is what
    its list says that it comes to; None in old dumps.
    """

    sequence: tuple[str, ...]
    end: int
    peak_position: int | None
    peak_entries: tuple[PeakEntry, ...]
    peak_total_bytes: int | None
    source: Source


class UsedValue(Node, eq=False, gc=False):
    """What the section `Used values` adds about a value: who uses it, who defines it.

    `start` and `end` bound the text of the defining instruction in `source`; `name` is
    printed at `name_start`.
    """

    name: str
    name_start: int
    use_count: int
    start: int
    end: int
    source: Source


class Definition(Struct, frozen=True):
    """What the text of a defining instruction says when the module itself is not at hand."""

    opcode: str
    metadata: Metadata


class OpenEnd(Struct, frozen=True):
    """What may be missing at the end of a text, where nothing in the text tells."""

    source: Source
    what: Literal["allocations", "live ranges", "the rest of its last line"]


class BufferAssignment(Node, eq=False):
    """Everything a dump says about one module's memory; absent parts are None.

    `used` is keyed by the value's number. `reported_total_bytes` is the dump's own
    `Total bytes used`: all spaces, thread-local memory too. `define` reads the instruction
    text of a used value; the parser supplies it. `is_estimate` says that hlotool made it up:
    its values bear full names. `unknown_line_count` counts the lines of the dump that were
    passed over, as of no known kind. `open_end` is what may be missing; None where what the
    dump states of itself is complete.
    """

    source: Source
    allocations: tuple[Allocation, ...]
    reported_total_bytes: int | None = None
    used: Mapping[int, UsedValue] | None = None
    live_ranges: LiveRanges | None = None
    define: Callable[[UsedValue], Definition | None] | None = None
    is_estimate: bool = False
    unknown_line_count: int = 0
    open_end: OpenEnd | None = None

    def find_definition(self, number: int) -> Definition | None:
        """Return what defines the value of that number, None where the dump does not say."""
        used = self.used.get(number) if self.used else None
        return self.define(used) if used and self.define else None


def format_position(instruction: str, index: ShapeIndex | None) -> str:
    """Write an instruction and an index as XLA does, `name{0,1}`; no braces for None."""
    return instruction if index is None else f"{instruction}{{{','.join(map(str, index))}}}"
