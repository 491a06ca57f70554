"""The files that are published, built from a clean clone, checked, and tried as strangers do.

    python tests/dist.py build    # into dist/: one sdist, one pure wheel without test data
    python tests/dist.py try      # in fresh environments of each Python from 3.11 that is here

`make dist` builds, `make strangers` tries. Nothing is uploaded: that is a person's step.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
DIST: Final = ROOT / "dist"
STEP: Final = str(ROOT / "testdata/dumps/gpu_h100/mlp_train")
PROTO: Final = str(next((ROOT / "testdata").rglob("*.hlo.pb*")))
MOST_BYTES: Final = 1_500_000
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
TOOLS: Final = Path(sys.executable).parent


def run(*command: str, folder: Path = ROOT) -> str:
    """Run a command; return what it printed, and raise where it failed."""
    environment = {key: one for key, one in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=environment, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def build() -> None:
    """Build from a clone of what is committed, and check the files."""
    shutil.rmtree(DIST, ignore_errors=True)
    with TemporaryDirectory() as folder:
        run("git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", folder)
        run(sys.executable, "-m", "build", "--outdir", str(DIST), folder)
    wheel, sdist = find_wheel(), next(DIST.glob("*.tar.gz"))
    run(str(TOOLS / "twine"), "check", "--strict", str(wheel), str(sdist))
    run(str(TOOLS / "check-wheel-contents"), str(wheel))
    with zipfile.ZipFile(wheel) as opened, tarfile.open(sdist) as archive:
        names = [*opened.namelist(), *(one.split("/", 1)[-1] for one in archive.getnames())]
    assert not [one for one in names if one.startswith(("tests", "testdata"))], "test data"
    assert len([*DIST.iterdir()]) == 2, "one wheel and one sdist"
    assert wheel.name.endswith("-py3-none-any.whl"), "the wheel is pure"
    assert wheel.stat().st_size < MOST_BYTES, "the wheel is small"
    for one in (wheel, sdist):
        say(f"{one.name}: {one.stat().st_size:,} bytes")


def find_wheel() -> Path:
    """Return the one wheel in dist/."""
    (wheel,) = DIST.glob("*.whl")
    return wheel


def try_all() -> None:
    """Install the wheel in fresh environments, by each tool, and let it answer."""
    wheel = str(find_wheel())
    for python in PYTHONS:
        with TemporaryDirectory() as name:
            for line in try_python(python, wheel, Path(name)):
                say(f"{python}: {line}")


def try_python(python: str, wheel: str, folder: Path) -> Iterator[str]:
    """Yield what was tried with a Python; for one that is not here, whether all have wheels."""
    uv = (sys.executable, "-m", "uv")
    there = subprocess.run(
        (*uv, "venv", "--quiet", "--seed", "--no-python-downloads", "--python", python, "plain"),
        cwd=folder,
        check=False,
        capture_output=True,
    )
    if there.returncode:
        run(
            *(sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:"),
            *("--python-version", python, "--dest", str(folder), f"{wheel}[all]"),
        )
        yield f"not run; {len([*folder.glob('*.whl')])} wheels, all there are needed for [all]"
        return
    own = str(folder / "plain" / "bin" / "python")
    before = measure(folder / "plain")
    run(own, "-m", "pip", "install", "--quiet", "--find-links", str(DIST), "hlotool", folder=folder)
    size = (measure(folder / "plain") - before) / 1e6
    for command in ((own, "-m", "hlotool"), (str(Path(own).with_name("hlotool")),)):
        assert "jit_train_step: gpu" in run(*command, "summary", STEP, folder=folder)
        assert "HloModule" in run(*command, "text", PROTO, folder=folder)
    yield f"pip install, hlotool, python -m hlotool: text and proto ({size:.1f} MB installed)"
    run(own, "-m", "pip", "install", "--quiet", f"{wheel}[all]", folder=folder)
    run(own, "-m", "hlotool", "report", STEP, "-o", "page.html", folder=folder)
    yield f"[all]: a page ({(measure(folder / 'plain') - before) / 1e6:.1f} MB installed)"
    shown = run(*uv, "tool", "run", "--python", python, "--from", wheel, "hlotool", "--version")
    assert shown.startswith("hlotool ")
    pipx = (sys.executable, "-m", "pipx", "run", "--python", own, "--spec", wheel)
    assert run(*pipx, "hlotool", "--version").startswith("hlotool ")
    yield "uvx --from, pipx run --spec"


def measure(folder: Path) -> int:
    """Return the bytes of the packages in an environment, but for what Python compiled."""
    files = (one for one in folder.rglob("site-packages/**/*") if one.suffix != ".pyc")
    return sum(one.stat().st_size for one in files if one.is_file())


if __name__ == "__main__":
    {"build": build, "try": try_all}[sys.argv[1]]()
