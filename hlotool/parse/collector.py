"""When does Python's cyclic collector run while dumps are read?"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Final

_FEWEST: Final = 200_000  # objects; a module of 2.6 MB of text is 20,000 of them, and 7 MB


class _Collector:
    """How often it is paused, in all threads, and when it is due."""

    def __init__(self) -> None:
        self._lock = RLock()  # a collection may run anything, this too
        self._pauses = 0
        self._was_enabled = True
        self._made = 0  # objects, in pauses that ended since the last full collection
        self._due = _FEWEST

    def collect_if_due(self) -> None:
        """Collect everything once as many objects were made as were alive the last time.

        So it takes time in proportion to what is made, however much is kept.
        """
        with self._lock:
            is_enabled = self._was_enabled if self._pauses else gc.isenabled()
            is_due = is_enabled and self._made + _count_new() >= self._due
            if is_due:
                self._made = 0
        if is_due:
            gc.collect()
            self._due = max(_FEWEST, len(gc.get_objects()))

    def pause(self) -> None:
        """Pause it, unless another thread has."""
        with self._lock:
            if not self._pauses:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._pauses += 1

    def resume(self) -> None:
        """Let it go on, unless another thread wants it paused, or it never ran."""
        with self._lock:
            self._pauses -= 1
            if self._pauses or not self._was_enabled:
                return
            self._made += _count_new()
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def _count_new() -> int:
    """Return about how many objects were made since all were last looked at, or counted as old."""
    young, middle, old = gc.get_count()
    of_young, of_middle, _ = gc.get_threshold()
    return young + of_young * (middle + of_middle * old)


_COLLECTOR: Final = _Collector()


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep Python's cyclic collector from walking a structure that only grows.

    At Python's own thresholds that is an eighth of the CPU time for 3 MB of text and a third for
    100 MB. The program raises them when it starts; there it is nothing, so this is for the API.

    Nothing becomes garbage here, so all that was made may count as old at once; that is what
    freeze and unfreeze do, unless the program itself has frozen something. They also make Python
    forget how much is new, and a module holds itself in cycles. So what was made is counted here,
    and what of it nobody holds any longer is collected before another is read.
    """
    _COLLECTOR.collect_if_due()
    _COLLECTOR.pause()
    try:
        yield
    finally:
        _COLLECTOR.resume()
