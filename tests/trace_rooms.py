"""Count the functions, files and rooms that a command passes, and its climbs back up.

    python tests/trace_rooms.py summary testdata/hlo/gpu_train_step.txt

A climb is a call from a room into one that stands above it in the contract of `layers`: a
callback, or a method that asks a layer that it must not know. Class bodies and what runs at import
are left out: they belong to no dump.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from layers import BELOW, PACKAGE

ROOT = str(PACKAGE) + "/"


class Tracer:
    """What one step passes, as `sys.setprofile` reports it."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, int]] = set()
        self.files: set[str] = set()
        self.rooms: set[str] = set()
        self.climbs: Counter[tuple[str, str]] = Counter()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(ROOT):
            return
        if _runs_at_import(frame):
            return
        name = code.co_filename.removeprefix(ROOT)
        if not code.co_name.startswith("<"):
            self.functions.add((name, code.co_firstlineno))
        self.files.add(name)
        self.rooms.add(str(Path(name).parent))
        caller = frame.f_back
        if caller is not None and caller.f_code.co_filename.startswith(ROOT):
            above, here = _layer(caller.f_code.co_filename.removeprefix(ROOT)), _layer(name)
            if above in BELOW and above != here and here not in BELOW[above]:
                self.climbs[f"{above}: {caller.f_code.co_name}", f"{here}: {code.co_name}"] += 1


def _runs_at_import(frame: FrameType) -> bool:
    caller: FrameType | None = frame
    while caller is not None:
        if caller.f_code.co_name == "<module>" and caller.f_code.co_filename.startswith(ROOT):
            return True
        caller = caller.f_back
    return False


def _layer(name: str) -> str:
    return Path(name).parts[0].removesuffix(".py")


def trace(args: list[str]) -> Tracer:
    """Run a command line with its output thrown away, and return what it passed."""
    from hlotool.cli import run  # noqa: PLC0415  imported under no profile

    tracer = Tracer()
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")):
        sys.setprofile(tracer)
        try:
            run(args)
        finally:
            sys.setprofile(None)
    return tracer


def main() -> None:
    """Trace the command line given as arguments; print the counts, and the climbs if any."""
    found = trace(sys.argv[1:])
    loaded = sum(name.split(".")[0] == "hlotool" for name in sys.modules)
    counts = f"{len(found.functions)} functions, {len(found.files)} files, {len(found.rooms)} rooms"
    climbs = f"{len(found.climbs)} climbs in {found.climbs.total()} calls"
    print(f"{counts}; {climbs}; {loaded} modules loaded")  # noqa: T201  a script
    for (above, here), times in found.climbs.most_common():
        print(f"  {above} -> {here}  x{times}")  # noqa: T201  a script


if __name__ == "__main__":
    main()
