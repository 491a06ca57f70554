"""Print how long the summary of a directory takes in one process and in two, as JSON.

    python tests/bench/directory_times.py DIRECTORY ROUNDS

Medians of CPU time and of time on the wall. This is a program of its own, since jaxlib's
threads, once there, forbid the fork that hlotool uses.
"""

from __future__ import annotations

import json
import sys
import time
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from statistics import median
from unittest.mock import patch

from hlotool.dump import workers
from hlotool.dump.find import resolve_inputs
from hlotool.program.fleet import FleetContext, Member, measure_members


def measure(directory: str, rounds: int) -> list[object]:
    """Return how many modules there are, and the medians for one process and for two."""
    members = [Member(one, directory) for one in resolve_inputs(directory).inputs]
    taken: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    for _ in range(rounds):
        for processes, times in taken.items():
            cpu, wall = read_clocks()
            with patch.object(workers, "available_processors", return_value=processes):
                measure_members(members, FleetContext())
            cpu_after, wall_after = read_clocks()
            times.append((cpu_after - cpu, wall_after - wall))
    medians = [[median(each) for each in zip(*times, strict=True)] for times in taken.values()]
    return [len(members), *medians]


def read_clocks() -> tuple[float, float]:
    """Return the CPU time of this process and its children so far, and the time on the wall."""
    usages = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in usages), time.perf_counter()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
