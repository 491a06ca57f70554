"""Numbers that instructions and computations of equal contents share.

Bottom-up: an instruction's `up` number stands for its signature and the `up` of its
operands, so equal numbers mean equal expressions. Top-down: `down` stands for its
signature and for who uses it, at which operand. A computation's number stands for its root's
`up` and the bag of all (up, down); names, numbering and the order of independent
instructions have no part in it. Every instruction is visited twice, every computation once.

Computations that are written alike, line by line, share one `Contents`: layers repeat their
fusions, and a program that was only renamed repeats everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from hlotool.analysis.graph.call_graph import CallGraph
from hlotool.compare.match.signature import Signatures, Table
from hlotool.ir import Computation, Instruction


class Contents(Struct, frozen=True, eq=False):
    """The numbers of a computation, and those of its instructions in the order of the text."""

    number: int
    signatures: Sequence[int]
    up: Sequence[int]
    both: Sequence[int]  # up and down in one


class ContentNumbers(Struct, eq=False):
    """The numbers of all modules that are compared.

    Which place an instruction has is kept of computations that someone asked about: of two programs
    that hold the same, nobody does.
    """

    contents: dict[Computation, Contents] = field(default_factory=dict)
    _places: dict[Computation, dict[Instruction, int]] = field(default_factory=dict)

    def computation(self, computation: Computation) -> int:
        """Return the number of a computation."""
        return self.contents[computation].number

    def place(self, one: Instruction) -> int:
        """Return where an instruction stands in its computation: 0, 1, 2, …"""
        places = self._places.get(one.computation)
        if places is None:
            places = self._places[one.computation] = _list_places(one.computation)
        return places[one]

    def signature(self, one: Instruction) -> int:
        """Return the number of all that counts in an instruction, its operands aside."""
        return self.contents[one.computation].signatures[self.place(one)]

    def up(self, one: Instruction) -> int:
        """Return the number of an expression."""
        return self.contents[one.computation].up[self.place(one)]

    def both(self, one: Instruction) -> int:
        """Return the number of an expression and of its uses."""
        return self.contents[one.computation].both[self.place(one)]


class _Written(Struct, frozen=True):
    """A computation without names: signatures in order, how many operands each has, and which."""

    signatures: tuple[int, ...]
    operands: tuple[int, ...]
    root: int
    execution_thread: str


def number_contents(graphs: Iterable[CallGraph], signatures: Signatures) -> ContentNumbers:
    """Give every computation of the modules whose calls these are its number, callees first."""
    numbers = ContentNumbers()
    known: dict[_Written, Contents] = {}
    for graph in graphs:
        for computation in graph.callees_first:
            written = _write(computation, signatures, numbers, graph)
            contents = known.get(written)
            if contents is None:
                contents = known[written] = _number(written, signatures.table)
            numbers.contents[computation] = contents
    return numbers


def _write(
    computation: Computation, signatures: Signatures, numbers: ContentNumbers, graph: CallGraph
) -> _Written:
    contents, called = numbers.contents, graph.callees
    places = _list_places(computation)
    own: list[int] = []
    operands: list[int] = []
    for one in computation.instructions:
        callees = tuple([contents[each].number for each in called[one]]) if one in called else ()
        own.append(signatures.exact(one, callees))
        operands.append(len(one.operands))
        operands += [places[operand] for operand in one.operands]
    root = places[computation.root]
    return _Written(tuple(own), tuple(operands), root, computation.execution_thread)


def _list_places(computation: Computation) -> dict[Instruction, int]:
    return {one: place for place, one in enumerate(computation.instructions)}


def _number(written: _Written, table: Table) -> Contents:
    """Give numbers: by what each is made of, then by who uses it, then by both and all together."""
    number = table.number
    own, root = written.signatures, written.root
    lists = _read_operands(written.operands)
    up: list[int] = []
    for signature, operands in zip(own, lists, strict=True):
        up.append(number((signature, *[up[one] for one in operands])))
    both = list(own)
    uses: list[list[tuple[int, int]]] = [[] for _ in own]
    for place in range(len(own) - 1, -1, -1):
        mine = number(("down", own[place], place == root, tuple(sorted(uses[place]))))
        both[place] = number(("both", up[place], mine))
        for at, operand in enumerate(lists[place]):
            uses[operand].append((mine, at))
    whole = number(("computation", up[root], tuple(sorted(both)), written.execution_thread))
    return Contents(whole, own, up, both)


def _read_operands(written: Sequence[int]) -> list[Sequence[int]]:
    """Take the operands of all instructions apart again."""
    found, start = [], 0
    while start < len(written):
        end = start + 1 + written[start]
        found.append(written[start + 1 : end])
        start = end
    return found
