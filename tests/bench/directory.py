"""How much faster are two processors than one at a directory of dumps?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.measure import Comparison

_LIMIT = 1 / 1.6

# In a process of its own: jaxlib's threads, once there, forbid the fork that hlotool uses.
_PROGRAM = """
import sys, time
from functools import partial
from hlotool.commands.summary_directory import measure_input
from hlotool.inputs import find_inputs, workers

found = find_inputs(sys.argv[1])
measure = partial(measure_input, found.path)
times = {1: [], 2: []}
for _ in range(5):
    for processes, taken in times.items():
        workers.available_processors = lambda: processes
        started = time.perf_counter()
        workers.map_inputs(measure, found.inputs)
        taken.append(time.perf_counter() - started)
print(len(found.inputs), min(times[1]), min(times[2]))
"""


def compare_processors(directory: Path) -> Comparison:
    """Measure `hlotool summary DIR` without start-up, in one process and in two."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(directory)],
        capture_output=True,
        text=True,
        check=True,
    )
    count, one, two = done.stdout.split()
    name = f"summary of {count} modules, two processes"
    return Comparison(name, float(two), float(one), "s", _LIMIT)
