"""A small command with declared synthetic records, so that rows are tested without dumps.

It is also the module that docs/adding-a-command.md shows.
"""

from __future__ import annotations

import click
from msgspec import Struct

from hlotool.commands.shared.command import RowOptions, document_command, print_document
from hlotool.fields import (
    Block,
    Document,
    DocumentSpec,
    Field,
    InputPaths,
    Line,
    RowList,
    Unit,
)

# -- hlotool/analysis/planets.py: frozen records, made by a pure function from the IR


class Planet(Struct, frozen=True):
    """One planet."""

    name: str
    kind: str
    size_bytes: int
    moon_count: int | None


class Totals(Struct, frozen=True):
    """All planets together."""

    planet_count: int
    size_bytes: int
    is_lower_bound: bool


def find_planets() -> list[Planet]:
    """List the planets, in the order of their distance."""
    return [
        Planet("mercury", "rock", 4 << 20, 0),
        Planet("venus", "rock", 12 << 20, 0),
        Planet("jupiter", "gas", 140 << 20, 95),
        Planet("nine", "gas", 3 << 20, None),
    ]


# -- hlotool/analysis/planets_fields.py: the declaration, once

PLANETS = RowList(
    name="planets",
    record=Planet,
    fields=(
        Field("name", Unit.TEXT, "the planet's name", in_table=True),
        Field("kind", Unit.TEXT, "what it is made of", in_table=True, values=("rock", "gas")),
        Field("size_bytes", Unit.BYTES, "how large it is", in_table=True),
        Field("moon_count", Unit.COUNT, "its known moons", heading="moons", is_nullable=True),
    ),
    meaning="planets, largest first",
    sort="-size_bytes",
    size="size_bytes",
)
TOTALS = Block(
    name="totals",
    record=Totals,
    fields=(
        Field("planet_count", Unit.COUNT, "planets"),
        Field("size_bytes", Unit.BYTES, "their sizes together"),
        Field("is_lower_bound", Unit.FLAG, "whether a part is unknown"),
    ),
    meaning="all planets together",
)
DOCUMENT = DocumentSpec("planets", "the planets", blocks=(TOTALS,), row_lists=(PLANETS,))


# -- hlotool/commands/planets.py: options, one analysis, one printing


@document_command("planets", DOCUMENT, example="hlotool planets sky.txt --by kind")
@click.argument("path", metavar="PATH")
@click.option("--kind", default="", help="Only planets of this kind.")
def planets(path: str, kind: str, options: RowOptions) -> None:
    """List the planets."""
    found = [planet for planet in find_planets() if kind in {"", planet.kind}]
    totals = Totals(len(found), sum(planet.size_bytes for planet in found), is_lower_bound=False)
    document = Document(
        spec=DOCUMENT,
        input=InputPaths(path),
        blocks={"totals": totals},
        rows={"planets": found},
        lines=(Line("{planet_count} planets hold {size_bytes}", TOTALS, totals),),
    )
    print_document(document, options)


DOCUMENTS = (DOCUMENT,)  # what `make docs` and the tests of declarations look for
