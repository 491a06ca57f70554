"""Which fields lie where in the bytes of a message? Only tags and lengths are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

VARINT: Final = 0
LENGTH_DELIMITED: Final = 2
FIXED_BYTES: Final = {1: 8, 5: 4}
_CONTINUED: Final = 0x80
_MOST_BITS: Final = 70


class Field(Struct, frozen=True):
    """A field: its number, how it is stored, and where its value lies."""

    number: int
    wire_type: int
    tag: int  # the offset of the field itself
    begin: int
    end: int


class BrokenFieldError(Exception):
    """The bytes at an offset are no field; the message says why."""

    def __init__(self, offset: int, why: str) -> None:
        super().__init__(why)
        self.offset = offset
        self.why = why


def list_fields(data: bytes, begin: int, end: int) -> Iterator[Field]:
    """Yield the fields of the message at [begin, end); raise BrokenFieldError where one is broken.

    field := tag value         tag = number * 8 + wire type, a varint
    value := varint | 8 bytes | length bytes | 4 bytes      by wire type 0, 1, 2, 5
    """
    position = begin
    while position < end:
        tag, after = read_varint(data, position, end)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == VARINT:
            _, stop = read_varint(data, after, end)
        elif wire_type == LENGTH_DELIMITED:
            length, after = read_varint(data, after, end)
            if length > end - after:
                left = f"{end - after:,} are left"
                raise BrokenFieldError(
                    position, f"a field says it is {length:,} bytes long; {left}"
                )
            stop = after + length
        elif wire_type in FIXED_BYTES:
            stop = after + FIXED_BYTES[wire_type]
        else:
            raise BrokenFieldError(position, f"no field is stored in way {wire_type}")
        if number == 0 or stop > end:
            raise BrokenFieldError(
                position, "a field ends too early" if number else "no field is 0"
            )
        yield Field(number, wire_type, position, after, stop)
        position = stop


def write_field(number: int, data: bytes) -> bytes:
    """Return a field that holds some bytes, such as a message."""
    return _write_varint(number << 3 | LENGTH_DELIMITED) + _write_varint(len(data)) + data


def _write_varint(value: int) -> bytes:
    digits = bytearray()
    while value >= _CONTINUED:
        digits.append(value & (_CONTINUED - 1) | _CONTINUED)
        value >>= 7
    return bytes([*digits, value])


def read_varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    """Read a number in base 128, the lowest digits first; return it and the offset behind it."""
    value, start = 0, position
    for shift in range(0, _MOST_BITS, 7):
        if position >= end:
            raise BrokenFieldError(start, "a number ends too early")
        byte = data[position]
        position += 1
        value |= (byte & (_CONTINUED - 1)) << shift
        if byte < _CONTINUED:
            return value, position
    raise BrokenFieldError(start, "a number has too many digits")
