"""What `hlotool fit` predicts of families of programs, and what they took when they were compiled.

Each family of testdata/fit has two given members and three that were held out: between them, and
at twice and four times the larger. `alike` says whether the given ones have one structure and
predict each other, `kept` whether the held-out one has it too. docs/fit.csv is written by

    python tests/accuracy/fit.py HELD_OUT [--bands]

HELD_OUT is a folder with the held-out members, as `make.families --held-out --out HELD_OUT` makes
them: testdata has those given. `--bands` prints where the ratios of the tuning families lie.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from dump_files import ROOT

from hlotool.compare.changes.instructions import compare_order
from hlotool.compare.fit.predict import measure
from hlotool.compare.fit.report import FitReport, fit_programs
from hlotool.compare.match.structure import compare_structure
from hlotool.dump.find import resolve_inputs
from hlotool.errors import UsageError
from hlotool.program.load import load_program
from hlotool.program.program import Program

FIT: Final = ROOT / "testdata" / "fit"
TABLE: Final = ROOT / "docs" / "fit.csv"
HEADING: Final = (
    *("family", "role", "size", "distance", "alike", "kept", "metric"),
    *("told", "low", "high", "real"),
)
NINE_TENTHS: Final = 0.9


@dataclass(frozen=True)
class Row:
    """A figure that was told, and the real one where that is known."""

    family: str
    role: str
    size: str
    distance: str
    alike: bool
    kept: bool | None
    metric: str
    told: int
    low: int | None
    high: int | None
    real: int | None

    @property
    def ratio(self) -> float | None:
        """Real by told."""
        if self.real is None:
            return None
        return self.real / self.told if self.told else float(self.real == 0)


def read_families() -> dict[str, dict[str, Any]]:
    """Return the families by name."""
    return tomllib.loads((FIT / "families.toml").read_text(encoding="utf-8"))


def load(path: Path) -> Program:
    """Read a member."""
    found = resolve_inputs(str(path), "after", None).inputs[0]
    return load_program(found, str(path), with_buffers=True)


def fit_family(name: str, family: Mapping[str, Any]) -> tuple[list[Program], FitReport]:
    """Fit a family by the members that are given."""
    vary, given = str(family["vary"]), tuple(family["given"])
    programs = [load(FIT / name / f"{value}.tar.zst") for value in given]
    at = [{vary: value} for value in family["held_out"]]
    return programs, fit_programs(programs, {vary: given}, at)


def list_rows(name: str, family: Mapping[str, Any], folder: Path) -> Iterator[Row]:
    """Predict the held-out members of a family, and read those that are there."""
    programs, report = fit_family(name, family)
    real: dict[str, tuple[bool, Mapping[str, float]]] = {}
    for value in family["held_out"]:
        path = folder / name / f"{value}.tar.zst"
        if path.exists():
            program = load(path)
            figures = measure(program).figures
            real[f"{family['vary']}={value}"] = has_structure(programs[-1], program), figures
    for row in report.predicted:
        kept, figures = real.get(row.size, (None, {}))
        yield Row(
            name,
            str(family["role"]),
            row.size,
            row.distance,
            report.facts.is_alike,
            kept,
            row.metric,
            int(row.value),
            None if row.low is None else int(row.low),
            None if row.high is None else int(row.high),
            int(figures[row.metric]) if row.metric in figures else None,
        )


def has_structure(one: Program, other: Program) -> bool:
    """Say whether each instruction of either has a counterpart of its opcode in the other."""
    structure = compare_structure(one, other)
    pairs = structure.counterparts()
    if structure.old_only or structure.new_only or structure.moved:
        return False
    if compare_order(structure.computations) is not None:
        return False
    return all(
        len(pair.pairs) == len(pair.old.instructions) == len(pair.new.instructions)
        for pair in structure.computations
    ) and all(old.opcode == new.opcode for old, new in pairs.items())


def print_bands(rows: list[Row]) -> None:
    """Print from where to where nine in ten of the ratios lie, by what is known beforehand."""
    groups: defaultdict[tuple[bool, str, str], list[float]] = defaultdict(list)
    for row in rows:
        if row.ratio is not None and row.role == "tuning":
            groups[row.alike, row.distance, row.metric].append(row.ratio)
    for (alike, distance, metric), ratios in sorted(groups.items()):
        shown = " ".join(f"{one:.3f}" for one in sorted(ratios))
        sys.stdout.write(f"{alike} {distance} {metric} {len(ratios)}: {shown}\n")


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("held_out", type=Path)
    parser.add_argument("--bands", action="store_true")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    rows: list[Row] = []
    refused: dict[str, str] = {}
    for name, family in read_families().items():
        if arguments.only in name:
            try:
                rows += list_rows(name, family, arguments.held_out)
            except UsageError as error:
                refused[name] = str(error)
    for name, sentence in refused.items():
        sys.stderr.write(f"{name}: {sentence}\n")
    if arguments.bands:
        print_bands(rows)
        return
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((*HEADING, "ratio"))
        for row in rows:
            values = [getattr(row, name) for name in HEADING]
            ratio = "" if row.ratio is None else f"{row.ratio:.4f}"
            writer.writerow("" if one is None else one for one in (*values, ratio))


if __name__ == "__main__":
    main()
