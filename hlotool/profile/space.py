"""Where do the planes, lines and events of a profile lie?

Events are decoded some at a time: all at once would take many times the memory of the file.

What does a plane say of its events: once for all that are alike, and of each?
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from google.protobuf.message import DecodeError
from msgspec import Struct

from hlotool.errors import InputError
from hlotool.proto.decode import find_damage
from hlotool.proto.kind import LENGTH_DELIMITED, BrokenFieldError, Field, list_fields
from hlotool.proto.messages import XEvent, XEventMetadata, XLine, XStat, XStatMetadata

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


# The statistics that say of which instruction and program an event is.
_OP: Final = "hlo_op"
_MODULE: Final = "hlo_module"
_PROGRAM: Final = "program_id"
_RUN: Final = "run_id"
_DEVICE: Final = "device_ordinal"
_DURATION: Final = "device_duration_ps"
_WANTED: Final = frozenset((_OP, _MODULE, _PROGRAM, _RUN, _DEVICE, _DURATION))
_INSTRUCTION: Final = re.compile(r"%?([^\s=%(){},]+)")
_ALL_BITS: Final = (1 << 64) - 1  # ids are written with a sign and without


class Marks(Struct, frozen=True):
    """What statistics say of an event; None where they do not."""

    op: str | None = None
    module: str | None = None
    program: int | None = None
    run: int | None = None
    device: int | None = None
    duration_ps: int | None = None  # by the clock of the device


_NO_MARKS: Final = Marks()


class Tables:
    """The names and the statistics of a plane's events."""

    def __init__(self, space: Space, plane: Plane) -> None:
        self._stat_names = {number: one.name for number, one in space.stat_metadata(plane)}
        self._wanted = {
            number: name for number, name in self._stat_names.items() if name in _WANTED
        }
        self._names: dict[int, str] = {}
        self._marks: dict[int, Marks] = {}
        for number, one in space.event_metadata(plane):
            name = one.display_name or one.name
            found = _INSTRUCTION.match(name)
            # A whole line of HLO is the name of events on TPU.
            if name:
                self._names[number] = found[1] if found and name.startswith("%") else name
            marks = self._read(one.stats, _NO_MARKS)
            if marks is not _NO_MARKS:
                self._marks[number] = marks

    def marks(self, metadata_id: int, stats: Iterable[XStat]) -> Marks:
        """Return what the statistics of an event say, and those of all events like it."""
        return self._read(stats, self._marks.get(metadata_id, _NO_MARKS))

    def name(self, metadata_id: int) -> str:
        """Return what an event is called: on a line of operations, the instruction."""
        return self._names.get(metadata_id, "")

    def _read(self, stats: Iterable[XStat], known: Marks) -> Marks:
        """Return what statistics say, else what is known already."""
        wanted, has_any = self._wanted, False
        op, module, program = known.op, known.module, known.program
        run, device, duration_ps = known.run, known.device, known.duration_ps
        for stat in stats:
            name = wanted.get(stat.metadata_id)
            if name is None:
                continue
            has_any = True
            if name == _OP:
                op = self._text(stat) or op
            elif name == _MODULE:
                module = self._text(stat) or module
            elif name == _PROGRAM:
                program = _number(stat)
            elif name == _RUN:
                run = _number(stat)
            elif name == _DURATION:
                duration_ps = _number(stat)
            else:
                device = _number(stat)
        return Marks(op, module, program, run, device, duration_ps) if has_any else known

    def _text(self, stat: XStat) -> str:
        if stat.HasField("str_value"):
            return stat.str_value
        return self._stat_names.get(stat.ref_value, "")


def _number(stat: XStat) -> int:
    value = stat.uint64_value if stat.HasField("uint64_value") else stat.int64_value
    return value & _ALL_BITS
