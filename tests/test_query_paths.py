"""Paths in rows: numbered siblings are one row and one group, and open on request."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Struct
from msgspec.structs import replace

from hlotool.table import BYTES, TIMES, Fold, RowList, Selection, column, figure
from hlotool.table.cells import Look, make_cells
from hlotool.table.document import Various
from hlotool.table.select import Query, select_rows
from hlotool.table.terminal import render_table


class Placed(Struct, frozen=True):
    """A row with a path, and with lines that stand below it."""

    name: Annotated[str, column("its name")]
    scope: Annotated[str | None, column("its path", is_path=True, null_text="")]
    size_bytes: Annotated[int, column("its size", BYTES)]
    count: Annotated[int, figure("equal ones", TIMES)] = 1
    owner: Annotated[str | None, figure("its owner", is_path=True)] = None
    calls: Annotated[tuple[str, ...] | None, figure("what led to it", is_below=True)] = None


PLACED = RowList(
    "placed",
    Placed,
    "rows, largest first",
    sort="-size_bytes",
    size="size_bytes",
    fold=Fold(keys="scope", name="name"),
)
ROWS = (
    Placed("f.1", "layer_0/mlp", 8, owner="w[0]"),
    Placed("f.2", "layer_1/mlp", 8, owner="w[1]"),
    Placed("f.3", "layer_2/mlp", 8, owner="b"),
    Placed("f.4", "layer_0/norm", 4),
    Placed("f.5", "head_1", 2),
    Placed("f.6", None, 1),
)


def select(**query: Any) -> Selection:
    return select_rows(PLACED, ROWS, Query(**query))


def groups(**query: Any) -> list[tuple[object, int]]:
    grouping = select(**query).grouping
    assert grouping is not None
    return [(group.label, group.count) for group in grouping.groups]


def test_siblings_fold_to_what_they_share() -> None:
    rows = select(is_folded=True).rows
    assert [(row.name, row.scope, row.size_bytes) for row in rows] == [  # type: ignore[attr-defined]
        ("f.*", "layer_*/mlp", 24),
        ("f.4", "layer_0/norm", 4),
        ("f.5", "head_1", 2),
        ("f.6", None, 1),
    ]
    assert [row.owner for row in rows] == [Various(3), None, None, None]  # type: ignore[attr-defined]


def test_siblings_stay_apart_on_request() -> None:
    assert len(select(is_folded=True, keeps_numbers=True).rows) == len(ROWS)


def test_siblings_are_one_group() -> None:
    """`head_1` has no sibling, and keeps its number."""
    assert groups(by="scope") == [
        ("layer_*/mlp", 3),
        ("layer_0/norm", 1),
        ("head_1", 1),
        (None, 1),
    ]


def test_groups_open_on_request() -> None:
    assert groups(by="scope", keeps_numbers=True) == [
        ("layer_0/mlp", 1),
        ("layer_1/mlp", 1),
        ("layer_2/mlp", 1),
        ("layer_0/norm", 1),
        ("head_1", 1),
        (None, 1),
    ]


def test_what_is_no_path_still_differs() -> None:
    rows = (Placed("f.1", "a", 1, owner="x"), Placed("f.2", "a", 1, owner=None))
    (row,) = select_rows(PLACED, rows, Query(is_folded=True)).rows
    assert row.owner == Various(2)  # type: ignore[attr-defined]


def test_a_share_of_the_count_is_called_so() -> None:
    for size, title in (("size_bytes", "share"), ("", "of count")):
        rows = select_rows(replace(PLACED, size=size), ROWS, Query(by="scope"))
        assert make_cells(rows, "auto").columns[-1].title == title


def test_a_group_without_a_path_has_a_label() -> None:
    table = render_table(make_cells(select(by="scope"), "auto"), Look())
    assert table.split("\n")[-2].split() == ["(none)", "1", "1", "B", "3.2", "%"]


def test_lines_stand_below_their_row_whatever_the_columns() -> None:
    rows = (
        Placed("f", "a", 2, calls=("m.py:3 f", "m.py:9 main")),
        Placed("g", "b", 1, calls=None),
    )
    shown = PLACED.showing(PLACED.shown() | {"calls"})
    for columns in ("", "name,size_bytes", "-scope"):
        asked = Query(columns=columns, keeps_below=True)
        table = make_cells(select_rows(shown, rows, asked), "auto")
        assert "calls" not in [column.title for column in table.columns]
        lines = render_table(table, Look()).split("\n")[2:]
        assert [line.split("  ")[0] for line in lines] == ["f", "", "", "g", "TOTAL"]
        assert lines[1:3] == ["    m.py:3 f", "    m.py:9 main"]
    assert render_table(table, Look(width=13)).split("\n")[3] == "    m.py:3 f"
    assert render_table(table, Look(width=13)).split("\n")[4] == "    m.…9 main"


def test_where_lines_are_columns_they_are_chosen_as_others() -> None:
    rows = (Placed("f", "a", 2, calls=("m.py:3 f",)),)
    shown = PLACED.showing(PLACED.shown() | {"calls"})
    found = select_rows(shown, rows, Query(columns="name"))
    assert [field.name for field in found.columns] == ["name"]


def test_without_being_asked_for_no_lines_are_shown() -> None:
    assert make_cells(select_rows(PLACED, ROWS, Query()), "auto").below == ()


def test_lists_keep_the_lines_as_a_column() -> None:
    shown = PLACED.showing({"name", "calls"})
    rows = (Placed("f", "a", 2, calls=("m.py:3 f", "m.py:9 main")),)
    cells = make_cells(select_rows(shown, rows, Query()), "auto", is_flat=True)
    assert cells.rows == (("f", "m.py:3 f, m.py:9 main"),)
