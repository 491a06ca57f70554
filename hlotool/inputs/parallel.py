"""Apply a function to many inputs in several processes, and keep what fails as a value.

The work of a large dump directory is parsing, which holds Python's lock; so processes, not
threads. Only inputs and results are sent between them, never a text or a module.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeVar

from msgspec import Struct

from hlotool.errors import HlotoolError

# Below this, starting processes costs more than it saves (see docs/inputs.md).
MIN_PARALLEL_BYTES: Final = 1 << 20


class Sized(Protocol):
    """Something with a size: what decides the order and the grouping of the work."""

    @property
    def size_bytes(self) -> int:
        """How much there is to read."""


class Failure(Struct, frozen=True):
    """What stands in the place of a result when an input could not be read.

    Only its message goes from process to process: an error holds the whole text.
    """

    message: str
    exit_code: int


Item = TypeVar("Item", bound=Sized)
Result = TypeVar("Result")


def map_inputs(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    processes: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Result | Failure]:
    """Return `function(item)` for every item, in order, or a Failure where it raised.

    A HlotoolError becomes a Failure; any other exception is a bug and is raised. The largest
    items start first. `progress` is called in this process with the bytes just finished.
    With `processes` 1, or for few or small items, everything happens in this process; else
    `function`, items and results must be picklable. `processes` None means one for each
    processor this process may use.
    """
    count = min(processes or available_processors(), len(items))
    total = sum(item.size_bytes for item in items)
    report = progress or _ignore
    if count <= 1 or (processes is None and total < MIN_PARALLEL_BYTES):
        results = []
        for item in items:
            results.append(call(function, item))
            report(item.size_bytes)
        return results
    from hlotool.inputs.pool import map_chunks  # noqa: PLC0415  (costs 15 ms at start-up)

    return map_chunks(function, items, count, report)


def available_processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def can_fork() -> bool:
    """Return whether a copy of this process is cheap and safe: Linux, and no other threads.

    A lock that another thread (a library's, JAX's) holds would stay locked in the copy.
    """
    if sys.platform != "linux":
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1  # noqa: PTH208
    except OSError:
        return False  # nothing tells


def call(function: Callable[[Item], Result], item: Item) -> Result | Failure:
    """Apply the function to one item; a HlotoolError becomes a Failure."""
    try:
        return function(item)
    except HlotoolError as error:
        return Failure(str(error), error.exit_code)


def _ignore(_finished_bytes: int) -> None:
    """Report progress to nobody."""
