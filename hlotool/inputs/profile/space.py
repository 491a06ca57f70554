"""Where do the planes, lines and events of a profile lie?

Events are decoded some at a time: all at once would take many times the memory of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    """One plane: its name, and where it lies in the bytes of the file."""

    name: str
    begin: int
    end: int


class Line(Struct, frozen=True):
    """One timeline: its name, when it begins, in picoseconds, and where its events lie."""

    name: str
    start_ps: int
    begin: int
    end: int


class Space:
    """The bytes of a profile; `name` is the file's, for errors. All raises InputError."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name

    def planes(self) -> Iterator[Plane]:
        """Yield the planes in the order of the file."""
        for field in self._parts(0, len(self.data), _PLANES):
            yield self._plane(field)

    def _plane(self, plane: Field) -> Plane:
        name = ""
        for field in self._parts(plane.begin, plane.end, _PLANE_NAME):
            name = self.data[field.begin : field.end].decode("utf-8", "replace")
        return Plane(name, plane.begin, plane.end)

    def lines(self, plane: Plane) -> Iterator[Line]:
        """Yield the lines of a plane. What is said of one stands before its events."""
        for line in self._parts(plane.begin, plane.end, _LINES):
            begin = line.begin
            for field in self._fields(line.begin, line.end):
                if field.number == _EVENTS:
                    break
                begin = field.end
            head = self._decode_line(line.begin, begin)
            yield Line(head.name, head.timestamp_ns * _PICOSECONDS, begin, line.end)

    def events(self, line: Line) -> Iterator[XEvent]:
        """Yield the events of a line."""
        begin = line.begin
        for field in self._fields(line.begin, line.end):
            if field.end - begin > _BATCH_BYTES:
                yield from self._decode_line(begin, field.tag).events
                begin = field.tag
        yield from self._decode_line(begin, line.end).events

    def _decode_line(self, begin: int, end: int) -> XLine:
        try:
            return XLine.FromString(self.data[begin:end])
        except DecodeError as error:
            raise self._broken(begin, end, "XLine") from error

    def stat_metadata(self, plane: Plane) -> Iterator[tuple[int, XStatMetadata]]:
        """Yield what a plane says of its statistics, by the numbers that events have for them."""
        for begin, end in self._values(plane, _STAT_METADATA):
            try:
                found = XStatMetadata.FromString(self.data[begin:end])
            except DecodeError as error:
                raise self._broken(begin, end, "XStatMetadata") from error
            yield found.id, found

    def event_metadata(self, plane: Plane) -> Iterator[tuple[int, XEventMetadata]]:
        """Yield what a plane says of its events, by the numbers that events have for it."""
        for begin, end in self._values(plane, _EVENT_METADATA):
            try:
                found = XEventMetadata.FromString(self.data[begin:end])
            except DecodeError as error:
                raise self._broken(begin, end, "XEventMetadata") from error
            yield found.id, found

    def _values(self, plane: Plane, number: int) -> Iterator[tuple[int, int]]:
        """Yield where the values of a map's entries lie."""
        for entry in self._parts(plane.begin, plane.end, number):
            for field in self._parts(entry.begin, entry.end, _MAP_VALUE):
                yield field.begin, field.end

    def _parts(self, begin: int, end: int, number: int) -> Iterator[Field]:
        """Yield the fields of a number that hold bytes."""
        for field in self._fields(begin, end):
            if field.number == number and field.wire_type == LENGTH_DELIMITED:
                yield field

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
