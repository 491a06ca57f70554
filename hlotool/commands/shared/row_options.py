"""The options that every command shares, and the one value they become."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click
from msgspec import Struct

from hlotool.commands.shared.complete import complete_fields, complete_rows
from hlotool.errors import UsageError
from hlotool.query.select import Query
from hlotool.render.units import UNITS

FORMATS: Final = (
    *("table", "json", "jsonl", "csv", "tsv", "parquet", "markdown"),
    *("folded", "pprof"),
)
COLORS: Final = ("auto", "always", "never")
_WORD: Final = re.compile(r"[a-z_]+")
_FOR_EYES: Final = frozenset({"table", "markdown"})


class RowOptions(Struct, frozen=True):
    """What the user asked of rows and output; '' and None where not given."""

    format: str = "table"
    where: str = ""
    sort: str = ""
    limit: int | None = None
    rows: str = ""
    by: str = ""
    columns: str = ""
    keeps_numbers: bool = False
    is_wide: bool = False
    units: str = "auto"
    output: str = ""
    color: str = "auto"

    @property
    def is_for_eyes(self) -> bool:
        """Whether the output is a table or markdown: cut, folded and with a TOTAL."""
        return self.format in _FOR_EYES

    @property
    def wants_overview(self) -> bool:
        """Whether the answer is for eyes, and nobody asked for certain rows of it."""
        return self.is_for_eyes and not self.chooses_rows

    @property
    def chooses_rows(self) -> bool:
        """Whether an option says which rows of one list are wanted, and how."""
        return bool(self.where or self.sort or self.by or self.columns or self.rows)

    def names(self, *fields: str) -> bool:
        """Whether one of these options names one of these fields."""
        said = f"{self.where} {self.sort} {self.by} {self.columns}"
        return not set(_WORD.findall(said)).isdisjoint(fields)

    def groups_by(self, *fields: str) -> bool:
        """Whether --by names one of these fields."""
        return not set(_WORD.findall(self.by)).isdisjoint(fields)

    def query(self, default_limit: int) -> Query:
        """Return the row options for the list that they act on."""
        return Query(
            where=self.where,
            sort=self.sort,
            by=self.by,
            columns=self.columns,
            limit=self.limit,
            default_limit=default_limit if self.is_for_eyes else 0,
            is_wide=self.is_wide or not self.is_for_eyes,
            is_folded=self.is_for_eyes,
            keeps_below=self.format == "table",
            keeps_numbers=self.keeps_numbers,
        )


def make_row_options(values: Mapping[str, Any]) -> RowOptions:
    """Make the value from click's parameters; --json and another --format contradict."""
    chosen = dict(values)
    is_json, form = chosen.pop("is_json"), chosen.pop("format")
    if is_json and form not in {None, "json"}:
        raise UsageError(f"--json and --format {form} contradict each other.")
    return RowOptions(format="json" if is_json else form or "table", **chosen)


def row_parameters(formats: Sequence[str] = FORMATS) -> list[click.Parameter]:
    """Return the click options that `make_row_options` reads, in the order of the help."""
    return [
        click.Option(["--json", "is_json"], is_flag=True, help="Short for --format json."),
        click.Option(["--format"], type=click.Choice(list(formats)), help="Output form."),
        click.Option(
            ["--where"], metavar="EXPR", default="", help="Keep only rows for which EXPR holds."
        ),
        click.Option(
            ["--sort"],
            metavar="[-]FIELD",
            default="",
            help="Sort rows by FIELD; -FIELD sorts descending.",
            shell_complete=complete_fields,
        ),
        click.Option(
            ["-n", "--limit"],
            type=click.IntRange(min=0),
            metavar="N",
            help="Show N rows, 0 for all; tables show 20 by default.",
        ),
        click.Option(
            ["--rows"],
            metavar="NAME",
            default="",
            help="The row list these options act on.",
            shell_complete=complete_rows,
        ),
        click.Option(
            ["--by"],
            metavar="FIELD,…",
            default="",
            help="Group rows by these fields, nested in this order.",
            shell_complete=complete_fields,
        ),
        click.Option(
            ["--numbered", "keeps_numbers"],
            is_flag=True,
            help="Keep layer_0 and layer_1 apart; else they are one row or group, layer_*.",
        ),
        click.Option(
            ["--columns"],
            metavar="FIELD,…",
            default="",
            help="Choose columns; +FIELD adds one to those shown, -FIELD hides it.",
            shell_complete=complete_fields,
        ),
        click.Option(
            ["-w", "--wide", "is_wide"], is_flag=True, help="Show all columns, untruncated."
        ),
        click.Option(
            ["--units"],
            type=click.Choice(UNITS),
            default="auto",
            help="Units of sizes in tables; B is exact.",
        ),
        click.Option(
            ["-o", "--output"], metavar="FILE", default="", help="Write to FILE instead of stdout."
        ),
        click.Option(
            ["--color"],
            type=click.Choice(COLORS),
            default="auto",
            help="Colour tables: on a terminal, or where FORCE_COLOR is set, unless NO_COLOR is.",
        ),
    ]
