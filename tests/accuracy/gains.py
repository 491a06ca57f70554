"""How much did memory really fall where a program was compiled without what has a gain?

Programs are compiled as they are, with their layers rematerialized, and with their state donated.
The gain of saved activations, and that of outputs beside a parameter, is held against the
difference of the allocated sizes, and of the peaks. Differences have reasons (`REASONS`), no
tolerance.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dump_files import ROOT, SHARED

from hlotool.analysis.memory.memory_map import SpacePeak
from hlotool.analysis.memory.reduction_plan import PartKind, Reserved, divide_memory
from hlotool.dump.find import resolve_inputs
from hlotool.program.load import load_program
from hlotool.program.program import Program

GAINS: Final = ROOT / "testdata" / "gains"
PAIRS: Final = SHARED / "dumps" / "pairs"
TABLE: Final = ROOT / "docs" / "gains.csv"
HEADING: Final = (
    "dump,change,allocated_bytes,saves_bytes,fell_bytes,peak_bytes,peak_saves_bytes,peak_fell_bytes,"
    "reason"
)
NOT_KEPT: Final = "¹"
KINDS: Final[Mapping[str, PartKind]] = {
    "remat": "saved-activations",
    "donated": "missed-donation",
}
# Why they differ; a change that is not listed is told to the byte, or nearly.
SAME: Final = (
    "the compiler merges what is computed again with the first time: the program is the same"
)
INPUTS: Final = "what enters a layer stays saved"
AGAIN: Final = "what is computed again needs memory at the next peak"
COPIES: Final = "copies of them that end before the backward pass go too"
OTHERWISE: Final = "other parts are fused or ordered otherwise"
PLACES: Final = "gaps between temporaries: the peak falls as told"
REASONS: Final[Mapping[str, str]] = {
    "cpu.scanned remat": INPUTS,
    "cpu.scanned donated": PLACES,
    "cpu.unrolled remat": SAME,
    "cpu.unrolled donated": PLACES,
    "gpu_h100.attention remat": f"{INPUTS}; {OTHERWISE}",
    "gpu_h100.attention donated": OTHERWISE,
    "gpu_h100.scanned remat": f"{INPUTS}; {AGAIN}",
    "gpu_h100.scanned donated": PLACES,
    "tpu_v5e.scanned remat": PLACES,
    "tpu_v5e.scanned donated": OTHERWISE,
    "gpu_h100.mlp_train remat": AGAIN,
    "cpu.transformer remat": COPIES,
    "gpu.transformer remat": f"{INPUTS}; {AGAIN}",
    "gpu.transformer donated": OTHERWISE,
}


@dataclass(frozen=True, slots=True)
class Change:
    """One program, and what became of its memory where something of it was changed."""

    name: str
    change: str
    allocated_bytes: int
    saves_bytes: int
    fell_bytes: int
    peak_bytes: int
    peak_saves_bytes: int
    peak_fell_bytes: int

    def __str__(self) -> str:
        """Write one row of the table."""
        figures = (
            *(self.allocated_bytes, self.saves_bytes, self.fell_bytes),
            *(self.peak_bytes, self.peak_saves_bytes, self.peak_fell_bytes),
        )
        reason = REASONS.get(f"{self.name.removesuffix(NOT_KEPT)} {self.change}", "")
        return ",".join((self.name, self.change, *map(str, figures), reason))


def measure_changes(*, with_shared: bool = True) -> list[Change]:
    """Measure every program at hand."""
    found = [one for folder in sorted(GAINS.glob("*.*/")) for one in _measure_folder(folder)]
    dumps = ROOT / "testdata" / "dumps" / "gpu_h100"
    found.append(_compare("gpu_h100.mlp_train", "remat", dumps / "mlp_train", "mlp_train.remat"))
    if with_shared and PAIRS.is_dir():
        for backend in ("cpu", "gpu"):
            name = f"{backend}.transformer{NOT_KEPT}"
            base = f"{backend}.base"
            found.append(_compare(name, "remat", PAIRS / f"{backend}.noremat", base))
        name = f"gpu.transformer{NOT_KEPT}"
        found.append(_compare(name, "donated", PAIRS / "gpu.nodonate", "gpu.base"))
    return found


def write_changes(found: Iterable[Change]) -> str:
    """Write the whole table."""
    return "".join(f"{line}\n" for line in (HEADING, *map(str, found)))


def judge_changes(found: Iterable[Change]) -> str:
    """Say what the table comes to."""
    parts = []
    for change in KINDS:
        rows = [one for one in found if one.change == change and one.fell_bytes > 0]
        near = sum(abs(one.saves_bytes - one.fell_bytes) * 10 <= one.fell_bytes for one in rows)
        parts.append(f"{change}: {near} of {len(rows)} gains within 10 %")
    return "; ".join(parts)


def _measure_folder(folder: Path) -> Iterator[Change]:
    truth = json.loads((folder / "truth.json").read_text("utf-8"))
    program = _load(folder)
    for change in KINDS:
        after = truth[change]["allocated_bytes"], truth[change]["peak_bytes"]
        yield _measure(folder.name, change, program, after)


def _compare(name: str, change: str, folder: Path, other: str) -> Change:
    totals = _load(folder.parent / other).expect_memory().figures.totals
    after = totals.allocated_bytes or 0, totals.peak_bytes or 0
    return _measure(name, change, _load(folder), after)


def _measure(name: str, change: str, program: Program, after: tuple[int, int]) -> Change:
    report = program.expect_memory()
    totals = report.figures.totals
    parts = divide_memory(report, program.module)
    changed = [part for part in parts if part.kind == KINDS[change]]
    tenures = [one for part in changed for one in part.tenures]
    curve = report.map.curve(0)
    assert curve is not None
    allocated, peak = totals.allocated_bytes or 0, totals.peak_bytes or 0
    return Change(
        name,
        change,
        allocated,
        Reserved(report, parts).saving(changed),
        allocated - after[0],
        peak,
        SpacePeak(curve).saving(tenures),
        peak - after[1],
    )


def _load(folder: Path) -> Program:
    path = str(folder)
    return load_program(resolve_inputs(path, "after", None).inputs[0], path, with_buffers=True)
