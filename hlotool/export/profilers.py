"""Rows as profilers read them: folded stacks for flame graphs, pprof, and tracks for Perfetto.

For `--format folded` and `pprof` (`commands/shared/output`) a row of any list that has a path into
the user's program is a stack, its scopes the frames, and its columns that add up are its weights.
Scopes and instructions are functions to pprof; the place of an instruction's function is its line
in the user's program. For `perfetto` `commands/outline` makes tracks of the modelled clock.

Names are foreign text, and escaped here.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from hlotool.errors import UsageError
from hlotool.table import Field, Selection, Unit
from hlotool.text import escape

if TYPE_CHECKING:
    from hlotool.proto.messages import Profile, Trace, TrackEvent

_NO_SCOPE: Final = "(no scope)"
# What other tools call the units that rows can be weighed in.
_UNIT_NAMES: Final = {
    Unit.BYTES: "bytes",
    Unit.FLOPS: "count",
    Unit.COUNT: "count",
    Unit.TIMES: "count",
    Unit.SECONDS: "nanoseconds",
}
_NANOSECONDS: Final = 1e9


class Frame(Struct, frozen=True):
    """One level of a stack; the last one may have a place in the user's program."""

    name: str
    file: str = ""
    line: int = 0


class Stack(Struct, frozen=True):
    """Frames from the outermost to the row itself, and a number for each weight."""

    frames: tuple[Frame, ...]
    values: tuple[int, ...]


def expect_weights(selection: Selection, option: str) -> tuple[Field, ...]:
    """Return what the rows of a selection can be weighed by, the most telling first.

    That is the field by which the list says how large a row is, unless it is a share; then the
    other columns that add up, counts behind figures, and last what no row tells. Raises UsageError
    where rows are groups, or have no path or nothing that adds up.
    """
    row_list = selection.row_list
    if selection.grouping is not None:
        raise UsageError(f"{option}: groups are not stacks; omit --by.")
    if not any(each.is_path for each in row_list.fields):
        raise UsageError(f"{option}: rows of {row_list.name!r} have no path into the program.")
    columns = [each for each in selection.columns if each.is_summable]
    columns.sort(key=lambda each: each.unit in {Unit.COUNT, Unit.TIMES})
    first = [row_list.field(row_list.size)] if row_list.size else []
    weights = dict.fromkeys(each for each in (*first, *columns) if each.unit in _UNIT_NAMES)
    if not weights:
        raise UsageError(f"{option}: rows of {row_list.name!r} have no column that adds up.")
    untold = {each for each in weights if all(each.getter()(row) is None for row in selection.rows)}
    return tuple(sorted(weights, key=untold.__contains__))


def make_stacks(selection: Selection, weights: Sequence[Field]) -> Iterator[Stack]:
    """Yield a stack for each row; an unknown weight is 0, and seconds are nanoseconds."""
    row_list = selection.row_list
    paths = [each.getter() for each in row_list.fields if each.is_path]
    # The row itself is the leaf: a value or an instruction where it is one, else what its key says.
    texts = [each.getter() for each in row_list.fields if each.unit is Unit.TEXT]
    names = [*_getters(row_list.fields, "value", "name"), row_list.key_field.getter(), *texts]
    files = _getters(row_list.fields, "source_file")
    lines = _getters(row_list.fields, "source_line")
    for row in selection.rows:
        path = _first_text(paths, row) or _NO_SCOPE
        scopes = tuple(Frame(escape(each)) for each in path.split("/"))
        line = next((found for get in lines if isinstance(found := get(row), int)), 0)
        leaf = Frame(escape(_first_text(names, row)), escape(_first_text(files, row)), line)
        yield Stack((*scopes, leaf), tuple(_weigh(each, row) for each in weights))


def _getters(fields: Sequence[Field], *names: str) -> list[Callable[[object], object]]:
    """Return what reads the fields of these names, as far as there are such."""
    known = {each.name: each for each in fields}
    return [known[name].getter() for name in names if name in known]


def _first_text(getters: Sequence[Callable[[object], object]], row: object) -> str:
    """Return the first text that is not empty; '' where there is none."""
    return next((found for get in getters if isinstance(found := get(row), str) and found), "")


def _weigh(field: Field, row: object) -> int:
    """Return what a row alone weighs: of a step of an outline, without the steps below it."""
    joint = field.joint(row) if field.joint else None
    value = joint.together([joint]) if joint else field.getter()(row)
    if not isinstance(value, int | float):
        return 0
    return round(value * _NANOSECONDS) if field.unit is Unit.SECONDS else int(value)


def render_folded(stacks: Iterable[Stack]) -> Iterator[str]:
    """Yield a line for each stack that weighs anything, by its first weight.

    line = frame { ";" frame } " " integer
    """
    for stack in stacks:
        if stack.values[0] > 0:
            frames = ";".join(frame.name.replace(";", ",") for frame in stack.frames)
            yield f"{frames} {stack.values[0]}\n"


_LARGEST_INT64: Final = (1 << 63) - 1


