"""What lies in a profile: planes, lines, events and what is said of them, programs that ran.

Events are decoded some at a time: all at once would take many times the memory of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, TypeVar

from google.protobuf.message import DecodeError, Message
from msgspec import Struct
from msgspec.structs import replace

from hlotool.errors import InputError
from hlotool.hlo.opcodes import COLLECTIVES, FREE
from hlotool.hlo.values import Target
from hlotool.proto import messages
from hlotool.proto.decode import decode_module, locate_damage
from hlotool.proto.kind import (
    LENGTH_DELIMITED,
    BrokenFieldError,
    Field,
    find_proto_head,
    list_fields,
)

_Message = TypeVar("_Message", bound=Message)
_BATCH_BYTES: Final = 1 << 16
_PLANES: Final = 1
_PLANE_NAME, _LINES, _EVENT_METADATA, _STAT_METADATA, _PLANE_STATS = 2, 3, 4, 5, 6
_EVENTS: Final = 4
_MAP_VALUE: Final = 2
_PICOSECONDS: Final = 1000  # in a nanosecond


class Plane(Struct, frozen=True):
    """One plane: its name, and where it lies in the bytes of the file."""

    name: str
    begin: int
    end: int


class Line(Struct, frozen=True):
    """One timeline: its name, when it begins, in picoseconds, and where its events lie.

    Lines of one number and name are one timeline.
    """

    number: int
    name: str
    start_ps: int
    begin: int
    end: int


class Space:
    """The bytes of a profile; `name` is the file's, for errors. All raises InputError."""

    def __init__(self, path: str, name: str, data: bytes) -> None:
        self.path = path
        self.name = name
        self.data = data

    def planes(self) -> Iterator[Plane]:
        """Yield the planes in the order of the file."""
        for plane in self._parts(0, len(self.data), _PLANES):
            name = ""
            for field in self._parts(plane.begin, plane.end, _PLANE_NAME):
                name = self.data[field.begin : field.end].decode("utf-8", "replace")
            yield Plane(name, plane.begin, plane.end)

    def lines(self, plane: Plane) -> Iterator[Line]:
        """Yield the lines of a plane. What is said of one stands before its events."""
        for line in self._parts(plane.begin, plane.end, _LINES):
            begin = line.begin
            for field in self._fields(line.begin, line.end):
                if field.number == _EVENTS:
                    break
                begin = field.end
            head = self._decode(messages.XLine, line.begin, begin)
            yield Line(head.id, head.name, head.timestamp_ns * _PICOSECONDS, begin, line.end)

    def events(self, line: Line) -> Iterator[messages.XEvent]:
        """Yield the events of a line."""
        begin = line.begin
        for field in self._fields(line.begin, line.end):
            if field.end - begin > _BATCH_BYTES:
                yield from self._decode(messages.XLine, begin, field.tag).events
                begin = field.tag
        yield from self._decode(messages.XLine, begin, line.end).events

    def metadata(self, plane: Plane, message: type[_Message]) -> Iterator[_Message]:
        """Yield what a plane says of its statistics or events: XStatMetadata, XEventMetadata."""
        number = _STAT_METADATA if message is messages.XStatMetadata else _EVENT_METADATA
        for entry in self._parts(plane.begin, plane.end, number):
            for field in self._parts(entry.begin, entry.end, _MAP_VALUE):
                yield self._decode(message, field.begin, field.end)

    def stats(self, plane: Plane) -> Iterator[messages.XStat]:
        """Yield what is said of a whole plane."""
        for one in self._parts(plane.begin, plane.end, _PLANE_STATS):
            yield self._decode(messages.XStat, one.begin, one.end)

    def _decode(self, message: type[_Message], begin: int, end: int) -> _Message:
        try:
            found: _Message = message.FromString(self.data[begin:end])
        except DecodeError as error:
            name = message.DESCRIPTOR.name
            raise self._refuse(locate_damage(self.data, begin, end, name)) from error
        return found

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

    def _refuse(self, error: BrokenFieldError) -> InputError:
        return InputError(
            f"{self.name}: the profile is broken at byte {error.offset:,} of "
            f"{len(self.data):,}: {error.why}; was it copied to its end?"
        )


