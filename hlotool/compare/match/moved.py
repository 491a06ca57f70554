"""Pairs of what stands in another computation now, and of what is left by what it stands beside.

Code is outlined, inlined, fused, or split off, so computations are looked through: `Flow` says what
a value is, wherever the text computes it, and who computes with it. A parameter of a computation
that one fusion or call runs is that one's operand; the result of a fusion or call is its
computation's root; an element of a tuple is what was put there. So

    f = fusion(a, b), calls=body         body: p = parameter(0); ROOT n = negate(p)
    e = exponential(f)

says the same as `e = exponential(negate(a))`: e stands on n, and n on a. An instruction without
counterpart whose operands, so seen, all have counterparts takes as its own what does the same with
theirs; one whose users all have, what those use at the same places. Each pair may complete
another's operands or users.

    s = add(a, b)          |  c = call(a, b), to_apply={p, q, ROOT s = add(p, q)}
    ROOT r = negate(s)     |  ROOT r = negate(c)

The two `s` are counterparts, as p is a and q is b; r uses the same on both sides; c is new.

What an instruction stands beside are its operands and users that have counterparts; what has no
counterpart and but one operand is looked through as well. Of two instructions of one opcode each
that both stand beside at the same place counts. The pairs with most in common are taken first, and
others stand beside them then; what has as much in common with several waits. Something else must
speak for a pair as well: the same dimensions or op_name; of different opcodes both must be the
same, but for elementwise ones without op_name.

    t = tanh(e)            |  n = negate(e)
                           |  t = tanh(n)
    ROOT a = add(t, f)     |  ROOT m = maximum(t, g)

If a and m are counterparts, so are both t, though no operand of theirs is.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, groupby, islice
from typing import Final, TypeAlias

from hlotool.analysis.graph.calls import CallGraph
from hlotool.compare.match.colours import ContentNumbers
from hlotool.compare.match.signature import Signatures, family
from hlotool.hlo import Computation, Instruction
from hlotool.hlo.opcodes import ELEMENTWISE

_FARTHEST_MEANING: Final = 32  # steps to what a value is
_MOST: Final = 64  # that stand beside one at one place, or use it, so that it tells anything
CONTAINERS: Final = frozenset(("fusion", "call"))


class Flow:
    """Looks through fusions, calls and tuples of modules, one way and the other.

    `meanings` lists a value and what it is in truth, `users` what computes with a value, `beside`
    these and what takes it as it is.
    """

    def __init__(self, graphs: Iterable[CallGraph]) -> None:
        self._callers: dict[Computation, Instruction | None] = {}
        self._constant: dict[Instruction, bool] = {}
        self.meanings = cache(self._list_meanings)
        self.users = cache(self._list_users)
        self.beside = cache(self._list_beside)
        for graph in graphs:
            for caller, callees in graph.callees.items():
                for callee in callees:
                    is_only = callee not in self._callers and caller.opcode in CONTAINERS
                    self._callers[callee] = caller if is_only else None

    def caller(self, computation: Computation) -> Instruction | None:
        """Return the one fusion or call that runs a computation, None where there is none."""
        return self._callers.get(computation)

    def is_constant(self, one: Instruction) -> bool:
        """Say whether a value is a constant, or one broadcast and converted."""
        way = [one]
        while way[-1] not in self._constant and len(way[-1].operands) == 1:
            way.append(way[-1].operands[0])
        found = self._constant.get(way[-1], way[-1].opcode in {"constant", "iota"})
        self._constant.update(dict.fromkeys(way, found))
        return found

    def _list_meanings(self, one: Instruction) -> Sequence[Instruction]:
        """List a value and what it is in truth, each step nearer to where it is computed."""
        found = [one]
        while len(found) < _FARTHEST_MEANING:
            step = self._behind(found[-1])
            if step is None:
                break
            found.append(step)
        return found

    def _list_users(self, one: Instruction) -> list[tuple[Instruction, int]]:
        """List what computes with a value, and at which place of its operands."""
        found, pending, seen = [], [one], {one}
        while pending:
            value = pending.pop()
            for user in value.users:
                passed = self._passed_on(user, value)
                if passed is None:
                    found.append((user, user.places_of(value)[0]))
                    continue
                new = [each for each in passed if each not in seen]
                seen.update(new)
                pending.extend(new)
            caller = self._callers.get(value.computation) if value.is_root else None
            if caller is not None and caller not in seen:
                seen.add(caller)
                pending.append(caller)
        return found

    def _list_beside(self, one: Instruction) -> Sequence[tuple[Instruction, int]]:
        """List who computes with a value or takes it, and at which place, the first of many."""
        own = ((user, user.operands.index(one)) for user in one.users)
        return tuple(dict.fromkeys(islice(chain(self.users(one), own), _MOST)))

    def _behind(self, one: Instruction) -> Instruction | None:
        """Return what a value is one step nearer to its making, None where it is made."""
        opcode = one.opcode
        if opcode == "parameter":
            caller = self._callers.get(one.computation)
            return _pick(caller.operands, one.parameter_number) if caller else None
        if opcode in CONTAINERS:
            body = one.callee()
            return body.root if body and self._callers.get(body) is one else None
        if opcode == "get-tuple-element":
            whole = self.meanings(one.operands[0])[-1]
            return _pick(whole.operands, one.tuple_index) if whole.opcode == "tuple" else None
        return None

    def _passed_on(self, user: Instruction, value: Instruction) -> list[Instruction] | None:
        """Return what stands for a value where a user only passes it on, None where it does not."""
        body = user.callee() if user.opcode in CONTAINERS else None
        is_result = user.opcode == "tuple" and user.is_root
        caller = self._callers.get(user.computation) if is_result else None
        is_entered = body is not None and self._callers.get(body) is user
        if not is_entered and caller is None:
            return None
        places = [place for place, one in enumerate(user.operands) if one is value]
        if body:
            return [body.parameters[place] for place in places if place < len(body.parameters)]
        users = caller.users if caller else ()
        elements = (one for one in users if one.opcode == "get-tuple-element")
        return [one for one in elements if one.tuple_index in places]


def _pick(values: tuple[Instruction, ...], place: int) -> Instruction | None:
    """Return one of several; None where a text that fits nowhere has not as many."""
    return values[place] if place < len(values) else None


_Free: TypeAlias = tuple[Iterable[Instruction], Iterable[Instruction]]  # of both sides
_Marks: TypeAlias = Mapping[Instruction, Instruction]  # the new one of each pair, by either
_View: TypeAlias = Callable[[Instruction], Hashable]
# What waits for a counterpart, first come first served, by its side and what it does with which
# pairs.
_Waiting: TypeAlias = dict[tuple[bool, Hashable], OrderedDict[Instruction, None]]
_FARTHEST: Final = 4  # operations looked through
_MOST_ASKED: Final = 64  # that wait, for the one in the computation of a counterpart
_PASSING: Final = frozenset(("parameter", "get-tuple-element", "tuple", "call"))


def pair_moved(
    free: _Free,
    marks: _Marks,
    flow: Flow,
    signatures: Signatures,
    numbers: ContentNumbers,
    *,
    is_bridging: bool,
) -> dict[Instruction, Instruction]:
    """Pair free instructions of two modules, old to new, by what they do and stand on.

    `is_bridging` looks through operations of one operand that have no counterpart themselves: in
    `tanh(sign(a))` and `tanh(a)`, both stand on a.
    """
    mover = _Mover(marks, flow, numbers.up, _FARTHEST if is_bridging else 1)
    passing = _PASSING - {"parameter"} if is_bridging else _PASSING
    sides = [[one for one in side if one.opcode not in passing] for side in free]
    if all(sides):
        # What is the same in all that counts takes its counterpart first, what only does alike the
        # rest.
        mover.run(sides, numbers.signature)
        mover.run(sides, lambda one: signatures.kinds(one)[0])
    return mover.found


class _Mover:
    """Pairs as found so far; a mark is the new one of a pair, for both of it."""

    def __init__(
        self, marks: _Marks, flow: Flow, expression: Callable[[Instruction], int], farthest: int
    ) -> None:
        self._flow = flow
        self._expression = expression
        self._farthest = farthest
        self._before = marks
        self._marks = dict(marks)
        self._hopeless: set[Instruction] = set()  # until something near has a counterpart
        self.found: dict[Instruction, Instruction] = {}

    def run(self, sides: list[list[Instruction]], view: _View) -> None:
        """Pair under one view while that makes new pairs; what one side alone has cannot pair."""
        waiting: _Waiting = defaultdict(OrderedDict)
        seen = [{one: view(one) for one in side if one not in self._marks} for side in sides]
        # What only one side has cannot pair: it is dropped before it can wait.
        shared = set(seen[0].values()) & set(seen[1].values())
        seen = [{one: kind for one, kind in side.items() if kind in shared} for side in seen]
        queue = deque((bool(place), one) for place, side in enumerate(seen) for one in side)
        while queue:
            is_new, one = queue.popleft()
            if one in self._marks or one in self._hopeless:
                continue
            other = self._find_waiting(one, seen[is_new][one], waiting, is_new=is_new)
            if other is None:
                continue
            old, new = (other, one) if is_new else (one, other)
            self.found[old] = self._marks[old] = self._marks[new] = new
            for side, made in ((False, old), (True, new)):
                used = chain.from_iterable(map(self._flow.meanings, made.operands))
                near = [*used, *(user for user, _ in self._flow.users(made))]
                # A new pair may give what is near it a place; nothing else has changed for those
                # given up.
                self._hopeless.difference_update(near)
                queue.extend((side, each) for each in near if each in seen[side])

    def _find_waiting(
        self, one: Instruction, kind: Hashable, waiting: _Waiting, *, is_new: bool
    ) -> Instruction | None:
        """Return what waits on the other side for the same operands or users; else wait."""
        above, below = self._above(one), self._below(one)
        if above is below is None:
            self._hopeless.add(one)
            return None
        keys = [(kind, way) for way in (above, below) if way is not None]
        for key in keys:
            others = waiting.get((not is_new, key))
            if not others:
                continue
            first = list(islice(others, _MOST_ASKED))
            for other in first:
                if other in self._marks:
                    del others[other]
            first = [other for other in first if other in others]
            if first:
                alike = (other for other in first if self._are_called_alike(one, other))
                found = next(alike, first[0])
                del others[found]
                return found
        for key in keys:
            waiting[is_new, key].setdefault(one)
        return None

    def _are_called_alike(self, one: Instruction, other: Instruction) -> bool:
        """Say whether what calls the computations of both were counterparts before."""
        callers = self._flow.caller(one.computation), self._flow.caller(other.computation)
        if callers[0] is None or callers[1] is None:
            return callers[0] is callers[1]
        mark = self._before.get(callers[0])
        return mark is not None and mark is self._before.get(callers[1])

    def _above(self, one: Instruction) -> Hashable:
        """Return on which counterparts an instruction stands, None while one has none.

        What is made of constants alone could stand anywhere.
        """
        marks: list[Hashable] = []
        for operand in one.operands:
            mark = _find_mark(operand, self._marks, self._flow, self._farthest)
            made = self._flow.meanings(operand)[-1]
            if mark is None and not self._flow.is_constant(made):
                return None
            marks.append(mark or self._expression(made))
        is_anywhere = not any(isinstance(mark, Instruction) for mark in marks)
        return None if is_anywhere else tuple(marks)

    def _below(self, one: Instruction) -> Hashable:
        """Return which counterparts use an instruction, and where; None while one has none."""
        uses = []
        for user, place in self._flow.users(one):
            if user not in self._marks:
                return None
            uses.append((self._marks[user], place))
        return frozenset(uses) if uses else None


def _find_mark(value: Instruction, marks: _Marks, flow: Flow, farthest: int) -> Instruction | None:
    """Return the mark of what a value is in truth, or of the nearest that it is made of."""
    for _ in range(farthest):
        meanings = flow.meanings(value)
        for one in reversed(meanings):
            if one in marks:
                return marks[one]
        if len(meanings[-1].operands) != 1:
            break
        value = meanings[-1].operands[0]
    return None


_ROUNDS: Final = 16


def pair_beside(
    free: _Free, marks: _Marks, flow: Flow, signatures: Signatures, *, is_last: bool
) -> dict[Instruction, Instruction]:
    """Pair free instructions of two modules; `marks` has the new one of each pair, by either.

    What has as much in common with several waits until others have counterparts; `is_last` pairs it
    with the first of them.
    """
    finder = _Finder(free, marks, flow, signatures)
    for _ in range(_ROUNDS):
        if not finder.find(is_last=is_last):
            break
    return finder.found


class _Finder:
    """Pairs as found so far; a mark is the new one of a pair, for both of it."""

    def __init__(self, free: _Free, marks: _Marks, flow: Flow, signatures: Signatures) -> None:
        self._marks = dict(marks)
        self._flow = flow
        self._signatures = signatures
        kinds = signatures.kinds
        # What is like nothing on the other side cannot pair.
        shared = set.intersection(*({kind for one in side for kind in kinds(one)} for side in free))
        self._old, self._new = (
            {one: None for one in side if not shared.isdisjoint(kinds(one))} for side in free
        )
        self._waiting: set[Instruction] = set()  # in one round
        self.found: dict[Instruction, Instruction] = {}

    def find(self, *, is_last: bool) -> int:
        """Pair those that have most in common; return how many pairs that made."""
        before = len(self.found)
        weighed = sorted(self._weigh().items(), key=lambda item: -item[1])
        for _, same in groupby(weighed, key=lambda item: item[1]):
            pairs = [pair for pair, _ in same if self._are_free(*pair)]
            counts = Counter(chain.from_iterable(pairs))
            for one, other in pairs:
                if not is_last and not counts[one] == counts[other] == 1:
                    self._waiting.update((one, other))
                elif self._are_free(one, other):
                    self.found[one] = self._marks[one] = self._marks[other] = other
                    del self._old[one], self._new[other]
        self._waiting.clear()
        return len(self.found) - before

    def _are_free(self, one: Instruction, other: Instruction) -> bool:
        return one in self._old and other in self._new and self._waiting.isdisjoint((one, other))

    def _weigh(self) -> Mapping[tuple[Instruction, Instruction], int]:
        """Return how much speaks for each pair that anything speaks for."""
        places = {one: dict.fromkeys(self._list_places(one)) for one in self._old}
        others: dict[Hashable, list[Instruction]] = {each: [] for each in chain(*places.values())}
        for other in self._new:
            for place in others.keys() & self._list_places(other):
                others[place].append(other)
        common: Counter[tuple[Instruction, Instruction]] = Counter()
        for one, beside in places.items():
            for place in beside:
                if len(others[place]) <= _MOST:
                    common.update((one, other) for other in others[place])
        weighed = ((pair, count, self._likeness(*pair)) for pair, count in common.items())
        return {pair: 4 * count + like for pair, count, like in weighed if like}

    def _likeness(self, old: Instruction, new: Instruction) -> int:
        signatures = self._signatures
        name = signatures.op_name(old)
        same_name = bool(name) and name == signatures.op_name(new)
        same_dims = signatures.dims(old.shape) == signatures.dims(new.shape)
        if family(old) != family(new):
            are_alike = {old.opcode, new.opcode} <= ELEMENTWISE and not name
            return 1 if same_dims and (same_name or are_alike) else 0
        return 3 * same_name + 2 * same_dims

    def _list_places(self, one: Instruction) -> Iterator[Hashable]:
        """Yield beside what an instruction stands, and how."""
        for place, operand in enumerate(one.operands):
            above = _find_mark(operand, self._marks, self._flow, _FARTHEST)
            for mark in (self._marks.get(operand), above):
                if mark is not None:
                    yield "above", place, mark
        if one.opcode == "parameter":
            for meant in self._flow.meanings(one)[1:]:
                mark = self._marks.get(meant)
                if mark is not None:
                    yield "passed", mark
        for user, place in self._list_users(one):
            yield "below", place, user

    def _list_users(self, one: Instruction) -> Iterator[tuple[Instruction, int]]:
        """Yield the marks of what computes with a value, and at which of its operands."""
        pending: Iterable[Instruction] = (one,)
        for _ in range(_FARTHEST):
            further: dict[Instruction, None] = {}
            for value in pending:
                for user, place in self._flow.beside(value):
                    mark = self._marks.get(user)
                    if mark is not None:
                        yield mark, place
                    elif len(user.operands) == 1:
                        further[user] = None
            pending = islice(further, _MOST)
