"""The dumps that mutants are made of: small ones, so that there can be many."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dump_files import TESTDATA
from tables import find_cases

_MOST_BYTES = 3_000
_FAMILIES = (
    "async",
    "collectives",
    "cost",
    "custom_calls",
    "executions.cases",
    "hlo_forms",
    "traffic.cases",
)
_STAGE = "after_optimizations"
COMPUTATION = re.compile(r"^%\S+ \(.*\{\n(?:  .*\n){2,9}\}\n", re.MULTILINE)


@dataclass(frozen=True)
class Base:
    """The files of one program, and which of them is injured."""

    name: str
    files: dict[str, str]
    injured: str

    @property
    def text(self) -> str:
        """What is injured."""
        return self.files[self.injured]


def list_module_bases() -> list[Base]:
    """List small modules, and some computations of real dumps."""
    cases = [case for name in _FAMILIES for case in find_cases(TESTDATA / name)]
    small = [case for case in cases if len(case.text.encode()) < _MOST_BYTES]
    bases = [_module(case.name, case.text) for case in small]
    for path in sorted((TESTDATA / "hlo").glob("*.txt")):
        computations = COMPUTATION.findall(path.read_text(encoding="utf-8"))
        alone = [text for text in computations if not re.search(r"=%|\w+=\{%", text)]
        bases += [_module(f"{path.stem}.{n}", text) for n, text in enumerate(alone[::9][:8])]
    return bases


def list_buffer_bases() -> list[Base]:
    """List small programs with a buffer assignment; each file of theirs is injured."""
    bases = []
    for path in sorted(TESTDATA.glob(f"*/**/*{_STAGE}-buffer-assignment.txt")):
        stem = path.name.removesuffix("-buffer-assignment.txt")
        if not (path.parent / f"{stem}.txt").exists():
            continue
        files = {
            one.name: one.read_text(encoding="utf-8")
            for one in sorted(path.parent.glob(f"{stem}*.txt"))
        }
        if len("".join(files.values())) < _MOST_BYTES * 3:
            bases += [Base(f"{path.parent.name}.{name}", files, name) for name in files]
    return bases


def write_base(base: Base, text: str, folder: Path) -> Path:
    """Write the files of a base, one injured, where no others are; return the module's path."""
    for name, whole in base.files.items():
        (folder / name).write_text(
            text if name == base.injured else whole, encoding="utf-8", newline=""
        )
    return folder / min(base.files, key=len)


def _module(name: str, text: str) -> Base:
    return Base(name, {"module.txt": text}, "module.txt")