# The statistics that say of which instruction and program an event is, by the fields of `Marks`.
_MARKS: Final = {
    "hlo_op": "op",
    "hlo_module": "module",
    "program_id": "program",
    "run_id": "run",
    "device_ordinal": "device",
    "device_duration_ps": "duration_ps",
    "correlation_id": "launch",
    "hlo_category": "category",
    "flops": "flops",
    "bytes_accessed": "accessed_bytes",
}
# The architectures of AMD by the version that its planes state.
_AMD: Final = {"9.0": "gfx90a", "9.4": "gfx942", "9.5": "gfx950"}
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
    launch: int | None = None  # what one call of the driver launched has one number
    category: str | None = None
    flops: int | None = None  # of one execution, as are bytes
    accessed_bytes: int | None = None


_NO_MARKS: Final = Marks()


class Tables:
    """The events of a plane, with their names and what statistics say of them."""

    def __init__(self, space: Space, plane: Plane) -> None:
        self._space = space
        self._stat_names = {
            one.id: one.name for one in space.metadata(plane, messages.XStatMetadata)
        }
        self.target = self._read_target(space.stats(plane))
        self._fields = {
            number: _MARKS[name] for number, name in self._stat_names.items() if name in _MARKS
        }
        self._names: dict[int, str] = {}
        self._marks: dict[int, Marks] = {}
        for one in space.metadata(plane, messages.XEventMetadata):
            name = one.display_name or one.name
            found = _INSTRUCTION.match(name)
            # A whole line of HLO is the name of events on TPU.
            if name:
                self._names[one.id] = found[1] if found and name.startswith("%") else name
            if (marks := self._read(one.stats, _NO_MARKS)) is not _NO_MARKS:
                self._marks[one.id] = marks

    def walk(self, line: Line) -> Iterator[tuple[str, Marks, int, int]]:
        """Yield the name of each event, what is said of it, and when it began and ended.

        On a line of operations the name is the instruction.
        """
        for event in self._space.events(line):
            marks = self._read(event.stats, self._marks.get(event.metadata_id, _NO_MARKS))
            begin = line.start_ps + event.offset_ps
            # By the device's clock where that is known, as XProf does.
            known = marks.duration_ps
            lasted = event.duration_ps if known is None else known
            yield self._names.get(event.metadata_id, ""), marks, begin, begin + max(lasted, 0)

    def _read(self, stats: Iterable[messages.XStat], known: Marks) -> Marks:
        """Return what statistics say, else what is known already."""
        found: dict[str, str | int] = {}
        for stat in stats:
            field = self._fields.get(stat.metadata_id)
            if field in {"op", "module", "category"}:
                if text := self._text(stat):
                    found[field] = text
            elif field is not None:
                value = stat.uint64_value if stat.HasField("uint64_value") else stat.int64_value
                found[field] = value & _ALL_BITS
        return replace(known, **found) if found else known

    def _text(self, stat: messages.XStat) -> str:
        is_own = stat.HasField("str_value")
        return stat.str_value if is_own else self._stat_names.get(stat.ref_value, "")

    def _read_target(self, stats: Iterable[messages.XStat]) -> Target | None:
        """Return the device that a plane names: TPU by its type, GPUs by name, else by figures."""
        said: dict[str, Any] = {
            self._stat_names.get(one.metadata_id, ""): self._text(one)
            or one.uint64_value
            or one.int64_value
            for one in stats
        }
        name = said.get("gpu_device_name") or said.get("device_type_string") or ""
        major, memory = said.get("compute_cap_major"), said.get("memory_size")
        kind = f"{major}.{said.get('compute_cap_minor', 0)}" if major else ""
        if not name and not kind:
            return None
        if said.get("device_vendor") == "AMD":
            kind = _AMD.get(kind, f"AMD {kind}")
        speed = float(said.get("memory_bandwidth", 0)) or None
        return Target(name, kind, memory or None, speed, is_sure=bool(name or memory))


METADATA_PLANE: Final = "/host:metadata"
_PROTO_STATS: Final = frozenset(("Hlo Proto", "hlo_proto", "HLO Proto"))
_LABEL: Final = re.compile(r"(.*)\((\d{1,20})\)", re.DOTALL)  # NAME(PROGRAM_ID)
_CONTAINERS: Final = frozenset(("while", "conditional", "call"))
_WRAPPERS: Final = frozenset(("async-start", "fusion"))
_COMMUNICATES: Final = COLLECTIVES | {"send", "recv"}
_LOCAL: Final = (1 << 32) - 1  # what counts of an id within its computation
_COPIES: Final = frozenset(("copy", "copy-start"))
_LATER: Final = ("-done", "-update")


class Label(Struct, frozen=True):
    """How a profile calls a program: the module's name, and its number in the process."""

    name: str
    program: int | None


