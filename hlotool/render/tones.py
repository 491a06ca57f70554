"""Which cells of a table stand out? Verdicts, and the sizes that make the larger part of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hlotool.fields import Field, Selection
from hlotool.render.look import STRONG


def find_tones(selection: Selection, columns: Sequence[Field]) -> Iterator[tuple[str, ...]]:
    """Yield what colours the cells of each row: a verdict its word, a size that is large."""
    large = _count_large(selection)
    verdicts = [field.getter() if field.is_verdict else None for field in columns]
    if not large and not any(verdicts):
        return
    size = selection.row_list.size
    for number, row in enumerate(selection.rows):
        yield tuple(
            str(read(row)) if read else STRONG if number < large and field.name == size else ""
            for field, read in zip(columns, verdicts, strict=True)
        )


def _count_large(selection: Selection) -> int:
    """Return how many rows, the first ones, make more than half of the TOTAL; 0 where none do."""
    row_list, totals = selection.row_list, selection.totals
    names = [field.name for field in selection.columns]
    if len(totals) != 1 or row_list.size not in names or len(selection.rows) <= 1:
        return 0
    whole = totals[0].sums[names.index(row_list.size)]
    if whole is None or not whole.value:
        return 0
    read, so_far, least = row_list.field(row_list.size).getter(), 0.0, float("inf")
    for count, row in enumerate(selection.rows, start=1):
        value = read(row)
        if not isinstance(value, int | float) or value > least:
            return 0  # they are in another order
        so_far, least = so_far + value, value
        if so_far * 2 > whole.value:
            return count
    return 0
