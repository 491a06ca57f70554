"""What the processes of `test_inputs_workers` do, some of it fatal.

They are started anew, and import this file: so nothing here needs pytest.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from dataclasses import dataclass
from pathlib import Path

from hlotool.errors import ParseError, UsageError
from hlotool.text import Source


@dataclass(frozen=True, slots=True)
class Item:
    """Something to work on."""

    number: int
    size_bytes: int = 1


def square(item: Item) -> int:
    return item.number**2


def process_id(_item: Item) -> int:
    return os.getpid()


def fail_at_three(item: Item) -> int:
    if item.number == 3:
        raise ParseError("expected a shape", Source("abc " * 1000, "dump.txt"), 4, 7)
    if item.number == 4:
        raise UsageError("no such thing.")
    return item.number


def divide(item: Item) -> int:
    return 1 // item.number


def break_unspeakably(_item: Item) -> int:
    error = ValueError("holds what cannot be sent")
    error.args = (threading.Lock(),)
    raise error


def answer_unspeakably(_item: Item) -> object:
    return threading.Lock()


def die_elsewhere(item: Item) -> int:
    if multiprocessing.parent_process() is not None:
        os.kill(os.getpid(), signal.SIGKILL)
    return item.number


def die_once(mark: Path, item: Item) -> int:
    """Die at the first item that comes to this, as if the kernel had chosen the process."""
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item.number


def die(item: Item) -> int:
    if item.number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return item.number


def first_line(one: object) -> str:
    module = getattr(one, "module")  # noqa: B009  (any input of a directory has one)
    return str(module.read().text.splitlines()[0])
