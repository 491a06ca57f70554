"""Where do the planes, lines and events of a profile lie?

Events are decoded some at a time: all at once would take many times the memory of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from google.protobuf.message import DecodeError
from msgspec import Struct

from hlotool.errors import InputError
from hlotool.inputs.proto.damage import find_damage
from hlotool.inputs.proto.messages import XEvent, XEventMetadata, XLine, XStatMetadata
from hlotool.inputs.proto.wire import LENGTH_DELIMITED, BrokenFieldError, Field, list_fields

_BATCH_BYTES: Final = 1 << 16
_PLANES: Final = 1
_PLANE_NAME, _LINES, _EVENT_METADATA, _STAT_METADATA = 2, 3, 4, 5
_EVENTS: Final = 4
_MAP_VALUE: Final = 2
_PICOSECONDS: Final = 1000  # in a nanosecond


class Plane(Struct, frozen=True):
    """One plane: its name, and where its parts lie in the bytes of the file."""

    name: str
    lines: tuple[Field, ...]
    event_metadata: tuple[Field, ...]
    stat_metadata: tuple[Field, ...]


class Line(Struct, frozen=True):
    """One timeline: when it begins, in picoseconds, and where its events lie, some to a batch."""

    name: str
    start_ps: int
    batches: Sequence[tuple[int, int]]


class Space:
    """The bytes of a profile; `name` is the file's, for errors. All raises InputError."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name

    def planes(self) -> Iterator[Plane]:
        """Yield the planes in the order of the file."""
        for field in self._fields(0, len(self.data)):
            if field.number == _PLANES and field.wire_type == LENGTH_DELIMITED:
                yield self._plane(field)

    def _plane(self, plane: Field) -> Plane:
        name = ""
        parts: dict[int, list[Field]] = {_LINES: [], _EVENT_METADATA: [], _STAT_METADATA: []}
        for field in self._fields(plane.begin, plane.end):
            if field.wire_type != LENGTH_DELIMITED:
                continue
            if field.number == _PLANE_NAME:
                name = self.data[field.begin : field.end].decode("utf-8", "replace")
            elif field.number in parts:
                parts[field.number].append(field)
        return Plane(name, *(tuple(each) for each in parts.values()))

    def line(self, found: Field) -> Line:
        """Return a line without its events."""
        head = bytearray()
        batches: list[tuple[int, int]] = []
        begin = end = -1
        for field in self._fields(found.begin, found.end):
            if field.number != _EVENTS:
                head += self.data[field.tag : field.end]
                continue
            if field.tag != end or field.end - begin > _BATCH_BYTES:
                if begin >= 0:
                    batches.append((begin, end))
                begin = field.tag
            end = field.end
        if begin >= 0:
            batches.append((begin, end))
        line = self._decode_line(bytes(head), found.begin, found.end)
        return Line(line.name, line.timestamp_ns * _PICOSECONDS, batches)

    def events(self, line: Line) -> Iterator[XEvent]:
        """Yield the events of a line."""
        for begin, end in line.batches:
            yield from self._decode_line(self.data[begin:end], begin, end).events

    def _decode_line(self, data: bytes, begin: int, end: int) -> XLine:
        try:
            return XLine.FromString(data)
        except DecodeError as error:
            raise self._broken(begin, end, "XLine") from error

    def stat_metadata(self, plane: Plane) -> Iterator[tuple[int, XStatMetadata]]:
        """Yield what a plane says of its statistics, by the numbers that events have for them."""
        for begin, end in self._values(plane.stat_metadata):
            try:
                found = XStatMetadata.FromString(self.data[begin:end])
            except DecodeError as error:
                raise self._broken(begin, end, "XStatMetadata") from error
            yield found.id, found

    def event_metadata(self, plane: Plane) -> Iterator[tuple[int, XEventMetadata]]:
        """Yield what a plane says of its events, by the numbers that events have for it."""
        for begin, end in self._values(plane.event_metadata):
            try:
                found = XEventMetadata.FromString(self.data[begin:end])
            except DecodeError as error:
                raise self._broken(begin, end, "XEventMetadata") from error
            yield found.id, found

    def _values(self, entries: Sequence[Field]) -> Iterator[tuple[int, int]]:
        """Yield where the values of a map's entries lie."""
        for entry in entries:
            for field in self._fields(entry.begin, entry.end):
                if field.number == _MAP_VALUE and field.wire_type == LENGTH_DELIMITED:
                    yield field.begin, field.end

    def _fields(self, begin: int, end: int) -> Iterator[Field]:
        try:
            yield from list_fields(self.data, begin, end)
        except BrokenFieldError as error:
            raise self._refuse(error) from error

    def _broken(self, begin: int, end: int, message: str) -> InputError:
        return self._refuse(find_damage(self.data, begin, end, message))

    def _refuse(self, error: BrokenFieldError) -> InputError:
        return InputError(
            f"{self.name}: the profile is broken at byte {error.offset:,} of "
            f"{len(self.data):,}: {error.why}; was it copied to its end?"
        )
