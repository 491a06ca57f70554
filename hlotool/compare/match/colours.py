"""Colours of instructions: by what they are, by what surrounds them, and by all that they hold.

Weisfeiler–Leman refinement: equal colours mean equal surroundings. Landmarks, the pairs
made so far, have one colour of their own on both sides (a number below zero), so that
differences beyond a landmark do not show. Only what is no landmark is coloured: `sides` are
the instructions of both computations that are none. A view says how closely an instruction is
looked at, strict to loose.

Contents are numbered bottom-up: an instruction's `up` number stands for its signature and the `up`
of its operands, so equal numbers mean equal expressions. Top-down: `down` stands for its
signature and for who uses it, at which operand. A computation's number stands for its root's
`up` and the bag of all (up, down); names, numbering and the order of independent
instructions have no part in it. Every instruction is visited twice, every computation once.
Computations that are written alike, line by line, share one `Contents`: layers repeat their
fusions, and a program that was only renamed repeats everything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Final, TypeAlias

from msgspec import Struct

from hlotool.analysis.graph.calls import CallGraph
from hlotool.compare.match.signature import LONE, Signatures, Table, family
from hlotool.hlo import Computation, Instruction

View: TypeAlias = Callable[[Instruction], int]
Colour: TypeAlias = Callable[[Instruction], Hashable]
Landmarks: TypeAlias = dict[Instruction, int]
_Numbering: TypeAlias = Callable[[Hashable], int]
_Sides: TypeAlias = Sequence[Sequence[Instruction]]  # the old and the new one
_REACH: Final = 2  # steps that `near_colours` looks


def upward_colours(
    sides: _Sides, view: View, landmarks: Landmarks, table: Table
) -> dict[Instruction, int]:
    """Colour by the view and all operands, up to the landmarks."""
    colours: dict[Instruction, int] = {}
    for place, number in _in_turn(sides, table):
        for one in sides[place]:
            above = [landmarks.get(operand) or colours[operand] for operand in one.operands]
            colours[one] = LONE if LONE in above else number((view(one), *above))
    return colours


def downward_colours(
    sides: _Sides, view: View, landmarks: Landmarks, table: Table
) -> dict[Instruction, int]:
    """Colour by the view and all uses, down to the landmarks."""
    colours: dict[Instruction, int] = {}
    for place, number in _in_turn(sides, table):
        side = sides[place]
        uses: dict[Instruction, list[tuple[int, int]]] = defaultdict(list)
        for user in {user for one in side for user in one.users if user in landmarks}:
            for at, operand in enumerate(user.operands):
                if operand not in landmarks:
                    uses[operand].append((landmarks[user], at))
        for one in reversed(side):
            below = sorted(uses.pop(one, ()))
            colours[one] = mark = number(("down", view(one), one.is_root, *below))
            for at, operand in enumerate(one.operands):
                if operand not in landmarks:
                    uses[operand].append((mark, at))
    return colours


def near_colours(
    sides: _Sides, free: _Sides, view: View, landmarks: Landmarks, table: Table
) -> dict[Instruction, int]:
    """Colour by the view and what stands within a few steps, users and operands alike.

    A colour that one side alone has is mixed no further: nothing there is of its kind, nor of the
    kind of what stands beside it.
    """
    colours: dict[Instruction, int] = {}
    for place, number in _in_turn(sides, table):
        colours.update((one, number(view(one))) for one in sides[place])
    for _ in range(_REACH):
        # Colours are mixed for shared ones alone: the cost goes by what may still pair, not by
        # size.
        shared = set.intersection(*({colours[one] for one in side} for side in sides))
        mixed: dict[Instruction, int] = {}
        for place, number in _in_turn(sides, table):
            for one in (each for each in free[place] if colours[each] in shared):
                above = tuple([landmarks.get(each) or colours[each] for each in one.operands])
                below = sorted([landmarks.get(each) or colours[each] for each in one.users])
                mixed[one] = number((colours[one], above, tuple(below)))
        colours.update(mixed)
    return colours


def _in_turn(sides: _Sides, table: Table) -> Iterator[tuple[int, _Numbering]]:
    """Yield the smaller side, which makes colours, then the larger, which finds them again.

    What the larger alone has is LONE, and what builds on it: the smaller has no such colour.
    """
    smaller = int(len(sides[1]) < len(sides[0]))
    yield from ((smaller, table.number), (1 - smaller, table.find))


_CONTROL: Final = frozenset(("while", "conditional", "call"))  # whatever stands in their bodies


def list_views(signatures: Signatures, exact: View, *, has_numbers: bool) -> tuple[View, ...]:
    """List the views, strictest first; each is worked out once for an instruction.

    exact: all that counts, and the layer. shaped: opcode, dimensions, op_name, constant, and
    roughly what a fusion does. named: opcode and op_name. scoped: opcode, scope and primitive.
    sized: opcode and dimensions. kind: opcode. Without `has_numbers`, numbers of parameters do not
    count: there are more or fewer on one side.
    """
    number = signatures.table.number

    def stated(one: Instruction) -> int:
        if has_numbers or one.opcode != "parameter":
            return exact(one)
        return number(("parameter", signatures.shape(one.shape), signatures.attributes(one)))

    def layered(one: Instruction) -> int:
        tag = signatures.layers.tag(signatures.op_name(one))
        return stated(one) if tag is None else number(("layered", stated(one), tag))

    def shaped(one: Instruction) -> int:
        constant = one.literal if one.opcode == "constant" else ""
        dims = signatures.dims(one.shape)
        body = 0 if one.opcode in _CONTROL else signatures.body(one)
        return number(("shaped", family(one), dims, body, constant, signatures.op_name(one)))

    def surrounded(one: Instruction) -> int:
        above = [first(operand) for operand in one.operands]
        return number(("surrounded", first(one), *above, -1, *sorted(map(first, one.users))))

    first = cache(layered if signatures.layers.families else stated)
    views = (
        surrounded,
        first,
        shaped,
        lambda one: number(("named", family(one), signatures.op_name(one))),
        lambda one: number(("scoped", family(one), signatures.origin(one))),
        lambda one: number(("sized", family(one), signatures.dims(one.shape))),
        lambda one: number(("kind", family(one))),
    )
    return tuple(cache(view) for view in views)


class Contents(Struct, frozen=True, eq=False):
    """The numbers of a computation, and those of its instructions in the order of the text."""

    number: int
    signatures: Sequence[int]
    up: Sequence[int]
    both: Sequence[int]  # up and down in one


class ContentNumbers:
    """The numbers of all modules that are compared.

    Which place an instruction has is kept of computations that someone asked about: of two programs
    that hold the same, nobody does.
    """

    def __init__(self) -> None:
        self.contents: dict[Computation, Contents] = {}
        self._places = cache(_number_places)

    def computation(self, computation: Computation) -> int:
        """Return the number of a computation."""
        return self.contents[computation].number

    def place(self, one: Instruction) -> int:
        """Return where an instruction stands in its computation: 0, 1, 2, …"""
        return self._places(one.computation)[one]

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
    contents = numbers.contents
    number = cache(lambda written: _number(written, signatures.table))
    for graph in graphs:
        for one, first in graph.first_alike.items():
            found = contents.get(first)  # what is written alike needs no look
            contents[one] = found or number(_write(one, signatures, numbers, graph))
    return numbers


def _write(
    computation: Computation, signatures: Signatures, numbers: ContentNumbers, graph: CallGraph
) -> _Written:
    contents, called = numbers.contents, graph.callees
    places = _number_places(computation)
    own: list[int] = []
    operands: list[int] = []
    for one in computation.instructions:
        callees = tuple([contents[each].number for each in called[one]]) if one in called else ()
        own.append(signatures.exact(one, callees))
        operands.append(len(one.operands))
        operands += [places[operand] for operand in one.operands]
    root = places[computation.root]
    return _Written(tuple(own), tuple(operands), root, computation.execution_thread)


def _number_places(computation: Computation) -> dict[Instruction, int]:
    return {one: place for place, one in enumerate(computation.instructions)}


def _number(written: _Written, table: Table) -> Contents:
    """Give numbers: by what each is made of, then by who uses it, then by both and all together."""
    number = table.number
    own, root = written.signatures, written.root
    rest = iter(written.operands)
    lists = [tuple(islice(rest, count)) for count in rest]
    up: list[int] = []
    for signature, operands in zip(own, lists, strict=True):
        up.append(number((signature, *[up[one] for one in operands])))
    both = list(own)
    uses: list[list[tuple[int, int]]] = [[] for _ in own]
    # Users stand behind what they use, so a walk backwards meets every use before its operand.
    for place in range(len(own) - 1, -1, -1):
        mine = number(("down", own[place], place == root, tuple(sorted(uses[place]))))
        both[place] = number(("both", up[place], mine))
        for at, operand in enumerate(lists[place]):
            uses[operand].append((mine, at))
    whole = number(("computation", up[root], tuple(sorted(both)), written.execution_thread))
    return Contents(whole, own, up, both)
