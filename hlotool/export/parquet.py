"""Rows as Parquet: typed columns, with units in the schema.

The rows and columns are those of CSV. Text is string; counts, numbers, bytes and flops are int64,
or decimal where a value of the column is larger; ratios and seconds are double; flags are bool;
lists are lists, and lists of pairs, a word and a number, are maps. Unknown is null.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import BytesIO
from typing import Any, Final

from hlotool.errors import HlotoolError, UsageError
from hlotool.table import DocumentSpec, Field, Selection, Unit
from hlotool.table.formats import flat_fields, flat_rows

_MOST: Final = 1 << 63  # of int64
_MOST_DIGITS: Final = 38  # of decimal128
_FLOATS: Final = frozenset({Unit.RATIO, Unit.PERCENT, Unit.SECONDS, Unit.MEASURE})


def expect_parquet() -> None:
    """Raise UsageError where pyarrow is not installed."""
    try:
        import pyarrow as _  # noqa: F401,ICN001,PLC0415  heavy, and few need it
    except ImportError:
        raise UsageError("--format parquet needs pyarrow; install hlotool[parquet].") from None


def render_parquet(spec: DocumentSpec, selection: Selection, version: str) -> bytes:
    """Return the rows alone as a Parquet file.

    A column has its unit and its meaning in its metadata. The file's own are the document's
    schema, hlotool's version, the name of the row list, and all units once more, as JSON: not
    every reader shows those of columns. Raises HlotoolError for a number that has no place.
    """
    import pyarrow as pa  # noqa: PLC0415  heavy, and few need it
    from pyarrow import parquet  # noqa: PLC0415  the same

    fields, rows = flat_fields(selection), list(flat_rows(selection))
    columns = [_make_column(pa, field, [row[field.name] for row in rows]) for field in fields]
    schema = pa.schema(
        [
            pa.field(
                each.name, column.type, metadata={"unit": each.unit.value, "meaning": each.meaning}
            )
            for each, column in zip(fields, columns, strict=True)
        ],
        metadata={
            "schema": spec.schema,
            "hlotool_version": version,
            "rows": selection.row_list.name,
            "units": json.dumps({field.name: field.unit.value for field in fields}),
        },
    )
    file = BytesIO()
    parquet.write_table(pa.table(columns, schema=schema), file)
    return file.getvalue()


def _make_column(pa: Any, field: Field, values: Sequence[object]) -> Any:
    """Return the values of a field as an array of its type."""
    items = Unit.MEASURE if field.is_curve else field.items
    kind = _find_type(pa, field.unit, items, field.inner)
    if field.is_mapping:
        kind = pa.map_(pa.string(), pa.int64())
    if kind == pa.string():
        values = [_as_utf8(value) for value in values]
    elif kind in {pa.float64(), pa.list_(pa.float64())}:
        values = [_as_floats(value) for value in values]
    elif kind == pa.int64() and any(
        isinstance(value, int) and not -_MOST <= value < _MOST for value in values
    ):
        # A program may have more flops than 2**63, in exact numbers: a decimal holds them all.
        kind = pa.decimal128(_MOST_DIGITS, 0)
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, OverflowError, UnicodeError) as error:
        raise HlotoolError(
            f"--format parquet: Parquet cannot store {field.name}; use JSON ({error})."
        ) from error


def _as_utf8(value: object) -> object:
    """Return a text with escapes for what no UTF-8 holds: bytes of a file's name, say."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _as_floats(value: object) -> object:
    """Return whole numbers, which a measure may be, as floats; those of a list, too."""
    if isinstance(value, tuple):
        return [_as_floats(each) for each in value]
    return float(value) if isinstance(value, int) else value


def _find_type(pa: Any, unit: Unit, *items: Unit) -> Any:
    """Return the type of a unit's values; of a list's, where `items` say what it holds."""
    if unit is Unit.TEXT:
        return pa.string()
    if unit is Unit.FLAG:
        return pa.bool_()
    if unit is Unit.LIST:
        return pa.list_(_find_type(pa, *items))
    return pa.float64() if unit in _FLOATS else pa.int64()
