"""The start and the end of the process, whatever interrupts it.

Ctrl-C ends it with 130 and without a traceback: from the first line here on, so that the
imports that take most of a short run are in it. Before it are Python's own.
"""

import os

_INTERRUPTED = 130  # 128 + SIGINT, as a shell has it

try:
    import gc
    import signal
    import sys
    from contextlib import suppress
except KeyboardInterrupt:
    os._exit(_INTERRUPTED)

# Made between two runs of the collector: an answer is no garbage, and `hlo/parser` runs it
# between two dumps.
_NEW_OBJECTS = 10_000_000


def _leave(_signal: int, _frame: object) -> None:
    """End at once, without a word."""
    os._exit(_INTERRUPTED)


# Started with `&` by some shells, or by nohup, a process does not hear Ctrl-C, and shall not.
_HEARS = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if _HEARS:
    signal.signal(signal.SIGINT, _leave)


def _notice_lost(unraisable: "sys.UnraisableHookArgs") -> None:
    """Leave where Python would lose a Ctrl-C: in a callback of an import, say, or a `__del__`."""
    if unraisable.exc_type is KeyboardInterrupt:
        os._exit(_INTERRUPTED)
    sys.__unraisablehook__(unraisable)


def main(args: list[str] | None = None) -> None:
    """Run the program and end the process.

    The process ends without taking apart what it has read, which takes as long as a tenth
    of the work; unless a debugger, a profiler or a coverage run wants to have the last word.
    """
    from hlotool.cli import run  # noqa: PLC0415  takes long, and may be interrupted

    gc.set_threshold(_NEW_OBJECTS, 2, 2)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name of any bytes can be printed anywhere
            stream.reconfigure(errors="backslashreplace")
    try:
        sys.unraisablehook = _notice_lost
        if _HEARS:  # from here on there may be processes to end, and lines to finish
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = run(args)
        if _HEARS:
            signal.signal(signal.SIGINT, _leave)
    except KeyboardInterrupt:  # just before `run` hears it, or just after
        os._exit(_INTERRUPTED)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # an answer that cannot be written was told before
            if stream is not None:
                stream.flush()
    if sys.gettrace() or sys.getprofile():
        sys.exit(code)
    os._exit(code)
