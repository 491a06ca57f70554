"""Where is a message broken that does not decode?"""

from __future__ import annotations

from typing import Final

from google.protobuf.message import DecodeError

from hlotool.inputs.proto.messages import find_message, list_submessages
from hlotool.inputs.proto.wire import LENGTH_DELIMITED, BrokenFieldError, list_fields

_DEEPEST: Final = 100  # protobuf decodes no message that stands deeper


def find_damage(data: bytes, begin: int, end: int, message: str) -> BrokenFieldError:
    """Return where the message at [begin, end) is broken, and how.

    Each field that is a message is decoded alone; the first that cannot be is looked into.
    """
    for _ in range(_DEEPEST):
        inner = list_submessages(message)
        try:
            for field in list_fields(data, begin, end):
                is_message = field.wire_type == LENGTH_DELIMITED and field.number in inner
                if is_message and not _decodes(inner[field.number], data[field.begin : field.end]):
                    message, begin, end = inner[field.number], field.begin, field.end
                    break
            else:
                return BrokenFieldError(begin, f"a text in this {message} is not UTF-8")
        except BrokenFieldError as error:
            return error
    return BrokenFieldError(begin, f"messages stand in one another more than {_DEEPEST} deep")


def _decodes(message: str, data: bytes) -> bool:
    try:
        find_message(message).FromString(data)
    except DecodeError:
        return False
    return True
