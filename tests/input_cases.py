"""Directories described in one text file: `=== NAME` before each file, then what to find."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from hlotool.inputs import DumpFile
from hlotool.inputs.dump.programs import Program

ROOT = Path(__file__).resolve().parents[1]
INPUTS = ROOT / "testdata" / "inputs"
BAD = ROOT / "testdata" / "bad" / "inputs"
SHARED = ROOT.parent / "shared"  # absent outside the project's own machine


@dataclass(frozen=True, slots=True)
class Case:
    """A directory and the programs to be found in it."""

    files: dict[str, str]
    expected: str


def read_case(path: Path) -> Case:
    """Read a case: a sentence, then `=== NAME` and content, last `=== PROGRAMS`."""
    _, *sections = path.read_text(encoding="utf-8").split("=== ")
    files = dict(section.split("\n", 1) for section in sections)
    return Case(files, files.pop("PROGRAMS"))


def write_case(case: Case, directory: Path, padding: str = "") -> None:
    """Make the directory that a case describes."""
    for name, text in case.files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("@PADDING@", padding), encoding="utf-8")


def format_programs(programs: tuple[Program, ...], root: str, notes: tuple[str, ...] = ()) -> str:
    """Render programs as the cases state them, paths relative to a directory."""
    lines = [line for program in programs for line in _format(program, root)]
    lines += [f"note: {note.replace(root + os.sep, '')}" for note in notes]
    return "".join(f"{line}\n" for line in lines)


def _format(program: Program, root: str) -> list[str]:
    number = "no number" if program.number is None else f"number {program.number}"
    named = [
        ("before", program.before),
        ("loose", program.loose),
        ("after", program.after),
        *(
            (f"pass {each.step} {each.pipeline}: {each.after_pass} → {each.before_pass}", each.file)
            for each in program.passes
        ),
        *(("other", each) for each in program.others),
        ("buffers", program.buffers),
        ("values", program.values),
        ("live range", program.live_range),
        ("options", program.debug_options),
    ]
    files = [f"  {what}: {_relative(file, root)}" for what, file in named if file]
    return [f"{program.name}, {number}", *files]


def _relative(file: DumpFile, root: str) -> str:
    return os.path.relpath(file.path, root) if root else file.path
