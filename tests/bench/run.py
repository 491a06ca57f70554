"""Measure hlotool against jaxlib, or against doing nothing, and print the ratios.

    python tests/bench/run.py [HLO_TEXT]

Sides take turns, round by round, and the best of each counts, so that other work on the
machine hurts both alike. docs/performance.md holds the numbers and says what they mean.
"""

from __future__ import annotations

import compileall
import os
import platform
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # run as a script, from anywhere
os.environ["PYTHONPATH"] = str(ROOT)

from bench import buffers, diff  # noqa: E402
from bench.directory import compare_processors  # noqa: E402
from bench.parse import compare_large, compare_seed  # noqa: E402
from bench.processes import compare_processes  # noqa: E402


def find_text() -> Path:
    """Return the dump given, the large seed beside the project, or our largest own one."""
    if len(sys.argv) > 1:
        return Path(sys.argv[1])
    seeds = sorted((ROOT.parent / "shared" / "seeds").glob("002_*.txt"))
    return next(iter(seeds), ROOT / "testdata" / "hlo" / "gpu_train_step.txt")


def main() -> None:
    """Run everything and print a line each."""
    path = find_text()
    compileall.compile_dir(ROOT / "hlotool", quiet=2)  # as pip does with what it installs
    say(f"Python {platform.python_version()}, {os.cpu_count()} processors, {path.name}")
    say(f"{'':<40} {'hlotool':>14} {'against':>14} {'ratio':>10}   limit")
    say(compare_seed(path))
    for comparison in compare_large(path):
        say(comparison)
    for comparison in compare_processes(path):
        say(comparison)
    shared = ROOT.parent / "shared" / "dumps"
    say(compare_processors(shared if shared.is_dir() else ROOT / "testdata" / "dumps"))
    say("")
    for line in diff.measure():
        say(line)
    say(f"\n{buffers.VALUES:,} values of a buffer assignment, beside cutting it into words")
    for step in buffers.measure():
        say(f"{step.name:20}  {step.seconds:7.2f} s  {step.ratio:6.1f} ×")


def say(line: object) -> None:
    """Print a line at once; the next takes a while."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
