"""Compile families of programs for `hlotool fit`: those it is given, and those it has to predict.

    PYTHONPATH=testdata python -m make.families --python JAX_PYTHON [--held-out] [--only NAME]

A member is kept as testdata/fit/FAMILY/VALUE.tar.zst: the final text and its buffer assignment.
"""

import argparse
import io
import shutil
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import zstandard

from make.catalogue import BACKENDS, HERE, Dump
from make.children import DUMP_FOLDER, compile_program

FIT = HERE.parent / "fit"
KEPT = ("after_optimizations.txt", "after_optimizations-buffer-assignment.txt")


def make_member(name: str, family: dict[str, Any], value: int, python: str, out: Path) -> None:
    """Compile one member; nothing is kept of one that does not compile."""
    target = out / name / f"{value}.tar.zst"
    if target.exists():
        return
    sizes = {**family.get("fixed", {}), family["vary"]: value}
    variant = ",".join((family["kind"], *(f"{key}={size}" for key, size in sizes.items())))
    backend = next(one for one in BACKENDS if one.folder == family["backend"])
    scratch = Path(tempfile.mkdtemp())
    try:
        compile_program(Dump(backend.folder, "family", variant), backend, python, scratch)
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for path in sorted((scratch / DUMP_FOLDER).iterdir()):
                if path.name.endswith(KEPT) and "jit_convert" not in path.name:
                    entry = tarfile.TarInfo(path.name)
                    entry.size = path.stat().st_size
                    archive.addfile(entry, io.BytesIO(path.read_bytes()))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(zstandard.compress(packed.getvalue(), 19))
        print(f"{name} {value}", flush=True)
    except SystemExit as error:
        print(f"{name} {value}: {str(error).splitlines()[-1]}", file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(scratch)


def main() -> None:
    """Compile what was asked for and is not there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--role", nargs="+", default=("judging", "tuning"))
    parser.add_argument("--families", type=Path, default=FIT / "families.toml")
    parser.add_argument("--out", type=Path, default=FIT)
    arguments = parser.parse_args()
    families = tomllib.loads(arguments.families.read_text(encoding="utf-8"))
    for name, family in families.items():
        if arguments.only in name and family["role"] in arguments.role:
            for value in family["held_out" if arguments.held_out else "given"]:
                make_member(name, family, value, arguments.python, arguments.out)


if __name__ == "__main__":
    main()
