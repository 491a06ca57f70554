"""What README.md says to type works as printed, from a wheel that is built here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from dump_files import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_WORDS = 700
BLOCKS = re.findall(r"(?ms)^```(?:sh)?\n(.*?)^```$", README)
SESSIONS = [block.removeprefix("$ ") for block in BLOCKS if block.startswith("$ ")]
LINES = [line.partition("#")[0].strip() for block in BLOCKS for line in block.splitlines()]


def test_it_is_short() -> None:
    assert len(README.split()) <= MOST_WORDS


def test_its_targets_of_make_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = [line.removeprefix("make ") for line in LINES if line.startswith("make ")]
    assert {"demo", "test"} <= {*targets}
    assert all(re.search(rf"(?m)^{target}:", makefile) for target in targets)


@pytest.mark.hard
def test_its_commands_work_from_a_wheel(tmp_path: Path) -> None:
    wheels, house = tmp_path / "wheels", tmp_path / "house"
    source = tmp_path / "source"
    shutil.copytree(
        ROOT / "hlotool", source / "hlotool", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", str(source), "-w", str(wheels)]
    subprocess.run(build, check=True, capture_output=True)
    subprocess.run([sys.executable, "-m", "venv", str(house)], check=True)
    packages = next(house.glob("lib/python*/site-packages"))
    # The packages that it needs are those of these tests; their list of hlotool is not read.
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    environment = {key: os.environ[key] for key in ("HOME", "LANG") if key in os.environ} | {
        "PATH": f"{house / 'bin'}:/usr/bin:/bin",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_IGNORE_INSTALLED": "1",
        "LC_ALL": "C.UTF-8",
    }
    installs = [line for line in LINES if line.startswith("pip install ")]
    assert installs == ["pip install hlotool"]
    assert "[exit" not in _type(installs[0], environment)
    for session in SESSIONS:
        command, _, shown = session.partition("\n")
        assert _type(command, environment) == shown
    assert _type("which hlotool", environment).startswith(str(house))
    where = 'python -I -c "import hlotool; print(hlotool.__file__)"'
    assert _type(where, environment).startswith(str(house))


def _type(line: str, environment: dict[str, str]) -> str:
    done = subprocess.run(
        [shutil.which("bash") or "/bin/bash", "-c", line],
        cwd=ROOT,  # the folder of a script is its path, not this one
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return done.stdout + (f"[exit {done.returncode}]\n" if done.returncode else "")
