"""JSON, JSON Lines, CSV and TSV: every figure exact, in its unit, under its declared name.

JSON holds the whole answer, the others the rows of one list. Rows are made as they are written:
there may be millions. A cell of a spreadsheet is never a formula.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Final

from hlotool.table.document import INPUT_BLOCK, Block, Document, Group, Grouping, Selection
from hlotool.table.field import Field, Unit
from hlotool.table.select import COUNT, SHARE
from hlotool.text import encode_json, escape

Json = dict[str, object]

# What a spreadsheet would run, unless it is a number; an apostrophe before it says it is text.
_FORMULA: Final = re.compile("'*+[=+\\-@\uff1d\uff0b\uff0d\uff20]")
_NUMBER: Final = re.compile(r"[+-]?[0-9]++(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]++)?")
_QUOTED: Final = re.compile(r'[",]|^\s*+::')  # the last begins a command of a CI system

_OF_GROUPS: Final = (
    SHARE,
    Field("is_lower_bound", Unit.FLAG, "whether a part of a sum is unknown"),
    Field("is_upper_bound", Unit.FLAG, "whether a part of a sum might not run"),
)


def make_json(document: Document, selections: Sequence[Selection], version: str) -> Json:
    """Return a document as JSON has it, but for units; rows of selections are iterators."""
    spec = document.spec
    made: Json = {
        "schema": spec.schema,
        "hlotool_version": version,
        "input": _block_json(INPUT_BLOCK, document.input),
    }
    if spec.scalars is not None:
        made |= _record_json(spec.scalars.fields, document.scalars)
    for block in spec.blocks:
        if block.name in document.blocks:
            made[block.name] = _block_json(block, document.blocks[block.name])
    for selection in selections:
        made |= _selection_json(selection)
    return made


def render_json(
    document: Document, selections: Sequence[Selection], version: str, commands: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the document as JSON, row by row; `commands` are those to go on with."""
    units = dict(list_units(document, selections))
    # Not in one call of json: rows are made and written one by one, so memory does not grow.
    before = "{\n  "
    for key, value in make_json(document, selections, version).items():
        yield f"{before}{encode_json(key)}: "
        yield from _write_rows(value) if isinstance(value, Iterator) else (_write(value, "  "),)
        before = ",\n  "
    yield f'{before}"units": {encode_json(units)}'
    yield f',\n  "next": {_write(list(commands), "  ")}\n}}\n'


def count_rows(selection: Selection) -> int:
    """Return how many rows, or groups, there are, also those that a limit left out."""
    if (grouping := selection.grouping) is None:
        return selection.rows_total
    return len(grouping.groups) + (grouping.rest.count if grouping.rest else 0)


def list_units(document: Document, selections: Sequence[Selection]) -> Iterator[tuple[str, str]]:
    """Yield the keys of an answer that hold numbers, each with its unit."""
    found = [field for selection in selections for field in flat_fields(selection)]
    for path, each in document.spec.walk():
        name = path.partition(".")[0]
        if not name or document.blocks.get(name) is not None:
            found += each.fields
    for field in found:
        if field.is_numeric:
            unit = Unit.COUNT if field.unit is Unit.TIMES else field.unit
            yield field.name, unit.value


def _write_rows(rows: Iterator[object]) -> Iterator[str]:
    """Yield the JSON of a list that stands in the document, one row at a time."""
    before = "[\n    "
    for row in rows:
        yield before + _write(row, "    ")
        before = ",\n    "
    yield "[]" if before[0] == "[" else "\n  ]"


def _write(value: object, margin: str) -> str:
    """Return the JSON of a value that stands behind a margin; strings hold no line breaks."""
    return encode_json(value, indent=2).replace("\n", f"\n{margin}")


def render_jsonl(selection: Selection) -> Iterator[str]:
    """Yield the rows alone, one JSON object a line; groups are flattened to the innermost."""
    return (f"{encode_json(row)}\n" for row in flat_rows(selection))


def render_csv(selection: Selection) -> Iterator[str]:
    """Yield the rows alone as CSV with a header; null is empty, a list is JSON."""
    for cells in _write_cells(selection):
        quoted = (
            f'"{text.replace(chr(34), chr(34) * 2)}"' if _QUOTED.search(text) else text
            for text in cells
        )
        yield (",".join(quoted) or '""') + "\n"  # an empty line would be no row at all


