"""The Python API: load a dump, ask it the questions that the commands ask.

    import hlotool
    dump = hlotool.load(compiled.as_text())
    print(dump.summary().module.instruction_count)

Answers are the frozen records that the commands print; docs/api.md lists them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.collectives.machine import add_nodes, find_machine
from hlotool.analysis.collectives.report import CollectiveReport
from hlotool.analysis.fusions.report import FusionReport
from hlotool.analysis.fusions.rows import CustomCallRow
from hlotool.analysis.memory.figures import MemoryFigures
from hlotool.analysis.memory.rows import BufferRow
from hlotool.analysis.outline.report import OutlineRow
from hlotool.analysis.shardings.report import ShardingReport
from hlotool.analysis.show.report import ShowReport
from hlotool.analysis.summary.report import ProgramRow, Summary
from hlotool.dump.budget import ByteBudget
from hlotool.dump.files import Input, Inputs, StageChoice
from hlotool.dump.find import Compiled, resolve_compiled, resolve_inputs, resolve_text
from hlotool.dump.identity import name_input, name_programs
from hlotool.dump.read import hide_secrets
from hlotool.dump.siblings import NamedFiles
from hlotool.dump.workers import Failure, iterate_inputs
from hlotool.errors import NothingCheckedError, UsageError
from hlotool.hlo import Module
from hlotool.hlo.buffers import BufferAssignment
from hlotool.program import fleet
from hlotool.program.load import load_program
from hlotool.program.program import Assumptions, Program
from hlotool.table import InputPaths
from hlotool.table.units import render_line
from hlotool.text import escape

if TYPE_CHECKING:
    from hlotool.compare.report import DiffReport

_TEXT = "<text>"
_Answer = TypeVar("_Answer")


class Buffers(Struct, frozen=True):
    """Memory figures, and the values live at the peak of space 0."""

    memory: MemoryFigures
    rows: tuple[BufferRow, ...]


class ProgramAnswer(Struct, Generic[_Answer], frozen=True):
    """What one of many programs answered, or, in `error`, why it could not be read.

    `program` is unique in the answers, `place` its location, shortened.
    """

    program: str
    place: str
    answer: _Answer | None = None
    error: str | None = None


class Dump:
    """One program of a dump. What several answers need is worked out once."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def __repr__(self) -> str:
        """Return what the program is, on a line."""
        from hlotool.commands.summary import say_what  # noqa: PLC0415  start-up time

        return f"<Dump {escape(render_line(next(say_what(self.summary())), 'auto'))}>"

    def _repr_html_(self) -> str:
        """Return the summary for a notebook."""
        import html  # noqa: PLC0415  start-up time

        from hlotool.commands.summary import render_summary  # noqa: PLC0415  the same

        return f"<pre>{html.escape(render_summary(self.program))}</pre>"

    @property
    def module(self) -> Module:
        """The module."""
        return self.program.expect_module()

    @property
    def assignment(self) -> BufferAssignment | None:
        """The buffer assignment, None where the dump holds none."""
        return self.program.assignment

    @property
    def paths(self) -> InputPaths:
        """The files it was read from."""
        return self.program.paths

    def summary(self) -> Summary:
        """Return what `hlotool summary` shows."""
        return self.program.summarize()

    def buffers(self) -> Buffers:
        """Return what `hlotool buffers` shows: memory, and who holds it at the peak.

        Rows are empty where nothing says when values are live. Raises InputError for a
        module that is neither scheduled nor has a buffer assignment.
        """
        return Buffers(self.program.expect_memory().figures, self.program.peak_rows)

    def fusions(self) -> FusionReport:
        """Return what `hlotool fusions` shows."""
        return self.program.fusions

    def custom_calls(self) -> tuple[CustomCallRow, ...]:
        """Return what `hlotool fusions --rows custom_calls` shows."""
        return self.program.custom_calls

    def shardings(self) -> ShardingReport:
        """Return what `hlotool shardings` shows: where its arrays lie on the devices."""
        return self.program.shardings

    def outline(self) -> tuple[OutlineRow, ...]:
        """Return what `hlotool outline` shows: the steps in the order in which they run."""
        return self.program.outline()

    def show(self, *names: str, hops: int = 1) -> ShowReport:
        """Return what `hlotool show` shows of some names.

        Raises UsageError where a name means nothing, or several things.
        """
        return self.program.show(names, hops)

    def collectives(self) -> CollectiveReport:
        """Return what `hlotool collectives` shows."""
        return self.program.explained_collectives


