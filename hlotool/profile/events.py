"""How long did something last in which nothing else ran? Unions of spans of time.

Of which instruction is an event? The planes of devices and of hosts are read apart.

* On a device (`/device:GPU:0`, `/device:TPU:1 SparseCore 0`), lines called `XLA Ops`,
  `Async XLA Ops` and `Sparse Core Ops` have an event for each instruction; where there is no such
  line, those events of streams count that name an instruction (`hlo_op`): the kernels of it.
  `XLA Modules` has an event for each run of a program: `jit_step(12)`. `Sparse Core Modules` has
  those of the parts of it that run there: no runs more.
* On a host, as JAX's CPU client runs programs, events count that name an instruction; each says
  on which device, and in which run.

What do the events of a program add up to, on each device?
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

from msgspec import Struct, field

from hlotool.hlo.measurement import MeasuredTime, Measurement
from hlotool.profile.programs import Label, ProfiledProgram, read_label
from hlotool.profile.space import Line, Marks, Plane, Space, Tables
from hlotool.proto.messages import XEvent

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
        low = high = None
        for number in order:
            begin, end = base + begins[number], base + ends[number]
            if low is None or high is None or begin > high:
                if low is not None and high is not None:
                    yield low, high
                low, high = begin, end
            elif end > high:
                high = end
        if low is not None and high is not None:
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


def is_device(plane: Plane) -> bool:
    """Whether a plane is of a device, not of a host."""
    return _DEVICE.match(plane.name) is not None


def list_device_events(space: Space, plane: Plane) -> Iterator[Occurrence | Run]:
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


def list_host_events(space: Space, plane: Plane) -> Iterator[Occurrence]:
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
        for event in self.space.events(line):
            begin = line.start_ps + event.offset_ps
            label = read_label(self.tables.name(event.metadata_id))
            marks = self.tables.marks(event.metadata_id, event.stats)
            if label.program is None and marks.program is not None:
                label = Label(label.name, marks.program)
            yield Run(self.device, label, begin, begin + _find_duration(event, marks))

    def named(self, line: Line, runs: Sequence[Run]) -> Iterator[Occurrence]:
        """Yield the events of a line on which each is of an instruction.

        Those that do not say of which program belong to the run in which they begin.
        """
        begins = [run.begin_ps for run in runs]
        for event in self.space.events(line):
            begin = line.start_ps + event.offset_ps
            marks = self.tables.marks(event.metadata_id, event.stats)
            label = Label(marks.module or "", marks.program)
            if marks.program is None:
                place = bisect_right(begins, begin) - 1
                if place >= 0 and runs[place].end_ps >= begin:
                    label = runs[place].label
            op = marks.op or self.tables.name(event.metadata_id)
            yield self._make(label, op, begin, event, marks)

    def marked(self, line: Line) -> Iterator[Occurrence]:
        """Yield the events of a line that say of which instruction they are."""
        for event in self.space.events(line):
            marks = self.tables.marks(event.metadata_id, event.stats)
            if marks.op is not None:
                begin = line.start_ps + event.offset_ps
                label = Label(marks.module or "", marks.program)
                yield self._make(label, marks.op, begin, event, marks)

    def _make(self, label: Label, op: str, begin: int, event: XEvent, marks: Marks) -> Occurrence:
        device = self.device or f"{marks.device or 0}"
        end = begin + _find_duration(event, marks)
        return Occurrence(device, label, op, begin, end, marks.run)


def _find_duration(event: XEvent, marks: Marks) -> int:
    """Return how long an event lasted: by the device's clock where that is known, as XProf does."""
    known = marks.duration_ps
    return max(event.duration_ps if known is None else known, 0)


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


class Tally:
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
