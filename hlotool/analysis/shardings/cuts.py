"""Whether of a gathered value a device uses its own part alone, as the final text shows it.

A use that cuts is a dynamic-slice whose offset comes from the number of the device. What lies
between may move the elements, or compute each of the part's from one of the whole's inside the
same fusion; another gather of the value counts if its result is cut likewise.

`read_cut` works out which part that is on each device, where the text of the partitioner has it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from math import prod
from typing import Final

from hlotool.hlo import ArrayShape, Computation, Instruction
from hlotool.hlo.groups import Sharding
from hlotool.hlo.opcodes import ASYNC_DONES, DEVICE_NUMBERS, ELEMENTWISE, MOVES, VIEWS

_MOST_STEPS: Final = 64  # from a gather to a cut, and from an offset to the device's number
_PASSES: Final = MOVES | (VIEWS - {"tuple"}) | ASYNC_DONES | {"convert", "pad", "slice"}
_GATHERS: Final = frozenset(("all-gather", "all-gather-start", "all-reduce", "all-reduce-start"))
_ARITHMETIC: Final[Mapping[str, Callable[[int, int], int]]] = {
    "add": operator.add,
    "multiply": operator.mul,
    "subtract": operator.sub,
}
_NUMBER: Final = r"-?\d{1,18}"


class CutFinder:
    """Looks for what is cut; keeps what it knows of each instruction."""

    def __init__(self) -> None:
        self._known: dict[Instruction, bool] = {}
        self._outer: dict[Computation, Instruction] = {}  # by what a fusion calls: the fusion

    def is_only_cut(self, made: Instruction, depth: int = 0) -> bool:
        """Whether all uses of a value cut a device's own part out of it."""
        if (known := self._known.get(made)) is not None:
            return known
        users = made.users
        found = (
            bool(users)
            and depth < _MOST_STEPS
            and not (made.is_root and not self._is_fused(made))
            and all(self._is_cut_by(made, user, depth + 1) for user in users)
        )
        if found and made.is_root and (fusion := self._outer.get(made.computation)):
            found = self.is_only_cut(fusion, depth + 1)
        self._known[made] = found
        return found

    def _is_fused(self, one: Instruction) -> bool:
        return one.computation in self._outer

    def _is_cut_by(self, made: Instruction, user: Instruction, depth: int) -> bool:
        opcode = user.opcode
        if opcode == "dynamic-slice":
            return list(user.places_of(made)) == [0] and any(
                self._is_of_this_device(offset) for offset in user.operands[1:]
            )
        if opcode == "fusion":
            return self._is_cut_in(made, user, depth)
        if opcode == "dynamic-update-slice" and list(user.places_of(made)) == [1]:
            return self._ends_cut(user, depth)  # put in its place, to be gathered by an all-reduce
        is_passed = opcode in _PASSES or opcode in _GATHERS
        if not is_passed and self._is_fused(user):
            is_passed = opcode in ELEMENTWISE
        return is_passed and self._ends_cut(user, depth)

    def _ends_cut(self, user: Instruction, depth: int) -> bool:
        """Go on with what was made of a value; the result of a fusion goes on behind it."""
        if user.is_root and (fusion := self._outer.get(user.computation)):
            return not user.users and self.is_only_cut(fusion, depth)
        return self.is_only_cut(user, depth)

    def _is_cut_in(self, made: Instruction, fusion: Instruction, depth: int) -> bool:
        if (body := fusion.callee()) is None:
            return False
        self._outer[body] = fusion
        given = [body.parameters[at] for at in fusion.places_of(made) if at < len(body.parameters)]
        return bool(given) and all(self.is_only_cut(one, depth) for one in given)

    def _is_of_this_device(self, offset: Instruction) -> bool:
        """Whether an offset is worked out from the number of the device."""
        pending, seen = [offset], {offset}
        for one in pending:
            if one.opcode in DEVICE_NUMBERS:
                return True
            before = list(one.operands)
            if one.opcode == "parameter" and (fusion := self._outer.get(one.computation)):
                before = list(fusion.operands[one.parameter_number :][:1])
            elif one.opcode == "fusion" and (body := one.callee()):
                before.append(body.root)
            pending += [each for each in before if each not in seen]
            seen.update(before)
            if len(pending) > _MOST_STEPS:
                break
        return False


