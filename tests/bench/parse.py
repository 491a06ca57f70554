"""Reading HLO text against jaxlib's parser: the seed in one process, 100 MB in fresh ones."""

from __future__ import annotations

import gc
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

from bench.measure import Comparison, best_of
from jaxlib import _hlo

from hlotool.parse import parse_module
from hlotool.source import Source

COPIES = 37  # of the 2.6 MB seed: 100 MB

# What a fresh process runs; it prints seconds and the peak of its memory.
_CHILD = r"""
import json, re, sys, time
from pathlib import Path
{setup}
text = Path(sys.argv[1]).read_text(encoding="utf-8")
begin = time.perf_counter()
module = {parse}
seconds = time.perf_counter() - begin
status = Path("/proc/self/status").read_text()
peak = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024
print(json.dumps([seconds, peak]))
"""
OURS = _CHILD.format(
    setup="from hlotool.parse import parse_module\nfrom hlotool.source import Source",
    parse="parse_module(Source(text))",
)
THEIRS = _CHILD.format(setup="from jaxlib import _hlo", parse="_hlo.hlo_module_from_text(text)")


def compare_seed(path: Path, rounds: int = 25) -> Comparison:
    """Parse one text again and again in this process, in turns; the best of each side."""
    text = path.read_text(encoding="utf-8")
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        ours.append(time_once(lambda: parse_module(Source(text))))
        theirs.append(time_once(lambda: _hlo.hlo_module_from_text(text)))
    name = f"parse {path.name[:20]}, {len(text) / 1e6:.1f} MB"
    return Comparison(name, best_of(ours), best_of(theirs), "ms", 1 / 2.5)


def time_once(parse: Callable[[], object]) -> float:
    """Return the seconds of one call; nobody pays for what the round before left behind."""
    gc.collect()
    begin = perf_counter()
    module = parse()
    seconds = perf_counter() - begin
    del module
    return seconds


def compare_large(path: Path, rounds: int = 3) -> Iterator[Comparison]:
    """Parse copies of one text with names of their own, in fresh processes, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder) / "large.txt"
        large.write_text(multiply(path.read_text(encoding="utf-8"), COPIES), encoding="utf-8")
        size = large.stat().st_size / 1e6
        runs = [(run_child(OURS, large), run_child(THEIRS, large)) for _ in range(rounds)]
    for number, (what, unit, limit) in enumerate((("time", "s", 0.5), ("memory", "MiB", 0.3))):
        yield Comparison(
            f"parse {size:.0f} MB, {what}",
            best_of([ours[number] for ours, _ in runs]),
            best_of([theirs[number] for _, theirs in runs]),
            unit,
            limit,
        )


def run_child(program: str, path: Path) -> tuple[float, float]:
    """Run a program of this file in a fresh process; return seconds and bytes."""
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], check=True, capture_output=True, text=True
    )
    seconds, peak = json.loads(done.stdout)
    return seconds, peak


def multiply(text: str, count: int) -> str:
    """Repeat the computations of a module, each time under new names; the last has the entry."""
    header, gap, body = text.partition("\n\n")
    copies = []
    for number in range(count):
        copy = re.sub(r"%([A-Za-z_][\w.\-]*)", rf"%\1.c{number}", body)
        copies.append(copy if number == count - 1 else copy.replace("\nENTRY ", "\n"))
    return header + gap + "\n".join(copies)
