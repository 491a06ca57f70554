"""Measure hlotool against jaxlib, or against doing nothing, and print the ratios.

    python tests/bench/run.py [--quick] [HLO_TEXT]

`bench/measure.py` says what is measured, and how. --quick runs every section once, on small
inputs: it shows that all of them still work, and its figures say nothing. Without jaxlib, what
is compared with it is left out. docs/performance.md holds the numbers and says what they mean.
"""

from __future__ import annotations

import argparse
import compileall
import importlib.util
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTDATA = ROOT / "testdata"
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # run as a script, from anywhere
os.environ["PYTHONPATH"] = str(ROOT)

from bench.buffers import measure_buffers  # noqa: E402
from bench.diff import measure_diff  # noqa: E402
from bench.diff_pairs import compare_pairs  # noqa: E402
from bench.diff_parser import compare_with_parser  # noqa: E402
from bench.directory import compare_processors  # noqa: E402
from bench.measure import QUICK, Effort  # noqa: E402
from bench.page import measure_page  # noqa: E402
from bench.parse import compare_parsing  # noqa: E402
from bench.processes import compare_reading, compare_start  # noqa: E402
from bench.protos import compare_protos  # noqa: E402


def find_text() -> Path:
    """Return the large seed beside the project, or our largest own dump."""
    seeds = sorted((ROOT.parent / "shared" / "seeds").glob("002_*.txt"))
    own = TESTDATA.glob("dumps/*/*/*after_optimizations.txt")
    return seeds[0] if seeds else max(own, key=lambda path: path.stat().st_size)


def find_directory(effort: Effort) -> Path:
    """Return the dumps beside the project, or our own."""
    shared = ROOT.parent / "shared" / "dumps"
    return shared if shared.is_dir() and effort != QUICK else TESTDATA / "dumps"


def main() -> None:
    """Run every section."""
    parser = argparse.ArgumentParser(description="Measure speed, as ratios of CPU time.")
    parser.add_argument("--quick", action="store_true", help="once, with small inputs")
    parser.add_argument("text", nargs="?", type=Path, help="HLO text to read")
    arguments = parser.parse_args()
    effort = QUICK if arguments.quick else Effort()
    small = TESTDATA / "hlo" / "cpu_train_step.txt"
    path = arguments.text or (small if arguments.quick else find_text())
    compileall.compile_dir(ROOT / "hlotool", quiet=2)  # as pip does with what it installs

    say(f"Python {platform.python_version()}, {os.cpu_count()} processors, {path.name}")
    say(f"{'CPU time':<40} {'hlotool':>14} {'against':>14} {'ratio':>10}   limit")
    for line in measure_all(path, effort):
        say(line)


def measure_all(path: Path, effort: Effort) -> Iterator[object]:
    """Yield the lines of all sections."""
    if importlib.util.find_spec("jaxlib"):
        yield from compare_parsing(path, effort)
        yield from compare_reading(path, effort.process_rounds)
        yield "CPU of an answer from a proto, beside that from its text"
        yield from compare_protos(path, effort)
    else:
        yield "parsing and summary: left out, jaxlib is not installed"
    yield compare_start(effort.process_rounds)
    if importlib.util.find_spec("jinja2"):
        yield from measure_page(path, effort.process_rounds)
    yield from compare_processors(find_directory(effort), effort.directory_rounds)
    pairs = ROOT.parent / "shared" / "dumps" / "pairs"
    if pairs.is_dir() and effort != QUICK:
        yield "CPU of `diff`, beside the two summaries that it contains"
        yield from compare_pairs(pairs, effort.diff_bytes, effort.diff_rounds)
        if importlib.util.find_spec("jaxlib"):
            yield "CPU of a whole diff, beside jaxlib's parse of both texts"
            sizes = 2_600_000, effort.large_bytes
            yield from compare_with_parser(pairs, sizes, effort.diff_rounds)
    yield ""
    yield from measure_diff(effort.diff_bytes, effort.diff_rounds)
    yield f"\n{effort.buffer_values:,} values of a buffer assignment, beside cutting it into words"
    yield from measure_buffers(effort.buffer_values)


def say(line: object) -> None:
    """Print a line at once; the next takes a while."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
