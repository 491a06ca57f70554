"""What are the rows of many programs, whoever reads them?

Processes of this machine do, or the workers of any executor. A program that cannot be read is a
row with an error. Inputs and rows alone go from process to process, and rows alone are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool import __version__
from hlotool.analysis.summary.program_row import ProgramRow, ProgramStage
from hlotool.errors import InputError
from hlotool.inputs import Failure, Input, map_inputs, short_path
from hlotool.inputs.dump.role import Stage
from hlotool.program.assumptions import NO_ASSUMPTIONS, Assumptions
from hlotool.program.loading import load_program
from hlotool.program.row import measure_program

if TYPE_CHECKING:  # start-up time: few ask for them
    from concurrent.futures import Executor

    from hlotool.program.row_cache import CachedRow, RowCache

_STAGES: Final[dict[Stage | None, ProgramStage]] = {Stage.BEFORE: "before", Stage.AFTER: "after"}


class Member(Struct, frozen=True):
    """One program, the directory that its place is told from, and what a cache knows it by."""

    chosen: Input
    directory: str
    key: str = ""

    @property
    def size_bytes(self) -> int:
        """How much there is to read."""
        return self.chosen.size_bytes

    @property
    def place(self) -> str:
        """Where it lies, in short."""
        return short_path(self.chosen.path, self.directory)


class Measured(Struct, frozen=True):
    """A row, what of the program's files was not understood, and the code of what went wrong."""

    row: ProgramRow
    notes: tuple[str, ...] = ()
    exit_code: int = 0
    is_settled: bool = True  # whether its files were the same before and after they were read


class Means(Struct, frozen=True):
    """With what programs are measured: what the user says, who reads, and what is known."""

    assumptions: Assumptions = NO_ASSUMPTIONS
    executor: Executor | None = None
    cache: RowCache | None = None
    progress: Callable[[int], None] | None = None


def measure_members(members: Sequence[Member], means: Means) -> list[Measured]:
    """Return the row of each program, in order; what the cache knows is not read again."""
    if means.cache is None:
        return _measure(members, means)
    members, known = _look_up(members, means, means.cache)
    if means.progress is not None:
        means.progress(sum(each.size_bytes for each in members if each.key in known))
    measured = iter(_measure([each for each in members if each.key not in known], means))
    return [
        _recall(each, known[each.key]) if each.key in known else next(measured) for each in members
    ]


def _measure(members: Sequence[Member], means: Means) -> list[Measured]:
    """Read programs; each row is kept as it comes."""

    def keep(member: Member, result: Measured | Failure) -> None:
        if means.cache and isinstance(result, Measured) and member.key and result.is_settled:
            means.cache.add(member.key, result.row, result.notes)

    results = map_inputs(
        partial(measure_member, assumptions=means.assumptions, version=__version__),
        members,
        executor=means.executor,
        progress=means.progress,
        keep=keep,
    )
    return [
        _fail(member, result) if isinstance(result, Failure) else result
        for member, result in zip(members, results, strict=True)
    ]


def measure_member(
    member: Member, *, assumptions: Assumptions = NO_ASSUMPTIONS, version: str = __version__
) -> Measured:
    """Read and measure one program; runs in a process of its own, perhaps of another machine.

    Raises what reading and measuring raise, InputError in a worker with another hlotool.
    """
    if version != __version__:
        raise InputError(f"the worker that was to read this has hlotool {__version__}.")
    chosen = member.chosen
    program = load_program(chosen, chosen.path, with_buffers=True, assumptions=assumptions)
    row = measure_program(program, chosen.path, member.place, _STAGES.get(chosen.stage))
    is_settled = not member.key or member.key == _find_key(member, assumptions)
    return Measured(row, program.notes(), is_settled=is_settled)


def _fail(member: Member, failure: Failure) -> Measured:
    """Return the row of a program that could not be read."""
    chosen, message = member.chosen, failure.message.partition("\n")[0]
    stage = _STAGES.get(chosen.stage)
    row = ProgramRow(chosen.name, chosen.path, member.place, stage=stage, error=message)
    return Measured(row, exit_code=failure.exit_code)


def _look_up(
    members: Sequence[Member], means: Means, cache: RowCache
) -> tuple[list[Member], dict[str, CachedRow]]:
    """Return the programs with their keys, and what the cache knows of them.

    What cannot be read has no key: it fails again where it is measured.
    """
    find = partial(_find_key, assumptions=means.assumptions)
    keys = map_inputs(find, members, executor=means.executor)
    keyed = [
        member if isinstance(key, Failure) else replace(member, key=key)
        for member, key in zip(members, keys, strict=True)
    ]
    known = cache.take({each.key for each in keyed if each.key})
    # Notes name the files; at another place they would be wrong.
    at_home = {(each.key, each.chosen.path) for each in keyed}
    return keyed, {
        key: row for key, row in known.items() if not row.notes or (key, row.row.path) in at_home
    }


def _find_key(member: Member, assumptions: Assumptions) -> str:
    from hlotool.program.row_cache import find_key  # noqa: PLC0415  only a cache needs it

    return find_key(member.chosen, assumptions)


def _recall(member: Member, known: CachedRow) -> Measured:
    """Return a row of the cache for a program, which may lie elsewhere now."""
    return Measured(replace(known.row, path=member.chosen.path, place=member.place), known.notes)
