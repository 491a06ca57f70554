"""What does a terminal show after a command line is typed?

A line of the program alone is run in a process copied from one that has imported it, which saves
starting Python: the sessions are many. What a shell has to do (a pipe, a file as input) is done by
one, and what is asked of a terminal on one; there Python is started, as it is for the sessions of
the documentation.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from hlotool.commands import COMMANDS

ROOT = Path(__file__).parent.parent
PROGRAM = f"{shlex.quote(sys.executable)} -m hlotool"
LIMIT_SECONDS = 120
_COLUMNS = "COLUMNS="
_QUOTED = re.compile(r"""'[^']*'|"[^"$`\\]*\"""")
_OF_A_SHELL = re.compile(r"[|<>&;*?$`~(){}\[\]\\]")
_FORKS = get_context("forkserver")
_FORKS.set_forkserver_preload(
    ["hlotool.cli", *(f"hlotool.commands.{name}" for name in COMMANDS), "humanize", "tabulate"]
)


def run(command: str) -> str:
    """Run one command line, in the quickest way that a user would not notice."""
    name, *words = shlex.split(command)
    if name != "hlotool" or _OF_A_SHELL.search(_QUOTED.sub("", command)):
        return run_anew(command)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "shown.txt"
        path.touch()
        process = _FORKS.Process(target=_run_copied, args=(words, _environment(), path))
        process.start()
        process.join(LIMIT_SECONDS)
        if process.exitcode is None:
            process.kill()
            raise TimeoutError(command)
        return _write_session(command, path.read_bytes(), process.exitcode)


def run_anew(command: str) -> str:
    """Run one command line as a user would: Python is started."""
    if command.startswith(_COLUMNS):
        return _run_on_terminal(command)
    assert command.startswith("hlotool "), command
    done = subprocess.run(
        [shutil.which("bash") or "/bin/bash", "-c", command.replace("hlotool ", f"{PROGRAM} ", 1)],
        cwd=ROOT,
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    return _write_session(command, done.stdout, done.returncode)


def _run_copied(words: list[str], environment: dict[str, str], shown: Path) -> None:
    """Run the program in this process, its two streams going to a file as they would to a pipe."""
    from hlotool.start import main  # noqa: PLC0415  it listens for Ctrl-C from here on

    os.environ.clear()
    os.environ.update(environment)
    os.chdir(ROOT)
    with shown.open("ab", buffering=0) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding="utf-8", closefd=False)  # noqa: SIM115
    main(words)


def _run_on_terminal(command: str) -> str:
    """Run a command line without pipes whose stdout alone is a terminal; colours are left out."""
    columns, _, rest = command.removeprefix(_COLUMNS).partition(" hlotool ")
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "hlotool", *shlex.split(rest)],
        cwd=ROOT,
        env=_environment() | {"COLUMNS": columns, "NO_COLOR": "1", "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # the process has ended
            while piece := os.read(ours, 1 << 16):
                shown += piece
        os.close(ours)
        said = process.stderr.read() if process.stderr else b""
        code = process.wait(LIMIT_SECONDS)
    return _write_session(command, said + shown.replace(b"\r\n", b"\n"), code)


def _environment() -> dict[str, str]:
    return {
        key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "COLUMNS"}
    } | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "LC_ALL": "C.UTF-8"}


def _write_session(command: str, shown: bytes, code: int) -> str:
    ending = f"[exit {code}]\n" if code else ""
    return f"$ {command}\n{shown.decode('utf-8')}{ending}"
