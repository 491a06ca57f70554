"""The tests on the lowest and on the newest versions of all that pyproject.toml names.

    python tests/versions.py [--python 3.11,3.14] [--versions lowest,newest] [PYTEST_OPTION …]

`make versions` installs each Python's lowest versions that pyproject.toml allows, and the newest,
each in an environment of its own, and runs the tests there. uv finds the Pythons, or fetches them
where it may. The lowest version of a package is one that has a wheel for that Python: older ones
would have to be compiled. A Python that cannot be had is named. What the tests said stands beside
the environments, in `.versions`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / ".versions"
UV: Final = (sys.executable, "-m", "uv")
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
RESOLUTIONS: Final = {"lowest": "lowest-direct", "newest": "highest"}
EXTRAS: Final = "zst,remote,parquet,report,dask,test"
TOLD: Final = re.compile(r"^(?:FAILED|ERROR) .*", re.MULTILINE)


def make_environment(python: str, versions: str) -> str:
    """Make an environment of a Python; return what is wrong, '' where nothing is."""
    folder = FOLDER / f"{python}-{versions}"
    made = run(*UV, "venv", "--quiet", "--clear", "--python", python, str(folder))
    if made.returncode:
        return "cannot be had"
    installed = run(
        *(*UV, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python")),
        *("--resolution", RESOLUTIONS[versions]),
        *("--only-binary", ":all:", "--no-binary", "hlotool"),
        *("--editable", f"{ROOT}[{EXTRAS}]"),
    )
    return f"cannot be installed: {installed.stdout}" if installed.returncode else ""


def run_tests(python: str, versions: str, options: list[str]) -> str:
    """Run the tests in an environment; return what they came to."""
    folder = FOLDER / f"{python}-{versions}"
    tested = run(
        *(str(folder / "bin" / "python"), "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal"),
        *("-p", "no:cacheprovider", *options),
    )
    (FOLDER / f"{folder.name}.log").write_text(tested.stdout, encoding="utf-8")
    for line in TOLD.findall(tested.stdout):
        print(f"{python}, {versions}: {line}", file=sys.stderr)  # noqa: T201  it is a script
    return tested.stdout.rstrip().rpartition("\n")[2].strip("= ")


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def main() -> int:
    """Print a line of a table for each environment; return 1 where a test fails."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", default=",".join(PYTHONS))
    parser.add_argument("--versions", default=",".join(RESOLUTIONS))
    asked, options = parser.parse_known_args()
    print("| Python | versions | tests |\n|---|---|---|", flush=True)  # noqa: T201  the same
    is_good = True
    for python in asked.python.split(","):
        for versions in asked.versions.split(","):
            wrong = make_environment(python, versions)
            said = wrong or run_tests(python, versions, options)
            is_good = is_good and not re.search(r"failed|error|cannot be installed", said)
            print(f"| {python} | {versions} | {said} |", flush=True)  # noqa: T201  the same
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