def render_tsv(selection: Selection) -> Iterator[str]:
    """Yield the rows alone with tabs between, each value on its line; null is empty."""
    return ("\t".join(cells) + "\n" for cells in _write_cells(selection))


def _write_cells(selection: Selection) -> Iterator[list[str]]:
    """Write the names of the columns, then the values of each row."""
    names = [field.name for field in flat_fields(selection)]
    yield names
    yield from ([_write_cell(row[name]) for name in names] for row in flat_rows(selection))


def _write_cell(value: object) -> str:
    """Write a value as JSON has it, but null empty, and text bare, on one line, and never run."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return encode_json(value)
    text = escape(value)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def flat_fields(selection: Selection) -> tuple[Field, ...]:
    """Return the columns of `flat_rows`, in order."""
    if (grouping := selection.grouping) is None:
        return selection.columns
    return (*grouping.by, COUNT, *grouping.summed, *_OF_GROUPS)


def flat_rows(selection: Selection) -> Iterator[Json]:
    """Yield what JSON Lines, CSV and Parquet hold."""
    if selection.grouping is not None:
        return _leaves(selection.grouping, selection.grouping.groups, {})
    return _rows_json(selection.columns, selection.rows)


def _selection_json(selection: Selection) -> Json:
    """Return the selected rows under their name, yet to be made, and what a limit left out."""
    made: Json = {}
    grouping = selection.grouping
    rest = grouping.rest if grouping else selection.rest
    if grouping is None:
        made[selection.row_list.name] = _rows_json(selection.columns, selection.rows)
    else:
        made["grouped_by"] = [field.name for field in grouping.by]
        made["groups"] = (_group_json(grouping, group, 0) for group in grouping.groups)
    if selection.has_chosen_columns:
        made["columns"] = [field.name for field in selection.columns]
    if selection.is_limited:
        made["rows_total"] = count_rows(selection)
        made["rows_omitted"] = rest.count if rest else 0
    return made


def _group_json(grouping: Grouping, group: Group, depth: int) -> Json:
    """Return one group and the groups it consists of; as deep as --by is long."""
    made = _figures(grouping, group, {grouping.by[depth].name: _json_value(group.label)})
    if depth + 1 < len(grouping.by):
        made["groups"] = [_group_json(grouping, each, depth + 1) for each in group.groups]
    return made


def _leaves(grouping: Grouping, groups: Sequence[Group], labels: Json) -> Iterator[Json]:
    """Yield the innermost groups, each with the labels of those around it."""
    name = grouping.by[len(labels)].name
    for group in groups:
        named = {**labels, name: _json_value(group.label)}
        if len(named) < len(grouping.by):
            yield from _leaves(grouping, group.groups, named)
        else:
            yield _figures(grouping, group, named)


def _figures(grouping: Grouping, group: Group, labels: Json) -> Json:
    """Return a group's labels, counts and sums."""
    sums = {
        field.name: _json_value(total.value)
        for field, total in zip(grouping.summed, group.sums, strict=True)
    }
    return {
        **labels,
        "count": group.count,
        **sums,
        "share": _json_value(group.share),
        "is_lower_bound": any(
            total.is_lower_bound for total in group.sums if total.value is not None
        ),
        "is_upper_bound": any(total.is_upper_bound for total in group.sums),
    }


def _block_json(block: Block, record: object | None) -> Json | None:
    """Return a record of scalars and the blocks inside it."""
    if record is None:
        return None
    made = _record_json(block.fields, record)
    made |= {one.name: _block_json(one, getattr(record, one.name)) for one in block.blocks}
    for rows in block.row_lists:
        made[rows.name] = list(_rows_json(rows.fields, getattr(record, rows.name)))
    return made


def _record_json(fields: Sequence[Field], record: object) -> Json:
    """Return the declared fields of a record."""
    return next(_rows_json(fields, (record,)))


def _rows_json(fields: Sequence[Field], rows: Sequence[object]) -> Iterator[Json]:
    """Yield the declared fields of many records."""
    readers = [(field.name, field.getter()) for field in fields]
    for row in rows:
        yield {name: _json_value(read(row)) for name, read in readers}


def _json_value(value: object) -> object:
    """Return what JSON can say: what is no number is unknown. Lists hold no fractions."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
