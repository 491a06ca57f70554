"""How much more do two processes take than one at a directory of dumps?

The CPU time says what the second process costs. What it gains only shows in the time on the
wall, and there only while nothing else wants the other processor: it is printed without a limit.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Comparison

_LIMIT = 1.35
_PROGRAM = Path(__file__).with_name("directory_times.py")


def compare_processors(directory: Path, rounds: int) -> Iterator[Comparison | str]:
    """Measure `hlotool summary DIR` without start-up, in one process and in two."""
    done = subprocess.run(
        [sys.executable, str(_PROGRAM), str(directory), str(rounds)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    count, (one, wall_of_one), (two, wall_of_two) = json.loads(done.stdout)
    yield Comparison(f"summary of {count} modules, two processes", two, one, "ms", _LIMIT)
    ratio = wall_of_two / wall_of_one
    yield f"{'… on the wall':<40} {_write(wall_of_two)} {_write(wall_of_one)} {ratio:10.2f}"


def _write(seconds: float) -> str:
    return f"{seconds * 1e3:11.1f} ms"