def render_pprof(stacks: Iterable[Stack], weights: Sequence[Field], made_by: str) -> bytes:
    """Return a profile with a sample for each stack, and a sample type for each weight."""
    from hlotool.proto.messages import Profile  # noqa: PLC0415  start-up time

    profile = Profile()
    index = _Index(profile)
    for weight in weights:
        unit = _UNIT_NAMES.get(weight.unit, "count")
        profile.sample_type.add(type=index.text(weight.name), unit=index.text(unit))
    profile.default_sample_type = index.text(weights[0].name)
    profile.comment.append(index.text(made_by))
    for stack in stacks:
        sample = profile.sample.add()
        # pprof has the leaf first.
        sample.location_id.extend(index.location(frame) for frame in reversed(stack.frames))
        sample.value.extend(min(value, _LARGEST_INT64) for value in stack.values)
    profile.string_table.extend(index.texts)
    # Without the time of day, so that one dump gives the same bytes whenever it is asked.
    return gzip.compress(profile.SerializeToString(), mtime=0)


class _Index:
    """The numbers of texts and of frames: a profile writes each of them once, and then its number.

    Of a frame pprof wants two, a location and the function it is in; here they have one number.
    """

    def __init__(self, profile: Profile) -> None:
        self.texts: dict[str, int] = {"": 0}  # pprof wants the empty text first
        self._profile = profile
        self._locations: dict[Frame, int] = {}

    def text(self, text: str) -> int:
        """Return the number of a text."""
        return self.texts.setdefault(text, len(self.texts))

    def location(self, frame: Frame) -> int:
        """Return the number of a frame, from 1: pprof takes 0 for none."""
        if (number := self._locations.get(frame)) is None:
            number = self._locations[frame] = len(self._locations) + 1
            self._profile.function.add(
                id=number, name=self.text(frame.name), filename=self.text(frame.file)
            )
            self._profile.location.add(id=number).line.add(function_id=number, line=frame.line)
        return number


_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4  # of TrackEvent.Type
_SIZE_BYTES: Final = 3  # of CounterDescriptor.Unit
_SEQUENCE: Final = 1  # Perfetto leaves out track events of packets that have none


class Slice(Struct, frozen=True):
    """Something that takes time on a track; slices of a track nest or stand side by side."""

    name: str
    start_seconds: float
    end_seconds: float
    notes: tuple[tuple[str, str], ...] = ()


class Track(Struct, frozen=True):
    """A line of the picture: slices, or a counter of bytes."""

    name: str
    slices: tuple[Slice, ...] = ()
    levels: Sequence[tuple[float, int]] = ()  # what the counter says from a time on, in seconds


def render_perfetto(title: str, tracks: Sequence[Track]) -> bytes:
    """Return a trace with the tracks, in order, below one of this title."""
    from hlotool.proto.messages import Trace  # noqa: PLC0415  start-up time

    trace = Trace()
    top = 1  # the number of the track that all others hang below
    trace.packet.add(trusted_packet_sequence_id=_SEQUENCE).track_descriptor.uuid = top
    trace.packet[0].track_descriptor.name = escape(title)
    lanes = [
        (track.name if not place else f"{track.name} ({place + 1})", track.levels, events)
        for track in tracks
        for place, events in enumerate(_order(track.slices) or [[]])
    ]
    for number, (track_name, levels, events) in enumerate(lanes, top + 1):
        packet = trace.packet.add(trusted_packet_sequence_id=_SEQUENCE)
        packet.track_descriptor.uuid = number
        packet.track_descriptor.parent_uuid = top
        packet.track_descriptor.name = escape(track_name)
        if levels:
            packet.track_descriptor.counter.unit = _SIZE_BYTES
        for seconds, value in levels:
            event = _add(trace, round(seconds * _NANOSECONDS), number, _COUNTER)
            event.counter_value = value
        for now, kind, one in events:
            event = _add(trace, now, number, kind)
            event.name = escape(one.name)
            for name, said in one.notes if kind != _END else ():
                event.debug_annotations.add(name=name, string_value=escape(said))
    return trace.SerializeToString()


def _add(trace: Trace, now: int, track: int, kind: int) -> TrackEvent:
    packet = trace.packet.add(timestamp=now, trusted_packet_sequence_id=_SEQUENCE)
    packet.track_event.type = kind
    packet.track_event.track_uuid = track
    return packet.track_event


def _order(slices: Sequence[Slice]) -> list[list[tuple[int, int, Slice]]]:
    """Return begins and ends in nanoseconds, by lanes; what takes no time is an instant.

    Perfetto nests slices of a track by the order of their events: in a lane slices nest or stand
    side by side. What crosses another gets a lane below it.
    """
    lanes: list[tuple[list[tuple[int, int, Slice]], list[tuple[int, Slice]]]] = []
    timed = [
        (round(one.start_seconds * _NANOSECONDS), round(one.end_seconds * _NANOSECONDS), one)
        for one in slices
    ]
    for start, end, one in sorted(timed, key=lambda each: (each[0], -each[1])):
        for events, begun in lanes:
            while begun and begun[-1][0] <= start:
                events.append((begun[-1][0], _END, begun.pop()[1]))
            if not begun or end <= begun[-1][0]:
                break
        else:
            events, begun = [], []
            lanes.append((events, begun))
        events.append((start, _BEGIN if end > start else _INSTANT, one))
        if end > start:
            begun.append((end, one))
    for events, begun in lanes:
        events += [(end, _END, one) for end, one in reversed(begun)]
    return [events for events, _ in lanes]
