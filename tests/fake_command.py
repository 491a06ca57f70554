"""A small command with declared synthetic records, so that rows are tested without dumps.

It is also the module that docs/adding-a-command.md shows.
"""

from __future__ import annotations

from typing import Annotated, Literal

import click
from msgspec import Struct

from hlotool.commands.shared.command import document_command
from hlotool.commands.shared.options import RowOptions
from hlotool.commands.shared.output import print_document
from hlotool.table import (
    Block,
    Document,
    DocumentSpec,
    InputPaths,
    Line,
    RowList,
    column,
    figure,
)

# -- hlotool/analysis/planets/report.py: frozen records, made by a pure function from the IR


class Planet(Struct, frozen=True):
    """One planet."""

    name: Annotated[str, column("the planet's name")]
    kind: Annotated[Literal["rock", "gas"], column("what it is made of")]
    size_bytes: Annotated[int, column("how large it is")]
    moon_count: Annotated[int | None, figure("its known moons", heading="moons")]


class Totals(Struct, frozen=True):
    """All planets together."""

    planet_count: Annotated[int, figure("planets")]
    size_bytes: Annotated[int, figure("their sizes together")]
    is_lower_bound: Annotated[bool, figure("whether a part is unknown")]


def find_planets() -> list[Planet]:
    """List the planets, in the order of their distance."""
    return [
        Planet("mercury", "rock", 4 << 20, 0),
        Planet("venus", "rock", 12 << 20, 0),
        Planet("jupiter", "gas", 140 << 20, 95),
        Planet("nine", "gas", 3 << 20, None),
    ]


# -- hlotool/analysis/planets/answer.py: what the command answers

PLANETS = RowList(
    "planets", Planet, "planets, largest first", sort="-size_bytes", size="size_bytes"
)
TOTALS = Block("totals", Totals, "all planets together")
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
