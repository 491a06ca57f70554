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
from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

from msgspec import Struct, field

from hlotool.errors import InputError
from hlotool.hlo.measurement import MeasuredTime, Measurement
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
from hlotool.proto.kind import PROTO_ENDING

_DEVICE: Final = re.compile(r"/device:([\w ]+:\d+)")
_OPS: Final = re.compile(r"(?:(?:Async )?XLA|Sparse Core) Ops\b")
_MODULES: Final = "XLA Modules"
# Of the parts of programs on a SparseCore, and of those that XProf derives for a stream: no runs.
_PARTS: Final = re.compile(r"Sparse Core Modules|XLA Modules - ")
# Lines that other tools derive, and put beside those of the streams.
_DERIVED: Final = re.compile(
    r"(?:(?:Sparse Core )?Steps|XLA TraceMe|Framework Ops|Framework Name Scope|Source code|Source"
    r"|(?:XLA|Sparse Core) Modules|Launch Stats|TensorFlow (?:Ops|Name Scope))(?: - from #\d+)?\Z"
)


class MeasuredProgram(Struct, frozen=True):
    """A program that a profile names, and its times if any event is of it."""

    path: str  # the file that its proto lies in
    label: Label
    data: bytes
    measured: Measurement | None


def read_profiles(
    profiles: Sequence[tuple[str, str, bytes]], protos: Iterable[tuple[str, bytes]]
) -> list[MeasuredProgram]:
    """Return the programs of the profiles of one run, and of the protos beside them, by paths.

    A profile has a name for errors as well. Programs of several hosts are joined by name and
    number; the first one's proto stands. Events of devices win over those of hosts, which launched
    them. Raises InputError where a profile is broken, or none holds a program.
    """
    spaces = [Space(data, name) for _, name, data in profiles]
    found: dict[Label, tuple[str, ProfiledProgram]] = {}
    for (path, _, _), space in zip(profiles, spaces, strict=True):
        for program in list_programs(space):
            found.setdefault(program.label, (path, program))
    for path, data in protos:
        program = make_program(read_label(os.path.basename(path).partition(PROTO_ENDING)[0]), data)
        label = program.label
        names = {known.name for known in found}
        if label not in found and not (label.program is None and label.name in names):
            found[label] = path, program
    if not found:
        size = sum(len(space.data) for space in spaces)
        raise InputError(
            f"{spaces[0].name}: this is a profile of {size:,} bytes, and none of its planes holds "
            "the HLO of a program; was it taken with enable_hlo_proto off?"
        )
    programs = [program for _, program in found.values()]
    devices, hosts = _Tally(programs), _Tally(programs)
    for space in spaces:
        for plane in space.planes():
            if _DEVICE.match(plane.name):
                devices.add(_list_device_events(space, plane), space.name)
            elif plane.name != METADATA_PLANE:
                hosts.add(_list_host_events(space, plane), space.name)
    return [
        MeasuredProgram(
            path, program.label, program.data, devices.measure(number) or hosts.measure(number)
        )
        for number, (path, program) in enumerate(found.values())
    ]


class Occurrence(Struct, frozen=True):
    """An event of an instruction: where and when it ran."""

    device: str
    label: Label
    op: str
    begin_ps: int
    end_ps: int
    run: int | None = None


class Run(Struct, frozen=True):
    """An event of a whole program."""

    device: str
    label: Label
    begin_ps: int
    end_ps: int


def _list_device_events(space: Space, plane: Plane) -> Iterator[Occurrence | Run]:
    """Yield what ran on a device: runs first, then operations, line by line."""
    match = _DEVICE.match(plane.name)
    reader = _Reader(space, Tables(space, plane), match[1] if match else plane.name)
    lines = space.lines
    runs = [run for line in lines(plane) if line.name == _MODULES for run in reader.runs(line)]
    yield from runs
    runs += [run for line in lines(plane) if _PARTS.match(line.name) for run in reader.runs(line)]
    runs.sort(key=lambda run: run.begin_ps)
    is_named = any(_OPS.match(line.name) for line in lines(plane))
    for line in lines(plane):
        if is_named and _OPS.match(line.name):
            yield from reader.named(line, runs)
        elif not is_named and not _DERIVED.match(line.name):
            yield from reader.marked(line)


def _list_host_events(space: Space, plane: Plane) -> Iterator[Occurrence]:
    """Yield what ran on the threads of a host."""
    reader = _Reader(space, Tables(space, plane), "")
    for line in space.lines(plane):
        yield from reader.marked(line)


