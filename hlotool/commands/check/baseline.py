"""`hlotool check --baseline`: what a check compares with, and how it is written.

`hlotool check --history`: the figures of a run are recorded, and shown over many.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

import click
from click.core import ParameterSource
from msgspec import Struct
from msgspec.structs import replace

from hlotool.check.baseline import (
    Earlier,
    expect_apart,
    expect_keys,
    measure_baseline,
    read_modules,
    write_baseline,
)
from hlotool.check.budget import expect_pattern
from hlotool.check.history import HistoryLine, parse_time, read_lines, write_lines
from hlotool.check.rule import Rule
from hlotool.check.trend import (
    TREND,
    TREND_FACTS,
    count_trends,
    find_exceeded,
    find_trends,
    find_verdicts,
)
from hlotool.commands.shared.messages import say, say_all
from hlotool.commands.shared.options import FORMATS, RowOptions
from hlotool.commands.shared.output import add_to_file, print_document, write_file
from hlotool.commands.shared.request import Request, track
from hlotool.compare.inputs import Argument, Candidate, find_candidates
from hlotool.dump.files import StageChoice
from hlotool.dump.read import display_name, read_bytes
from hlotool.dump.workers import Failure
from hlotool.errors import NothingCheckedError, UsageError
from hlotool.program.load import load_program, note_files
from hlotool.table import Document, InputPaths, Line
from hlotool.table.words import count_noun

_DEFAULT: Final = "hlotool-baseline.json"  # what a baseline is called that has no name yet
_CHOOSING: Final = (  # what decides which figures a baseline holds, and where it lies
    "path", "stage", "module", "buffers", "live_range", "module_text", "chip", "bandwidth",
    "node_bandwidth", "devices_per_node",
    "chip_file", "config", "baseline",
)  # fmt: skip


def find_baseline(
    path: str, rules: Sequence[Rule], stage: StageChoice
) -> tuple[Earlier, tuple[Failure, ...]]:
    """Return the modules of a baseline, and a failure where it is not there.

    The user is told how to write one, if a budget needs it.
    """
    needs_baseline = any(rule.needs_baseline for rule in rules)
    if not needs_baseline and (not path or Path(path).exists()):
        return Earlier(), ()
    if not path:
        command = _repeat_command(_CHOOSING, "--baseline", _DEFAULT, "--update-baseline")
        say(f"there is no baseline; this writes one: {command}")
        return Earlier(), ()
    name = display_name(path)
    if not Path(path).exists():
        command = _repeat_command(_CHOOSING, "--update-baseline")
        message = f"{name}: there is no such baseline; this writes it: {command}"
        return Earlier(missing=f"there is no baseline {name} yet"), (Failure(message, 3),)
    modules, notes = find_candidates(Argument("baseline", path), stage, None)
    say_all(notes)
    return Earlier(modules), ()


def _repeat_command(kept: Collection[str], *added: str) -> str:
    """Return the command line as typed, of its parameters those that are `kept`, and `added`."""
    context = click.get_current_context()
    words = context.command_path.split()
    for each in context.command.params:
        name = each.name or ""
        typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if typed and name in kept:
            is_option = isinstance(each, click.Option)
            words += (
                [*each.opts[-1:], context.params[name]] if is_option else [context.params[name]]
            )
    return shlex.join([*words, *added])


def write_figures(request: Request, path: str) -> None:
    """Write the figures of every module; with --module, beside those of the others."""
    if not path:
        raise UsageError("--update-baseline needs --baseline FILE, or baseline in hlotool.toml.")
    older = read_modules(path)
    kept = older if request.module else {}
    inputs = request.find().inputs
    candidates = [Candidate(one.name, request.path, one) for one in inputs]
    expect_keys(candidates, "--update-baseline")
    expect_apart(candidates, kept, path)
    modules = {}
    for one, candidate in track(zip(inputs, candidates, strict=True), "measuring", len(inputs)):
        program = load_program(
            one, request.path, with_buffers=True, assumptions=request.assumptions
        )
        request.tell(note_files(program))
        modules[candidate.key] = measure_baseline(program)
    write_file(path, (write_baseline(modules, kept),), "--baseline")
    count = count_noun(str(len(modules)), "module")
    say(f"wrote the figures of {count} to {display_name(path)}")


class HistoryOptions(Struct, frozen=True):
    """What the user says of a history; '' and None where not given."""

    path: str = ""
    time: str | None = None
    commit: str | None = None
    is_trend: bool = False


def make_history_options(
    path: str, time: str | None, commit: str | None, *, is_trend: bool
) -> HistoryOptions:
    """Raise UsageError for options that do not go together, and for what is no time."""
    given = {"--time": time is not None, "--commit": commit is not None, "--trend": is_trend}
    for option, is_given in given.items():
        if is_given and not path:
            raise UsageError(f"{option} goes with --history FILE.")
        if is_given and is_trend and option != "--trend":
            raise UsageError(f"{option} goes with what is recorded; --trend only reads.")
    return HistoryOptions(path, None if time is None else parse_time(time), commit, is_trend)


def expect_history(request: Request, history: HistoryOptions) -> None:
    """Raise, before any dump is read, for a file that is no history and modules it cannot name."""
    if Path(history.path).is_file():
        read_lines(read_bytes(history.path), display_name(history.path))
    candidates = [Candidate(one.name, request.path, one) for one in request.find().inputs]
    expect_keys(candidates, "--history")


def record(lines: tuple[HistoryLine, ...], history: HistoryOptions) -> None:
    """Add the lines of a run to a history, all or none."""
    name = display_name(history.path)
    text = write_lines(replace(line, time=history.time, commit=history.commit) for line in lines)
    add_to_file(history.path, text, "--history", lambda old: _expect_lines(old, name))
    say(f"added {count_noun(str(len(lines)), 'line')} to {name}")


def _expect_lines(old: bytes, name: str) -> None:
    read_lines(old, name)


def print_trend(history: HistoryOptions, module: str | None, options: RowOptions) -> None:
    """Show each metric of a history, those that changed last first."""
    if options.format not in FORMATS:
        raise UsageError(f"--trend does not go with --format {options.format}.")
    name = display_name(history.path)
    found = read_lines(read_bytes(history.path), name)
    pattern = expect_pattern(module, "regular expression", "--module") if module else None
    lines = {
        number: line
        for number, line in found.items()
        if pattern is None or pattern.is_found(line.module)
    }
    if not lines:
        of = f" of a module that --module {module!r} matches" if module else ""
        raise NothingCheckedError(f"{name}: the history has no line{of}.")
    trends, verdicts, exceeded = find_trends(lines), find_verdicts(lines), find_exceeded(lines)
    facts = count_trends(lines, trends)
    above = {"verdicts": bool(verdicts), "exceeded": bool(exceeded)}
    headline = Line(
        "{changed_count} of {metric_count:figure} changed in {line_count:line}",
        TREND_FACTS,
        facts,
    )
    print_document(
        Document(
            TREND,
            InputPaths(history.path),
            scalars=facts,
            rows={"trends": trends, "verdicts": verdicts, "exceeded": exceeded},
            lines=(headline,),
            shown=(*(name for name, is_there in above.items() if is_there), "trends"),
        ),
        options,
    )
