"""How much more do two processes take than one at a directory of dumps?

The CPU time says what the second process costs. What it gains shows in the time on the wall,
and there only while nothing else wants the other processor.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Comparison

_CPU_LIMIT = 1.35
_WALL_LIMIT = 1 / 1.6
_PROGRAM = Path(__file__).with_name("directory_times.py")


def compare_processors(directory: Path, rounds: int) -> Iterator[Comparison]:
    """Measure `hlotool summary DIR` without start-up, in one process and in two."""
    done = subprocess.run(
        [sys.executable, str(_PROGRAM), str(directory), str(rounds)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    count, (one, wall_of_one), (two, wall_of_two) = json.loads(done.stdout)
    name = f"summary of {count} modules, two processes"
    yield Comparison(name, two, one, "ms", _CPU_LIMIT)
    yield Comparison("… on the wall", wall_of_two, wall_of_one, "ms", _WALL_LIMIT)
