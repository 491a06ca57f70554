"""Inputs of tests: the files of one module, and directories described in one text file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from dump_files import TESTDATA
from tables import TableCase, find_cases

from hlotool.dump.files import DumpedProgram, DumpFile, Input
from hlotool.dump.find import resolve_inputs
from hlotool.dump.siblings import NamedFiles

INPUTS = TESTDATA / "inputs"
KINDS = {case.name: case for case in find_cases(INPUTS / "kinds")}


TEXT = "HloModule jit_f, is_scheduled=true\n\nENTRY e {\n  ROOT p = f32[2]{0} parameter(0)\n}\n"
STEM = "module_0003.jit_f.cpu_after_optimizations"
BUFFERS = "BufferAssignment:\nallocation 0: size 8, parameter 0, shape |f32[2]|:\n"
SIBLINGS = {
    f"{STEM}.txt": TEXT,
    f"{STEM}-buffer-assignment.txt": BUFFERS,
    f"{STEM}-buffer-assignment-values.txt": "\nTotal bytes used: 8 (8B)\n\nUsed values:\n",
    f"{STEM}-live-range.txt": "HloLiveRange (max 0):\n",
    "module_0003.jit_f.debug_options": "xla_dump_to: 'd'\n",
    "module_0003.jit_f.before_optimizations.txt": "HloModule jit_f\n",
    "module_0004.jit_f.cpu_after_optimizations-buffer-assignment.txt": BUFFERS,
}


def only_input(path: object, **named: str) -> Input:
    """Find the one input that a path leads to."""
    (found,) = resolve_inputs(str(path), named=NamedFiles(**named)).inputs
    return found


def file_names(found: Input) -> list[str | None]:
    """Return the names of an input's files by their roles, None where there is none."""
    files = [found.module, found.buffers, found.values, found.live_range, found.debug_options]
    return [Path(file.path).name if file else None for file in files]


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory and the programs to be found in it."""

    name: str
    files: dict[str, str]
    expected: str


def _read_directory(case: TableCase) -> Directory:
    """Read a case: a sentence, then a part for each file, last the part PROGRAMS."""
    files = dict(case.parts)
    return Directory(case.name, files, files.pop("PROGRAMS"))


DIRECTORIES = {
    case.name: _read_directory(case) for case in find_cases(INPUTS / "directories.cases")
}


def write_directory(described: Directory, directory: Path, padding: str = "") -> None:
    """Make the directory that a case describes."""
    for name, text in described.files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("@PADDING@", padding), encoding="utf-8")


def format_programs(
    programs: tuple[DumpedProgram, ...], root: str, notes: tuple[str, ...] = ()
) -> str:
    """Render programs as the cases state them, paths relative to a directory."""
    lines = [line for program in programs for line in _format(program, root)]
    lines += [f"note: {note.replace(root + os.sep, '')}" for note in notes]
    return "".join(f"{line}\n" for line in lines)


def _format(program: DumpedProgram, root: str) -> list[str]:
    whole = program.texts[-1] if program.texts else None
    number = "no number" if program.number is None else f"number {program.number}"
    named = [
        *((each.stage.value if each.stage else "loose", each.module) for each in program.texts),
        *(
            (f"pass {name.step} {name.pipeline}: {name.after_pass} → {name.before_pass}", each.file)
            for each in program.passes
            for name in [each.name]
        ),
        *(("other", each) for each in program.others),
        ("buffers", whole and whole.buffers),
        ("values", whole and whole.values),
        ("live range", whole and whole.live_range),
        ("options", whole and whole.debug_options),
    ]
    files = [f"  {what}: {_relative(file, root)}" for what, file in named if file]
    return [f"{program.name}, {number}", *files]


def _relative(file: DumpFile, root: str) -> str:
    return os.path.relpath(file.path, root) if root else file.path