def load(
    dump: str | os.PathLike[str] | Compiled,
    *,
    stage: StageChoice = "after",
    module: str | None = None,
    buffers: str | None = None,
    live_range: str | None = None,
    module_text: str | None = None,
    config: str | os.PathLike[str] | None = None,
    chip: str | None = None,
    max_unpacked_bytes: int | None = None,
) -> Dump:
    """Read one program from a path, from HLO text, or from a compiled JAX function.

    A string with a line break, or one that begins with `HloModule`, is text; any other is a
    path: a file, or a dump directory with one matching module (`module` is a regular
    expression searched in module names). A file's siblings are found by name, or named by
    `buffers`, `live_range` and `module_text`. `config` is an hlotool.toml whose `[[custom_call]]`
    tables, `chip` and `devices_per_node` count; none is looked for. `chip` names the chip that
    times are estimated for, `h100`, and goes before that of `config`. `max_unpacked_bytes` is
    `--max-unpacked`: what may be fetched and unpacked of a file. Raises HlotoolError for
    anything that is not a dump, NothingCheckedError where several modules match, in a directory
    or in one text, UsageError for a chip that nobody knows, or on which the program does not run.
    """
    typed = buffers, live_range, module_text
    named = NamedFiles(*(one and hide_secrets(one) for one in typed))
    path, found = _find(dump, stage, module, named, max_unpacked_bytes)
    if len(found.inputs) > 1:
        names = ", ".join(sorted({_name_of(one) for one in found.inputs}))
        raise NothingCheckedError(f"{path} holds several modules ({names}); choose with module=.")
    return _read(found.inputs[0], path, _read_assumptions(config, chip))


def load_all(
    dump: str | os.PathLike[str] | Compiled,
    *,
    stage: StageChoice = "after",
    module: str | None = None,
    config: str | os.PathLike[str] | None = None,
    chip: str | None = None,
    max_unpacked_bytes: int | None = None,
) -> list[Dump]:
    """Read every program that `load` could choose, in the order of the files' names."""
    path, found = _find(dump, stage, module, NamedFiles(), max_unpacked_bytes)
    assumptions = _read_assumptions(config, chip).for_several()
    return [_read(one, path, assumptions) for one in found.inputs]


def summarize(
    paths: fleet.Paths,
    *,
    stage: StageChoice = "after",
    config: str | os.PathLike[str] | None = None,
    chip: str | None = None,
    executor: Executor | None = None,
    cache: str | os.PathLike[str] | None = None,
    max_unpacked_bytes: int | None = None,
) -> list[ProgramRow]:
    """Return a row for each program of files and directories, as `hlotool summary DIR` shows them.

    They come in the order of the paths. What cannot be read is a row whose `error` says why. The
    work is done in processes of this machine, or by an `executor`: any of `concurrent.futures`,
    or one made like those, whose workers have hlotool and see the files under the same paths.
    Rows that the file `cache` has are not worked out again, others are added to it as they come.
    Raises UsageError for a file that is no cache.
    """
    assumptions = _read_assumptions(config, chip).for_several()
    with ExitStack() as stack:
        kept = stack.enter_context(fleet.RowCache(os.fspath(cache))) if cache else None
        budget = ByteBudget(max_unpacked_bytes)
        context = fleet.FleetContext(assumptions, executor, kept, budget=budget)
        return fleet.measure_paths(paths, stage, context)


