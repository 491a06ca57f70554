"""The commands to go on with: each runs as it stands, and tells more of what an answer shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import click

from hlotool.commands.shared.messages import quote_command
from hlotool.commands.shared.options import repeat_command
from hlotool.dump.read import STDIN
from hlotool.table import Document, Selection
from hlotool.table.document import find_main

# What chooses a dump, or two, whatever is asked of them.
DUMP: Final = ("path", "stage", "module", "buffers", "live_range", "module_text", "config")
_PAIR: Final = ("sides", "stage", "module", "renamed", "strict", "config")
_NOT_AGAIN: Final = frozenset({"output", "color", "budget", "history", "time", "commit"})
_OF_ONE: Final = frozenset(
    {"summary", "buffers", "fusions", "collectives", "shardings", "outline", "show"}
)
_OF_PROGRAMS: Final = frozenset({"summary-directory", "programs", "diff-directory"})
_NAMES: Final = ("instruction", "name", "names")  # of a row: what `show` tells of
_UNSHOWN: Final = frozenset({"spaces", "results"})  # lists whose rows have names of their own
_SIDES: Final = ("old_path", "new_path")
# What goes on after a summary, and the block that is there where it has an answer.
_AFTER_SUMMARY: Final = {
    "buffers": "memory",
    "fusions": "module",
    "collectives": "module",
    "outline": "module",
}


def list_next(document: Document, selections: Sequence[Selection]) -> list[str]:
    """Return what to type next, the nearest first; nothing where no command line was typed.

    `selections` are the lists that were asked for, of which the first row is followed.
    """
    context = click.get_current_context(silent=True)
    return [] if context is None else list(dict.fromkeys(_list_next(context, document, selections)))


def repeat_longer(most: int) -> str:
    """Return the command line as typed, for an answer four times as long."""
    if (context := click.get_current_context(silent=True)) is None:
        return ""
    names = (each.name or "" for each in context.command.params)
    kept = frozenset(names) - _NOT_AGAIN
    kept |= {"history"} if context.params.get("trend") else set()
    return repeat_command(kept, "--max-chars", str(4 * most))


def _list_next(
    context: click.Context, document: Document, selections: Sequence[Selection]
) -> Iterator[str]:
    main = find_main([one for one in selections if one.row_list.name not in _UNSHOWN])
    row = main.rows[0] if main and not main.grouping else None
    typed = context.params.get("path") or context.params.get("sides") or ()
    paths = (typed,) if isinstance(typed, str) else tuple(typed)
    if STDIN not in paths:
        yield from _follow(context, document, row, paths)
    if document.spec.name == "fields" and row is not None:
        yield quote_command("explain", getattr(row, "name", ""))
    yield quote_command("fields", context.command.name or "")


def _follow(
    context: click.Context, document: Document, row: object, paths: tuple[str, ...]
) -> Iterator[str]:
    """Yield what tells more of the first row, and of its program; nothing without its text."""
    name, files = document.spec.name, document.input
    if name in _OF_ONE and (files is None or files.module_path):
        thing = next(filter(None, (getattr(row, each, None) for each in _NAMES)), "")
        thing = thing[0] if isinstance(thing, tuple) else thing
        if thing and not thing.startswith("-") and thing not in context.params.get("names", ()):
            yield repeat_command(DUMP, thing, command="show")
        after = ["summary"]
        if name == "summary":
            after = [each for each, one in _AFTER_SUMMARY.items() if document.blocks.get(one)]
        yield from (repeat_command(DUMP, command=each) for each in after)
    elif name == "check":
        yield repeat_command(DUMP, command="summary")
    elif name == "diff":
        changes = document.rows.get("instructions", ())
        changed = (one for one in changes if getattr(one, "change", "") == "changed")
        for one in islice(changed, 1):
            yield repeat_command(_PAIR, "--why", getattr(one, "name", ""))
    elif name in _OF_PROGRAMS:
        yield from _follow_program(row, paths)


def _follow_program(row: object, paths: tuple[str, ...]) -> Iterator[str]:
    """Yield what tells more of a program, or of a pair, where rows are programs."""
    place, sides = getattr(row, "place", ""), [getattr(row, each, None) for each in _SIDES]
    if all(sides):
        yield quote_command("diff", *map(str, sides))
    elif place and len(paths) == 1 and getattr(row, "error", None) is None:
        yield quote_command("summary", *paths, "--module", place)
