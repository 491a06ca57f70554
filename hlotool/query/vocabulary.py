"""What an expression may name: the fields of a row, or metrics and lists of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from hlotool.fields import Field, RowList


class Vocabulary(Struct, frozen=True):
    """The names that mean something: of fields or metrics, and of rows to aggregate."""

    fields: Mapping[str, Field]
    row_lists: Mapping[str, RowList] = field(default_factory=dict)

    @classmethod
    def of_row(cls, fields: Iterable[Field]) -> Vocabulary:
        """Return what `--where` may name: the row's fields, no aggregates."""
        return cls({each.name: each for each in fields})