def ask_all(
    paths: fleet.Paths,
    question: Callable[[Dump], _Answer],
    *,
    stage: StageChoice = "after",
    config: str | os.PathLike[str] | None = None,
    chip: str | None = None,
    executor: Executor | None = None,
    max_unpacked_bytes: int | None = None,
) -> Iterator[ProgramAnswer[_Answer]]:
    """Yield what each program of files and directories answers, as programs are read.

    `question` is a method such as `Dump.collectives`, or a function of a module. It runs where the
    program is read: in processes of this machine, or at those of an `executor`, as `summarize` has
    it. Only what it returns is sent back, so that must be picklable; a `Dump` is not to be kept.
    What cannot be read has an `error`.
    """
    assumptions = _read_assumptions(config, chip).for_several()
    context = fleet.FleetContext(executor=executor, budget=ByteBudget(max_unpacked_bytes))
    members = fleet.find_all_members(paths, stage, context)
    names = name_programs([name_input(one.chosen, one.directory) for one in members])
    ask = partial(_ask, question=question, assumptions=assumptions)
    for number, found in iterate_inputs(ask, members, executor=executor):
        about = names[number], members[number].place
        if isinstance(found, Failure):
            yield ProgramAnswer(*about, error=found.message.partition("\n")[0])
        else:
            yield ProgramAnswer(*about, found)


def _ask(
    member: fleet.Member, question: Callable[[Dump], _Answer], assumptions: Assumptions
) -> _Answer:
    return question(_read(member.chosen, member.chosen.path, assumptions))


def _find(
    dump: str | os.PathLike[str] | Compiled,
    stage: StageChoice,
    module: str | None,
    named: NamedFiles,
    max_unpacked_bytes: int | None,
) -> tuple[str, Inputs]:
    """Return what a path or a text leads to, and what to call it."""
    if isinstance(dump, Compiled):
        return _TEXT, resolve_compiled(dump, stage, module)
    _refuse_jitted(dump)
    budget = ByteBudget(max_unpacked_bytes)
    path = hide_secrets(os.fspath(dump))
    if isinstance(dump, str) and ("\n" in dump or dump.startswith("HloModule")):
        # A file's name may hold a line break too.
        if os.path.exists(dump):  # noqa: PTH110  (paths stay strings)
            return path, resolve_inputs(path, stage, module, named, budget=budget)
        return _TEXT, resolve_text(dump, stage, module)
    return path, resolve_inputs(path, stage, module, named, budget=budget)


def _refuse_jitted(asked: object) -> None:
    """Refuse what jax.jit returns: it holds no program until it is lowered and compiled."""
    if not isinstance(asked, str) and hasattr(asked, "lower"):
        raise UsageError(
            "this function is jitted but not compiled. Call .lower(…).compile() with its "
            "arguments, and load the result."
        )


def _name_of(one: Input) -> str:
    """Return the name by which `module=` finds an input: with its number in a text of several."""
    part = one.module.part if one.module else 0
    return f"{one.name}#{part}" if part else one.name


def _read_assumptions(config: str | os.PathLike[str] | None, chip: str | None) -> Assumptions:
    """Return what a configuration says of custom calls, and of the machine, and the chip named."""
    from hlotool.check.config import Config, read_config  # noqa: PLC0415  start-up time
    from hlotool.check.rule import compile_call_costs  # noqa: PLC0415  the same

    settings = Config() if config is None else read_config(os.fspath(config))
    machine = find_machine(chip or settings.chip or None, needs_link=False)
    if (machine := add_nodes(machine, settings.devices_per_node)) and chip:
        machine = replace(machine, must_fit=True)
    return Assumptions(compile_call_costs(settings), machine)


def _read(found: Input, path: str, assumptions: Assumptions) -> Dump:
    program = load_program(found, path, with_buffers=True, assumptions=assumptions)
    program.expect_module()
    return Dump(program)


def diff(
    old: Dump | str | os.PathLike[str] | Compiled,
    new: Dump | str | os.PathLike[str] | Compiled,
    *,
    stage: StageChoice = "after",
    module: str | None = None,
    is_strict: bool = False,
    config: str | os.PathLike[str] | None = None,
    chip: str | None = None,
) -> DiffReport:
    """Return what `hlotool diff LEFT RIGHT` shows of two programs, but for compiler flags.

    Each side is a dump, or what `load` takes, and is read with the other options as `load` does.
    Raises as `load` does.
    """
    from hlotool.compare.inputs import DiffSide  # noqa: PLC0415
    from hlotool.compare.report import DiffOptions, compare_programs  # noqa: PLC0415

    before, after = (
        one
        if isinstance(one, Dump)
        else load(one, stage=stage, module=module, config=config, chip=chip)
        for one in (old, new)
    )
    options = DiffOptions(is_strict=is_strict)
    return compare_programs(DiffSide(before.program), DiffSide(after.program), options)
