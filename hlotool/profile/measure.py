"""The times of programs: the events of a profile, added up by instruction on each device.

The planes of devices and of hosts are read apart.

* On a device (`/device:GPU:0`, `/device:TPU:1 SparseCore 0`), lines called `XLA Ops`,
  `Async XLA Ops` and `Sparse Core Ops` have an event for each instruction; where there is no such
  line, those events of streams count that name an instruction (`hlo_op`): the kernels of it.
  `XLA Modules` has an event for each run of a program: `jit_step(12)`. `Sparse Core Modules` has
  those of the parts of it that run there: no runs more.
* On a host, as JAX's CPU client runs programs, events count that name an instruction; each says
  on which device, and in which run.

Times are whole picoseconds until they are all added up.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from hlotool.errors import InputError
from hlotool.hlo.values import DeviceTime, MeasuredTime, Measurement, Target
from hlotool.profile.kernels import KINDS, KernelNames, Occurrence, tell_kind
from hlotool.profile.space import (
    METADATA_PLANE,
    Label,
    Line,
    Marks,
    Plane,
    ProfiledProgram,
    Space,
    Tables,
    list_programs,
    make_program,
    read_label,
)
from hlotool.profile.spans import Timeline
from hlotool.proto.kind import PROTO_ENDING

_DEVICE: Final = re.compile(r"/device:([\w ]+:\d+)")
_OPS: Final = re.compile(r"(?:(?:Async )?XLA|Sparse Core) Ops\b")
_MODULES: Final = "XLA Modules"
# Of the parts of programs on a SparseCore, and of those that XProf derives for a stream: no runs.
_PARTS: Final = re.compile(r"Sparse Core Modules|XLA Modules - ")
# Lines that other tools derive, and put beside those of the streams.
_DERIVED: Final = re.compile(
    r"(?:(?:Sparse Core )?Steps|XLA TraceMe|Framework Ops|Framework Name Scope|Source code|Source"
    r"|(?:XLA|Sparse Core) Modules|Launch Stats|CUPTI overhead|TensorFlow (?:Ops|Name Scope))"
    r"(?: - from #\d+)?\Z"
)


def read_profiles(
    spaces: Sequence[Space], protos: Iterable[tuple[str, bytes]]
) -> list[tuple[ProfiledProgram, Measurement | None]]:
    """Return the programs of the profiles of one run, and of the protos beside them, by paths.

    Each with its times, None where no event is of it. Programs of several hosts are joined by name
    and number; the first one's proto stands. Events of devices win over those of hosts, which
    launched them. Raises InputError where a profile is broken, or none holds a program.
    """
    found: dict[Label, ProfiledProgram] = {}
    for space in spaces:
        for program in list_programs(space):
            found.setdefault(program.label, program)
    for path, data in protos:
        called = read_label(os.path.basename(path).partition(PROTO_ENDING)[0])
        program = make_program(path, called, data)
        label = program.label
        names = {known.name for known in found}
        if label not in found and not (label.program is None and label.name in names):
            found[label] = program
    if not found:
        size = sum(len(space.data) for space in spaces)
        raise InputError(
            f"{spaces[0].name}: this is a profile of {size:,} bytes, and none of its planes holds "
            "the HLO of a program; was it taken with enable_hlo_proto off?"
        )
    programs = found.values()
    devices, hosts = _Tally(programs), _Tally(programs)
    for space in spaces:
        for plane in space.planes():
            if plane.name != METADATA_PLANE:
                tally = devices if _DEVICE.match(plane.name) else hosts
                tables = Tables(space, plane)
                tally.target = tally.target or tables.target
                tally.add(_list_events(space, plane, tables, tally), space.name)
    used = devices if any(devices.line_times) else hosts
    about = used.sum_up(), devices.target
    return [(one, devices.measure(one, *about) or hosts.measure(one, *about)) for one in programs]


def _list_events(space: Space, plane: Plane, tables: Tables, tally: _Tally) -> Iterator[Occurrence]:
    """Yield what ran on a device, runs first, or on the threads of a host, line by line."""
    match = _DEVICE.match(plane.name)
    reader = _Reader(tables, match[1] if match else "")
    lines = space.lines
    if match is None:
        for line in lines(plane):
            yield from (one for one in reader.operations(line) if one.op is not None)
        return
    runs = [run for line in lines(plane) if line.name == _MODULES for run in reader.runs(line)]
    yield from runs
    runs += [run for line in lines(plane) if _PARTS.match(line.name) for run in reader.runs(line)]
    runs.sort(key=lambda run: run.begin_ps)
    # Where a line has an event for each instruction, the streams have its kernels once more.
    is_named = any(_OPS.match(line.name) for line in lines(plane))
    marked, waiting = set[tuple[Label, str]](), list[Occurrence]()
    for line in lines(plane):
        if is_named and _OPS.match(line.name):
            yield from reader.operations(line, runs)
        elif not is_named and not _DERIVED.match(line.name):
            for one in reader.operations(line):
                program = tally.find_program(one.label)
                label = program.label if program else one.label
                if one.op is None or (program and one.op in program.roles.containers):
                    waiting.append(replace(one, label=label))
                else:
                    marked.add((label, one.op))
                    yield one
    yield from KernelNames(tally.programs).join(waiting, marked)


class _Reader(Struct, frozen=True):
    """Reads the lines of a plane; `device` is '' where each event says on which it ran."""

    tables: Tables
    device: str

    def runs(self, line: Line) -> Iterator[Occurrence]:
        """Yield the events of a line of whole programs."""
        for name, marks, begin, end in self.tables.walk(line):
            label = read_label(name)
            if label.program is None and marks.program is not None:
                label = Label(label.name, marks.program)
            yield Occurrence(self.device, label, begin, end, marks)

    def operations(
        self, line: Line, runs: Sequence[Occurrence] | None = None
    ) -> Iterator[Occurrence]:
        """Yield the events of a line, those that say of which instruction they are with it.

        With runs all do, if by name alone; those that do not say of which program belong to the
        run in which they begin.
        """
        begins = [run.begin_ps for run in runs or ()]
        for name, marks, begin, end in self.tables.walk(line):
            label, op = Label(marks.module or "", marks.program), marks.op
            kernel = name if runs is None and (op is None or self.device) else ""
            if runs is not None:
                op = op or name
                place = bisect_right(begins, begin) - 1
                if marks.program is None and place >= 0 and runs[place].end_ps >= begin:
                    label = runs[place].label
            device = self.device or f"{marks.device or 0}"
            kind = tell_kind(kernel) if op is None else "joined"
            timeline = line.number, line.name
            yield Occurrence(device, label, begin, end, marks, timeline, op, kind, kernel)


_PICO: Final = 1e-12


def _timelines() -> Any:
    return field(default_factory=lambda: defaultdict(Timeline))


class _Sums(Struct, eq=False):
    """The events of one program, of all devices together where nothing else is said."""

    program: ProfiledProgram
    devices: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    durations_ps: Counter[str] = field(default_factory=Counter)
    step_count: int = 0  # events of whole runs
    run_ps: int = 0
    runs: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    steps: defaultdict[tuple[str, str], Timeline] = _timelines()  # by device and owner
    said: dict[str, Marks] = field(default_factory=dict)  # of the cost of one execution
    numbers: dict[str, int] = field(default_factory=dict)
    kernels: defaultdict[str, Timeline] = _timelines()  # by device

    def add(self, one: Occurrence, op: str, device: str) -> None:
        """Add an event of an instruction."""
        self.devices.add(device)
        self.counts[op] += 1
        self.durations_ps[op] += one.end_ps - one.begin_ps
        if one.marks.category:
            self.said[op] = one.marks
        if one.marks.run is not None:
            first, last = self.runs.get((device, one.marks.run), (one.begin_ps, one.end_ps))
            self.runs[device, one.marks.run] = min(first, one.begin_ps), max(last, one.end_ps)
        elif one.kernel:
            number = self.numbers.setdefault(op, len(self.numbers))
            self.kernels[device].add(one.begin_ps, one.end_ps, number)

    def measure_collectives(self, busy: defaultdict[str, Timeline]) -> dict[str, MeasuredTime]:
        """Return the times of collectives by the instructions that begin them."""
        owners = self.program.roles.owners
        counts: Counter[str] = Counter()
        for op, count in self.counts.items():
            if op in owners:
                # A start and its done are one collective: not their sum.
                counts[owners[op]] = max(counts[owners[op]], count)
        totals: Counter[str] = Counter()
        alone: Counter[str] = Counter()
        for (device, owner), spans in self.steps.items():
            lasted, exposed = spans.measure(busy[device])
            totals[owner] += lasted
            alone[owner] += exposed
        return {
            owner: MeasuredTime(count, totals[owner] * _PICO, alone[owner] * _PICO)
            for owner, count in counts.items()
        }

    def count_runs(self) -> tuple[int | None, float | None]:
        """Return how often a program ran and how long that took, as far as events tell.

        Else as often as most instructions of the entry occur; in doubt, the fewer.
        """
        if self.step_count:
            return self.step_count, self.run_ps * _PICO
        if self.runs:
            return len(self.runs), sum(last - first for first, last in self.runs.values()) * _PICO
        entry = self.program.roles.entry
        how_many = Counter(count for op, count in self.counts.items() if op in entry)
        count = max(how_many, key=lambda count: (how_many[count], -count), default=None)
        if not count or count % len(self.devices):
            return count, None
        ran = [one for one in self.program.roles.launched if one in entry and one in self.counts]
        later = {self.numbers[one] for one in ran[1:] if one in self.numbers}
        runs_each = count // len(self.devices)
        lasted = [each.time_runs(runs_each, later) for each in self.kernels.values()]
        is_known = len(lasted) == len(self.devices) and None not in lasted
        return count, sum(filter(None, lasted)) * _PICO if is_known else None


class _Tally:
    """Adds up events of the programs of one run of a profiler."""

    def __init__(self, programs: Collection[ProfiledProgram]) -> None:
        self.programs = programs
        self.target: Target | None = None
        self.line_times = [0] * len(KINDS)
        self._sums = {each.label: _Sums(each) for each in programs}
        # What tells a program where an event has a part of its label: what no other has.
        names = Counter(label.name for label in self._sums)
        numbers = Counter(label.program for label in self._sums)
        self._by_name = {
            label.name: one for label, one in self._sums.items() if names[label.name] == 1
        }
        self._by_id = {
            label.program: one for label, one in self._sums.items() if numbers[label.program] == 1
        }
        self._busy: defaultdict[str, Timeline] = defaultdict(Timeline)
        self._has_collectives = any(each.roles.owners for each in programs)

    def add(self, events: Iterable[Occurrence], place: str) -> None:
        """Add the events of a plane; devices of different places are different."""
        lines: defaultdict[tuple[int, str] | None, Timeline] = defaultdict(Timeline)
        for one in events:
            device = f"{place} {one.device}"
            sums = self._find(one.label)
            if one.line is None:
                if sums is not None:
                    sums.step_count += 1
                    sums.run_ps += one.end_ps - one.begin_ps
                continue
            is_known = sums is not None and (one.op is None or one.op in sums.program.roles.names)
            kind = one.kind if is_known or one.op is None else "unknown"
            lines[one.line].add(one.begin_ps, one.end_ps, KINDS.index(kind))
            owner, is_container = None, kind == "collectives"
            if sums is not None and one.op is not None:
                sums.add(one, one.op, device)
                owner = sums.program.roles.owners.get(one.op)
                is_container = one.op in sums.program.roles.containers
            # What other programs do hides a collective as well; a loop does nothing itself.
            if sums is not None and owner is not None:
                sums.steps[device, owner].add(one.begin_ps, one.end_ps)
            elif self._has_collectives and not is_container:
                self._busy[device].add(one.begin_ps, one.end_ps)
        for line in lines.values():
            for place_of, lasts in enumerate(line.share(len(KINDS))):
                self.line_times[place_of] += lasts

    def sum_up(self) -> DeviceTime:
        """Return the time of all lines by what is known of it."""
        return DeviceTime(*(each * _PICO for each in self.line_times))

    def find_program(self, label: Label) -> ProfiledProgram | None:
        """Return the program that is meant."""
        sums = self._find(label)
        return sums.program if sums else None

    def _find(self, label: Label) -> _Sums | None:
        """Return the sums of the program that is meant: by name and number, or what tells it."""
        if (sums := self._sums.get(label)) is not None:
            return sums
        if label.program is not None and not label.name:
            return self._by_id.get(label.program)
        sums = self._by_name.get(label.name)
        is_other = sums and None not in (label.program, sums.program.label.program)
        return None if is_other else sums

    def measure(
        self, program: ProfiledProgram, device_time: DeviceTime, target: Target | None
    ) -> Measurement | None:
        """Return the times of a program, None where no event is of it."""
        sums = self._sums[program.label]
        if not sums.counts:
            return None
        times = {
            op: MeasuredTime(count, sums.durations_ps[op] * _PICO)
            for op, count in sums.counts.items()
        }
        times |= sums.measure_collectives(self._busy)
        for op, said in sums.said.items():
            stated = {"flops": said.flops, "accessed_bytes": said.accessed_bytes}
            times[op] = replace(times[op], category=said.category, **stated)
        return Measurement(len(sums.devices), *sums.count_runs(), times, device_time, target)
