"""What goes to stderr, as stdout is for answers only; and how estimates are written everywhere.

Imported before any command is: nothing here may load an analysis or a renderer with it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from hlotool.text import disarm_lines, escape

if TYPE_CHECKING:
    from hlotool.analysis.graph.backend import Backend
    from hlotool.analysis.memory.estimate import Promised
    from hlotool.analysis.memory.figures import MemoryEstimate

_MOST_TOLD: Final = 3  # lines; of fewer errors each is told as it stands
# What stands before the reason: a path, mostly with a line and a column.
_ERROR: Final = re.compile(r"(?P<place>.+?(?::\d+){0,2}): (?P<reason>.+)")
_DETAIL: Final = re.compile(r"'[^']*'|\d+")  # names and numbers, in which alike reasons differ
_PROMISED: Final[dict[Promised, str]] = {
    "peak": "peak_bytes",
    "temp_peak": "temp_peak_bytes",
    "allocated": "allocated_bytes",
}


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


def fold_alike(errors: Sequence[str], rest: str) -> list[str]:
    """Return the errors, alike ones as one line with their count, the most frequent first.

    Of many kinds those that are left are counted, and `rest` says what shows them.
    """
    if len(errors) <= _MOST_TOLD:
        return list(errors)
    groups: dict[str, list[str]] = {}
    for error in errors:
        found = _ERROR.match(error)  # the first line; what it quotes of the file is below
        groups.setdefault(_DETAIL.sub("…", found["reason"] if found else error), []).append(error)
    kinds = sorted(groups.values(), key=len, reverse=True)
    told = [_tell(kind) for kind in kinds[:_MOST_TOLD]]
    left = sum(map(len, kinds[_MOST_TOLD:]))
    is_all = len(told) == len(errors)
    more = f"… and {left:,} more of {len(errors):,} errors; {rest}"
    return told if is_all else [*told, more if left else f"{len(errors):,} errors; {rest}"]


def _tell(errors: Sequence[str]) -> str:
    """Tell one error as it stands, of several the reason and the first place."""
    found = _ERROR.match(errors[0])
    if found is None or not errors[1:]:
        return errors[0]
    return f"{len(errors):,} files, first {found['place']}: {found['reason']}"


def write_promised(
    figure: Promised, estimated: MemoryEstimate, backend: Backend | None, color: int = 0
) -> str:
    """Return the template of a figure, `{peak_bytes} (typically within 1 %)`.

    The temp peak of space 0 is an upper bound on TPU.
    """
    from hlotool.analysis.memory.estimate import find_promise  # noqa: PLC0415  start-up time

    name = _PROMISED[figure]
    size: int | None = getattr(estimated, name)
    promise = find_promise(figure, backend, color)
    if promise is not None and size is not None:
        return f"{{{name}}} (typically {promise.words(size)})"
    is_most = figure == "temp_peak" and backend == "tpu" and not color
    return f"at most {{{name}}}" if is_most else f"{{{name}}}"
