"""What has the user to know of the files of a program? Sentences for stderr."""

from __future__ import annotations

from hlotool.analysis.collectives.overlap.machine import BACKEND_NAMES
from hlotool.analysis.cost.chips import Chip
from hlotool.analysis.dataflow.schedule import find_problem
from hlotool.analysis.graph.backend import find_backend
from hlotool.analysis.memory.unplaced import find_unplaced
from hlotool.ir.buffers import BufferAssignment
from hlotool.ir.module import Module


def write_notes(module: Module | None, assignment: BufferAssignment | None) -> tuple[str, ...]:
    """Say what was not understood, and what may be missing where nothing tells."""
    notes = [
        _note_entry(module) if module else "",
        _note_unknown_lines(assignment) if assignment else "",
        _note_open_end(module, assignment) if assignment else "",
    ]
    return tuple(note for note in notes if note)


def note_chip(module: Module, chip: Chip) -> str:
    """Say that a chip is of another backend than a program, which has no times therefore."""
    chip_for, program_for = (
        BACKEND_NAMES.get(one or "", "another backend")
        for one in (chip.backend, find_backend(module))
    )
    return f"{chip.name} is a chip for {chip_for}: programs for {program_for} have no times on it."


def _note_entry(module: Module) -> str:
    entry = module.entry
    if entry.is_entry:
        return ""
    return (
        f"{module.source.name}: no computation is marked ENTRY, so {entry.name!r}, the last, is "
        "taken for it; whether the text is whole cannot be checked."
    )


def _note_unknown_lines(assignment: BufferAssignment) -> str:
    count = assignment.unknown_line_count
    if not count:
        return ""
    lines = "1 line is" if count == 1 else f"{count:,} lines are"
    kind = "of a kind not known here, and passed over"
    rest = "the rest of the buffer assignment adds up"
    return f"{assignment.source.name}: {lines} {kind}; {rest}."


def _note_open_end(module: Module | None, assignment: BufferAssignment) -> str:
    """Say what may be missing; allocations may not where each array of the module has one."""
    open_end = assignment.open_end
    if open_end is None:
        return ""
    if open_end.what == "allocations" and module and not find_problem(module):
        found = find_unplaced(module, assignment)
        if found is None or found.is_assigned:  # the latter is an error
            return ""
    return f"{open_end.source.name}: its end cannot be checked; {open_end.what} may be missing."
