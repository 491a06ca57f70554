"""What the partitioner wrote: from which sharding to which each of its collectives leads.

Two texts of passes hold it. The one before partitioning has whole arrays and, at each operation,
how it is sharded. The one that the partitioner itself wrote, before anything is cleaned up, has the
parts of one device, the collectives under the channels that they keep, and the sharding of each
value; what it made for an operation has the operation's op_name. TPU leaves out the shardings
there and gives what it made the op_name of the value: the first text tells both.

An involuntary full rematerialization is a value that was gathered whole and then cut otherwise,
with no operation between the two (PartitionedHlo::ReshardNoCache,
xla/service/spmd/spmd_partitioner.cc).
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from math import prod
from typing import Final, TypeAlias

from msgspec import Struct

from hlotool.analysis.collectives.groups import GroupReader
from hlotool.analysis.shardings.cuts import find_placed, read_cut
from hlotool.errors import HlotoolError
from hlotool.hlo import ArrayShape, Instruction, Module
from hlotool.hlo.groups import Sharding
from hlotool.hlo.opcodes import COLLECTIVES, ELEMENTWISE, MOVES
from hlotool.hlo.sharding import Spec, find_spec
from hlotool.hlo.values import SourceLocation

# What the partitioner makes to move a value, and which operand the value is.
_CARRIERS: Final = dict.fromkeys(
    (*COLLECTIVES, "bitcast", "pad", "reshape", "slice", "transpose"), 0
) | {"dynamic-update-slice": 1, "select": 1}
_GATHERS: Final = frozenset(("all-gather", "all-reduce"))
_MOST_STEPS: Final = 64  # between two values; the partitioner makes a dozen
_MOST_VALUES: Final = 1000  # that a sharding spread over, looked at for its origin
# Each dimension of the result is the same of the first operand.
_PLACES_KEPT: Final = frozenset((
    "concatenate", "copy", "dynamic-slice", "dynamic-update-slice", "pad", "reverse", "slice",
))  # fmt: skip
_Place: TypeAlias = tuple[str, tuple[SourceLocation, ...]]


class PassTexts(Struct, frozen=True):
    """The text before the partitioner, and the one that it wrote; None where no file has it."""

    before: Module | None = None
    after: Module | None = None
    path: str | None = None  # of the first of them that is there
    has_lines: bool = True  # whether the first says as many lines of an operation as the final text


class Passage(Struct, frozen=True):
    """How a value goes from one sharding to another, None where nothing says which.

    `needed_by` is the operation for which, `summed` what made the parts that are added up.
    """

    value: Instruction
    begin: Sharding | None = None
    end: Sharding | None = None
    needed_by: Instruction | None = None
    summed: Instruction | None = None
    is_involuntary: bool = False


class Partitioned:
    """The collectives of the partitioner's own text, by channel."""

    def __init__(self, texts: PassTexts) -> None:
        self.texts = texts

    @cached_property
    def _collectives(self) -> list[Instruction]:
        """Those of the partitioner's text."""
        module = self.texts.after
        instructions = module.instructions() if module else ()
        return [one for one in instructions if one.opcode in COLLECTIVES]

    @cached_property
    def _by_channel(self) -> Mapping[int | None, Instruction]:
        return {one.channel_id: one for one in self._collectives}

    @cached_property
    def _by_place(self) -> Mapping[object, Instruction]:
        """By what they are called, what they do, and how much they make."""
        return {_describe(one): one for one in reversed(self._collectives)}

    def _find_original(self, operation: Instruction) -> Instruction | None:
        """Return what a collective of the final text was: channels are kept, but for copies."""
        one = self._by_channel.get(operation.channel_id) if operation.channel_id else None
        if one is not None and _find_family(one) == _find_family(operation):
            return one
        return self._by_place.get(_describe(operation)) if self._collectives else None

    @cached_property
    def _operations(self) -> Mapping[_Place, Instruction]:
        """The operations that have a sharding before partitioning, where one has a place."""
        module = self.texts.before
        found: dict[_Place, Instruction] = {}
        unclear: set[_Place] = set()
        for one in module.instructions() if module else ():
            if (sharding := one.sharding()) and (place := self._place(one))[0]:
                other = found.setdefault(place, one).sharding()
                if other is None or other.text != sharding.text:
                    unclear.add(place)
        return {place: one for place, one in found.items() if place not in unclear}

    @cached_property
    def _involuntary(self) -> Mapping[Instruction, Passage]:
        """The collectives that gather what is cut otherwise at once."""
        found: dict[Instruction, Passage] = {}
        for one in self._collectives:
            if one.opcode not in _GATHERS or one in found or not one.operands:
                continue
            if self._is_unmarked:
                found |= self._find_unmarked(one)
            elif (whole := _find_whole(one)) is not None:
                value, chain = _trace_back(whole, is_strict=True)
                for cut in _list_cuts(whole, value):
                    needed_by = self.find_operation(cut) or cut
                    ends = value.sharding(), cut.sharding()
                    passage = Passage(value, *ends, needed_by, is_involuntary=True)
                    found |= dict.fromkeys(chain, passage)
        return found

    @cached_property
    def _groups(self) -> GroupReader:
        return GroupReader(self._collectives[0].module)

    @cached_property
    def _is_unmarked(self) -> bool:
        """Whether the partitioner's text has no shardings, as TPU's has none."""
        after = self.texts.after
        return after is not None and not any(one.sharding() for one in after.entry.instructions)

    def _find_unmarked(self, last: Instruction) -> Mapping[Instruction, Passage]:
        """Return the same for one gather of a text without shardings.

        The value is the nearest that is as large as an operation of its name, sharded as that was,
        has to be, or is told by the devices that gather it. All of it is gathered, and at once
        each device cuts a part of its own, with more parts of some dimension than before.
        """
        chain, one = [last], last.operands[0]
        for _ in range(_MOST_STEPS):
            if (known := self.find_operation(one)) is not None:
                begin = known.sharding()
                if one is last.operands[0] and not _fits(one, known, begin):
                    begin = self._read_gathered(last, known)
                if _fits(one, known, begin):
                    passage = self._cut_otherwise(last, one, known, begin)
                    return dict.fromkeys(chain, passage) if passage else {}
            if (at := _CARRIERS.get(one.opcode)) is None or len(one.operands) <= at:
                break
            chain += [one] if one.opcode in COLLECTIVES else []
            one = one.operands[at]
        return {}

    def _read_gathered(self, gather: Instruction, known: Instruction) -> Sharding | None:
        """Return how a value is sharded that one all-gather makes whole, None of others."""
        groups = self._groups.read(gather).expand() if gather.opcode == "all-gather" else None
        at = next(iter(gather.integers("dimensions")), None)
        if _dims(gather) != _dims(known) or groups is None or len(groups) != 1:
            return None
        devices = _count_devices(gather)
        tiles = tuple(devices if each == at else 1 for each in range(len(_dims(known))))
        text = f"devices=[{','.join(map(str, tiles))}]{','.join(map(str, groups[0]))}"
        return Sharding("tiled", text, tile_dims=tiles, devices=tuple(groups[0]))

    def _cut_otherwise(
        self, gather: Instruction, value: Instruction, known: Instruction, begin: Sharding | None
    ) -> Passage | None:
        """Return how a gathered value is cut at once, None unless it gets more parts somewhere."""
        whole = _find_whole(gather, _dims(known))
        devices = _count_devices(gather)
        before = _find_spec(begin, known, devices)
        for cut in _list_own_parts(whole) if whole else ():
            end = read_cut(cut, devices)
            after = _find_spec(end, known, devices)
            if before and after and any(map(operator.gt, after.parts, before.parts)):
                needed_by = self.find_operation(cut) or cut
                return Passage(value, begin, end, needed_by, is_involuntary=True)
        return None

    def find(self, operation: Instruction) -> Passage | None:
        """Return what a collective of the final text does.

        None where the other text has none such, or says nothing that can be read.
        """
        with suppress(HlotoolError):
            return self._read(operation)
        return None

    def _read(self, operation: Instruction) -> Passage | None:
        if (one := self._find_original(operation)) is None:
            return (
                None if self.texts.after or not self.texts.before else self._read_alone(operation)
            )
        if passage := self._involuntary.get(one):
            return passage
        value, _ = _trace_back(one)
        last = _trace_on(one)
        needed_by = _find_user(last, one)
        known = self.find_operation(needed_by) if needed_by else None
        begin, end = self._read_whole(value), self._read_whole(last)
        if begin is None and (source := self.find_operation(value)):
            begin = source.sharding()
        if end is None and known is not None and known.opcode in ELEMENTWISE | {"copy"}:
            end = known.sharding()
        summed = value if one.opcode in {"all-reduce", "reduce-scatter"} else None
        is_gather = one.opcode == "all-reduce" and _is_placed(one)
        return Passage(value, begin, end, known or needed_by, None if is_gather else summed)

    def _read_whole(self, one: Instruction) -> Sharding | None:
        """Return the sharding of a value; of one that is replicated in a group alone its own."""
        sharding, known = one.sharding(), self.find_operation(one)
        if sharding is None or sharding.kind != "replicated" or not _dims(one):
            return sharding
        if known is None or _dims(known) == _dims(one):
            return sharding if known else None
        own = known.sharding()
        return own if _fits(one, known, own) else None

    def _read_alone(self, operation: Instruction) -> Passage | None:
        """Return the same from the text before partitioning alone.

        The value is what a collective moves if it is as large as an operation of its name has to
        be. TPU calls a collective as the value: it is for the one user that has another sharding.
        """
        one = operation.operands[0] if operation.operands else None
        for _ in range(_MOST_STEPS):
            value = self.find_operation(one) if one else None
            if one is None or (value and _fits(one, value, value.sharding())):
                break
            one = one.operands[0] if one.opcode in MOVES | {"bitcast", "convert"} else None
        else:
            return None
        if one is None or value is None or (begin := value.sharding()) is None:
            return None
        needed_by = self.find_operation(operation)
        if needed_by and (end := needed_by.sharding()) and end.text == begin.text:
            one = needed_by
            told = [(user, user.sharding()) for user in one.users]
            others = [user for user, other in told if other and other.text != begin.text]
            needed_by = others[0] if len(others) == 1 else None
        is_told = needed_by is not None and needed_by.opcode in ELEMENTWISE | {"copy"}
        is_sum = _find_family(operation) == "all-reduce" and not find_placed(operation)
        summed = one if is_sum else None
        end = needed_by.sharding() if needed_by and is_told else None
        return Passage(one, begin, end, needed_by, summed)

    def is_before(self, one: Instruction) -> bool:
        """Whether an instruction is of the text before partitioning."""
        return one.module is self.texts.before

    def find_operation(self, one: Instruction) -> Instruction | None:
        """Return the operation of the text before partitioning that an instruction is made for."""
        return self._operations.get(self._place(one))

    def _place(self, one: Instruction) -> _Place:
        return _place(one) if self.texts.has_lines else (one.metadata().op_name, ())

    def find_annotation(self, operation: Instruction, wanted: Sharding) -> list[Instruction]:
        """Return the way from an operation to the nearest annotation that asks for its sharding.

        That is a constraint, or a parameter. All on the way have the same sharding, and each is
        made of the one before it or the other way round, sharded dimension by sharded dimension; no
        way is [].
        """
        rank = len(wanted.tile_dims) - len(wanted.last_tile_dims)
        cut = [at for at, parts in enumerate(wanted.tile_dims[:rank]) if parts > 1]
        cut += [at for at, axes in enumerate(wanted.dim_axes) if axes]
        own = operation.sharding()
        ways: dict[Instruction, Instruction | None] = {operation: None}
        pending = [operation] if own and own.text == wanted.text else []
        for one in pending:
            if is_annotation(one):
                return _list_way(one, ways)
            near = [(user, _keeps_dims(one, user, cut)) for user in one.users]
            near += [(other, _keeps_dims(other, one, cut)) for other in one.operands]
            for other, is_kept in near:
                sharding = other.sharding()
                is_same = is_kept and sharding and sharding.text == wanted.text
                if is_same and other not in ways:
                    ways[other] = one
                    pending.append(other)
            if len(pending) > _MOST_VALUES:
                break
        return []


