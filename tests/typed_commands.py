"""What does a terminal show after a command line is typed?

A line of the program is run in a process copied from one that has imported it, which saves
starting Python: the sessions are many. What is asked of a terminal is run on one. What a shell has
to do (a file as input) is done by one, and so are the tools behind a pipe.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from multiprocessing import get_context
from multiprocessing.connection import wait
from pathlib import Path
from tempfile import TemporaryDirectory

from hlotool.commands import COMMANDS

ROOT = Path(__file__).parent.parent
PROGRAM = f"{shlex.quote(sys.executable)} -m hlotool"
LIMIT_SECONDS = 120
_COLUMNS = "COLUMNS="
_BAR = " | "
_QUOTED = re.compile(r"""'[^']*'|"[^"$`\\]*\"""")
_OF_A_SHELL = re.compile(r"[|<>&;*?$`~(){}\[\]\\]")
_FORKS = get_context("forkserver")
_FORKS.set_forkserver_preload(
    ["hlotool.cli", *(f"hlotool.commands.{name}" for name in COMMANDS), "humanize", "tabulate"]
)


def run(command: str) -> str:
    """Run one command line, in the quickest way that a user would not notice."""
    if command.startswith(_COLUMNS):
        return _run_on_terminal(command)
    program, bar, tools = _split_at_bar(command)
    name, *words = shlex.split(program)
    if name != "hlotool" or _OF_A_SHELL.search(_QUOTED.sub("", program)):
        return run_anew(command)
    with TemporaryDirectory() as folder:
        said, printed = Path(folder) / "said.txt", Path(folder) / "printed.txt"
        code, _ = _run_copied(words, _environment(), said, printed if bar else said)
        shown = said.read_bytes()
        if bar:
            piped = _run_in_shell(tools, printed)
            shown, code = shown + piped.stdout, piped.returncode
    return _write_session(command, shown, code)


def run_anew(command: str) -> str:
    """Run one command line as a user would: Python is started."""
    assert command.startswith("hlotool "), command
    done = _run_in_shell(command.replace("hlotool ", f"{PROGRAM} ", 1), Path(os.devnull))
    return _write_session(command, done.stdout, done.returncode)


def _split_at_bar(command: str) -> tuple[str, str, str]:
    """Return what stands before the first bar that is not quoted, the bar, and what is behind."""
    hidden = _QUOTED.sub(lambda quoted: "x" * len(quoted[0]), command)
    at = hidden.find(_BAR)
    return (command, "", "") if at < 0 else (command[:at], _BAR, command[at + len(_BAR) :])


def _run_in_shell(line: str, given: Path) -> subprocess.CompletedProcess[bytes]:
    with given.open("rb") as stdin:
        return subprocess.run(
            [shutil.which("bash") or "/bin/bash", "-c", line],
            cwd=ROOT,
            env=_environment(),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT_SECONDS,
            check=False,
        )


def _run_on_terminal(command: str) -> str:
    """Run a command line without pipes whose stdout alone is a terminal; colours are left out."""
    columns, _, rest = command.removeprefix(_COLUMNS).partition(" hlotool ")
    environment = _environment() | {
        "COLUMNS": columns,
        "NO_COLOR": "1",
        "TERM": "xterm",
        "HLOTOOL_PAGER": "cat",
    }
    ours, theirs = os.openpty()
    try:
        with TemporaryDirectory() as folder:
            said = Path(folder) / "said.txt"
            words, terminal = shlex.split(rest), Path(os.ttyname(theirs))
            code, shown = _run_copied(words, environment, said, terminal, ours)
            return _write_session(command, said.read_bytes() + shown.replace(b"\r\n", b"\n"), code)
    finally:
        os.close(ours)
        os.close(theirs)


def _run_copied(
    words: list[str],
    environment: dict[str, str],
    stderr: Path,
    stdout: Path,
    screen: int | None = None,
) -> tuple[int, bytes]:
    """Run the program in a copied process, its streams going to files.

    Returns its exit code, and what is shown on the `screen` of a terminal meanwhile: that holds
    only so much.
    """
    process = _FORKS.Process(target=_be_the_program, args=(words, environment, stderr, stdout))
    process.start()
    shown = b""
    watched = [process.sentinel] if screen is None else [process.sentinel, screen]
    while ready := wait(watched, LIMIT_SECONDS):
        if screen is None or screen not in ready:
            break
        shown += os.read(screen, 1 << 16)
    process.join(1)
    if process.exitcode is None:
        process.kill()
        raise TimeoutError(words)
    return process.exitcode, shown


def _be_the_program(
    words: list[str], environment: dict[str, str], stderr: Path, stdout: Path
) -> None:
    """Run the program in this process, its streams going where they would go in a shell."""
    from hlotool.start import main  # noqa: PLC0415  it listens for Ctrl-C from here on

    os.environ.clear()
    os.environ.update(environment)
    os.chdir(ROOT)
    with stderr.open("ab", buffering=0) as said:
        os.dup2(said.fileno(), 2)
    if stdout == stderr:
        os.dup2(2, 1)
    else:
        with stdout.open("wb", buffering=0) as printed:
            os.dup2(printed.fileno(), 1)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding="utf-8", closefd=False)  # noqa: SIM115
    main(words)


def _environment() -> dict[str, str]:
    return {
        key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "COLUMNS"}
    } | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "LC_ALL": "C.UTF-8"}


def _write_session(command: str, shown: bytes, code: int) -> str:
    ending = f"[exit {code}]\n" if code else ""
    return f"$ {command}\n{shown.decode('utf-8')}{ending}"
