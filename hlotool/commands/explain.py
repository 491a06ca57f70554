"""`hlotool explain`: what a number, a column, a word, an exit code or an option means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from hlotool.commands.explain_terms import Meaning, collect_meanings
from hlotool.commands.shared.command import write_text
from hlotool.commands.shared.complete import complete_term
from hlotool.commands.shared.help import HelpfulCommand
from hlotool.commands.shared.output import find_width
from hlotool.errors import UsageError
from hlotool.query.names import suggest

_EXAMPLES = (
    "hlotool explain wire_bytes",
    "hlotool explain exposed-collective",
    "hlotool explain --threshold",
)
_WIDTH = 80  # at most
_INDENT = "    "


@click.command(
    "explain",
    cls=HelpfulCommand,
    examples=_EXAMPLES,
    context_settings={"ignore_unknown_options": True},
)
@click.argument("term", metavar="TERM", nargs=-1, required=True, shell_complete=complete_term)
def explain(term: Sequence[str]) -> None:
    """Say what TERM means, in each command that has it, and how it is counted.

    TERM is a field or the heading of a column, a metric, a row list, an option, a finding, a class
    of memory, an exit code, a chip, or any other word that a field can be.
    """
    asked = " ".join(term)
    meanings = collect_meanings()
    found = meanings.get(normalize(asked))
    if found is None:
        raise UsageError(f"nothing is called {asked!r}; {suggest(normalize(asked), meanings)}")
    width = min(_WIDTH, find_width() or _WIDTH)
    write_text((line for meaning in found for line in _write(meaning, width)), "")


def normalize(term: str) -> str:
    """Write a term as it is looked up: `exit code 3` is `exit 3`."""
    return " ".join(term.lower().removeprefix("exit code").split())


def _write(meaning: Meaning, width: int) -> Iterator[str]:
    """Write one meaning: what it is and where, then the text below it."""
    yield f"{click.wrap_text(meaning.what, width, subsequent_indent='  ')}\n"
    for paragraph in meaning.says:
        yield f"{click.wrap_text(paragraph, width, _INDENT, _INDENT)}\n"


DOCUMENTS = ()
