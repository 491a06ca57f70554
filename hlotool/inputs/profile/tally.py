"""What do the events of a program add up to, on each device?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from msgspec import Struct, field

from hlotool.inputs.profile.events import Occurrence, Run
from hlotool.inputs.profile.intervals import Spans, measure_alone
from hlotool.inputs.profile.programs import Label, ProfiledProgram
from hlotool.ir.measurement import MeasuredTime, Measurement

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