class ProfiledProgram(Struct, frozen=True):
    """A program of a profile: its proto, and the roles of its instructions."""

    path: str  # the file that the proto lies in
    label: Label
    data: bytes
    roles: Roles


class Roles(Struct, frozen=True):
    """What instructions are to each other, as far as times are concerned.

    `owners` has the instructions of collectives, each with the one that begins it: itself, or
    its start. `containers` hold other instructions, whose events stand in theirs. `entry` are
    those that run once in each run, `names` all. `launched` are those that something runs for, in
    the order of the schedule, '' between two computations.
    """

    owners: Mapping[str, str] = {}
    containers: frozenset[str] = frozenset()
    entry: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    launched: tuple[str, ...] = ()
    copies: frozenset[str] = frozenset()


def read_label(text: str) -> Label:
    """Read `jit_step(12)`; without a number it is the name alone."""
    found = _LABEL.fullmatch(text)
    return Label(found[1], int(found[2])) if found else Label(text, None)


def list_programs(space: Space) -> Iterator[ProfiledProgram]:
    """Yield the programs of the plane `/host:metadata`; the same bytes of a label once."""
    for plane in space.planes():
        if plane.name != METADATA_PLANE:
            continue
        names = {one.id: one.name for one in space.metadata(plane, messages.XStatMetadata)}
        seen: set[tuple[Label, int]] = set()
        for one in space.metadata(plane, messages.XEventMetadata):
            for stat in one.stats:
                if names.get(stat.metadata_id) not in _PROTO_STATS or not stat.bytes_value:
                    continue
                found = make_program(space.path, read_label(one.name), stat.bytes_value)
                key = (found.label, len(found.data))
                if key not in seen:
                    seen.add(key)
                    yield found


def make_program(path: str, label: Label, data: bytes) -> ProfiledProgram:
    """Return a program; the error of a broken proto is met by who reads it."""
    roles = Roles()
    if (head := find_proto_head(data)) is not None:
        label = Label(head.module_name, label.program)
        with suppress(InputError, DecodeError):
            roles = _find_roles(decode_module(data, head, "").module)
    return ProfiledProgram(path, label, data, roles)


def _find_roles(module: messages.HloModuleProto) -> Roles:
    """Say which instructions are of collectives, and which hold others."""
    inside = {
        every.id
        for every in module.computations
        if any(_base(each) in _COMMUNICATES for each in every.instructions)
    }
    owners: dict[str, str] = {}
    containers: set[str] = set()
    entry: set[str] = set()
    running = {module.entry_computation_id}
    for computation in module.computations:
        names = {each.id & _LOCAL: each.name for each in computation.instructions}
        if computation.id == module.entry_computation_id:
            entry.update(names.values())
        for each in computation.instructions:
            is_wrapper = each.opcode in _WRAPPERS and inside & {*each.called_computation_ids}
            if each.opcode in _CONTAINERS:
                containers.add(each.name)
                running.update(each.called_computation_ids)
            elif each.opcode.endswith(_LATER):
                # A done, and each update before it, is of the collective that its operand began.
                started = names.get(each.operand_ids[0] & _LOCAL, "") if each.operand_ids else ""
                if started in owners:
                    owners[each.name] = owners[started]
            elif _base(each) in _COMMUNICATES or is_wrapper:
                owners[each.name] = each.name
    every = {one.name: one.opcode for each in module.computations for one in each.instructions}
    launched = [
        name
        for each in module.computations
        if each.id in running
        for name in (*_list_launched(module, each), "")
    ]
    copies = frozenset(name for name, opcode in every.items() if opcode in _COPIES)
    made = frozenset(containers), frozenset(entry), frozenset(every), tuple(launched), copies
    return Roles(owners, *made)


def _list_launched(
    module: messages.HloModuleProto, computation: messages.HloComputationProto
) -> list[str]:
    """Return the instructions of a computation that something runs for, in its schedule's order."""
    found = {each.id & _LOCAL: each for each in computation.instructions}
    order = module.schedule.sequences.get(computation.id)
    ids = [at & _LOCAL for at in order.instruction_ids] if order else found
    runs = (found[at] for at in ids if at in found)
    silent = FREE | _CONTAINERS
    return [
        each.name for each in runs if each.opcode not in silent and not each.opcode.endswith(_LATER)
    ]


def _base(instruction: messages.HloInstructionProto) -> str:
    return instruction.opcode.removesuffix("-start")
