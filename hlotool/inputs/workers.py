"""How is one function applied to many inputs at once, and what becomes of one that fails?

The work of a large dump directory is parsing, which holds Python's lock; so processes, not
threads. Only inputs and results are sent between them, never a text or a module.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from hlotool.errors import HlotoolError
from hlotool.inputs.stores.find import may_share

if TYPE_CHECKING:  # a tenth of the start-up, for what a single input does not need
    from concurrent.futures import Executor

# Below this, starting processes costs more than it saves (see docs/inputs.md).
MIN_PARALLEL_BYTES: Final = 1 << 20
# Small inputs are sent together, but not all of them; what is lost with a process stays little.
_CHUNKS_PER_WORKER: Final = 8
_MOST_TOGETHER_BYTES: Final = 4 << 20


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


_DIED: Final = Failure("the process that read this died, perhaps for lack of memory.", 3)

Item = TypeVar("Item", bound=Sized)
Result = TypeVar("Result")
Task: TypeAlias = Sequence[tuple[int, Item]]  # numbered items, sent to a worker at once
Found: TypeAlias = dict[int, Result | Failure]  # results by the numbers of their items
Report: TypeAlias = Callable[[Item, Result | Failure], None]  # hears of each as it comes


def map_inputs(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    executor: Executor | None = None,
    progress: Callable[[int], None] | None = None,
    keep: Report[Item, Result] | None = None,
) -> list[Result | Failure]:
    """Return `function(item)` for every item, in order, or a Failure where it raised.

    A HlotoolError becomes a Failure; any other exception is a bug and is raised. The largest
    items start first. `progress` is called in this process with the bytes just finished, `keep`
    with each item and its result, as it comes.

    The executor may be any; where its workers are processes, `function`, items and results
    must be picklable. What it does not finish, as a worker died or cannot read it, are Failures.
    Without an executor the work is done in processes of its own, one for each processor this
    process may use; few or small items are done here, and all where no process can be started, or
    where files come from an address or a pipe.
    """

    def report(item: Item, result: Result | Failure) -> None:
        if keep is not None:
            keep(item, result)
        if progress is not None:
            progress(item.size_bytes)

    if executor is not None:
        from hlotool.inputs.executors import work_in_executor  # noqa: PLC0415  start-up time

        return _in_order(work_in_executor(executor, function, items, report), len(items))
    processes = min(available_processors(), len(items))
    if (
        processes > 1
        and may_share()
        and sum(item.size_bytes for item in items) >= MIN_PARALLEL_BYTES
    ):
        return map_in_processes(function, items, processes, report)
    return _in_order(_do_here(function, list(enumerate(items)), report), len(items))


def map_in_processes(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    processes: int,
    report: Report[Item, Result],
) -> list[Result | Failure]:
    """Do as `map_inputs` in so many processes of its own, or in as many as can be started.

    What one was at when it died is done again, each item in a process of its own, which may
    die without harm to others. What no process can be started for is done in this one.
    """
    found: Found[Result] = {}
    tasks = deque(_make_tasks(items, processes))
    lost = _do_in_processes(function, tasks, processes, report, found)
    alone: deque[Task[Item]] = deque([each] for each in lost)
    for number, _ in _do_in_processes(function, alone, 1, report, found):
        found[number] = _DIED
    for task in (*tasks, *alone):
        found |= _do_here(function, task, report)
    return _in_order(found, len(items))


def _do_in_processes(
    function: Callable[[Item], Result],
    tasks: deque[Task[Item]],
    processes: int,
    report: Report[Item, Result],
    found: Found[Result],
) -> list[tuple[int, Item]]:
    """Add results to those found; return what was lost with a process that died."""
    from hlotool.inputs.processes import work_in_processes  # noqa: PLC0415  start-up time

    lost: list[tuple[int, Item]] = []
    with closing(work_in_processes(partial(_attempt_each, function), tasks, processes)) as work:
        for task, results in work:
            if results is None:
                lost += task
                continue
            found |= results
            for number, item in task:
                report(item, results[number])
    return lost


def _do_here(
    function: Callable[[Item], Result],
    task: Task[Item],
    report: Report[Item, Result],
) -> Found[Result]:
    """Apply the function to items in this process; return results by number."""
    found: Found[Result] = {}
    for number, item in task:
        found[number] = attempt(function, item)
        report(item, found[number])
    return found


def available_processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def make_chunks(items: Sequence[Sized], workers: int) -> list[list[int]]:
    """Group the numbers of the items, largest first, small ones together.

    A chunk is closed once it holds a fair share of the work, or much, so that a large item is
    alone.
    """
    sizes = [item.size_bytes for item in items]
    share = min(sum(sizes) / (workers * _CHUNKS_PER_WORKER), _MOST_TOGETHER_BYTES)
    chunks: list[list[int]] = []
    room = 0.0
    for number in sorted(range(len(sizes)), key=lambda each: -sizes[each]):
        if room <= 0:
            chunks.append([])
            room = share
        chunks[-1].append(number)
        room -= sizes[number]
    return chunks


def _make_tasks(items: Sequence[Item], workers: int) -> list[Task[Item]]:
    """Return what is sent to a worker at once: numbered items."""
    chunks = make_chunks(items, workers)
    return [[(number, items[number]) for number in chunk] for chunk in chunks]


def _attempt_each(function: Callable[[Item], Result], task: Task[Item]) -> Found[Result]:
    """Apply the function to the items of a task; runs in a worker."""
    return {number: attempt(function, item) for number, item in task}


def attempt(function: Callable[[Item], Result], item: Item) -> Result | Failure:
    """Apply the function to one item; a HlotoolError becomes a Failure."""
    try:
        return function(item)
    except HlotoolError as error:
        return Failure(str(error), error.exit_code)


def _in_order(found: Found[Result], count: int) -> list[Result | Failure]:
    """Put results in the order of their items; a missing one's worker died."""
    return [found.get(number, _DIED) for number in range(count)]


def _ignore(_finished_bytes: int) -> None:
    """Report progress to nobody."""
