"""From inputs to programs: a module, and a buffer assignment beside it.

Commands and the Python API read dumps by it alike: nothing here knows of the command line. What of
the files was not understood, or may be missing, is said in `note_files`.
"""

from __future__ import annotations

from functools import partial

from hlotool.analysis.graph.backend import find_backend, suggest_backend
from hlotool.dump.files import Input, Inputs
from hlotool.errors import InputError
from hlotool.hlo import Module
from hlotool.hlo.buffers import BufferAssignment
from hlotool.hlo.parser import parse_module
from hlotool.program import siblings
from hlotool.program.program import NO_ASSUMPTIONS, Assumptions, Beside, Program
from hlotool.table import InputPaths
from hlotool.table.words import count_noun


def load_program(
    chosen: Input,
    path: str,
    *,
    with_buffers: bool = False,
    assumptions: Assumptions = NO_ASSUMPTIONS,
) -> Program:
    """Read one input; `path` is what the user typed.

    The buffer assignment is read only on request. Raises HlotoolError for what cannot be read, is
    a saved JSON document, or does not parse, UsageError for a chip of another backend that must
    fit.
    """
    if chosen.refused:
        raise InputError(chosen.refused)
    if chosen.document is not None:
        raise InputError(f"{chosen.document.path}: expected a dump, found a saved JSON document.")
    module = parse_module(chosen.module.read()) if chosen.module else None
    if module is not None and find_backend(module) is None:
        suggest_backend(module, siblings.tell_backend(chosen))
    program = Program(
        (module.name if module else "") or chosen.name,
        module,
        read_assignment(chosen) if with_buffers else None,
        input_paths(path, chosen, with_buffers=with_buffers),
        assumptions,
        measured=chosen.measured,
        beside=Beside(
            siblings.SiblingMesh(chosen.before) if chosen.before else None,
            lambda: siblings.read_flags(chosen).describe(),
            partial(siblings.ask_witnesses, chosen),
            partial(siblings.read_pass_texts, chosen),
            siblings.read_target(chosen),
            partial(siblings.read_cycles, chosen),
        ),
    )
    _ = program.machine  # a chip that does not fit is refused before anything is worked out
    return program


def input_paths(path: str, chosen: Input, *, with_buffers: bool) -> InputPaths:
    """Name the files an answer was made from; those not read are null."""
    buffers = chosen.buffers if with_buffers else None
    live_range = chosen.live_range if with_buffers else None
    return InputPaths(
        path,
        chosen.module.path if chosen.module else None,
        buffers.path if buffers else None,
        live_range.path if live_range else None,
    )


def read_assignment(chosen: Input) -> BufferAssignment | None:
    """Read the buffer assignment with its companions, None where there is none."""
    if chosen.buffers is None:
        return None
    from hlotool.hlo.assignment_parser import parse_buffer_assignment  # noqa: PLC0415  most have none

    companions = (chosen.values, chosen.live_range)
    values, live_range = (file.read() if file else None for file in companions)
    return parse_buffer_assignment(chosen.buffers.read(), values, live_range)


def find_largest(found: Inputs) -> tuple[Input, int | None]:
    """Return the input with the most allocated memory of space 0, and how much that is.

    The first of them where no input has a readable buffer assignment: None then.
    """
    from hlotool.dump.workers import Failure, map_inputs  # noqa: PLC0415  several programs

    sizes = [
        None if isinstance(size, Failure) else size
        for size in map_inputs(allocated_bytes, found.inputs)
    ]
    known = [-1 if size is None else size for size in sizes]
    place = known.index(max(known))
    return found.inputs[place], sizes[place]


def allocated_bytes(chosen: Input) -> int | None:
    """Return what the runtime reserves in the default space; None where nothing tells."""
    if chosen.buffers is None:
        return None
    from hlotool.analysis.memory.memory_map import MemoryMap  # noqa: PLC0415  several programs
    from hlotool.analysis.memory.report import add_up_space  # noqa: PLC0415  the same
    from hlotool.hlo.assignment_parser import parse_buffer_assignment  # noqa: PLC0415  the same

    assignment = parse_buffer_assignment(chosen.buffers.read())
    return add_up_space(MemoryMap(assignment, None), 0).allocated_bytes


def note_files(program: Program) -> tuple[str, ...]:
    """Say in sentences what of a program's files was not understood, or may be missing."""
    module, assignment = program.module, program.assignment
    notes = []
    if module and not module.entry.is_entry:
        notes.append(
            f"{module.source.name}: no computation is marked ENTRY, so hlotool takes "
            f"{module.entry.name!r}, the last. The text may be incomplete."
        )
    if assignment and assignment.unknown_line_count:
        lines = count_noun(assignment.unknown_line_count, "line is", "lines are")
        notes.append(
            f"{assignment.source.name}: {lines} of an unknown kind, and skipped; the rest "
            "of the buffer assignment adds up."
        )
    if assignment:
        from hlotool.analysis.memory.contradictions import find_contradictions  # noqa: PLC0415  most have none

        notes += [
            f"{assignment.source.name}: {each}; figures that depend on it may be wrong."
            for each in find_contradictions(module, assignment)
        ]
        notes.append(_note_open_end(module, assignment))
    notes.append(note_chip(program))
    return tuple(filter(None, notes))


def note_chip(program: Program) -> str:
    """Say that the chip named is for programs of another backend, '' if it is not."""
    named = program.assumptions.machine
    chip = named.chip if named else None
    if chip is None or (program.machine is not None and program.machine.chip is not None):
        return ""
    from hlotool.analysis.collectives.machine import BACKEND_NAMES  # noqa: PLC0415  rare

    chip_for, program_for = (
        BACKEND_NAMES.get(one or "", "another backend")
        for one in (chip.backend, find_backend(program.expect_module()))
    )
    return (
        f"{chip.name} is a chip for {chip_for}, so programs for {program_for} have no times on it."
    )


def _note_open_end(module: Module | None, assignment: BufferAssignment) -> str:
    """Say what may be missing; allocations may not where each array of the module has one."""
    if (open_end := assignment.open_end) is None:
        return ""
    if open_end.what == "allocations" and module:
        from hlotool.analysis.dataflow.schedule import find_problem  # noqa: PLC0415  rare
        from hlotool.analysis.memory.check_assignment import find_unplaced  # noqa: PLC0415  the same

        if not find_problem(module):
            found = find_unplaced(module, assignment)
            if found is None or found.is_assigned:  # the latter is an error
                return ""
    return f"{open_end.source.name}: its end cannot be checked; {open_end.what} may be missing."