def _keeps_dims(operand: Instruction, user: Instruction, cut: Sequence[int]) -> bool:
    """Whether what is sharded of an operand is, by its place, the same dimension of what uses it.

    Of a product those are the batch and, of its first operand, what follows.
    """
    if is_annotation(user) or user.opcode in ELEMENTWISE | _PLACES_KEPT:
        return len(_dims(operand)) == len(_dims(user))
    if user.opcode != "dot" or user.operands[0] is not operand:
        return False
    batch = user.integers("lhs_batch_dims")
    summed = user.integers("lhs_contracting_dims")
    free = [at for at in range(len(_dims(operand))) if at not in {*batch, *summed}]
    places = [*batch, *free]
    return all(at < len(places) and places[at] == at for at in cut)


def _list_way(
    last: Instruction, ways: Mapping[Instruction, Instruction | None]
) -> list[Instruction]:
    way = [last]
    while (before := ways[way[-1]]) is not None:
        way.append(before)
    return way[::-1]


def is_annotation(one: Instruction) -> bool:
    """Whether the user says how a value is sharded: by a constraint, or as an argument."""
    return one.opcode == "parameter" or is_constraint(one)


def is_constraint(one: Instruction) -> bool:
    """Whether an operation is a sharding constraint of the user's."""
    return one.metadata().op_name.rpartition("/")[2] in ("sharding_constraint", "reshard")


