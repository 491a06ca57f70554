"""How does a Dask cluster read dumps?

Its workers need the same hlotool, and have to see the files under the same paths.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Final

from hlotool.errors import InputError, UsageError

_PATIENCE_SECONDS: Final = 10


@contextmanager
def connect_cluster(address: str, say: Callable[[str], None]) -> Iterator[Executor]:
    """Give the executor of a cluster whose scheduler has this address, `tcp://host:8786`.

    Raises UsageError where Dask is not installed or the address is none, InputError where nobody
    answers. `say` hears of a cluster without workers: it may yet get some.
    """
    try:
        from distributed import Client  # noqa: PLC0415  heavy, and few need it
    except ImportError:
        raise UsageError(
            "--dask: Dask is not installed; install hlotool[dask], here and at the workers."
        ) from None
    try:
        client = Client(address, timeout=_PATIENCE_SECONDS, set_as_default=False)
    except ValueError as error:
        raise UsageError(f"--dask {address}: {error}.") from error
    except OSError as error:
        raise InputError(
            f"--dask {address}: no scheduler answers there within {_PATIENCE_SECONDS} seconds."
        ) from error
    with _silent_log(), client:
        if not client.scheduler_info()["workers"]:
            say(f"--dask {address}: the cluster has no workers yet; waiting for some.")
        yield client.get_executor()


@contextmanager
def _silent_log() -> Iterator[None]:
    """Let Dask print no tracebacks of what becomes a row with an error."""
    log = logging.getLogger("distributed")
    before, log.handlers = log.handlers, [logging.NullHandler()]
    try:
        yield
    finally:
        log.handlers = before