class _Reader(Struct, frozen=True):
    """Reads the lines of a plane; `device` is '' where each event says on which it ran."""

    space: Space
    tables: Tables
    device: str

    def runs(self, line: Line) -> Iterator[Run]:
        """Yield the events of a line of whole programs."""
        for number, marks, begin, end in self._walk(line):
            label = read_label(self.tables.name(number))
            if label.program is None and marks.program is not None:
                label = Label(label.name, marks.program)
            yield Run(self.device, label, begin, end)

    def named(self, line: Line, runs: Sequence[Run]) -> Iterator[Occurrence]:
        """Yield the events of a line on which each is of an instruction.

        Those that do not say of which program belong to the run in which they begin.
        """
        begins = [run.begin_ps for run in runs]
        for number, marks, begin, end in self._walk(line):
            label = Label(marks.module or "", marks.program)
            if marks.program is None:
                place = bisect_right(begins, begin) - 1
                if place >= 0 and runs[place].end_ps >= begin:
                    label = runs[place].label
            op = marks.op or self.tables.name(number)
            device = self.device or f"{marks.device or 0}"
            yield Occurrence(device, label, op, begin, end, marks.run)

    def marked(self, line: Line) -> Iterator[Occurrence]:
        """Yield the events of a line that say of which instruction they are."""
        for _, marks, begin, end in self._walk(line):
            if marks.op is not None:
                label = Label(marks.module or "", marks.program)
                device = self.device or f"{marks.device or 0}"
                yield Occurrence(device, label, marks.op, begin, end, marks.run)

    def _walk(self, line: Line) -> Iterator[tuple[int, Marks, int, int]]:
        """Yield the kind of each event, what is said of it, and when it began and ended."""
        for event in self.space.events(line):
            marks = self.tables.marks(event.metadata_id, event.stats)
            begin = line.start_ps + event.offset_ps
            # By the device's clock where that is known, as XProf does.
            known = marks.duration_ps
            lasted = event.duration_ps if known is None else known
            yield event.metadata_id, marks, begin, begin + max(lasted, 0)


_PICO: Final = 1e-12
_Key = TypeVar("_Key")


class _Sums(Struct, eq=False):
    """The events of one program, of all devices together where nothing else is said."""

    devices: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    durations_ps: Counter[str] = field(default_factory=Counter)
    run_count: int = 0  # events of whole runs
    run_ps: int = 0
    runs: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    steps: dict[tuple[str, str], Spans] = field(default_factory=dict)  # by device and owner


