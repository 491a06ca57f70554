"""Where the tests of the cost model find modules, and XLA's own figures for them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dump_files import TESTDATA, find_file, find_folders, read_json, read_text
from tables import find_cases, is_case

from hlotool.hlo import Module
from hlotool.hlo.parser import parse_module
from hlotool.text import Source

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
        if is_case(self.path):
            return self.path.name
        name = self.path.name.removesuffix(".gz").removesuffix(".txt")
        return "/".join((*self.path.parts[-3:-1], name.partition("jit")[2]))

    def read_instruction_costs(self) -> dict[str, dict[str, tuple[float, ...]]] | None:
        """Return XLA's three figures for each instruction by computation and name, if known.

        Left out are those it would not take apart from the others.
        """
        stage = "before" if "before" in self.path.name else "after"
        path = find_file(self.path.parent, f"oracle_{stage}_optimizations_costs.json")
        if path is None:
            return None
        return {
            one["computation"]: {
                name: tuple(figures)
                for name, *figures in one["instructions"]
                if None not in figures
            }
            for one in read_json(path)
        }

    @cached_property
    def module(self) -> Module:
        """The module, parsed."""
        return read_module(self.path)


def read_module(path: Path) -> Module:
    """Parse a file."""
    return parse_module(Source(read_text(path), path.name))


def list_dumps() -> list[Case]:
    """Return every stage of every dump for which XLA's own cost analysis is written down."""
    return [case for folder in find_folders() for case in _read_folder(folder)]


def _read_folder(folder: Path) -> list[Case]:
    path = find_file(folder, "oracle.json")
    oracle = read_json(path) if path else {}
    cases = []
    for stage in STAGES:
        costs = oracle.get(stage, {}).get("cost_analysis")
        if costs is not None:
            keys = ("flops", "transcendentals", "bytes accessed")
            expected = XlaCost(*(costs.get(key, 0.0) for key in keys))
            text = find_file(folder, oracle[stage]["file"])
            assert text is not None
            cases.append(Case(text, expected))
    return cases


def list_corpus() -> list[Case]:
    """Return the small modules of testdata/cost, whose last line holds XLA's figures."""
    cases = []
    for case in find_cases(TESTDATA / "cost"):
        figures = case.text.rpartition("// xla: ")[2]
        cases.append(Case(case.path, XlaCost(*map(float, figures.split(",")))))
    return cases


def count_custom_calls(module: Module) -> int:
    """XLA counts -1 for each of these where we count 0."""
    return sum(one.opcode == "custom-call" for one in module.instructions())
