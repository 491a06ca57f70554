"""Do `--where` and `--sort` read anything? Not a figure that no row tells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from hlotool.commands.shared.row_options import RowOptions
from hlotool.commands.shared.say import say
from hlotool.fields import Document, Field, RowList
from hlotool.query.order import sort_keys

# How meanings say what a figure comes from: "with --chip: estimated time of …".
_NEEDS: Final = re.compile(r"(with --[^:]+|from a profile):")


def say_unknown_fields(target: RowList | None, document: Document, options: RowOptions) -> None:
    """Say on stderr which fields no row tells by which rows are kept or sorted, and what would.

    For `--where` only if no row is left. Groups have no field that none of their rows tells: they
    are refused.
    """
    rows = document.rows.get(target.name, ()) if target else ()
    if target is None or not rows:
        return
    if options.where:
        for field in _find_emptying(target, rows, options.where):
            say(f"--where keeps nothing: no row tells {field.name}{_say_needs(field)}.")
    if options.sort and not options.by:
        for field in _find_unsorted(target, rows, options.sort):
            say(f"--sort {field.name} orders nothing: no row tells it{_say_needs(field)}.")


def _find_emptying(target: RowList, rows: Sequence[object], where: str) -> list[Field]:
    """Return the fields read that no row tells, if no row is kept."""
    from hlotool.query.where import compile_where, find_fields  # noqa: PLC0415  slow to import

    read = find_fields(where, target.fields)
    unknown = [field for field in read if all(field.getter()(row) is None for row in rows)]
    holds = compile_where(where, target.fields)
    return unknown if unknown and not any(holds(row) for row in rows) else []


def _find_unsorted(target: RowList, rows: Sequence[object], sort: str) -> Iterator[Field]:
    """Yield the fields to sort by that no row tells, nor what counts `once` in their place."""
    for _, field in sort_keys(target, sort):
        names = filter(None, (field.name, field.once))
        reads = [target.field(name).getter() for name in names]
        if all(read(row) is None for row in rows for read in reads):
            yield field


def _say_needs(field: Field) -> str:
    """Say what makes a field known, where its meaning does."""
    needs = _NEEDS.match(field.meaning)
    return f"; it is known {needs[1]}" if needs else ""