def _find_family(one: Instruction) -> str:
    """Return what a collective is, without what passes make of it."""
    opcode = one.opcode.removesuffix("-start")
    return "all-reduce" if opcode == "reduce-scatter" else opcode


def _describe(one: Instruction) -> object:
    return _find_family(one), sum(prod(leaf.dims) for leaf in one.shape.leaves()), _place(one)


def _place(one: Instruction) -> _Place:
    """Return the op_name and the lines of an operation, by which two texts call it alike."""
    metadata = one.metadata()
    stack = one.module.debug_info.find_stack(metadata.stack_frame_id)
    own = one.source_location(metadata)
    return metadata.op_name, stack or ((own,) if own else ())


def _trace_back(
    last: Instruction, *, is_strict: bool = False
) -> tuple[Instruction, list[Instruction]]:
    """Return the value that was moved, and the collectives that moved it, the last first.

    What the partitioner made on the way has the op_name of the last. Strictly, the way ends where
    the sharding changes.
    """
    name = last.metadata().op_name
    chain: list[Instruction] = []
    one = last
    for _ in range(_MOST_STEPS):
        if (at := _CARRIERS.get(one.opcode)) is None or len(one.operands) <= at:
            break
        before = one.operands[at]
        if one is not last and (own := one.sharding()):
            other = before.sharding()
            is_changed = other is None or other.text != own.text
            is_cut = one.opcode in {"pad", "slice"} and before.opcode not in _GATHERS
            if one.metadata().op_name != name or is_cut or (is_strict and is_changed):
                break
            if is_changed and not _is_moved(one, name):
                break
        if one.opcode in COLLECTIVES:
            chain.append(one)
        one = before
    return one, chain


