"""How is work given to an executor of the caller's, and what if that cannot do it?

Any `concurrent.futures.Executor` will do: a pool of this machine, Dask's, MPI's.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from contextlib import suppress
from typing import Final

from msgspec import Struct

from hlotool.inputs.workers import Failure, Found, Item, Report, Result, attempt

_MOST_WORDS: Final = 300  # characters of what an executor says
_GIVEN_UP: Final = "the executor gave this up"
_BLAMED: Final = "KilledWorker"  # Dask's error


class _Bug(Struct, frozen=True):
    """What a function raised in a worker that is no HlotoolError."""

    error: Exception


def work_in_executor(
    executor: Executor,
    function: Callable[[Item], Result],
    items: Sequence[Item],
    report: Report[Item, Result],
) -> Found[Result]:
    """Send items to an executor one by one, as nobody knows its workers; return results by number.

    What was not finished when it broke is missing; what it gives up itself is a Failure. Dask
    blames all that a dead worker had before it: such items are sent again, each alone. Raises what
    the function raises. However it ends, nothing of this stays in the executor's queue.
    """
    largest_first = sorted(range(len(items)), key=lambda each: -items[each].size_bytes)
    found: Found[Result] = {}
    for number, result in _send(executor, function, items, largest_first):
        found[number] = result
        if not _is_blamed(result):
            report(items[number], result)
    for blamed in [number for number, result in found.items() if _is_blamed(result)]:
        for number, result in _send(executor, function, items, [blamed]):
            found[number] = result
            report(items[number], result)
    return found


def _is_blamed(result: object) -> bool:
    return isinstance(result, Failure) and result.message.startswith(f"{_GIVEN_UP}: {_BLAMED}")


def _send(
    executor: Executor,
    function: Callable[[Item], Result],
    items: Sequence[Item],
    numbers: Iterable[int],
) -> Iterator[tuple[int, Result | Failure]]:
    """Send items of these numbers; yield number and result as they come."""
    sent: dict[Future[Result | Failure | _Bug], int] = {}
    try:
        with suppress(BrokenExecutor):  # a worker may die before all is sent
            for number in numbers:
                call = os.urandom(16)
                sent[executor.submit(_attempt_there, function, items[number], call)] = number
        for work in as_completed(list(sent)):
            number = sent.pop(work)  # and with it what the executor keeps of it
            with suppress(BrokenExecutor):
                yield number, _take_result(work)
    finally:
        for work in sent:
            work.cancel()


def _take_result(work: Future[Result | Failure | _Bug]) -> Result | Failure:
    """Return what came of an item; raise what is a bug, and BrokenExecutor."""
    try:
        result = work.result()
    except BrokenExecutor:
        raise
    except Exception as error:  # noqa: BLE001  of the executor's: Dask's KilledWorker, and others
        said = str(error).partition("\n")[0][:_MOST_WORDS]
        why = f"{type(error).__name__}: {said}" if said else type(error).__name__
        return Failure(f"{_GIVEN_UP}: {why}", 3)
    if isinstance(result, _Bug):
        raise result.error
    return result


def _attempt_there(
    function: Callable[[Item], Result], item: Item, _call: bytes
) -> Result | Failure | _Bug:
    """Apply the function to one item; runs in a worker of an executor.

    Dask takes equal calls for one and keeps what came of it, but files change: no calls are equal.
    """
    try:
        return attempt(function, item)
    except Exception as error:  # noqa: BLE001  raised in the parent
        error.add_note(traceback.format_exc())
        return _Bug(error)
