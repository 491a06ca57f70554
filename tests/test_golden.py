"""Terminal sessions: testdata/golden/COMMAND/NAME.txt holds what was typed and printed.

    $ hlotool summary testdata/hlo/x.txt --json
    … what it prints, stdout and stderr …
    [exit 2]

A session has one or more commands, each after `$ `; `[exit N]` follows one that does not
end with 0. A command may end in `| head -3`, `| jq EXPR` and the like: it is then run by
a shell, and skipped where the tool is not installed; so is what reads `../shared` without it.
`COLUMNS=80 hlotool …` is run on a terminal of so many columns.
`make golden` rewrites the output of every session; a new one needs only its `$` lines.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from dump_files import SHARED

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "testdata" / "golden"
SESSIONS = sorted(GOLDEN.rglob("*.txt"))
PROGRAM = f"{shlex.quote(sys.executable)} -m hlotool"
LIMIT_SECONDS = 120
_COLUMNS = "COLUMNS="


def commands_of(text: str) -> list[str]:
    """Return the command lines of a session."""
    return [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]


def run(command: str) -> str:
    """Run one command line as a user would, and return what the terminal shows."""
    if command.startswith(_COLUMNS):
        return run_on_terminal(command)
    assert command.startswith("hlotool "), command
    environment = {
        key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "COLUMNS"}
    } | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [shutil.which("bash") or "/bin/bash", "-c", command.replace("hlotool ", f"{PROGRAM} ", 1)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    ending = f"[exit {done.returncode}]\n" if done.returncode else ""
    return f"$ {command}\n{done.stdout.decode('utf-8')}{ending}"


def run_on_terminal(command: str) -> str:
    """Run a command line without pipes whose stdout alone is a terminal; colours are left out."""
    columns, _, rest = command.removeprefix(_COLUMNS).partition(" hlotool ")
    ours, theirs = os.openpty()
    environment = dict(os.environ) | {
        "COLUMNS": columns,
        "NO_COLOR": "1",
        "TERM": "xterm",
        "PYTHONPATH": str(ROOT),
        "PYTHONIOENCODING": "utf-8",
        "LC_ALL": "C.UTF-8",
    }
    with subprocess.Popen(
        [sys.executable, "-m", "hlotool", *shlex.split(rest)],
        cwd=ROOT,
        env=environment,
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
    ending = f"[exit {code}]\n" if code else ""
    text = (said + shown.replace(b"\r\n", b"\n")).decode("utf-8")
    return f"$ {command}\n{text}{ending}"


def missing_tool(command: str) -> str:
    """Return the first tool of a pipe that is not installed, '' if all are there."""
    tools = [part.split()[0] for part in command.split(" | ")[1:]]
    return next((tool for tool in tools if shutil.which(tool) is None), "")


def test_there_are_sessions() -> None:
    assert SESSIONS, f"no sessions in {GOLDEN}"


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_golden(path: Path, request: pytest.FixtureRequest) -> None:
    expected = path.read_text(encoding="utf-8")
    commands = commands_of(expected)
    assert commands, f"{path} has no line that begins with '$ hlotool'"
    missing = next(filter(None, map(missing_tool, commands)), "")
    if missing:
        pytest.skip(f"{missing} is not installed")
    if any("../shared/" in command for command in commands) and not SHARED.is_dir():
        pytest.skip("needs ../shared")
    actual = "".join(run(command) for command in commands)
    assert "[exit 70]" not in actual, "an internal error is no session"
    if request.config.getoption("--update-golden"):
        path.write_text(actual, encoding="utf-8")
        return
    assert actual == expected, "make golden, and look at the diff"
