"""Ctrl-C ends a long run within a second, with 130, and leaves no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MOST_SECONDS = 3.0  # on a busy machine; a second on an idle one
LINES = 400_000  # some 15 MB, seconds of work in every step

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups"),
    pytest.mark.usefixtures("children_hear_signals"),
]


@pytest.fixture(scope="module")
def long_text() -> str:
    lines = "\n".join(f"  n{one} = f32[4] negate(x)" for one in range(LINES))
    return (
        "HloModule m, is_scheduled=true\n\nENTRY e {\n  x = f32[4] parameter(0)\n"
        f"{lines}\n  ROOT r = f32[4] negate(x)\n}}\n"
    )


def send_to_group(pid: int) -> None:
    """Do as a terminal does."""
    os.killpg(pid, signal.SIGINT)


def send_to_parent(pid: int) -> None:
    """Do as `timeout --signal=INT --foreground` does."""
    os.kill(pid, signal.SIGINT)


COMMANDS: dict[str, tuple[list[str], int]] = {  # and on how many programs of a directory
    "summary": (["summary"], 0),
    "buffers": (["buffers"], 0),
    "a pattern": (["fusions", "--where", "name ~ '(a+)+$'"], 0),
    "diff": (["diff"], 0),
    "workers": (["summary"], 4),
}


def write_paths(folder: Path, text: str, command: list[str], programs: int) -> list[str]:
    for number in range(programs):
        (folder / f"module_{number:04}.m{number}.after_optimizations.txt").write_text(text)
    if programs:
        return [str(folder)]
    path = folder / "m.txt"
    path.write_text(text)
    return [str(path)] * (2 if command == ["diff"] else 1)


@pytest.mark.hard
@pytest.mark.parametrize("send", [send_to_group, send_to_parent])
@pytest.mark.parametrize("wait_seconds", [0.7, 1.5])
@pytest.mark.parametrize("name", COMMANDS)
def test_interrupt(
    name: str, wait_seconds: float, send: Callable[[int], None], tmp_path: Path, long_text: str
) -> None:
    """The waits are in different steps of the work: imports, parsing, analyses."""
    command, programs = COMMANDS[name]
    paths = write_paths(tmp_path, long_text, command, programs)
    interrupt(command, paths, wait_seconds, send)


def interrupt(
    command: list[str], paths: list[str], wait_seconds: float, send: Callable[[int], None]
) -> None:
    """Start a command, interrupt it after some time, and expect that it ends as it should."""
    with subprocess.Popen(
        [sys.executable, "-m", "hlotool", *command, *paths],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    ) as run:
        time.sleep(wait_seconds)
        assert run.poll() is None, "there is nothing left to interrupt"
        started = time.monotonic()
        send(run.pid)
        _, errors = run.communicate(timeout=30)
        seconds = time.monotonic() - started
    assert b"Traceback" not in errors
    assert run.returncode == 130
    assert seconds < MOST_SECONDS
    with pytest.raises(ProcessLookupError):
        os.killpg(run.pid, 0)


@pytest.mark.parametrize("send", [send_to_group, send_to_parent])
def test_interrupt_while_workers_are_started(
    send: Callable[[int], None], tmp_path: Path, long_text: str
) -> None:
    """One of the above that `make test` runs too."""
    interrupt(["summary"], write_paths(tmp_path, long_text, ["summary"], 2), 0.7, send)
