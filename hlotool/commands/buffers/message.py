"""`hlotool buffers LOG`: what an out-of-memory message says, and which program it is about."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.memory_text import (
    MESSAGE_FIGURES,
    MessageFigures,
    MessageReport,
    choose_message_columns,
    report_out_of_memory,
)
from hlotool.commands.shared.messages import say
from hlotool.commands.shared.options import RowOptions
from hlotool.commands.shared.output import print_document
from hlotool.commands.shared.request import Request
from hlotool.commands.shared.usage_report import describe_usage
from hlotool.dump.names import short_path
from hlotool.dump.text_kind import TextKind
from hlotool.errors import UsageError
from hlotool.oom.message import parse_out_of_memory
from hlotool.oom.records import OutOfMemory
from hlotool.program.oom_match import Blamed, find_blamed
from hlotool.program.oom_need import SUSPICION, asks_for_main_memory, is_far_smaller, suspect
from hlotool.table import Document, InputPaths, Line, quote_braces
from hlotool.table.words import count_noun

_VERBS: Final = {"compile": "compiling", "load": "loading", "run": "running"}


class AskedDump(Struct, frozen=True):
    """The dump that is asked about; of a message's, what it may have, and a heading."""

    request: Request
    limit_bytes: int | None = None
    lines: tuple[Line, ...] = ()


def answer_text(
    request: Request, dump: str | None, given: dict[str, bool], options: RowOptions
) -> AskedDump | None:
    """Answer about PATH if it is no dump; return the dump that is to be shown, if any.

    `given` says which options are given that ask about a program.
    """
    file = request.find_other(TextKind.OUT_OF_MEMORY, TextKind.MEMORY_REPORT)
    if file is not None and file.kind is TextKind.MEMORY_REPORT:
        _refuse_without_dump(given, "a memory-usage report")
        print_document(describe_usage(file, request, "spaces", "allocations", "rows"), options)
        return None
    if file is None:
        if dump is not None:
            raise UsageError("--dump goes with an out-of-memory message; this is a dump itself.")
        return AskedDump(request)
    message = parse_out_of_memory(file.read())
    if dump is not None:
        return _find_program(message, request, dump)
    _refuse_without_dump(given, "an out-of-memory message")
    print_document(_document_of(message, request), options)
    return None


def _document_of(message: OutOfMemory, request: Request) -> Document:
    """Return the answer about a message alone."""
    report = report_out_of_memory(message)
    return Document(
        choose_message_columns(report.rows),
        InputPaths(request.path),
        rows={"rows": report.rows, "parts": report.parts},
        scalars=report.figures,
        lines=_heading(report.figures),
        notes=_notes(report),
        shown=tuple(
            name for name, rows in (("rows", report.rows), ("parts", report.parts)) if rows
        ),
    )


def _heading(figures: MessageFigures) -> tuple[Line, ...]:
    """Say what was asked and what was there."""
    where = f" in {figures.space}" if figures.space else ""
    program = f" {figures.program}" if figures.program else ""
    device = f" on {figures.device}" if figures.device else ""
    figured = [
        text
        for text, value in (
            ("{requested_bytes} asked", figures.requested_bytes),
            ("{available_bytes} there", figures.available_bytes),
            ("{missing_bytes} too much", figures.missing_bytes),
        )
        if value is not None
    ]
    said = ", ".join(figured) or "the message does not say what was asked"
    before = quote_braces(f"out of memory{where} when {_VERBS[figures.when]}{program}{device}: ")
    lines = [Line(before + said, MESSAGE_FIGURES, figures)]
    if figures.listed_bytes is not None and figures.listed_count:
        is_padded = figures.listed_padding_bytes is not None
        padded = ", {listed_padding_bytes} of it padding" if is_padded else ""
        lines.append(
            Line(f"the listed buffers hold {{listed_bytes}}{padded}", MESSAGE_FIGURES, figures)
        )
    return tuple(lines)


