"""What does a plane say of its events: once for all that are alike, and of each?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from hlotool.inputs.profile.space import Plane, Space
from hlotool.inputs.proto.messages import XStat

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
