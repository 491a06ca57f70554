"""How near derived live ranges and estimated peaks come to what XLA dumped."""

from __future__ import annotations

from dataclasses import dataclass

from buffer_dumps import Dump, find_dumps, read_ranges
from dump_files import PAIRS, ROOT, SEEDS

from hlotool.analysis.dataflow.live_ranges import derive_ranges
from hlotool.analysis.dataflow.schedule import require_schedule
from hlotool.analysis.dataflow.values import trace_values
from hlotool.analysis.memory.report import analyze_memory
from hlotool.hlo import Module
from hlotool.hlo.parser import parse_module
from hlotool.text import Source

TABLE = ROOT / "docs" / "accuracy.csv"
HEADING = (
    "dump,values,equal,peak_bytes,estimated_bytes,off,"
    "temp_peak_bytes,estimated_temp_bytes,temp_off,"
    "allocated_bytes,estimated_allocated_bytes,allocated_off"
)
NOT_KEPT = "¹"  # marks dumps that are not in the repository


@dataclass(frozen=True, slots=True)
class Accuracy:
    """One dump: values with a printed range, those derived alike, and the peaks of space 0."""

    name: str
    value_count: int
    equal_count: int
    peak_bytes: int
    estimated_bytes: int
    temp_peak_bytes: int
    estimated_temp_bytes: int
    allocated_bytes: int
    estimated_allocated_bytes: int

    @property
    def backend(self) -> str:
        """The first part of its name: cpu, gpu or tpu."""
        return self.name[:3]

    @property
    def error(self) -> float:
        """How much the estimate is off, as a fraction of the real peak."""
        return _off(self.estimated_bytes, self.peak_bytes)

    @property
    def temp_error(self) -> float:
        """The same for the peak of temp allocations."""
        return _off(self.estimated_temp_bytes, self.temp_peak_bytes)

    @property
    def allocated_error(self) -> float:
        """The same for all that is allocated."""
        return _off(self.estimated_allocated_bytes, self.allocated_bytes)


def _off(estimated: int, real: int) -> float:
    """Compare two sizes; a dump without temp allocations has to be estimated as such."""
    return 0.0 if estimated == real else estimated / real - 1


def measure(dump: Dump) -> Accuracy:
    """Compare one dump with itself without its assignment, and without its live ranges."""
    printed = read_ranges(dump.assignment)
    if not printed:
        raise ValueError(f"{dump.name} has no live ranges")
    module = dump.module if dump.path.is_dir() else sent_module()
    derived = derive_ranges(trace_values(require_schedule(module)))
    equal = sum(derived.get(key) == found for key, found in printed.items())
    figures = analyze_memory(module, dump.assignment).figures
    real, allocated = figures.peak, figures.totals.allocated_bytes
    estimated = analyze_memory(module, None).figures.estimated
    if real.bytes is None or real.temp_peak_bytes is None or estimated is None:
        raise ValueError(f"{dump.name} has no peak")
    if allocated is None or estimated.allocated_bytes is None:
        raise ValueError(f"{dump.name} has no allocated size")
    return Accuracy(
        shown_name(dump),
        len(printed),
        equal,
        real.bytes,
        estimated.peak_bytes,
        real.temp_peak_bytes,
        estimated.temp_peak_bytes,
        allocated,
        estimated.allocated_bytes,
    )


def sent_module() -> Module:
    """Return the module text that a user sent apart from its assignment."""
    (text,) = SEEDS.glob("003*")
    return parse_module(Source(text.read_text("utf-8"), text.name))


def shown_name(dump: Dump) -> str:
    """Return backend and program, marked where the dump is not in the repository."""
    if dump.path.is_file():
        return f"tpu as sent by a user{NOT_KEPT}"
    if dump.path.parent == PAIRS:
        return f"{dump.path.name.replace('.', '/', 1)}{NOT_KEPT}"
    where = "/".join(dump.path.parts[-2:])
    return where if dump.path.is_relative_to(ROOT) else where + NOT_KEPT


def measured_dumps() -> list[Dump]:
    """Return the dumps that hold live ranges and come with their module."""
    pairs = sorted(PAIRS.iterdir()) if PAIRS.is_dir() else []
    in_pairs = [Dump(path) for path in pairs if path.is_dir()]
    return [
        dump
        for dump in (*find_dumps(), *in_pairs)
        if dump.assignment.live_ranges is not None
        and (not dump.path.is_file() or dump.name == "004")
    ]


def row(found: Accuracy) -> str:
    """Write one row of the table."""
    counts = (found.value_count, found.equal_count, found.peak_bytes, found.estimated_bytes)
    temps = (found.temp_peak_bytes, found.estimated_temp_bytes)
    allocated = (found.allocated_bytes, found.estimated_allocated_bytes)
    return (
        f"{found.name},{','.join(map(str, counts))},{found.error:+.2%},"
        f"{','.join(map(str, temps))},{found.temp_error:+.2%},"
        f"{','.join(map(str, allocated))},{found.allocated_error:+.2%}"
    )