class _Tally:
    """Adds up events of the programs of one run of a profiler."""

    def __init__(self, programs: Sequence[ProfiledProgram]) -> None:
        self._programs = programs
        self._numbers = {each.label: number for number, each in enumerate(programs)}
        self._by_id = _find_unique(each.label.program for each in programs)
        self._by_name = _find_unique(each.label.name for each in programs)
        self._sums = [_Sums() for _ in programs]
        self._busy: defaultdict[str, Spans] = defaultdict(Spans)
        self._has_collectives = any(each.roles.owners for each in programs)

    def add(self, events: Iterable[Occurrence | Run], place: str) -> None:
        """Add the events of a plane; devices of different places are different."""
        for one in events:
            device = f"{place} {one.device}"
            number = self._find(one.label)
            if isinstance(one, Run):
                if number is not None:
                    self._sums[number].run_count += 1
                    self._sums[number].run_ps += one.end_ps - one.begin_ps
            elif number is None:
                if self._has_collectives:
                    self._busy[device].add(one.begin_ps, one.end_ps)
            else:
                self._add_to(number, one, device)

    def _add_to(self, number: int, one: Occurrence, device: str) -> None:
        sums, roles = self._sums[number], self._programs[number].roles
        sums.devices.add(device)
        sums.counts[one.op] += 1
        sums.durations_ps[one.op] += one.end_ps - one.begin_ps
        if one.run is not None:
            first, last = sums.runs.get((device, one.run), (one.begin_ps, one.end_ps))
            sums.runs[device, one.run] = min(first, one.begin_ps), max(last, one.end_ps)
        owner = roles.owners.get(one.op)
        if owner is not None:
            sums.steps.setdefault((device, owner), Spans()).add(one.begin_ps, one.end_ps)
        elif self._has_collectives and one.op not in roles.containers:
            self._busy[device].add(one.begin_ps, one.end_ps)

    def _find(self, label: Label) -> int | None:
        """Return which program is meant: by name and number, or by what tells it alone."""
        number = self._numbers.get(label)
        if number is not None:
            return number
        if label.program is not None and not label.name:
            return self._by_id.get(label.program)
        number = self._by_name.get(label.name)
        known = None if number is None else self._programs[number].label.program
        return number if known is None or label.program is None else None

    def measure(self, number: int) -> Measurement | None:
        """Return the times of a program, None where no event is of it."""
        sums = self._sums[number]
        if not sums.counts:
            return None
        times = {
            op: MeasuredTime(count, sums.durations_ps[op] * _PICO)
            for op, count in sums.counts.items()
        }
        times |= self._measure_collectives(number)
        count, seconds = self._count_runs(number)
        return Measurement(len(sums.devices), count, seconds, times)

    def _measure_collectives(self, number: int) -> dict[str, MeasuredTime]:
        """Return the times of collectives by the instructions that begin them."""
        sums, owners = self._sums[number], self._programs[number].roles.owners
        counts: Counter[str] = Counter()
        for op, count in sums.counts.items():
            if op in owners:
                counts[owners[op]] = max(counts[owners[op]], count)
        totals: Counter[str] = Counter()
        alone: Counter[str] = Counter()
        for (device, owner), spans in sums.steps.items():
            lasted, exposed = measure_alone(spans, self._busy[device])
            totals[owner] += lasted
            alone[owner] += exposed
        return {
            owner: MeasuredTime(count, totals[owner] * _PICO, alone[owner] * _PICO)
            for owner, count in counts.items()
        }

    def _count_runs(self, number: int) -> tuple[int | None, float | None]:
        """Return how often a program ran and how long that took, as far as events tell.

        Else as often as most instructions of the entry occur; in doubt, the fewer.
        """
        sums = self._sums[number]
        if sums.run_count:
            return sums.run_count, sums.run_ps * _PICO
        if sums.runs:
            lasted = sum(last - first for first, last in sums.runs.values())
            return len(sums.runs), lasted * _PICO
        entry = self._programs[number].roles.entry
        how_many = Counter(count for op, count in sums.counts.items() if op in entry)
        if not how_many:
            return None, None
        most = max(how_many.values())
        return min(count for count, times in how_many.items() if times == most), None


def _find_unique(keys: Iterable[_Key | None]) -> dict[_Key, int]:
    """Return the numbers of the keys that come once."""
    listed = list(keys)
    often = Counter(listed)
    return {key: n for n, key in enumerate(listed) if key is not None and often[key] == 1}


_MOST: Final = 1 << 62  # picoseconds: 53 days


class Spans:
    """Spans of time in picoseconds; 16 bytes each, counted from the first."""

    def __init__(self) -> None:
        self._base: int | None = None
        self._begins = array("q")
        self._ends = array("q")
        self._is_sorted = True

    def add(self, begin: int, end: int) -> None:
        """Add a span; empty ones count for nothing."""
        if end <= begin or (self._base is not None and abs(begin - self._base) > _MOST):
            return
        if self._base is None:
            self._base = begin
        begin -= self._base
        end = min(end - self._base, _MOST)
        # Most lines are in order: what follows or overlaps the last span is joined at once.
        if self._begins and begin < self._begins[-1]:
            self._is_sorted = False
        elif self._begins and self._is_sorted and begin <= self._ends[-1]:
            self._ends[-1] = max(self._ends[-1], end)
            return
        self._begins.append(begin)
        self._ends.append(end)

    def union(self) -> Iterator[tuple[int, int]]:
        """Yield the spans in order, those that touch as one."""
        begins, ends, base = self._begins, self._ends, self._base or 0
        order: Iterable[int] = range(len(begins))
        if not self._is_sorted:
            order = sorted(order, key=begins.__getitem__)
        spans = ((base + begins[number], base + ends[number]) for number in order)
        first = next(spans, None)
        if first is None:
            return
        low, high = first
        for begin, end in spans:
            if begin > high:
                yield low, high
                low, high = begin, end
            else:
                high = max(high, end)
        yield low, high


def measure_alone(spans: Spans, others: Spans) -> tuple[int, int]:
    """Return how long spans last, and how much of that time none of the others does."""
    total = alone = 0
    beside = others.union()
    current = next(beside, None)
    for begin, end in spans.union():
        total += end - begin
        at = begin
        while current is not None and current[1] <= at:
            current = next(beside, None)
        while current is not None and current[0] < end:
            alone += max(current[0] - at, 0)
            at = max(at, min(current[1], end))
            if current[1] > end:
                break
            current = next(beside, None)
        alone += max(end - at, 0)
    return total, alone
