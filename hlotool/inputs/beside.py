"""Do a part of the work in a second process, beside the rest, where that is cheap and safe.

Analyses hold Python's lock, so threads would not help. The second process is a copy of this
one: it has the module already, and only its result is sent back.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

from hlotool.inputs.parallel import MIN_PARALLEL_BYTES, available_processors, can_fork

# Above this, memory may be what is short: the copies share it only until they touch it.
_MOST_BYTES: Final = 1 << 26
_LENGTH_BYTES: Final = 8


def start_beside(function: Callable[[], Any], size_bytes: int) -> Callable[[], Any]:
    """Start `function` in a process of its own; return what waits for its result.

    `size_bytes` is how much text it works on. Where a second process does not pay or is not
    safe, and where it fails in whatever way, the function is called here, when its result is
    asked for; so an error is raised here as well. The result must be one that JSON holds: lists,
    numbers, strings, None.
    """
    is_worth_it = MIN_PARALLEL_BYTES <= size_bytes <= _MOST_BYTES
    if not is_worth_it or available_processors() == 1 or not can_fork():
        return function
    this_process = os.getpid()
    reading, writing = os.pipe()
    try:
        if os.fork() == 0:
            os.close(reading)
            os._exit(_send(function, writing))
    except BaseException as error:
        if os.getpid() != this_process:  # no exception may lead the copy back into the program
            os._exit(1)
        os.close(reading)
        os.close(writing)
        if isinstance(error, OSError):  # no more processes, no more memory
            return function
        raise
    os.close(writing)
    return lambda: _receive(function, reading)


def _send(function: Callable[[], Any], writing: int) -> int:
    """Write a result to the pipe, behind its length; return the process's exit code."""
    import json  # noqa: PLC0415  start-up time

    data = json.dumps(function()).encode()
    with open(writing, "wb") as pipe:
        pipe.write(len(data).to_bytes(_LENGTH_BYTES, "big") + data)
    return 0


def _receive(function: Callable[[], Any], reading: int) -> Any:
    """Read the result of the other process, or work it out where that has failed.

    The other process is left to end by itself, which lasts longer than reading: its memory
    is taken apart. The system buries it when this process ends.
    """
    import json  # noqa: PLC0415  start-up time, and quicker to import than pickle

    with open(reading, "rb") as pipe:
        length = int.from_bytes(pipe.read(_LENGTH_BYTES), "big")
        data = pipe.read()
    return json.loads(data) if data and len(data) == length else function()
