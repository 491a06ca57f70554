"""What goes to stderr, as stdout is for answers only; an error is an answer where JSON is.

Imported before any command is: nothing here may load an analysis or a renderer with it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

import click
from msgspec import to_builtins
from msgspec.structs import replace

from hlotool.errors import ErrorAnswer, HlotoolError, UsageError
from hlotool.text import cut_secrets, disarm_lines, encode_json, escape

_MOST_TOLD: Final = 3  # lines; of fewer errors each is told as it stands
# What stands before the reason: a path, mostly with a line and a column.
_ERROR: Final = re.compile(r"(?P<place>.+?(?::\d+){0,2}): (?P<reason>.+)")
_PLAIN: Final = re.compile(r"[\w@+:,./-]+", re.ASCII)  # a shell takes it as it stands
_BARE: Final = frozenset("\\'")
_AWKWARD: Final = re.compile(r"([\\'])")
_DETAIL: Final = re.compile(r"'[^']*'|\d+")  # names and numbers, in which alike reasons differ


def say_all(notes: Iterable[str]) -> None:
    """Print diagnostics, each once, in order."""
    for note in dict.fromkeys(notes):
        say(note)


def say(*lines: str) -> None:
    """Print a diagnostic on stderr; in each of its lines the text of others is escaped.

    Secrets of a URL are cut here too: what click says of a command line quotes it.
    """
    if sys.stderr is not None:  # started with stderr closed
        message = cut_secrets("\n".join(map(escape, lines)))
        with suppress(OSError):  # whoever read it has gone away: the answer still counts
            sys.stderr.write(disarm_lines(f"hlotool: {message}\n"))


def write_error(error: ErrorAnswer) -> None:
    """Print an error on stdout, as JSON, where JSON was to be the answer, without secrets too."""
    if sys.stdout is not None:  # started with stdout closed
        shown = replace(
            error, error=cut_secrets(error.error), hint=error.hint and cut_secrets(error.hint)
        )
        with suppress(OSError):  # whoever read it has gone away
            sys.stdout.write(f"{encode_json(to_builtins(shown), indent=2)}\n")
            sys.stdout.flush()


def say_error(error: HlotoolError | click.ClickException) -> ErrorAnswer:
    """Say what is wrong on stderr, and return it as an answer."""
    if isinstance(error, HlotoolError):
        say(*str(error).split("\n"))
        hint, sentence, code = error.hint, error.sentence(), error.exit_code
    else:
        context = error.ctx if isinstance(error, click.UsageError) else None
        hint = f"Try '{context.command_path} --help'." if context else ""
        sentence, code = error.format_message(), UsageError.exit_code
        say(sentence, *filter(None, (hint,)))
    return ErrorAnswer(error=sentence, hint=hint or None, exit_code=code)


def quote_command(*words: str) -> str:
    r"""Return a command line of hlotool that sh, bash, zsh and fish read alike.

    Backslashes and single quotes stand outside of quotes: fish reads them there as one character.

    >>> print(quote_command("show", "a b", "it's"))
    hlotool show 'a b' 'it'\''s'
    """
    return " ".join(["hlotool", *map(quote_word, words)])


def quote_word(word: str) -> str:
    """Return one word of it."""
    if _PLAIN.fullmatch(word):
        return word
    parts = _AWKWARD.split(word)
    return "".join(f"\\{one}" if one in _BARE else f"'{one}'" for one in parts if one) or "''"


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
    told = []
    for kind in kinds[:_MOST_TOLD]:
        found = _ERROR.match(kind[0]) if kind[1:] else None
        first = f"{len(kind):,} files, first {found['place']}: {found['reason']}" if found else ""
        told.append(first or kind[0])
    left = sum(map(len, kinds[_MOST_TOLD:]))
    more = f"… and {left:,} more of " if left else ""
    return [*told, f"{more}{len(errors):,} errors; {rest}"]