def _is_moved(one: Instruction, name: str) -> bool:
    """Whether a value was made by a collective, with nothing but views between."""
    for _ in range(_MOST_STEPS):
        if one.opcode in COLLECTIVES or one.metadata().op_name != name:
            return one.opcode in COLLECTIVES
        if (at := _CARRIERS.get(one.opcode)) is None or len(one.operands) <= at:
            return False
        one = one.operands[at]
        if one.opcode not in COLLECTIVES and one.sharding():
            return False
    return False


def _trace_on(first: Instruction) -> Instruction:
    """Return the value that a collective leads to."""
    name = first.metadata().op_name
    one = first
    for _ in range(_MOST_STEPS):
        is_told = one.sharding() is not None
        following = [
            user
            for user in one.users
            if (user.opcode in _CARRIERS or user.opcode == "dynamic-slice")
            and user.metadata().op_name == name
            and (not is_told or user.opcode in COLLECTIVES or user.sharding() is None)
        ]
        if len(following) != 1:
            break
        one = following[0]
    return one


def _find_user(last: Instruction, collective: Instruction) -> Instruction | None:
    """Return the operation for which a value was moved: the nearest that is no carrier."""
    pending = [last]
    for one in pending:
        for user in one.users:
            is_other = user.metadata().op_name != collective.metadata().op_name
            if user.opcode not in _CARRIERS or is_other:
                return user
            pending.append(user)
        if len(pending) > _MOST_STEPS:
            break
    return None


