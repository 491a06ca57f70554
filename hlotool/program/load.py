"""From inputs to programs: a module, and a buffer assignment beside it.

Knows files and parsers and nothing of the command line, so that the commands and the
Python API read dumps alike.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from hlotool.analysis.memory.memory_map import map_memory
from hlotool.analysis.memory.report import add_up_space
from hlotool.dump.files import DumpFile, Input, Inputs
from hlotool.dump.workers import Failure, map_inputs
from hlotool.errors import InputError
from hlotool.hlo import Module
from hlotool.hlo.buffers import BufferAssignment
from hlotool.hlo.parser import parse_module
from hlotool.program.oom_need import ProgramNeed, measure_need
from hlotool.program.program import NO_ASSUMPTIONS, Assumptions, Program
from hlotool.program.siblings import MeshBeside, read_compilation
from hlotool.table import InputPaths
from hlotool.text import Source


def load_program(
    chosen: Input,
    path: str,
    *,
    with_buffers: bool = False,
    assumptions: Assumptions = NO_ASSUMPTIONS,
    watch: Callable[[int, int], None] | None = None,
) -> Program:
    """Read one input; `path` is what the user typed.

    The buffer assignment is read only on request. `watch` is called with the characters of the
    module that were read since its last call, and with those that it has. Raises HlotoolError
    for what cannot be read, is a saved JSON document, or does not parse, UsageError for a chip
    of another backend that must fit.
    """
    if chosen.document is not None:
        raise InputError(f"{chosen.document.path}: expected a dump, found a saved JSON document.")
    module = _parse_module(chosen.module.read(), watch) if chosen.module else None
    assignment = read_assignment(chosen) if with_buffers else None
    name = (module.name if module else "") or chosen.name
    paths = input_paths(path, chosen, with_buffers=with_buffers)
    mesh_beside = MeshBeside(chosen.before) if chosen.before else None
    program = Program(
        *(name, module, assignment, paths, assumptions),
        mesh_beside=mesh_beside,
        measured=chosen.measured,
        ask_beside=partial(read_compilation, chosen),
    )
    _ = program.machine  # which is looked at once, wherever it counts
    return program


def read_assignment(chosen: Input) -> BufferAssignment | None:
    """Read the buffer assignment with its companions, None where there is none."""
    if chosen.buffers is None:
        return None
    return _parse_buffers(chosen.buffers.read(), _read(chosen.values), _read(chosen.live_range))


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


def find_largest(found: Inputs) -> tuple[Input, int | None]:
    """Return the input with the most allocated memory of space 0, and how much that is.

    The first of them where no input has a readable buffer assignment: None then.
    """
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
    assignment = _parse_buffers(chosen.buffers.read())
    return add_up_space(map_memory(assignment, None), 0).allocated


def read_need(chosen: Input) -> ProgramNeed | None:
    """Return what a program reserves in the default space; None where nothing tells."""
    if chosen.buffers is None:
        return None
    return measure_need(map_memory(_parse_buffers(chosen.buffers.read()), None))


def _parse_module(source: Source, watch: Callable[[int, int], None] | None) -> Module:
    if watch is None:
        return parse_module(source)
    return parse_module(source, lambda count: watch(count, len(source.text)))


def _parse_buffers(
    text: Source, values: Source | None = None, live_range: Source | None = None
) -> BufferAssignment:
    from hlotool.hlo.assignment.parser import parse_buffer_assignment  # noqa: PLC0415  most have none

    return parse_buffer_assignment(text, values, live_range)


def _read(file: DumpFile | None) -> Source | None:
    return file.read() if file else None