def _notes(report: MessageReport) -> tuple[Line, ...]:
    """Say what the reader should know about the figures, and what to do next."""
    figures = report.figures
    notes = []
    if figures.message_count > 1:
        others = "{message_count} messages of different sizes; this is the last."
        notes.append(Line(others, MESSAGE_FIGURES, figures))
    if not figures.is_complete:
        notes.append(Line("The message is cut: its beginning or the end of its list is missing."))
    if figures.is_rounded:
        notes.append(Line("The message rounds what was asked; bytes are as exact as its digits."))
    notes.append(Line("--dump DIR, a dump of the program, shows who to shrink, and by how much."))
    return tuple(notes)


def _refuse_without_dump(options: dict[str, bool], what: str) -> None:
    """Refuse options that ask for what only a program has."""
    given = [name for name, is_given in options.items() if is_given]
    if given:
        how = "; name the dump of the program with --dump DIR" * what.endswith("message")
        raise UsageError(f"{given[0]} asks about a program, and this is {what}{how}.")


def _find_program(message: OutOfMemory, request: Request, dump: str) -> AskedDump:
    """Return the program of a message."""
    asked = replace(request, path=dump, found=None, told=set())
    found = asked.find()
    blamed = find_blamed(message, found)
    say(_tell(blamed, message, found.path))
    asked.found = replace(found, inputs=(blamed.chosen,))
    figures = report_out_of_memory(message).figures
    limit = figures.limit_bytes if asks_for_main_memory(message) else None
    return AskedDump(asked, limit, (*_heading(figures), *_say_fit(message, blamed, limit)))


def _tell(blamed: Blamed, message: OutOfMemory, path: str) -> str:
    """Say which program it is, and how that is known."""
    name = blamed.chosen.name or blamed.chosen.path
    if not blamed.is_found:
        listed = ", and what it lists does not stand in this one" if message.buffers else ""
        return f"The message names no program{listed}; this is {name}, the only one there is."
    place = short_path(blamed.chosen.path, path)
    listed_count = len(message.buffers)
    by_list = f"by {blamed.matched_count:,} of {listed_count:,} listed buffers"
    how = [
        *(["by its name"] if blamed.is_named else []),
        *([by_list] if listed_count else []),
        *([f"by its size, in {place}"] if blamed.is_by_size else []),
    ]
    count = blamed.rival_count
    others = count_noun(count, "other fits", "others fit")
    rivals = f"; {others} as well" if count else ""
    begin = (
        f"No program found needs what the message asks; the nearest is {name}"
        if is_far_smaller(message, blamed.need)
        else f"The message is about {name}"
    )
    return f"{begin}, found {' and '.join(how)}{rivals}."


def _say_fit(message: OutOfMemory, blamed: Blamed, limit_bytes: int | None) -> tuple[Line, ...]:
    """Say what speaks against the program, and whether it fits in what was there.

    Where that is the limit, what is said of every program with a limit says it.
    """
    found = suspect(message, blamed.need)
    if found is None:
        return ()
    lines = []
    asked = "the message asks {requested_bytes}"
    if found.is_excluded:
        text = (
            f"this program needs {{needed_bytes}} at most, {asked}: it is not of this compilation"
        )
        lines.append(Line(text, SUSPICION, found, tone="error"))
    elif found.is_doubtful:
        text = f"this program needs {{needed_bytes}}, {asked}: it may be of another compilation"
        lines.append(Line(text, SUSPICION, found, tone="error"))
    if found.available_bytes is not None and found.available_bytes != limit_bytes:
        verdict = {
            True: "it fits",
            False: "it does not fit",
            None: "only its temporaries, {temp_bytes}, fit",
        }[found.fits]
        text = f"this program needs {{needed_bytes}}, {{available_bytes}} were there: {verdict}"
        lines.append(Line(text, SUSPICION, found, tone="error" if found.fits is False else ""))
    return tuple(lines)