def _find_whole(one: Instruction, dims: Sequence[int] | None = None) -> Instruction | None:
    """Follow a gather to the value that every device holds whole, if it leads to one.

    Where no sharding says so, that is one of these dimensions.
    """
    for _ in range(_MOST_STEPS):
        sharding = one.sharding()
        if (sharding and sharding.kind == "replicated") or (dims and _dims(one) == dims):
            return one
        following = [user for user in one.users if user.opcode in _CARRIERS]
        if len(following) != 1:
            return None
        one = following[0]
    return None


def _list_cuts(whole: Instruction, value: Instruction) -> Iterator[Instruction]:
    """Yield what cuts a gathered value at once, not as it was cut before.

    Within a group of devices the value may be gathered from no more devices than the group has;
    from more, an operation asked for all of it.
    """
    if (begin := value.sharding()) is None:
        return
    factor = prod(_dims(whole)) // max(prod(_dims(value)), 1)
    for user in whole.users:
        one = user
        while one.opcode == "pad" and len(one.users) == 1 and _is_whole(one):
            one = one.users[0]
        end = one.sharding()
        if one.opcode != "dynamic-slice" or end is None or end.kind != "tiled":
            continue
        if end.text != begin.text and factor <= prod(end.tile_dims):
            yield one


def _is_whole(one: Instruction) -> bool:
    sharding = one.sharding()
    return sharding is None or sharding.kind == "replicated"


def _find_spec(sharding: Sharding | None, one: Instruction, device_count: int) -> Spec | None:
    """Return what a sharding means for an operation, None where it does not fit."""
    with suppress(ValueError):
        return find_spec(sharding, len(_dims(one)), device_count) if sharding else None
    return None


def _fits(one: Instruction, known: Instruction, sharding: Sharding | None) -> bool:
    """Whether a value is as large as a device's part of an operation that is sharded so."""
    spec = _find_spec(sharding, known, _count_devices(one))
    return spec is not None and spec.local_dims(_dims(known)) == _dims(one)


def _count_devices(one: Instruction) -> int:
    return one.module.header.num_partitions or 1


def _dims(one: Instruction) -> tuple[int, ...]:
    return one.shape.dims if isinstance(one.shape, ArrayShape) else ()


def _list_own_parts(whole: Instruction) -> Iterator[Instruction]:
    """Yield what cuts an array at once, perhaps padded to parts of one size."""
    for user in whole.users:
        one = user.users[0] if user.opcode == "pad" and len(user.users) == 1 else user
        if one.opcode == "dynamic-slice" and one.operands[0] in {whole, user}:
            yield one


def _is_placed(one: Instruction) -> bool:
    """Whether an all-reduce adds up parts that each device put in a place of its own."""
    return bool(one.operands) and one.operands[0].opcode == "dynamic-update-slice"
