"""How much memory does a message take when it is decoded? Told from its bytes, before it is.

A message of two bytes becomes an object of up to 650. Real programs come to 8 to 23 bytes for each
byte, most of it the fields that instructions do not use.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from google.protobuf.descriptor_pb2 import FieldDescriptorProto
from msgspec import Struct

from hlotool.errors import InputError
from hlotool.proto.kind import FIXED_BYTES, LENGTH_DELIMITED, BrokenFieldError, read_varint
from hlotool.proto.messages import FieldForm, list_forms

MOST_PER_BYTE: Final = 32
_FREE_BYTES: Final = 1 << 20
_SHORT: Final = 128  # bytes of a message that is remembered: few shapes are different
_MOST_REMEMBERED: Final = 4096
_DEEPEST: Final = 100  # protobuf decodes no message that stands deeper
_CONTINUED: Final = 0x80
# What protobuf's decoder in C keeps: a message has a head, room for each of its fields, and a
# pointer to it; lists that grow are up to twice as long as what they hold.
_HEAD_BYTES: Final = 16
_POINTER_BYTES: Final = 8
_TEXT_BYTES: Final = 16
_VALUE_BYTES: Final[dict[int, int]] = {
    FieldDescriptorProto.TYPE_BOOL: 1,
    FieldDescriptorProto.TYPE_INT32: 4,
    FieldDescriptorProto.TYPE_UINT32: 4,
    FieldDescriptorProto.TYPE_ENUM: 4,
    FieldDescriptorProto.TYPE_FLOAT: 4,
    FieldDescriptorProto.TYPE_STRING: _TEXT_BYTES,
    FieldDescriptorProto.TYPE_BYTES: _TEXT_BYTES,
}
_LONGEST_VALUE: Final = 8
_GROWTH: Final = 2


class _Cost(Struct, frozen=True):
    """What a field costs: each, and for each of its bytes or by what stands in it."""

    each: int
    per_byte: int
    message: str = ""
    inner: dict[int, _Cost] | None = None


def expect_light(data: bytes, message: str, name: str, offset: int = 0) -> None:
    """Raise InputError if a message would take far more memory than any real one of its size.

    `offset` is where the message begins in its file.
    """
    limit = len(data) * MOST_PER_BYTE + _FREE_BYTES
    reached = find_heavy(data, message, limit)
    if reached is not None:
        raise InputError(
            f"{name}: this protobuf is made of far smaller messages than programs are: those "
            f"before byte {offset + reached:,} alone would take {limit:,} bytes of memory, "
            f"{MOST_PER_BYTE} for each of the file."
        )


def find_heavy(data: bytes, message: str, limit: int) -> int | None:
    """Return the byte at which what is decoded takes more than a limit, None if there is none.

    Fields up to the first that is broken count, as the decoder ends there as well.
    """
    try:
        _Scale(data, limit - len(data)).add(0, len(data), _list_costs(message))
    except _TooHeavyError as error:
        return error.offset
    except (BrokenFieldError, IndexError, KeyError):
        return None  # the decoder says what is broken
    return None


class _TooHeavyError(Exception):
    """The limit is reached at a byte."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


class _Scale:
    """Adds up what messages cost; `add` raises where one is broken, or the limit is reached."""

    def __init__(self, data: bytes, limit: int) -> None:
        self._data = data
        self._limit = limit
        self._total = 0
        self._depth = 0
        self._known: dict[tuple[str, bytes], int] = {}

    def add(self, position: int, end: int, costs: dict[int, _Cost]) -> None:
        """Add the fields at [position, end).

        The grammar is that of `list_fields`, which would take most of the time of this.
        """
        data = self._data
        while position < end:
            tag = data[position]
            position += 1
            if tag >= _CONTINUED:
                tag, position = read_varint(data, position - 1, end)
            if tag & 7 == LENGTH_DELIMITED:
                length = data[position]
                position += 1
                if length >= _CONTINUED:
                    length, position = read_varint(data, position - 1, end)
                cost = costs.get(tag)
                if cost is not None:
                    self._total += cost.each + cost.per_byte * length
                    if self._total > self._limit:
                        raise _TooHeavyError(position)
                    if cost.inner is not None and length:
                        self._add_message(position, min(position + length, end), cost)
                position += length
            elif tag & 7:
                position += FIXED_BYTES[tag & 7]
            else:
                while data[position] >= _CONTINUED:
                    position += 1
                position += 1

    def _add_message(self, begin: int, end: int, cost: _Cost) -> None:
        """Add what stands in a message; many a short one stands there often."""
        key = (cost.message, self._data[begin:end]) if end - begin <= _SHORT else None
        known = None if key is None else self._known.get(key)
        if known is not None:
            self._total += known
        elif cost.inner is not None and self._depth < _DEEPEST:
            before = self._total
            self._depth += 1
            self.add(begin, end, cost.inner)
            self._depth -= 1
            if key is not None and len(self._known) < _MOST_REMEMBERED:
                self._known[key] = self._total - before


@cache
def _list_costs(message: str) -> dict[int, _Cost]:
    """Return by tag what the fields of a message cost that may cost more than their bytes."""
    known: dict[str, dict[int, _Cost]] = {}
    _fill(message, known)
    return known[message]


def _fill(message: str, known: dict[str, dict[int, _Cost]]) -> None:
    """Fill in the costs of a message's fields; messages may stand in themselves."""
    costs = known[message] = {}
    for form in list_forms(message):
        cost = _price_values(form) if form.message is None else _price_message(form.message, known)
        if cost is not None:
            costs[form.number << 3 | LENGTH_DELIMITED] = cost


def _price_message(message: str, known: dict[str, dict[int, _Cost]]) -> _Cost:
    """Return what a message costs; one with neither messages nor lists is not looked into."""
    forms = list_forms(message)
    rooms = [
        _POINTER_BYTES
        if form.is_repeated or form.message is not None
        else _VALUE_BYTES.get(form.type, _LONGEST_VALUE)
        for form in forms
    ]
    each = _HEAD_BYTES + _POINTER_BYTES + sum(rooms)
    if not any(form.is_repeated or form.message is not None for form in forms):
        return _Cost(each, 1)
    if message not in known:
        _fill(message, known)
    return _Cost(each, 0, message, known[message])


def _price_values(form: FieldForm) -> _Cost | None:
    """Return what a list of texts or numbers costs; None for a single one, which has its room."""
    if not form.is_repeated:
        return None
    if _VALUE_BYTES.get(form.type) == _TEXT_BYTES:
        return _Cost(_GROWTH * _TEXT_BYTES, 1)
    return _Cost(0, _GROWTH * _VALUE_BYTES.get(form.type, _LONGEST_VALUE))
