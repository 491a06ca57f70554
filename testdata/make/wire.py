"""Read protobuf bytes without a schema: enough for the few fields of a dump we need."""

from collections.abc import Iterator

Value = int | bytes


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Read one base-128 number; give it and where it ends."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 (the continuation bit)
            return value, position
        shift += 7


def read_fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """Yield (field number, value) of a message; a value is a number or the raw bytes."""
    position = 0
    while position < len(data):
        key, position = read_varint(data, position)
        kind = key & 7
        if kind == 0:
            value, position = read_varint(data, position)
            yield key >> 3, value
            continue
        if kind == 2:  # noqa: PLR2004 (length-delimited)
            length, position = read_varint(data, position)
        else:
            length = {1: 8, 5: 4}[kind]
        yield key >> 3, data[position : position + length]
        position += length


class Message:
    """The fields of one message, by number."""

    def __init__(self, data: bytes) -> None:
        self._fields: dict[int, list[Value]] = {}
        for number, value in read_fields(data):
            self._fields.setdefault(number, []).append(value)

    def messages(self, number: int) -> list["Message"]:
        """List the values of a repeated message field."""
        values = self._fields.get(number, [])
        return [Message(value) for value in values if isinstance(value, bytes)]

    def text(self, number: int) -> str:
        """Give a string field, or the empty string."""
        value = self._fields.get(number, [b""])[-1]
        return value.decode() if isinstance(value, bytes) else ""

    def number(self, number: int) -> int:
        """Give an integer field, or 0."""
        value = self._fields.get(number, [0])[-1]
        return value if isinstance(value, int) else 0

    def numbers(self, number: int) -> list[int]:
        """List the values of a repeated integer field, packed or not."""
        found: list[int] = []
        for value in self._fields.get(number, ()):
            if isinstance(value, int):
                found.append(value)
                continue
            position = 0
            while position < len(value):
                one, position = read_varint(value, position)
                found.append(one)
        return found
