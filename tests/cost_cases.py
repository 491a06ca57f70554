"""Where the tests of the cost model find modules, and XLA's own figures for them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hlotool.ir import Module
from hlotool.parse import parse_module
from hlotool.source import Source

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"  # absent outside the project's own machine
STAGES = ("after_optimizations", "before_optimizations")


@dataclass(frozen=True)
class XlaCost:
    """What HloCostAnalysis says of a whole module, sums in float32, -1 for a custom call."""

    flops: float
    transcendentals: float
    bytes_accessed: float


@dataclass(frozen=True)
class Case:
    """A module and XLA's figures for it."""

    path: Path
    expected: XlaCost

    @property
    def name(self) -> str:
        """For test ids."""
        return "/".join((*self.path.parts[-3:-1], self.path.stem.partition("jit")[2]))

    def read_instruction_costs(self) -> dict[str, dict[str, tuple[float, ...]]] | None:
        """Return XLA's three figures for each instruction by computation and name, if known.

        Left out are those it would not take apart from the others.
        """
        stage = "before" if "before" in self.path.name else "after"
        path = self.path.parent / f"oracle_{stage}_optimizations_costs.json"
        if not path.exists():
            return None
        return {
            one["computation"]: {
                name: tuple(figures)
                for name, *figures in one["instructions"]
                if None not in figures
            }
            for one in json.loads(path.read_text(encoding="utf-8"))
        }

    @cached_property
    def module(self) -> Module:
        """The module, parsed."""
        return read_module(self.path)


def read_module(path: Path) -> Module:
    """Parse a file."""
    return parse_module(Source(path.read_text(encoding="utf-8"), path.name))


def list_dumps() -> list[Case]:
    """Return every stage of every dump for which XLA's own cost analysis is written down."""
    folders = [
        oracle.parent
        for root in (ROOT / "testdata/dumps", SHARED / "dumps")
        for oracle in sorted(root.glob("*/*/oracle.json"))
    ]
    return [case for folder in folders for case in _read_folder(folder)]


def _read_folder(folder: Path) -> list[Case]:
    oracle = json.loads((folder / "oracle.json").read_text(encoding="utf-8"))
    cases = []
    for stage in STAGES:
        costs = oracle.get(stage, {}).get("cost_analysis")
        if costs is not None:
            keys = ("flops", "transcendentals", "bytes accessed")
            expected = XlaCost(*(costs.get(key, 0.0) for key in keys))
            cases.append(Case(folder / oracle[stage]["file"], expected))
    return cases


def list_corpus() -> list[Case]:
    """Return the small modules of testdata/cost, whose last line holds XLA's figures."""
    cases = []
    for path in sorted((ROOT / "testdata/cost").glob("*.txt")):
        figures = path.read_text(encoding="utf-8").rpartition("// xla: ")[2]
        cases.append(Case(path, XlaCost(*map(float, figures.split(",")))))
    return cases


def count_custom_calls(module: Module) -> int:
    """XLA counts -1 for each of these where we count 0."""
    return sum(one.opcode == "custom-call" for one in module.instructions())
