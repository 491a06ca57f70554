"""`hlotool explain`: what a number, a column, a word, an exit code or an option means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import click

from hlotool.commands.explaining.terms import Meaning, collect_meanings
from hlotool.commands.shared.command import write_text
from hlotool.commands.shared.complete import complete_term
from hlotool.commands.shared.help import HelpfulCommand
from hlotool.commands.shared.output import find_width
from hlotool.errors import UsageError
from hlotool.fields.near_names import either
from hlotool.query.names import suggest
from hlotool.render.prose import wrap

_EXAMPLES = (
    "hlotool explain wire_bytes",
    "hlotool explain exposed-collective",
    "hlotool explain --threshold",
)
_WIDTH = 80  # at most
_INDENT = "    "
_MOST_MENTIONS: Final = 4


@click.command(
    "explain",
    cls=HelpfulCommand,
    examples=_EXAMPLES,
    context_settings={"ignore_unknown_options": True},
)
@click.argument("term", metavar="TERM", nargs=-1, required=True, shell_complete=complete_term)
def explain(term: Sequence[str]) -> None:
    """Say what TERM means, in each command that has it, and how it is counted.

    TERM is a field or the heading of a column, a metric, a part or a row list, an option or its
    value, a finding, a reason of a diff, a class of memory, an exit code, a chip, a mark such as
    ≥, or any other word that a field can be.
    """
    asked = " ".join(term)
    meanings = collect_meanings()
    found = find_meanings(asked, meanings)
    if not found:
        raise UsageError(f"nothing is called {asked!r}; {_hint(normalize(asked), meanings)}")
    width = min(_WIDTH, find_width() or _WIDTH)
    write_text((line for meaning in found for line in _write(meaning, width)), "")


def find_meanings(asked: str, meanings: Mapping[str, tuple[Meaning, ...]]) -> tuple[Meaning, ...]:
    """Return what a term means; its words may be joined as in names. () if nothing is called so."""
    term = normalize(asked)
    spelled = (term, term.replace(" ", "_"), term.replace(" ", "-"))
    return next((meanings[one] for one in spelled if one in meanings), ())


def normalize(term: str) -> str:
    """Write a term as it is looked up: `exit code 3` is `3`."""
    return " ".join(term.lower().removeprefix("exit code").split())


def _hint(term: str, meanings: Mapping[str, tuple[Meaning, ...]]) -> str:
    """Name what speaks of a word, else what is spelled like it."""
    word = re.compile(rf"\b{re.escape(term)}s?\b", re.IGNORECASE)
    speaks = (
        name
        for name, found in meanings.items()
        if any(word.search(text) for one in found for text in one.says)
    )
    named = [name for name, _ in zip(speaks, range(_MOST_MENTIONS), strict=False)]
    if named:
        return f"try explain {either(named)}."
    return suggest(term, meanings)


def _write(meaning: Meaning, width: int) -> Iterator[str]:
    """Write one meaning: what it is and where, then the text below it."""
    yield f"{wrap(meaning.what, width, '  ')}\n"
    for paragraph in meaning.says:
        yield f"{wrap(_INDENT + paragraph, width)}\n"


DOCUMENTS = ()
