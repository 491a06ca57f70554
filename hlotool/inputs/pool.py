"""A pool of processes for `map_inputs`: chunks of work, and processes that die.

Kept apart because importing the machinery costs more than reading a small dump.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.context import BaseContext
from typing import Final

from hlotool.inputs.parallel import Failure, Item, Result, call, can_fork

_CHUNKS_PER_PROCESS: Final = 8  # small inputs are sent together, but not all of them
_CAN_HOLD: Final = hasattr(signal, "pthread_sigmask")  # not on Windows
_DIED: Final = Failure("the process that read this died, perhaps for lack of memory.", 3)


def map_chunks(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    processes: int,
    report: Callable[[int], None],
) -> list[Result | Failure]:
    """Send the items to a pool, in chunks, and put the results back in order.

    If a process dies, its pool is lost; what was not finished then is done one by one.
    """
    results: list[Result | Failure] = [_DIED] * len(items)
    unfinished: list[int] = []
    pool = _make_pool(processes)
    try:
        numbers: dict[Future[list[Result | Failure]], list[int]] = {}
        with _interrupt_held():
            for chunk in make_chunks([item.size_bytes for item in items], processes):
                try:
                    work = pool.submit(_call_chunk, function, [items[each] for each in chunk])
                    numbers[work] = chunk
                except BrokenProcessPool:  # a process may die before all is sent
                    unfinished += chunk
        for future in as_completed(numbers):
            chunk = numbers[future]
            try:
                finished = future.result()
            except BrokenProcessPool:
                unfinished += chunk
                continue
            for number, result in zip(chunk, finished, strict=True):
                results[number] = result
            report(sum(items[each].size_bytes for each in chunk))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    for number in sorted(unfinished):
        results[number] = _call_alone(function, items[number])
        report(items[number].size_bytes)
    return results


def _call_alone(function: Callable[[Item], Result], item: Item) -> Result | Failure:
    """Apply the function in a process of its own, which may die without harm to others."""
    with _make_pool(1) as pool:
        try:
            with _interrupt_held():
                work = pool.submit(call, function, item)
            return work.result()
        except BrokenProcessPool:
            return _DIED


def _make_pool(processes: int) -> ProcessPoolExecutor:
    """Make a pool of processes that end quietly."""
    return ProcessPoolExecutor(processes, mp_context=choose_context(), initializer=_die_quietly)


def _call_chunk(function: Callable[[Item], Result], items: list[Item]) -> list[Result | Failure]:
    """Apply the function to several items; runs in a worker."""
    return [call(function, item) for item in items]


def choose_context() -> BaseContext:
    """Choose how processes start: fork where that is safe, it is ten times as fast."""
    return multiprocessing.get_context("fork" if can_fork() else "spawn")


@contextmanager
def _interrupt_held() -> Iterator[None]:
    """Hold Ctrl-C back while workers start; they inherit that until they can die quietly."""
    if not _CAN_HOLD:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _die_quietly() -> None:
    """Let Ctrl-C end a worker at once and without a traceback; the parent reports it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if _CAN_HOLD:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def make_chunks(sizes: list[int], processes: int) -> list[list[int]]:
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
