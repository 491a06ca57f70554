"""How a diagnostic reaches the user: on stderr, as stdout is for answers only.

Which of many errors say the same of several files?
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from hlotool.text import disarm_lines, escape


def say_all(notes: Iterable[str]) -> None:
    """Print diagnostics, each once, in order."""
    for note in dict.fromkeys(notes):
        say(note)


def say(*lines: str) -> None:
    """Print a diagnostic on stderr; in each of its lines the text of others is escaped."""
    if sys.stderr is not None:  # started with stderr closed
        message = "\n".join(map(escape, lines))
        with suppress(OSError):  # whoever read it has gone away: the answer still counts
            sys.stderr.write(disarm_lines(f"hlotool: {message}\n"))


MOST_TOLD: Final = 3  # lines; of fewer errors each is told as it stands
# What stands before the reason: a path, mostly with a line and a column.
_ERROR: Final = re.compile(r"(?P<place>.+?(?::\d+){0,2}): (?P<reason>.+)")
_DETAIL: Final = re.compile(r"'[^']*'|\d+")  # names and numbers, in which alike reasons differ


def fold_alike(errors: Sequence[str], rest: str) -> list[str]:
    """Return the errors, alike ones as one line with their count, the most frequent first.

    Of many kinds those that are left are counted, and `rest` says what shows them.
    """
    if len(errors) <= MOST_TOLD:
        return list(errors)
    groups: dict[str, list[str]] = {}
    for error in errors:
        found = _ERROR.match(error)  # the first line; what it quotes of the file is below
        groups.setdefault(_DETAIL.sub("…", found["reason"] if found else error), []).append(error)
    kinds = sorted(groups.values(), key=len, reverse=True)
    told = [_tell(kind) for kind in kinds[:MOST_TOLD]]
    left = sum(map(len, kinds[MOST_TOLD:]))
    is_all = len(told) == len(errors)
    more = f"… and {left:,} more of {len(errors):,} errors; {rest}"
    return told if is_all else [*told, more if left else f"{len(errors):,} errors; {rest}"]


def _tell(errors: Sequence[str]) -> str:
    """Tell one error as it stands, of several the reason and the first place."""
    found = _ERROR.match(errors[0])
    if found is None or not errors[1:]:
        return errors[0]
    return f"{len(errors):,} files, first {found['place']}: {found['reason']}"