def find_placed(operation: Instruction) -> bool:
    """Whether an all-reduce gathers: each device adds its part at a place of its own, or zeros."""
    one = operation.operands[0] if operation.operands else None
    for _ in range(_MOST_STEPS):
        if one is None:
            return False
        if one.opcode == "dynamic-update-slice":
            return bool(one.operands) and _is_constant(one.operands[0])
        if one.opcode == "fusion":
            body = one.callee()
            one = body.root if body else None
        elif one.opcode in MOVES | {"bitcast", "convert"} and one.operands:
            one = one.operands[0]
        else:
            return False
    return False


def _is_constant(one: Instruction) -> bool:
    """Whether all elements of a value are one constant."""
    while one.opcode in MOVES | {"bitcast", "broadcast"} and one.operands:
        one = one.operands[0]
    if one.opcode == "fusion" and (body := one.callee()):
        return _is_constant(body.root)
    return one.opcode in {"constant", "parameter"}


def read_cut(cut: Instruction, device_count: int) -> Sharding | None:
    """Return how a dynamic-slice shards what it cuts, from its offsets on each device.

    None where these cannot be worked out, or devices overlap, or some part is nobody's.
    """
    whole, part = (one.shape for one in (cut.operands[0], cut))
    if not isinstance(whole, ArrayShape) or not isinstance(part, ArrayShape):
        return None
    dims, sizes = whole.dims, part.dims
    if 0 in sizes or len(dims) != len(sizes) or any(map(operator.mod, dims, sizes)):
        return None
    tiles = tuple(map(operator.floordiv, dims, sizes))
    holders: dict[tuple[int, ...], list[int]] = {}
    for device in range(device_count):
        offsets = [_evaluate(one, device) for one in cut.operands[1:]]
        place = tuple(
            offset // of
            for offset, of in zip(offsets, sizes, strict=False)
            if offset is not None and offset >= 0 and offset % of == 0
        )
        if len(place) != len(dims):
            return None
        holders.setdefault(place, []).append(device)
    copies = device_count // prod(tiles)
    if len(holders) != prod(tiles) or {len(each) for each in holders.values()} != {copies}:
        return None
    devices = tuple(device for place in sorted(holders) for device in holders[place])
    text = f"devices=[{','.join(map(str, (*tiles, copies)))}]{','.join(map(str, devices))}"
    return Sharding(
        "tiled", text, tile_dims=(*tiles, copies), devices=devices, last_tile_dims=("replicated",)
    )


def _evaluate(one: Instruction, device: int, depth: int = 0) -> int | None:
    """Work out a whole number on one device; None where that takes more than a few steps."""
    if one.opcode == "partition-id":
        return device
    if one.opcode == "constant":
        return int(one.literal) if re.fullmatch(_NUMBER, one.literal) else None
    if depth > _MOST_STEPS:
        return None
    if one.opcode == "dynamic-slice" and one.operands[0].opcode == "constant":
        table = re.findall(_NUMBER, one.operands[0].literal)
        at = _evaluate(one.operands[1], device, depth + 1)
        is_one = all(leaf.element_count == 1 for leaf in one.shape.leaves())
        return int(table[at]) if is_one and at is not None and 0 <= at < len(table) else None
    values = [_evaluate(each, device, depth + 1) for each in one.operands]
    known = [each for each in values if each is not None]
    if not known or len(known) < len(values):
        return None
    if one.opcode in {"bitcast", "convert", "copy", "reshape"}:
        return known[0]
    compute = _ARITHMETIC.get(one.opcode)
    return compute(*known) if compute and len(known) == 2 else None  # noqa: PLR2004  two operands
