"""Does twice the work take about twice as long?"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from no_collector import no_collector

MOST_GROWTH = 2.6  # where the size doubles; what is quadratic takes 4 times as long
ROUNDS = 3  # the middle of some ratios: others are busy too
MOST_ROUNDS = 9  # where they are so busy that three do not tell
GRACE_SECONDS = 0.02  # what is over so soon says nothing of growth


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Fail where twice the size takes much more than twice as long."""
    work(size)  # what only the first run does
    growths: list[float] = []
    while len(growths) < MOST_ROUNDS:
        small = measure(work, size)  # taking turns, as what else runs comes and goes
        growths.append(measure(work, 2 * size) / max(small, GRACE_SECONDS))
        if len(growths) >= ROUNDS and statistics.median(growths) <= MOST_GROWTH:
            return
    raise AssertionError(growths)


def measure(work: Callable[[int], object], size: int) -> float:
    """Return the seconds of the processor, without those of the collector, which come in steps."""
    with no_collector():
        started = time.process_time()
        work(size)
        return time.process_time() - started
