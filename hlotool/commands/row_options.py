"""What the user asked of rows and output: one value, whoever read the command line."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from hlotool.query.select import Query

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
    is_wide: bool = False
    units: str = "auto"
    output: str = ""
    no_color: bool = False

    @property
    def is_for_eyes(self) -> bool:
        """Whether the output is a table or markdown: cut, folded and with a TOTAL."""
        return self.format in _FOR_EYES

    @property
    def chooses_rows(self) -> bool:
        """Whether an option says which rows of one list are wanted, and how."""
        return bool(self.where or self.sort or self.by or self.columns or self.rows)

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
        )
