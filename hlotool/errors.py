"""Every exception hlotool raises on purpose, and the exit code each one stands for.

All derive from `HlotoolError`, so that `cli` catches one class, prints `str(error)` and
exits with `error.exit_code`; anything else is a bug, and said to be one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from msgspec import Meta, Struct

from hlotool import __version__
from hlotool.text import Source, escape

# What each exit code of the program means.
EXIT_CODES: Final[Mapping[int, str]] = {
    0: "success",
    1: "a budget is exceeded, or `diff --exit-code` found a difference",
    2: "a wrong option, expression or configuration",
    3: "an input is missing, unreadable or not a dump; the message gives `file:line:column`",
    4: "nothing was checked: no module matched, or a budget measured nothing",
    70: "an internal error, a bug of hlotool: please report it; `HLOTOOL_DEBUG=1` prints the "
    "traceback",
    130: "Ctrl-C",
}
ERROR_SCHEMA: Final = "hlotool/error/v1"
_WINDOW = 96  # characters of a long line shown around the caret


class ErrorAnswer(Struct, frozen=True, kw_only=True, tag_field="schema", tag=ERROR_SCHEMA):
    """What stands on stdout where JSON was asked for, and an error is the answer."""

    hlotool_version: Annotated[str, Meta(description="the version of hlotool")] = __version__
    error: Annotated[str, Meta(description="the error, as printed on stderr")]
    hint: Annotated[str | None, Meta(description="a remedy; null if unknown")] = None
    exit_code: Annotated[int, Meta(description="the exit code of the program")]
    next: Annotated[tuple[str, ...], Meta(description="commands to run next")] = ()


class HlotoolError(Exception):
    """Base class; the message is one or more complete sentences for the user.

    Each argument is a line, in which the text of others, names and paths, is escaped.
    """

    exit_code: ClassVar[int] = 3
    hint: str = ""

    def __init__(self, *lines: str) -> None:
        super().__init__(*lines)
        self.lines = lines

    def sentence(self) -> str:
        """Return what is wrong, without an excerpt; the text of others stands as it is."""
        return "\n".join(self.lines)

    def __str__(self) -> str:
        """Render the lines."""
        return "\n".join(map(escape, self.lines))


class InputError(HlotoolError):
    """The input is missing, unreadable, or not a dump; there is no place to point to."""


class BudgetError(InputError):
    """More comes of a file than may be fetched and unpacked; no file beside it takes its place."""


class PlacedError(HlotoolError):
    """An error at a span [start, end) of a text, printed with an excerpt and a caret."""

    def __init__(self, message: str, source: Source, start: int, end: int, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.source = source
        self.start = min(start, len(source.text))
        self.end = max(end, self.start + 1)
        self.hint = hint

    def __str__(self) -> str:
        """Render the sentence, then the excerpt."""
        return f"{escape(self.sentence())}\n{self.excerpt()}"

    def sentence(self) -> str:
        """Return `name:line:column: message`."""
        line, column = self.source.location(self.start)
        return f"{self.source.name}:{line}:{column}: {self.message}"

    def excerpt(self) -> str:
        """Draw the offending line, cut to a window, with carets under the span."""
        line, column = self.source.location(self.start)
        text = self.source.line_at(self.start).replace("\t", " ")
        first = 0 if len(text) <= _WINDOW else max(0, column - 1 - _WINDOW // 2)
        shown = text[first : first + _WINDOW]
        before, after = "…" * (first > 0), "…" * (first + _WINDOW < len(text))
        begin = column - 1 - first
        indent = len(before) + len(escape(shown[:begin]))
        marked = len(escape(shown[begin : begin + self.end - self.start]))
        gutter = " " * len(str(line))
        lines = [
            f"{gutter} |",
            f"{line} | {before}{escape(shown)}{after}",
            f"{gutter} | {' ' * indent}{'^' * max(1, marked)}",
        ]
        if self.hint:
            lines.append(f"{gutter} = hint: {escape(self.hint)}")
        return "\n".join(lines)


class ParseError(PlacedError):
    """The dump is not what its grammar allows."""


class QueryError(PlacedError):
    """An expression the user typed does not parse, or names what is not there."""

    exit_code = 2

    def sentence(self) -> str:
        """Return `--where: message (column N)`."""
        _, column = self.source.location(self.start)
        return f"{self.source.name}: {self.message} (column {column})"


class UsageError(HlotoolError):
    """The options contradict each other, or name what does not exist."""

    exit_code = 2


class MissingPackageError(InputError):
    """The input can be read, but not without an optional package that is not installed.

    The exit code is that of an option which needs one: what is wrong is not the file.
    """

    exit_code = 2


class NothingCheckedError(HlotoolError):
    """No module matched, or a rule matched nothing: silence would look like success."""

    exit_code = 4
