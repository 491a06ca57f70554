"""How do processes of our own start, and how do they end?

Kept apart because importing the machinery costs more than reading a small dump.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.context import BaseContext
from typing import Final, ParamSpec, TypeVar

_CAN_HOLD: Final = hasattr(signal, "pthread_sigmask")  # not on Windows


Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class QuietProcesses(ProcessPoolExecutor):
    """Processes that Ctrl-C ends at once and without a traceback; the parent reports it."""

    def __init__(self, processes: int) -> None:
        super().__init__(processes, mp_context=choose_context(), initializer=_die_quietly)

    def submit(
        self,
        fn: Callable[Arguments, Result],
        /,
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Future[Result]:
        """Submit work, which starts processes; Ctrl-C is held back until they can die quietly."""
        with _interrupt_held():
            return super().submit(fn, *args, **kwargs)


def choose_context() -> BaseContext:
    """Choose how processes start: fork where that is safe, it is ten times as fast."""
    return multiprocessing.get_context("fork" if _can_fork() else "spawn")


def _can_fork() -> bool:
    """Return whether a copy of this process is cheap and safe: Linux, and no other threads.

    A lock that another thread (a library's, JAX's) holds would stay locked in the copy.
    """
    if sys.platform != "linux":
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False  # nothing tells


@contextmanager
def _interrupt_held() -> Iterator[None]:
    """Hold Ctrl-C back; processes that start meanwhile inherit that."""
    if not _CAN_HOLD:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _die_quietly() -> None:
    """Let Ctrl-C end this process at once."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if _CAN_HOLD:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
