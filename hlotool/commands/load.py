"""From the options that name a dump to what a command analyses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import click

from hlotool.errors import HlotoolError, InputError
from hlotool.fields import InputPaths, Unit
from hlotool.inputs import DumpFile, Input, Inputs, NamedFiles, StageChoice, find_inputs, map_inputs
from hlotool.inputs.parallel import Failure
from hlotool.ir import Module
from hlotool.ir.buffers import BufferAssignment
from hlotool.parse import parse_module
from hlotool.parse.buffers import parse_buffer_assignment
from hlotool.render.units import format_value
from hlotool.source import Source


@dataclass(frozen=True, slots=True)
class Request:
    """Which dump the user means: PATH and the options that choose in it."""

    path: str
    stage: StageChoice = "after"
    module: str | None = None
    named: NamedFiles = field(default_factory=NamedFiles)

    def find(self) -> Inputs:
        """Return the inputs that PATH leads to, and tell the user what was passed over."""
        found = find_inputs(self.path, self.stage, self.module, self.named)
        for note in found.notes:
            say(note)
        return found


@dataclass(frozen=True, slots=True)
class Loaded:
    """One program, read. `module` is None where only a buffer assignment is there."""

    input: Input
    paths: InputPaths
    module: Module | None
    assignment: BufferAssignment | None

    def expect_module(self) -> Module:
        """Return the module, or raise InputError where the dump has no text of it."""
        if self.module is None:
            raise InputError(
                f"{self.paths.path}: the text of the module is missing beside this buffer "
                "assignment; name it with --module-text."
            )
        return self.module


def dump_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command PATH and the options that choose a dump, as `request: Request`."""

    @wraps(function)
    def call(path: str, stage: StageChoice, module: str | None, **values: Any) -> None:
        named = NamedFiles(
            values.pop("buffers"), values.pop("live_range"), values.pop("module_text")
        )
        function(request=Request(path, stage, module, named), **values)

    decorated: Callable[..., None] = call
    for decorate in reversed(_DUMP_PARAMETERS):
        decorated = decorate(decorated)
    return decorated


_DUMP_PARAMETERS: tuple[Callable[..., Any], ...] = (
    click.argument("path", metavar="PATH"),
    click.option(
        "--stage",
        type=click.Choice(["before", "after", "all"]),
        default="after",
        help="In a directory: the text before or after optimizations.",
    ),
    click.option("--module", metavar="REGEX", help="In a directory: only modules so named."),
    click.option("--buffers", metavar="FILE", help="The buffer assignment, if not beside PATH."),
    click.option("--live-range", metavar="FILE", help="The live ranges, if not beside PATH."),
    click.option("--module-text", metavar="FILE", help="The HLO text, if not beside PATH."),
)


def load_one(request: Request, *, with_buffers: bool = False) -> Loaded:
    """Read the one program a command is about.

    Where several match, the one with the most allocated memory, and stderr says so. The
    buffer assignment is read only on request. Saved JSON documents are refused.
    """
    found = request.find()
    return load(choose_largest(found), request.path, with_buffers=with_buffers)


def load(chosen: Input, path: str, *, with_buffers: bool = False) -> Loaded:
    """Read one input; `path` is what the user typed."""
    if chosen.document is not None:
        raise InputError(f"{chosen.document.path}: expected a dump, found a saved JSON document.")
    module = parse_module(chosen.module.read()) if chosen.module else None
    assignment = read_assignment(chosen) if with_buffers else None
    return Loaded(chosen, input_paths(path, chosen, with_buffers=with_buffers), module, assignment)


def read_assignment(chosen: Input) -> BufferAssignment | None:
    """Read the buffer assignment with its companions, None where there is none."""
    if chosen.buffers is None:
        return None
    return parse_buffer_assignment(
        chosen.buffers.read(), _read(chosen.values), _read(chosen.live_range)
    )


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


def choose_largest(found: Inputs) -> Input:
    """Return the input with the most allocated memory; say on stderr that a choice was made."""
    if len(found.inputs) == 1:
        return found.inputs[0]
    sizes = [
        -1 if isinstance(size, Failure) else size
        for size in map_inputs(_allocated_bytes, found.inputs)
    ]
    place = max(range(len(sizes)), key=lambda number: (sizes[number], -number))
    chosen = found.inputs[place]
    why = (
        f"the one with the most allocated memory ({format_value(sizes[place], Unit.BYTES)})"
        if sizes[place] > 0
        else "the first, as none has a buffer assignment"
    )
    say(
        f"{len(found.inputs)} modules match in {found.path}; this is about {chosen.path}, {why}. "
        "Choose with --module."
    )
    return chosen


def say(message: str) -> None:
    """Print a diagnostic on stderr."""
    click.echo(f"hlotool: {message}", err=True)


def _allocated_bytes(chosen: Input) -> int:
    """Return what the runtime reserves in the default space; 0 without an assignment."""
    if chosen.buffers is None:
        return 0
    try:
        assignment = parse_buffer_assignment(chosen.buffers.read())
    except HlotoolError:
        return 0
    return sum(
        one.size_bytes
        for one in assignment.allocations
        if not one.color and not one.is_thread_local
    )


def _read(file: DumpFile | None) -> Source | None:
    return file.read() if file else None
