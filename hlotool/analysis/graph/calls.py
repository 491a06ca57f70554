"""All calls of a module, in both directions, an order of its computations, and which are alike."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Final, NoReturn, TypeVar

from msgspec import Struct

from hlotool.errors import ParseError
from hlotool.hlo import Computation, Instruction, Module
from hlotool.hlo.module import list_plain_texts
from hlotool.hlo.opcodes import CALL_KEYS
from hlotool.table.sums import group_by, group_pairs

_BRANCH_KEYS: Final = ("true_computation", "false_computation", "branch_computations")

Node = TypeVar("Node", bound=Hashable)
Made = TypeVar("Made")

_OPCODE: Final = attrgetter("opcode")
_SHAPE: Final = attrgetter("shape")
_NAMES_ASIDE: Final = frozenset((*CALL_KEYS, "metadata"))


class CallGraph(Struct, frozen=True, dict=True):
    """All calls of a module. `callees_first` holds every computation, callers behind callees.

    `callees` is keyed by the instructions that name computations, `below` by the computations
    that these stand in, with all that they name in the order of the text; others are absent.
    """

    callees_first: tuple[Computation, ...]
    callees: Mapping[Instruction, tuple[Computation, ...]]
    below: Mapping[Computation, Sequence[Computation]]

    def called_by(self, computation: Computation) -> Sequence[Computation]:
        """Return the computations that one calls; what it calls twice is there twice."""
        return self.below.get(computation, ())

    @cached_property
    def callers(self) -> Mapping[Computation, Sequence[Instruction]]:
        """The instructions that name each computation; the others are absent."""
        return _invert(self.callees)

    @cached_property
    def same_steps(self) -> Sequence[Sequence[Computation]]:
        """All computations, together those with the same opcodes and shapes in the same order."""

        def list_steps(one: Computation) -> tuple[object, ...]:
            shapes = map(_SHAPE, one.instructions)  # the parser makes one object a spelling
            return *map(_OPCODE, one.instructions), *map(id, shapes)

        return list(group_by(self.callees_first, list_steps).values())

    @cached_property
    def first_alike(self) -> Mapping[Computation, Computation]:
        """The first of all computations that are written like each: mostly itself.

        They have the same instructions in the same order, metadata and names aside, those of
        computations too: what they call is alike.
        """
        numbers = {one: number for number, ones in enumerate(self.same_steps) for one in ones}
        alone = {ones[0] for ones in self.same_steps if len(ones) == 1}
        firsts: dict[object, Computation] = {}
        found: dict[Computation, Computation] = {}
        for one in self.callees_first:
            key = one if one in alone else (numbers[one], *self._write(one, found))
            found[one] = firsts.setdefault(key, one)
        return found

    def _write(
        self, computation: Computation, firsts: Mapping[Computation, Computation]
    ) -> Iterator[tuple[object, ...]]:
        """Yield what is equal in computations that are alike, but for opcodes and shapes."""
        steps = computation.instructions
        places = dict(zip(steps, range(len(steps)), strict=True))
        operands = [one.operands for one in steps]
        yield computation.execution_thread, places[computation.root], *map(len, operands)
        yield tuple(map(places.__getitem__, chain.from_iterable(operands)))
        yield tuple(one.literal for one in steps)
        yield tuple(list_plain_texts(computation, steps))
        split = (one.given_attributes for one in steps if one.given_attributes is not None)
        yield tuple(
            tuple(item for item in one.items() if item[0] not in _NAMES_ASIDE) for one in split
        )
        yield tuple(firsts[one] for one in self.called_by(computation))


def read_call_graph(module: Module) -> CallGraph:
    """Read which computations each instruction names, and order the computations by it.

    Raises ParseError when a computation calls itself, which XLA forbids.
    """
    below: dict[Computation, list[Computation]] = {}
    for instruction, called in module.callees.items():
        below.setdefault(instruction.computation, []).extend(called)
    return CallGraph(_order(module, below), module.callees, below)


def refuse_recursion(caller: Instruction, callee: Computation) -> NoReturn:
    """Raise ParseError at an instruction that calls a computation from within."""
    raise ParseError(
        f"the computation {callee.name!r} calls itself, directly or through others",
        caller.module.source,
        caller.start - 1,
        caller.start,
    )


def list_callers(module: Module, opcodes: Collection[str]) -> dict[Computation, list[Instruction]]:
    """Return the instructions of some opcodes that name each computation, in dump order.

    A computation that calls itself is in it like any other.
    """
    return _invert({one: called for one, called in module.callees.items() if one.opcode in opcodes})


def list_branches(conditional: Instruction) -> tuple[Computation, ...]:
    """Return the branches of a conditional, in whichever way they are named."""
    true, false, listed = map(conditional.callees, _BRANCH_KEYS)
    return listed or (*true, *false)


def reach(starts: Iterable[Node], following: Callable[[Node], Iterable[Node]]) -> list[Node]:
    """Return the starts and all that follows from them, directly or not, as first met."""
    met = dict.fromkeys(starts)
    pending = list(met)
    while pending:
        for one in following(pending.pop()):
            if one not in met:
                met[one] = None
                pending.append(one)
    return list(met)


def fold_up(
    start: Node,
    parts_of: Callable[[Node], Iterable[Node]],
    make: Callable[[Node], Made],
    known: dict[int, Made],
) -> Made:
    """Return what `make` makes of a start, after it has made the same of all its parts.

    What is made is kept in `known`, by id: a part of many is made once. However deep parts lie in
    each other, Python's stack is not needed for it.
    """
    pending = [start]
    while pending:
        one = pending[-1]
        if id(one) not in known:
            if missing := [part for part in parts_of(one) if id(part) not in known]:
                pending += missing
                continue
            known[id(one)] = make(one)
        pending.pop()
    return known[id(start)]


def _invert(
    callees: Mapping[Instruction, Iterable[Computation]],
) -> dict[Computation, list[Instruction]]:
    return group_pairs((one, caller) for caller, called in callees.items() for one in called)


def _order(
    module: Module, below: Mapping[Computation, list[Computation]]
) -> tuple[Computation, ...]:
    """Order computations depth-first without recursion; dumps mostly have this order already."""
    order: dict[Computation, None] = {}
    for start in module.computations.values():
        path = {start: iter(below.get(start, ()))} if start not in order else {}
        while path:
            computation, pending = next(reversed(path.items()))
            callee = next((one for one in pending if one not in order), None)
            if callee is None:
                path.popitem()
                order[computation] = None
            elif callee in path:
                calls = computation.instructions
                closing = next(one for one in calls if callee in one.called_computations())
                refuse_recursion(closing, callee)
            else:
                path[callee] = iter(below.get(callee, ()))
    return tuple(order)
