"""Compile the cases of testdata/recompiled, and keep what JAX says of each cache miss.

    PYTHONPATH=testdata python -m make.recompiled --python JAX_PYTHON [--half tune] [--only NAME …]

Of each case the texts before and after optimization and the flags stay, of the function alone.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

from make.catalogue import HERE

RECOMPILED = HERE.parent / "recompiled"
KEPT = re.compile(r"(?:before|after)_optimizations\.txt$|\.debug_options$")
PLACE = re.compile(r" at \S*?/?(\w+\.py):\d+|id=\d+")
FLAGS = (
    "--xla_force_host_platform_device_count=8 --xla_dump_hlo_as_text "
    "--xla_dump_hlo_module_re={function} --xla_dump_to={folder}"
)


def compile_case(name: str, function: str, python: str, folder: Path) -> list[str]:
    """Compile a case in a process of its own; return what JAX said, without places."""
    flags = FLAGS.format(function=function, folder=folder)
    found = subprocess.run(  # noqa: S603
        [python, "-m", "make.programs.recompiled", name],
        capture_output=True,
        check=True,
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        text=True,
    )
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif not KEPT.search(path.name):
            path.unlink()
        elif path.suffix == ".debug_options":
            text = path.read_text(encoding="utf-8")
            path.write_text(re.sub(r"xla_dump_to:.*\n", "", text), encoding="utf-8")
    said: list[str] = json.loads(found.stdout)
    return [PLACE.sub("", each) for each in said]


def main() -> None:
    """Make the archives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--half", choices=("tune", "judge"), action="append")
    parser.add_argument("--only", nargs="*", default=[])
    asked = parser.parse_args()
    for half in asked.half or ("tune", "judge"):
        home = RECOMPILED / half
        truths = tomllib.loads((home / "truths.toml").read_text(encoding="utf-8"))
        said = {}
        with tempfile.TemporaryDirectory() as scratch:
            for name, truth in truths.items():
                if not asked.only or name in asked.only:
                    folder = Path(scratch) / name
                    folder.mkdir()
                    said[name] = compile_case(name, truth["function"], asked.python, folder)
            with tarfile.open(home / "dumps.tar.xz", "w:xz") as archive:
                for folder in sorted(Path(scratch).iterdir()):
                    archive.add(folder, arcname=folder.name)
        (home / "said.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
