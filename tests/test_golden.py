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

import shutil
from pathlib import Path

import pytest
from dump_files import SHARED, TESTDATA
from typed_commands import run

GOLDEN = TESTDATA / "golden"
SESSIONS = sorted(GOLDEN.rglob("*.txt"))
# Of programs with 5 MB of text: some seconds each.
LONG = [path for path in SESSIONS if "unroll" in path.stem]
CASES = [pytest.param(path, marks=[pytest.mark.hard] if path in LONG else []) for path in SESSIONS]


def commands_of(text: str) -> list[str]:
    """Return the command lines of a session."""
    return [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]


def missing_tool(command: str) -> str:
    """Return the first tool of a pipe that is not installed, '' if all are there."""
    tools = [part.split()[0] for part in command.split(" | ")[1:]]
    return next((tool for tool in tools if shutil.which(tool) is None), "")


def test_there_are_sessions() -> None:
    assert SESSIONS, f"no sessions in {GOLDEN}"


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
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
