"""Declarations: what a record says becomes its fields, and every mistake is found."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from declarations import find_mistakes
from fake_command import DOCUMENT
from msgspec import Struct, field
from msgspec.structs import replace

from hlotool.table import (
    COUNT,
    MEASURE,
    RATIO,
    Block,
    DocumentSpec,
    Field,
    Fold,
    RowList,
    Unit,
    column,
    fields_of,
    figure,
)


class Row(Struct, frozen=True):
    """A record."""

    name: Annotated[str, column("its name")]
    size_bytes: Annotated[int, figure("its size")]
    flops_per_step: Annotated[int, figure("its operations")]
    class_: Annotated[Literal["b", "a"] | None, figure("its class")] = field(name="class")
    members: Annotated[tuple[int, ...], figure("who belongs to it")]
    groups: Annotated[tuple[tuple[int, ...], ...] | None, figure("how they belong together")]
    actual: Annotated[int | float | None, figure("a figure", MEASURE)]
    unit: Unit


def test_a_record_declares_its_fields() -> None:
    assert fields_of(Row) == (
        Field("name", Unit.TEXT, "its name", in_table=True),
        Field("size_bytes", Unit.BYTES, "its size"),
        Field("flops_per_step", Unit.FLOPS, "its operations"),
        Field(
            "class",
            Unit.TEXT,
            "its class",
            is_nullable=True,
            values=("b", "a"),
            attribute="class_",
        ),
        Field("members", Unit.LIST, "who belongs to it", items=Unit.NUMBER),
        Field("groups", Unit.LIST, "how they belong together", is_nullable=True, items=Unit.LIST),
        Field("actual", Unit.MEASURE, "a figure", is_nullable=True),
    )


class WithoutUnit(Struct, frozen=True):
    """A number of what?"""

    factor: Annotated[float | None, figure("of what?")]


class WithUnit(Struct, frozen=True):
    """How many texts?"""

    name: Annotated[str, figure("a text", COUNT)]


@pytest.mark.parametrize("record", [WithoutUnit, WithUnit])
def test_numbers_alone_have_units(record: type[Struct]) -> None:
    with pytest.raises(TypeError, match="numbers have a unit, and nothing else has one"):
        fields_of(record)


ROWS = RowList("rows", Row, "rows")
FIELDS = ROWS.fields


def found(rows: RowList) -> list[str]:
    return find_mistakes(DocumentSpec("x", "x", row_lists=(rows,)))


def first(declared: Field) -> RowList:
    return replace(ROWS, chosen=(replace(declared, attribute="name"), *FIELDS[1:]))


def test_nothing_is_wrong_where_nothing_is() -> None:
    assert found(ROWS) == []
    assert find_mistakes(DOCUMENT) == []


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (first(Field("name", Unit.TEXT, "")), "rows.name needs a meaning"),
        (first(Field("name", Unit.TEXT, "A name.")), "without a full stop"),
        (first(Field("name_bytes", Unit.COUNT, "n")), "do not agree about bytes"),
        (first(Field("name", Unit.BYTES, "n")), "do not agree about bytes"),
        (first(Field("size_bytes", Unit.BYTES, "s")), "rows.size_bytes is there twice"),
        (first(Field("in", Unit.TEXT, "n")), "rows.in cannot be named in an expression"),
        (first(Field("Name", Unit.TEXT, "n")), "rows.Name cannot be named"),
        (
            first(Field("name", Unit.TEXT, "n", total_from="x")),
            "rows mentions x, which is no field",
        ),
        (replace(ROWS, chosen=FIELDS[1:]), "Row.name is not declared in rows"),
        (replace(ROWS, sort="-size"), "rows mentions size, which is no field of it"),
        (replace(ROWS, size="x"), "rows mentions x"),
        (replace(ROWS, key="x"), "rows mentions x"),
        (replace(ROWS, lower_if=("x",)), "rows mentions x"),
        (replace(ROWS, upper_if=("x",)), "rows mentions x"),
        (replace(ROWS, fold=Fold(keys="x")), "rows mentions x"),
        (replace(ROWS, fold=Fold(keys="name", name="x")), "rows mentions x"),
        (replace(ROWS, name="groups"), "the key groups is there twice"),
    ],
)
def test_mistakes(rows: RowList, message: str) -> None:
    assert [mistake for mistake in found(rows) if message in mistake], found(rows)


class Inner(Struct, frozen=True):
    """A record inside another."""

    ratio: Annotated[float | None, figure("A ratio.", RATIO)]


def test_blocks_are_checked() -> None:
    inner = Block("inner", Inner, "inner")
    outer = Block("outer", Row, "outer", blocks=(inner, replace(inner, name="name")))
    messages = find_mistakes(DocumentSpec("x", "x", blocks=(outer, outer), scalars=inner))
    assert "x: the key outer is there twice" in messages
    assert "x: outer.inner is no attribute of Row" in messages
    assert "x: outer.name is there twice" in messages
    assert sum("inner.ratio needs a meaning" in each for each in messages) == 3
