"""How much faster are two processors than one at a directory of dumps?"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from bench.measure import Comparison, best_of

from hlotool.commands.modules import measure_input
from hlotool.inputs import find_inputs, map_inputs

_PROCESSES = 2
_ROUNDS = 5
_LIMIT = 1 / 1.6


def compare_processors(directory: Path) -> Comparison:
    """Measure `hlotool summary DIR` without start-up, in one process and in two."""
    found = find_inputs(str(directory))
    measure = partial(measure_input, found.path)
    times: dict[int, list[float]] = {1: [], _PROCESSES: []}
    for _ in range(_ROUNDS):
        for processes, taken in times.items():
            started = time.perf_counter()
            map_inputs(measure, found.inputs, processes=processes)
            taken.append(time.perf_counter() - started)
    name = f"summary of {len(found.inputs)} modules, two processes"
    return Comparison(name, best_of(times[_PROCESSES]), best_of(times[1]), "s", _LIMIT)
