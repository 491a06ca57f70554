"""The program: how it starts, how it ends, and what becomes of an error."""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

from hlotool.commands.plain import find_plain
from hlotool.commands.say import say
from hlotool.errors import HlotoolError

_NEW_OBJECTS = 100_000  # made between two runs of the collector; an answer is mostly not garbage
_INTERRUPTED = 130  # 128 + SIGINT, as a shell has it


def main(args: list[str] | None = None) -> NoReturn:
    """Run the program and end the process; the one place where an error becomes a message.

    The process ends without taking apart what it has read, which takes as long as a tenth
    of the work; unless a debugger, a profiler or a coverage run wants to have the last word.
    """
    gc.set_threshold(_NEW_OBJECTS, 2, 2)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name of any bytes can be printed anywhere
            stream.reconfigure(errors="backslashreplace")
    code = run(args)
    if sys.gettrace() or sys.getprofile() or not _flush():
        sys.exit(code)
    os._exit(code)


def run(args: list[str] | None = None) -> int:
    """Run the program and return its exit code."""
    arguments = sys.argv[1:] if args is None else args
    try:
        answer = find_plain(arguments)
        if answer is not None:
            return answer()
        from hlotool.group import run_group  # noqa: PLC0415  click is slow to import

        return run_group(arguments)
    except HlotoolError as error:
        say(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return _INTERRUPTED


def _flush() -> bool:
    """Write out what is still buffered; False leaves errors to Python's own end."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return False
    return True
