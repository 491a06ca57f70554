"""Profiles for tests, put together field by field: planes, lines, events and their statistics."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from dataclasses import dataclass, field

from dump_files import TESTDATA

from hlotool.proto.kind import write_field

ASSIGNMENTS = TESTDATA / "protos/assignments"
GPU = gzip.decompress((ASSIGNMENTS / "gpu_after_optimizations.hlo.pb.gz").read_bytes())
TPU = gzip.decompress((ASSIGNMENTS / "tpu_after_optimizations.hlo.pb.gz").read_bytes())
MICROSECOND = 1_000_000  # picoseconds

Stat = str | int | bytes


def varint(value: int) -> bytes:
    """Return a number as protobuf writes it; negative ones take ten bytes."""
    value &= (1 << 64) - 1
    digits = bytearray()
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits, value])


def number(place: int, value: int) -> bytes:
    """Return a field that holds a number."""
    return varint(place << 3) + varint(value)


def text(place: int, value: str) -> bytes:
    """Return a field that holds a text."""
    return write_field(place, value.encode())


@dataclass
class Event:
    """An event, in microseconds, called `name`, with what is said of it alone."""

    name: str
    begin: float
    lasts: float
    stats: dict[str, Stat] = field(default_factory=dict)


@dataclass
class Plane:
    """A plane: `common` is said of all events of a name, `shown` is what these are called."""

    name: str
    lines: dict[str, list[Event]] = field(default_factory=dict)
    common: dict[str, dict[str, Stat]] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)
    stats: dict[str, Stat] = field(default_factory=dict)  # of the plane itself
    starts_ns: int = 1_795_339_018_000_000_000

    def to_bytes(self) -> bytes:
        """Return the plane as bytes: lines first, as in files."""
        names = {
            name: place
            for place, name in enumerate(
                dict.fromkeys(
                    [*self.common, *(each.name for line in self.lines.values() for each in line)]
                ),
                1,
            )
        }
        kinds: dict[str, int] = {}
        parts = [text(2, self.name)]
        for place, (line, events) in enumerate(self.lines.items(), 1):
            body = [number(1, place), text(2, line), number(3, self.starts_ns)]
            body += [write_field(4, self._event(each, names, kinds)) for each in events]
            parts.append(write_field(3, b"".join(body)))
        for name, place in names.items():
            shown = self.shown.get(name, "")
            stats = _stats(self.common.get(name, {}), kinds)
            value = number(1, place) + text(2, name) + text(4, shown) * bool(shown)
            value += b"".join(write_field(5, each) for each in stats)
            parts.append(write_field(4, number(1, place) + write_field(2, value)))
        parts += [write_field(6, each) for each in _stats(self.stats, kinds)]
        for name, place in kinds.items():
            value = number(1, place) + text(2, name)
            parts.append(write_field(5, number(1, place) + write_field(2, value)))
        return write_field(1, b"".join(parts))

    @staticmethod
    def _event(event: Event, names: dict[str, int], kinds: dict[str, int]) -> bytes:
        begin, lasts = (round(each * MICROSECOND) for each in (event.begin, event.lasts))
        stats = b"".join(write_field(4, each) for each in _stats(event.stats, kinds))
        return number(1, names[event.name]) + number(2, begin) + number(3, lasts) + stats


def _stats(stats: dict[str, Stat], kinds: dict[str, int]) -> Iterable[bytes]:
    """Yield statistics; a text is written once, and referred to."""
    for name, value in stats.items():
        place = number(1, kinds.setdefault(name, len(kinds) + 1))
        if isinstance(value, bytes):
            yield place + write_field(6, value)
        elif isinstance(value, int):
            yield place + number(4, value)
        else:
            yield place + number(7, kinds.setdefault(value, len(kinds) + 1))


def metadata(*programs: tuple[str, bytes]) -> bytes:
    """Return the plane with the protos of programs: `jit_loop(7)`."""
    common: dict[str, dict[str, Stat]] = {name: {"Hlo Proto": data} for name, data in programs}
    return Plane("/host:metadata", common=common).to_bytes()
