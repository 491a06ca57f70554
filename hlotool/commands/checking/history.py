"""`hlotool check --history`: the figures of a run are recorded, and shown over many."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hlotool.check.entry import expect_keys
from hlotool.check.history import HistoryLine, parse_time, read_lines, write_lines
from hlotool.check.pattern import expect_pattern
from hlotool.check.trend import TREND, TREND_FACTS, count_trends, find_trends
from hlotool.check.verdict_trend import find_exceeded, find_verdicts
from hlotool.commands.shared.files import add_to_file
from hlotool.commands.shared.output import print_document
from hlotool.commands.shared.request import Request
from hlotool.commands.shared.row_options import FORMATS, RowOptions
from hlotool.commands.shared.say import say
from hlotool.compare.sides import Candidate
from hlotool.errors import NothingCheckedError, UsageError
from hlotool.fields import Document, InputPaths, Line
from hlotool.inputs.read.text import display_name, read_bytes


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
    say(f"added {len(lines)} {'line' if len(lines) == 1 else 'lines'} to {name}")


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
