"""Do a part of the work in a second process, beside the rest, where that is cheap and safe.

Analyses hold Python's lock, so threads would not help. The second process is a copy of this
one: it has the module already, and only its result is sent back.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Self

from hlotool.inputs.parallel import MIN_PARALLEL_BYTES, available_processors, can_fork

# Above this, memory may be what is short: the copies share it only until they touch it.
_MOST_BYTES: Final = 1 << 26
_LENGTH_BYTES: Final = 8


class Beside:
    """Work that a second process does, or that is left for this one; a context manager.

    Leaving the context ends the other process if its result was never asked for.
    """

    def __init__(
        self, function: Callable[[], Any], process: int | None = None, reading: int | None = None
    ) -> None:
        self._function = function
        self._process = process
        self._reading = reading  # the end of the pipe, until it is read

    def result(self) -> Any:
        """Return the result of the other process; work it out here where there is none."""
        if self._reading is None:
            return self._function()
        import json  # noqa: PLC0415  start-up time, and quicker to import than pickle

        reading, self._reading = self._reading, None
        with open(reading, "rb") as pipe:  # noqa: PTH123  (a descriptor)
            length = int.from_bytes(pipe.read(_LENGTH_BYTES), "big")
            data = pipe.read()
        return json.loads(data) if data and len(data) == length else self._function()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """See the other process out: by now it has ended, unless nobody wanted its result."""
        if self._process is None:
            return
        if self._reading is not None:
            import signal  # noqa: PLC0415  start-up time

            os.close(self._reading)
            with suppress(ProcessLookupError):
                os.kill(self._process, signal.SIGKILL)
        with suppress(ChildProcessError):  # whoever started us may have all children reaped
            os.waitpid(self._process, 0)
        self._process = self._reading = None


def start_beside(function: Callable[[], Any], size_bytes: int) -> Beside:
    """Start `function` in a process of its own; its result is to be asked for in a `with`.

    `size_bytes` is how much text it works on. Where a second process does not pay or is not
    safe, and where it fails in whatever way, the function is called here, when its result is
    asked for; so an error is raised here as well. The result must be one that JSON holds: lists,
    numbers, strings, None.
    """
    is_worth_it = MIN_PARALLEL_BYTES <= size_bytes <= _MOST_BYTES
    if not is_worth_it or available_processors() == 1 or not can_fork():
        return Beside(function)
    this_process = os.getpid()
    reading, writing = os.pipe()
    try:
        process = os.fork()
        if process == 0:
            os.close(reading)
            os._exit(_send(function, writing))
    except BaseException as error:
        if os.getpid() != this_process:  # no exception may lead the copy back into the program
            os._exit(1)
        os.close(reading)
        os.close(writing)
        if isinstance(error, OSError):  # no more processes, no more memory
            return Beside(function)
        raise
    os.close(writing)
    return Beside(function, process, reading)


def _send(function: Callable[[], Any], writing: int) -> int:
    """Write a result to the pipe, behind its length; return the process's exit code."""
    import json  # noqa: PLC0415  start-up time

    data = json.dumps(function()).encode()
    with open(writing, "wb") as pipe:
        pipe.write(len(data).to_bytes(_LENGTH_BYTES, "big") + data)
    return 0
