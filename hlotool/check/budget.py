"""Is what a key of a configuration says a regular expression?

On which line of a configuration does a key stand? TOML's reader does not tell.

    line = [ blanks ] ( "[" … "]" | key [ blanks ] "=" … ) | anything else

Keys are told by their first line; what stands inside a text of several lines is none.

One budget as written: a `[[budget]]` of a configuration, or an expression of `--budget`.

One `[[custom_call]]` as written: what calls to some targets compute and move.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.errors import UsageError
from hlotool.pattern import Pattern, PatternError, parse_pattern


def expect_pattern(text: str, key: str, place: str) -> Pattern:
    """Read the pattern of a key; raise UsageError, which names both, if it is none."""
    try:
        return parse_pattern(text)
    except PatternError as error:
        raise UsageError(
            f"{place}: {key} {text!r} is not a regular expression: {error}."
        ) from error


_HEADER: Final = re.compile(r"[ \t]*(\[.*)")
_KEY: Final = re.compile(r"[ \t]*([\"']?)([A-Za-z0-9_-]+)\1[ \t]*=")
_LONG_QUOTES: Final = re.compile(r'"""|\'\'\'')


class TableLines(Struct, frozen=True):
    """Where a table begins, 0 for the keys before any, and where each of its keys stands."""

    line: int
    keys: Mapping[str, int]

    def find(self, key: str) -> int:
        """Return the line of a key, else that of the table."""
        return self.keys.get(key, self.line)

    def place(self, config: str, key: str) -> str:
        """Return `hlotool.toml:4`, or the file alone where no line is known."""
        line = self.find(key)
        return f"{config}:{line}" if line else config


NO_LINES: Final = TableLines(0, {})


def find_tables(text: str) -> Iterator[tuple[str, TableLines]]:
    """Yield the headers of a file in order, with their tables; what stands before any is first."""
    header, begin, keys = "", 0, dict[str, int]()
    quotes = ""  # that a text of several lines will end with
    for number, line in enumerate(text.splitlines(), 1):
        is_inside = bool(quotes)
        quotes = _follow(line, quotes)
        if is_inside:
            continue
        if found := _HEADER.match(line):
            yield header, TableLines(begin, keys)
            header, begin, keys = found[1], number, {}
        elif key := _KEY.match(line):
            keys.setdefault(key[2], number)
    yield header, TableLines(begin, keys)


def _follow(line: str, quotes: str) -> str:
    """Return the quotes that a text goes on to behind a line, '' where none is open."""
    for found in _LONG_QUOTES.finditer(line):
        quotes = found[0] if not quotes else "" if quotes == found[0] else quotes
    return quotes


KINDS: Final = ("expression", "metric", "forbid", "require")
LIMITS: Final = ("max", "min", "max_increase", "max_increase_abs")

Severity: TypeAlias = Literal["error", "warning"]
Limit: TypeAlias = str | int | float | None  # a number, or a text such as "8GiB" or "2%"


class BudgetTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a `[[budget]]`; None where one is not given."""

    expression: str | None = None
    metric: str | None = None
    forbid: str | None = None
    require: str | None = None
    name: str = ""
    module: str = ""
    message: str = ""
    severity: Severity = "error"
    max: Limit = None
    min: Limit = None
    max_increase: Limit = None
    max_increase_abs: Limit = None

    def __post_init__(self) -> None:
        """Raise ValueError for keys that do not go together, and for a limit that is no number."""
        kinds = [key for key in KINDS if getattr(self, key) is not None]
        limits = [key for key in LIMITS if getattr(self, key) is not None]
        for key in limits:
            limit = getattr(self, key)
            if isinstance(limit, float) and not math.isfinite(limit):
                raise ValueError(f"{key} must be a number, not {limit}")
        if len(kinds) != 1:
            found = " and ".join(kinds) or "none"
            raise ValueError(
                f"a budget needs exactly one of {', '.join(KINDS)}; this one has {found}"
            )
        if kinds == ["metric"] and not limits:
            raise ValueError(f"a metric needs a limit: one of {', '.join(LIMITS)}")
        if kinds != ["metric"] and limits:
            raise ValueError(f"{limits[0]} goes with metric, not with {kinds[0]}")

    @property
    def kind(self) -> str:
        """The one of KINDS that it has."""
        return next(key for key in KINDS if getattr(self, key) is not None)

    @property
    def text(self) -> str:
        """What it says: the expression, the metric, or `rows: condition`."""
        return str(getattr(self, self.kind))

    @property
    def title(self) -> str:
        """Its name, else what it says."""
        said = f"{self.kind} {self.text}" if self.kind in {"forbid", "require"} else self.text
        return self.name or said


class Budget(BudgetTable, frozen=True, kw_only=True):
    """One budget as written; `lines` says where, none where it came from the command line."""

    lines: TableLines = NO_LINES

    @property
    def line(self) -> int:
        """Where it begins, 0 where that is not known."""
        return self.lines.line

    def place(self, config: str, key: str) -> str:
        """Return where a key of it stands, `hlotool.toml:4`; without a file, the option."""
        return self.lines.place(config, key) or "--budget"


Count: TypeAlias = str | int | float | None  # an expression, or a number as it stands


class CustomCallTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a `[[custom_call]]`; None where one is not given."""

    target: str = ""
    flops: Count = None
    bytes: Count = None

    def __post_init__(self) -> None:
        """Raise ValueError for one that is about no call, or says nothing."""
        if not self.target:
            raise ValueError("a custom_call needs a target")
        if self.flops is None and self.bytes is None:
            raise ValueError("a custom_call needs flops, bytes or both")


class WrittenCall(CustomCallTable, frozen=True, kw_only=True):
    """A `[[custom_call]]`; `lines` says where it stands, none where that is not known."""

    lines: TableLines = NO_LINES
