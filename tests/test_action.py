"""The composite action: its script is run as a runner would run it."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from test_render_ci import check_sarif

ROOT = Path(__file__).parents[1]
ACTION = (ROOT / "action.yml").read_text(encoding="utf-8")
STEP = ROOT / "testdata" / "dumps" / "gpu_h100" / "mlp_train"
INPUTS = ("CONFIG", "BASELINE", "MODULE", "BUDGETS", "MARKDOWN", "COMMENT", "SARIF")


def act(tmp_path: Path, **inputs: str) -> tuple[int, str]:
    """Run the action's script; return its exit code and output.

    The `python` on its path takes `-I` alone.
    """
    match = re.search(r"^      run: \|\n(.*)\Z", ACTION, re.MULTILINE | re.DOTALL)
    assert match is not None
    program = tmp_path / "bin" / "python"
    program.parent.mkdir()
    # The tree that is tested is found by PYTHONPATH, which -I passes over.
    program.write_text(
        f'#!/bin/sh\n[ "$1" = -I ] && shift && exec {sys.executable} "$@"\n', encoding="utf-8"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    environment = dict.fromkeys(INPUTS, "") | {
        "DUMP": str(STEP),
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_WORKSPACE": str(tmp_path),
    }
    done = subprocess.run(
        ["/bin/bash", "-c", textwrap.dedent(match[1])],
        cwd=tmp_path,
        env=environment | inputs,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"BUDGETS": "buffers.temp_bytes < 1GiB\n\ncollectives.count() == 0\n"}, 0),
        ({"BUDGETS": "buffers.temp_bytes < 1KiB"}, 1),
        ({"BUDGETS": "buffers.tmp < 1KiB"}, 2),
        ({"BUDGETS": "buffers.temp_bytes < 1GiB", "DUMP": "nothing"}, 3),
        ({}, 4),
        ({"BUDGETS": "collectives.max(message_bytes) < 1"}, 4),
        ({"CONFIG": str(ROOT / "testdata" / "check" / "self.toml"), "MODULE": "train"}, 0),
        ({"BUDGETS": "$(touch hacked); `touch hacked`"}, 2),
    ],
)
def test_exit_codes(tmp_path: Path, inputs: dict[str, str], code: int) -> None:
    found, _ = act(tmp_path, **inputs)
    assert found == code
    assert (tmp_path / "output").read_text("utf-8") == f"exit-code={code}\n"
    assert not (tmp_path / "hacked").exists()


def test_files(tmp_path: Path) -> None:
    code, output = act(
        tmp_path,
        BUDGETS="buffers.temp_bytes < 1KiB",
        MARKDOWN="comment.md",
        SARIF="report.sarif",
    )
    assert code == 1
    assert output.startswith("::error title=")
    check_sarif((tmp_path / "report.sarif").read_text("utf-8"), 1)
    assert (tmp_path / "comment.md").read_text("utf-8") == (tmp_path / "summary.md").read_text(
        "utf-8"
    )


def test_every_input_reaches_the_script() -> None:
    declared = set(re.findall(r"^  ([a-z-]+):\n    description", ACTION, re.MULTILINE))
    used = set(re.findall(r"\$\{\{ inputs\.([a-z-]+) \}\}", ACTION))
    assert declared - {"exit-code"} == used


def test_python_imports_nothing_of_the_repository() -> None:
    """Neither where hlotool runs nor where it is installed."""
    assert ACTION.count("python -m") == 0
    assert ACTION.count("python -I -m hlotool check ") == ACTION.count('hlotool check "$')
    assert ACTION.count("python -I -m pip ") == 1
