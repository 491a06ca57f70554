"""`hlotool summary DIR`: one row for each program, read in parallel."""

from __future__ import annotations

from functools import partial
from typing import Final

from msgspec import Struct

from hlotool.analysis.summary.answer import SUMMARY_DIRECTORY
from hlotool.analysis.summary.program_row import ProgramRow, ProgramStage
from hlotool.commands.shared.output import print_document
from hlotool.commands.shared.progress import progress
from hlotool.commands.shared.request import Request
from hlotool.commands.shared.row_options import RowOptions
from hlotool.commands.shared.say import say, say_all
from hlotool.fields import Document, InputPaths
from hlotool.inputs import Failure, Input, map_inputs, short_path
from hlotool.inputs.dump.role import Stage
from hlotool.program.assumptions import NO_ASSUMPTIONS, Assumptions
from hlotool.program.loading import load_program
from hlotool.program.row import measure_program

_STAGES: Final[dict[Stage | None, ProgramStage]] = {Stage.BEFORE: "before", Stage.AFTER: "after"}


class _Measured(Struct, frozen=True):
    """A row, and what of the program's files was not understood."""

    row: ProgramRow
    notes: tuple[str, ...]


def print_modules(request: Request, options: RowOptions) -> int:
    """Print the table of a directory; a program that cannot be read costs one row.

    Its error goes to stderr too, and the exit code returned is then that of the first one.
    """
    found = request.find()
    with progress("reading", sum(one.size_bytes for one in found.inputs)) as advance:
        measure = partial(measure_input, found.path, assumptions=request.assumptions)
        results = map_inputs(measure, found.inputs, progress=advance)
    rows = [
        _failed_row(found.path, chosen, result) if isinstance(result, Failure) else result.row
        for chosen, result in zip(found.inputs, results, strict=True)
    ]
    say_all(note for one in results if isinstance(one, _Measured) for note in one.notes)
    failures = [result for result in results if isinstance(result, Failure)]
    for failure in failures:
        say(failure.message.partition("\n")[0])
    print_document(
        Document(SUMMARY_DIRECTORY, InputPaths(found.path), rows={"modules": rows}), options
    )
    return failures[0].exit_code if failures else 0


def measure_input(
    directory: str, chosen: Input, *, assumptions: Assumptions = NO_ASSUMPTIONS
) -> _Measured:
    """Read and measure one program; runs in a process of its own."""
    program = load_program(chosen, chosen.path, with_buffers=True, assumptions=assumptions)
    stage = _STAGES.get(chosen.stage)
    place = short_path(chosen.path, directory)
    return _Measured(measure_program(program, chosen.path, place, stage), program.notes())


def _failed_row(directory: str, chosen: Input, failure: Failure) -> ProgramRow:
    stage = _STAGES.get(chosen.stage)
    place = short_path(chosen.path, directory)
    message = failure.message.partition("\n")[0]
    return ProgramRow(chosen.name, chosen.path, place, stage=stage, error=message)
