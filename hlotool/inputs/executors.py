"""How is work given to an executor of the caller's, and what if that cannot do it?

Any `concurrent.futures.Executor` will do: a pool of this machine, Dask's, MPI's.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from contextlib import suppress
from typing import Final

from msgspec import Struct

from hlotool.inputs.workers import Failure, Found, Item, Report, Result, attempt

_MOST_WORDS: Final = 300  # characters of what an executor says


class _Bug(Struct, frozen=True):
    """What a function raised in a worker that is no HlotoolError."""

    error: Exception


def work_in_executor(
    executor: Executor,
    function: Callable[[Item], Result],
    items: Sequence[Item],
    report: Report[Item, Result],
) -> Found[Result]:
    """Send items to an executor one by one; return results by number.

    Nobody knows how many workers it has. What was not finished when it broke is missing; what it
    gives up itself is a Failure. Raises what the function raises. However it ends, nothing of
    this stays in the executor's queue.
    """
    found: Found[Result] = {}
    sent: dict[Future[Result | Failure | _Bug], int] = {}
    try:
        with suppress(BrokenExecutor):  # a worker may die before all is sent
            for number in sorted(range(len(items)), key=lambda each: -items[each].size_bytes):
                sent[executor.submit(_attempt_there, function, items[number])] = number
        for work in as_completed(list(sent)):
            number = sent.pop(work)  # and with it what the executor keeps of it
            result = _take_result(work)
            if result is not None:
                found[number] = result
                report(items[number], result)
    finally:
        for work in sent:
            work.cancel()
    return found


def _take_result(work: Future[Result | Failure | _Bug]) -> Result | Failure | None:
    """Return what came of an item, None where the executor broke; raise what is a bug."""
    try:
        result = work.result()
    except BrokenExecutor:
        return None
    except Exception as error:  # noqa: BLE001  of the executor's: Dask's KilledWorker, and others
        why = f"{type(error).__name__}: {error}".partition("\n")[0]
        return Failure(f"the executor gave this up: {why[:_MOST_WORDS]}", 3)
    if isinstance(result, _Bug):
        raise result.error
    return result


def _attempt_there(function: Callable[[Item], Result], item: Item) -> Result | Failure | _Bug:
    """Apply the function to one item; runs in a worker of an executor."""
    try:
        return attempt(function, item)
    except Exception as error:  # noqa: BLE001  raised in the parent
        error.add_note(traceback.format_exc())
        return _Bug(error)
