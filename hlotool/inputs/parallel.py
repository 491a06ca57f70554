"""Apply a function to many inputs in several processes, and keep what fails as a value.

The work of a large dump directory is parsing, which holds Python's lock; so processes, not
threads. Only inputs and results are sent between them, never a text or a module.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.context import BaseContext
from typing import Final, Protocol, TypeVar

from hlotool.errors import HlotoolError

# Below this, starting processes costs more than it saves (see docs/inputs.md).
MIN_PARALLEL_BYTES: Final = 1 << 20
_CHUNKS_PER_PROCESS: Final = 8  # small inputs are sent together, but not all of them


class Sized(Protocol):
    """Something with a size: what decides the order and the grouping of the work."""

    @property
    def size_bytes(self) -> int:
        """How much there is to read."""


@dataclass(frozen=True, slots=True)
class Failure:
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
            results.append(_call(function, item))
            report(item.size_bytes)
        return results
    chunks = _make_chunks([item.size_bytes for item in items], count)
    return _map_chunks(function, items, chunks, count, report)


def available_processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _make_chunks(sizes: list[int], processes: int) -> list[list[int]]:
    """Group the numbers of the items, largest first, small ones together.

    A chunk is closed once it holds a fair share of the work, so that a large item is alone.
    """
    share = sum(sizes) / (processes * _CHUNKS_PER_PROCESS)
    chunks: list[list[int]] = []
    room = 0.0
    for number in sorted(range(len(sizes)), key=lambda each: -sizes[each]):
        if room <= 0:
            chunks.append([])
            room = share
        chunks[-1].append(number)
        room -= sizes[number]
    return chunks


def _map_chunks(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    chunks: list[list[int]],
    processes: int,
    report: Callable[[int], None],
) -> list[Result | Failure]:
    """Send the chunks to a pool and put the results back in order."""
    died = Failure("the process that read this died, perhaps for lack of memory.", 3)
    results: list[Result | Failure] = [died] * len(items)
    pool = ProcessPoolExecutor(processes, mp_context=_context(), initializer=_die_quietly)
    try:
        numbers: dict[Future[list[Result | Failure]], list[int]] = {
            pool.submit(_call_chunk, function, [items[each] for each in chunk]): chunk
            for chunk in chunks
        }
        for future in as_completed(numbers):
            chunk = numbers[future]
            try:
                for number, result in zip(chunk, future.result(), strict=True):
                    results[number] = result
            except BrokenProcessPool:
                continue
            report(sum(items[each].size_bytes for each in chunk))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return results


def _call_chunk(function: Callable[[Item], Result], items: list[Item]) -> list[Result | Failure]:
    """Apply the function to several items; runs in a worker."""
    return [_call(function, item) for item in items]


def _call(function: Callable[[Item], Result], item: Item) -> Result | Failure:
    """Apply the function to one item."""
    try:
        return function(item)
    except HlotoolError as error:
        return Failure(str(error), error.exit_code)


def _context() -> BaseContext:
    """Choose how processes start: fork where that is safe, it is ten times as fast.

    A process with other threads (a library's, JAX's) must not fork: a lock held by one of
    them would stay locked in the child.
    """
    try:
        threads = len(os.listdir("/proc/self/task"))  # noqa: PTH208
    except OSError:
        threads = threading.active_count() + 1  # cannot see the threads of libraries
    is_safe = sys.platform == "linux" and threads == 1
    return multiprocessing.get_context("fork" if is_safe else "spawn")


def _die_quietly() -> None:
    """Let Ctrl-C end a worker at once and without a traceback; the parent reports it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _ignore(_finished_bytes: int) -> None:
    """Report progress to nobody."""
