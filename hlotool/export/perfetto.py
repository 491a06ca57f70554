"""How are tracks over time written for ui.perfetto.dev? As its trace packets.

Messages and numbers are those of perfetto's protos (trace/trace_packet.proto,
trace/track_event/track_event.proto).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from hlotool.export.stacks import Tables, make_messages
from hlotool.text import escape

_OPTION: Final = "--format perfetto"
_TABLES: Final[Tables] = {
    "Trace": {"packet": (1, "*TracePacket")},
    "TracePacket": {
        "timestamp": (8, "uint64"),
        "trusted_packet_sequence_id": (10, "uint32"),
        "track_event": (11, "TrackEvent"),
        "track_descriptor": (60, "TrackDescriptor"),
    },
    "TrackDescriptor": {
        "uuid": (1, "uint64"),
        "name": (2, "string"),
        "parent_uuid": (5, "uint64"),
        "counter": (8, "CounterDescriptor"),
    },
    "CounterDescriptor": {"unit": (3, "int32")},
    "TrackEvent": {
        "debug_annotations": (4, "*DebugAnnotation"),
        "type": (9, "int32"),
        "track_uuid": (11, "uint64"),
        "name": (23, "string"),
        "counter_value": (30, "int64"),
    },
    "DebugAnnotation": {"string_value": (6, "string"), "name": (10, "string")},
}
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4  # of TrackEvent.Type
_SIZE_BYTES: Final = 3  # of CounterDescriptor.Unit
_SEQUENCE: Final = 1
_NANOSECONDS: Final = 1e9


class Slice(Struct, frozen=True):
    """Something that takes time on a track; slices of a track nest or stand side by side."""

    name: str
    begins_seconds: float
    ends_seconds: float
    notes: tuple[tuple[str, str], ...] = ()


class Level(Struct, frozen=True):
    """What a counter of bytes says from a time on."""

    seconds: float
    value: int


class Track(Struct, frozen=True):
    """A line of the picture: slices, or a counter of bytes."""

    name: str
    slices: tuple[Slice, ...] = ()
    levels: tuple[Level, ...] = ()


def expect_perfetto() -> None:
    """Raise UsageError where what the format needs is not installed."""
    make_messages("hlotool.perfetto", _TABLES, _OPTION)


def render_perfetto(title: str, tracks: Sequence[Track]) -> bytes:
    """Return a trace with the tracks, in order, below one of this title."""
    trace = make_messages("hlotool.perfetto", _TABLES, _OPTION)["Trace"]()
    top = 1
    trace.packet.add(trusted_packet_sequence_id=_SEQUENCE).track_descriptor.uuid = top
    trace.packet[0].track_descriptor.name = escape(title)
    for number, track in enumerate(tracks, top + 1):
        packet = trace.packet.add(trusted_packet_sequence_id=_SEQUENCE)
        packet.track_descriptor.uuid = number
        packet.track_descriptor.parent_uuid = top
        packet.track_descriptor.name = escape(track.name)
        if track.levels:
            packet.track_descriptor.counter.unit = _SIZE_BYTES
        for level in track.levels:
            event = _add(trace, level.seconds, number, _COUNTER)
            event.counter_value = level.value
        for seconds, kind, one in _order(track.slices):
            event = _add(trace, seconds, number, kind)
            if kind != _END:
                event.name = escape(one.name)
                for name, said in one.notes:
                    event.debug_annotations.add(name=name, string_value=escape(said))
    data: bytes = trace.SerializeToString()
    return data


def _add(trace: Any, seconds: float, track: int, kind: int) -> Any:
    packet = trace.packet.add(
        timestamp=round(seconds * _NANOSECONDS), trusted_packet_sequence_id=_SEQUENCE
    )
    packet.track_event.type = kind
    packet.track_event.track_uuid = track
    return packet.track_event


def _order(slices: Sequence[Slice]) -> list[tuple[float, int, Slice]]:
    """Return begins and ends by time; what ends does so before the next begins, the inner first.

    What takes no time is an instant.
    """
    events = []
    for place, one in enumerate(slices):
        if one.ends_seconds <= one.begins_seconds:
            events.append((one.begins_seconds, 1, 0.0, place, _INSTANT, one))
            continue
        events.append((one.begins_seconds, 1, -one.ends_seconds, place, _BEGIN, one))
        events.append((one.ends_seconds, 0, -one.begins_seconds, -place, _END, one))
    events.sort(key=lambda event: event[:4])
    return [(event[0], event[4], event[5]) for event in events]
