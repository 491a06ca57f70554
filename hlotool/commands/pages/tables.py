"""The tables of `hlotool report`: the lists of the commands, and what a click in a row tells."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from hlotool.fields import RowList
from hlotool.query.select import Query, select_rows
from hlotool.render.report.tables import MOST_ROWS, FindLink, Link, PageTable, make_table


class Listed(Struct, frozen=True):
    """A list that is a table of the page, if it has rows."""

    anchor: str
    title: str
    row_list: RowList
    rows: Sequence[object]
    find_link: FindLink


def list_tables(*lists: Listed) -> tuple[PageTable, ...]:
    """Write lists as tables, the largest rows first, and leave out those without a row."""
    return tuple(
        make_table(
            each.anchor,
            each.title,
            select_rows(each.row_list, each.rows, Query(default_limit=MOST_ROWS)),
            each.find_link,
        )
        for each in lists
        if each.rows
    )


def link_by(name: str, text: str = "") -> FindLink:
    """Return what finds the instruction that a row names, and the cell that shows it."""

    def find(record: object) -> Link | None:
        found = getattr(record, name)
        return Link(getattr(record, text or name), found) if found else None

    return find


def no_link(record: object) -> Link | None:  # noqa: ARG001  as the others
    """Link nothing."""
    return None
