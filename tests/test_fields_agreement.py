"""Every way in which a declaration can contradict its records is found."""

from __future__ import annotations

from typing import Literal

import pytest
from fake_command import DOCUMENT
from msgspec import Struct
from msgspec.structs import replace

from hlotool.fields import Block, DocumentSpec, Field, Fold, RowList, Unit
from hlotool.fields.agreement import find_disagreements


class Row(Struct, frozen=True):
    """A record."""

    name: str
    size_bytes: int
    ratio: float | None
    kind: Literal["a", "b"] = "a"

    @property
    def doubled_bytes(self) -> int:
        """A figure that is not stored."""
        return self.size_bytes * 2


GOOD = (
    Field("name", Unit.TEXT, "name"),
    Field("size_bytes", Unit.BYTES, "size"),
    Field("ratio", Unit.RATIO, "ratio", is_nullable=True),
    Field("kind", Unit.TEXT, "kind", values=("a", "b")),
    Field("doubled_bytes", Unit.BYTES, "twice the size"),
)
ROWS = RowList("rows", Row, "rows", fields=GOOD)


def found(rows: RowList) -> list[str]:
    return find_disagreements(DocumentSpec("x", "x", row_lists=(rows,)))


def with_field(index: int, field: Field) -> RowList:
    return replace(ROWS, fields=(*GOOD[:index], field, *GOOD[index + 1 :]))


def test_nothing_is_found_where_all_agrees() -> None:
    assert found(ROWS) == []
    assert find_disagreements(DOCUMENT) == []


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (with_field(0, Field("name", Unit.COUNT, "n")), "rows.name is count, but its record says"),
        (with_field(0, Field("name", Unit.TEXT, "n", is_nullable=True)), "rows.name is nullable"),
        (with_field(0, Field("name", Unit.TEXT, "")), "rows.name needs a meaning"),
        (with_field(0, Field("name", Unit.TEXT, "A name.")), "without a full stop"),
        (with_field(1, Field("size_bytes", Unit.COUNT, "s")), "do not agree about bytes"),
        (with_field(1, Field("size_bytes", Unit.FLAG, "s")), "rows.size_bytes is flag, but"),
        (with_field(2, Field("ratio", Unit.RATIO, "r")), "rows.ratio is not nullable, but"),
        (with_field(3, Field("kind", Unit.TEXT, "k", values=("a",))), "lists other values"),
        (with_field(4, Field("doubled_bytes", Unit.TEXT, "d")), "rows.doubled_bytes is text"),
        (with_field(4, Field("tripled", Unit.COUNT, "t")), "rows.tripled is no attribute of Row"),
        (with_field(4, Field("name", Unit.TEXT, "n")), "rows.name is declared twice"),
        (with_field(4, Field("in", Unit.TEXT, "n")), "rows.in cannot be named in an expression"),
        (with_field(4, Field("Name", Unit.TEXT, "n")), "rows.Name cannot be named"),
        (with_field(4, Field("name", Unit.TEXT, "n", once="x")), "rows mentions x, which is no"),
        (replace(ROWS, fields=GOOD[1:]), "Row.name is not declared in rows"),
        (replace(ROWS, sort="-size"), "rows mentions size, which is no field of it"),
        (replace(ROWS, size="x"), "rows mentions x"),
        (replace(ROWS, key="x"), "rows mentions x"),
        (replace(ROWS, lower_if=("x",)), "rows mentions x"),
        (replace(ROWS, upper_if=("x",)), "rows mentions x"),
        (replace(ROWS, fold=Fold(keys=("x",))), "rows mentions x"),
        (replace(ROWS, fold=Fold(keys=(), name="x")), "rows mentions x"),
        (replace(ROWS, name="groups"), "the key groups is there twice"),
    ],
)
def test_disagreements(rows: RowList, message: str) -> None:
    assert any(message in each for each in found(rows)), found(rows)


def test_blocks_are_checked() -> None:
    inner = Block("inner", Row, "inner", fields=(Field("name", Unit.COUNT, "n"),))
    outer = Block("outer", Row, "outer", blocks=(inner,), fields=GOOD)
    spec = DocumentSpec("x", "x", blocks=(outer, outer), scalars=inner)
    messages = find_disagreements(spec)
    assert "x: the key outer is there twice" in messages
    assert "x: outer.inner is no attribute of Row" in messages
    assert sum("inner.name is count" in each for each in messages) == 3
