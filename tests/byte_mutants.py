"""What is done to files that are no HLO text: to any bytes, and to the fields of a protobuf."""

from __future__ import annotations

import random
from collections.abc import Callable

from profile_builder import varint

from hlotool.proto.kind import LENGTH_DELIMITED, VARINT, Field, list_fields, write_field
from hlotool.proto.messages import list_submessages

_MOST_BITS = 64
_STOP = 0.15  # at each message on the way down

ByteMutation = Callable[[bytes, random.Random], bytes]


def injure_bytes(data: bytes, chance: random.Random) -> bytes:
    """Cut, drop, insert, double or change some bytes, wherever they are."""
    changed = bytearray(data)
    at, other = chance.randrange(len(data)), chance.randrange(len(data))
    kind = chance.randrange(5)
    if kind == 0:
        del changed[at:]
    elif kind == 1:
        del changed[at : at + chance.randint(1, 9)]
    elif kind == 2:
        changed[at:at] = chance.choice((varint(chance.getrandbits(_MOST_BITS)), b"\xff" * 9))
    elif kind == 3:
        changed[at:at] = changed[other : other + chance.randint(1, 99)]
    else:
        for place in chance.sample(range(len(data)), min(len(data), 3)):
            changed[place] = chance.randrange(256)
    return bytes(changed)


def injure_fields(data: bytes, message: str, chance: random.Random) -> bytes:
    """Change one field of a message, or of one in it; all lengths are those of what they hold."""
    fields = list(list_fields(data, 0, len(data)))
    if not fields:
        return data
    field = chance.choice(fields)
    inner = list_submessages(message).get(field.number)
    value = data[field.begin : field.end]
    if inner and field.wire_type == LENGTH_DELIMITED and chance.random() > _STOP:
        made = write_field(field.number, injure_fields(value, inner, chance))
    else:
        made = _change(data, field, chance.choice(fields), chance)
    return data[: field.tag] + made + data[field.end :]


def _change(data: bytes, field: Field, other: Field, chance: random.Random) -> bytes:
    """Return what stands for a field: nothing, it twice, another, or another value."""
    itself = data[field.tag : field.end]
    kind = chance.randrange(5)
    if kind < 3:
        return (b"", itself * 2, data[other.tag : other.end])[kind]
    if field.wire_type == VARINT:
        bits = chance.choice((0, 1, 3, 8, 31, 63, _MOST_BITS))
        return varint(field.number << 3) + varint(chance.getrandbits(bits) if bits else 0)
    if field.wire_type != LENGTH_DELIMITED:
        return data[field.tag : field.begin] + chance.randbytes(field.end - field.begin)
    value = data[field.begin : field.end]
    if not value or kind == 3:
        return write_field(field.number, data[other.begin : other.end])
    return write_field(field.number, injure_bytes(value, chance))
