"""Values that the shell completes, without reading a dump.

    eval "$(_HLOTOOL_COMPLETE=bash_source hlotool)"

Fields and row lists are those of the command, modules those that the names of files tell. What
only one command completes stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from hlotool.errors import HlotoolError
from hlotool.table import DocumentSpec, RowList

_SIGNS = "+-"


def complete_rows(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete --rows: the row lists of the command."""
    del param
    return match_words(((rows.name, rows.meaning) for rows in _list_rows(ctx)), incomplete)


def complete_fields(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the last of several fields, of the rows that --rows names, else of all."""
    del param
    *before, last = incomplete.split(",")
    sign = last[:1] if last[:1] in _SIGNS and last else ""
    start = "".join(f"{one}," for one in before) + sign
    fields = (field for rows in _list_rows(ctx, chosen=True) for field in rows.fields)
    named = dict.fromkeys((f"{start}{one.name}", one.meaning) for one in fields)
    return match_words(named, incomplete)


def complete_chip(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete --chip: those that are known without a file."""
    del ctx, param
    from hlotool.analysis.cost.chips import list_chips  # noqa: PLC0415  start-up time

    return match_words(list_chips().items(), incomplete)


def complete_space(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete --space: the names that backends give their memory spaces, and all."""
    del ctx, param
    from hlotool.analysis.graph.backend import SPACE_NAMES  # noqa: PLC0415  start-up time

    return match_words(((name, "") for name in (*sorted(SPACE_NAMES), "all")), incomplete)


def complete_module(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete --module: the modules of the directory that PATH, or one of several, names."""
    del param
    from hlotool.dump.find import resolve_inputs  # noqa: PLC0415  start-up time

    names: list[tuple[str, str]] = []
    for path in ctx.args:  # click gives arguments their names only once every option has its value
        try:
            names += [(one.name, path) for one in resolve_inputs(path.rpartition("=")[2]).inputs]
        except HlotoolError:
            continue
    return match_words(dict(names).items(), incomplete)


def _list_rows(ctx: click.Context, *, chosen: bool = False) -> list[RowList]:
    """Return the row lists of the command, or the one that --rows chooses."""
    specs: tuple[DocumentSpec, ...] = getattr(ctx.command, "specs", ())
    lists = [rows for spec in specs for rows in spec.row_lists]
    wanted = ctx.params.get("rows") if chosen else ""
    return [rows for rows in lists if rows.name == wanted] or lists


def match_words(named: Iterable[tuple[str, str]], incomplete: str) -> list[CompletionItem]:
    """Return what begins with what is there, each once."""
    found = {name: meaning for name, meaning in named if name.startswith(incomplete)}
    return [CompletionItem(name, help=meaning or None) for name, meaning in found.items()]
