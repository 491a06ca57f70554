"""Does `--sort` order anything? Not by a figure that no row tells."""

from __future__ import annotations

import re
from typing import Final

from hlotool.commands.shared.row_options import RowOptions
from hlotool.commands.shared.say import say
from hlotool.fields import Document, RowList
from hlotool.query.order import sort_keys

# How meanings say what a figure comes from: "with --chip: estimated time of …".
_NEEDS: Final = re.compile(r"(with --[^:]+|from a profile):")


def say_unknown_sort(target: RowList | None, document: Document, options: RowOptions) -> None:
    """Say on stderr which of the fields sorted by no row tells, and what would.

    Groups have no field that none of their rows tells: they are refused.
    """
    rows = document.rows.get(target.name, ()) if target else ()
    if target is None or options.by or not rows:
        return
    for _, field in sort_keys(target, options.sort):
        names = filter(None, (field.name, field.once))
        reads = [target.field(name).getter() for name in names]
        if all(read(row) is None for row in rows for read in reads):
            needs = _NEEDS.match(field.meaning)
            said = f"; it is known {needs[1]}" if needs else ""
            say(f"--sort {field.name} orders nothing: no row tells it{said}.")
