"""The JSON Schema of a document, made from its declaration.

msgspec makes the schemas of figures from the types of their records; what is made here is the
document around them, and what row options do to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.json import schema_components
from msgspec.structs import fields as fields_in

from hlotool.table.document import INPUT_BLOCK, Block, DocumentSpec, RowList
from hlotool.table.field import Field

Json = dict[str, object]
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_NAMES: Final[Json] = {"type": "array", "items": {"type": "string"}}
_GROUPS: Final[Json] = {"type": "array", "items": {"$ref": "#/$defs/group"}}
_GROUP_KEYS: Final[Mapping[str, Json]] = {
    "count": {"type": "integer", "description": "rows, counted before folding"},
    "share": {
        "type": ["number", "null"],
        "description": "the group's part of the whole, as a fraction",
    },
    "is_lower_bound": {"type": "boolean", "description": "whether a part is unknown"},
    "is_upper_bound": {"type": "boolean", "description": "whether a part might not run"},
    "groups": _GROUPS,
}
_GROUP: Final[Json] = {
    "description": "rows that agree in one field: that field's value, counts and sums",
    "type": "object",
    "properties": _GROUP_KEYS,
    "required": ["count", "share", "is_lower_bound", "is_upper_bound"],
}
_OPTIONS: Final[Mapping[str, Json]] = {
    "columns": {"description": "with --columns: the only fields the rows hold", **_NAMES},
    "grouped_by": {
        "description": "with --by: the fields that group the rows, outermost first",
        **_NAMES,
    },
    "groups": {"description": "with --by: the groups, in place of their rows", **_GROUPS},
    "rows_total": {"description": "with -n: rows or groups that --where kept", "type": "integer"},
    "rows_omitted": {"description": "with -n: hidden rows or groups", "type": "integer"},
    "lists": {
        "description": "with --max-chars: how many rows of each list there are, and are shown",
        "type": "object",
        "additionalProperties": {"type": "object", "required": ["shown", "total"]},
    },
    "left_out": {"description": "with --max-chars: the keys that did not fit", **_NAMES},
}

_UNITS: Final[Json] = {
    "description": "the keys of this answer that hold numbers, each with its unit; measure: the "
    "row has the unit",
    "type": "object",
    "additionalProperties": {"type": "string"},
}

_NEXT: Final[Json] = {"description": "commands to run next", **_NAMES}

# The keys of answers that are no figures.
KEY_MEANINGS: Final[Mapping[str, str]] = {
    "schema": "the kind of the answer, and the version of its meaning",
    "hlotool_version": "the version of hlotool that made the answer",
    INPUT_BLOCK.name: INPUT_BLOCK.meaning,
    "units": str(_UNITS["description"]),
    "next": str(_NEXT["description"]),
    **{
        key: str(one["description"])
        for key, one in (*_OPTIONS.items(), *_GROUP_KEYS.items())
        if "description" in one
    },
}


def make_schema(spec: DocumentSpec) -> Json:
    """Return the schema of a document as JSON prints it.

    More keys may come; a key that is there keeps its name, type and meaning.
    """
    lists = {rows.name: _array(rows) for rows in spec.row_lists}
    scalars = _figures(spec.scalars.record, spec.scalars.fields) if spec.scalars else {}
    blocks = [one.name for one in spec.blocks if not one.is_optional]
    required = ["input", *scalars, "units", *blocks]
    return {
        "$schema": _DIALECT,
        "$id": spec.schema,
        "title": spec.schema,
        "description": spec.meaning,
        "type": "object",
        "properties": {
            "schema": {"const": spec.schema},
            "hlotool_version": {"type": "string"},
            "input": _block(INPUT_BLOCK),
            **scalars,
            **{block.name: _block(block) for block in spec.blocks},
            **lists,
            **_OPTIONS,
            "units": _UNITS,
            "next": _NEXT,
        },
        "required": ["schema", "hlotool_version", "next"],
        **_conditions(required, spec.row_lists),
        "$defs": {"group": _GROUP},
    }


def make_line_schema(record: type[Struct], schema: str, meaning: str) -> Json:
    """Return the schema of a line of JSON Lines, which msgspec makes of its record."""
    _, components = schema_components([record])
    return {
        "$schema": _DIALECT,
        "$id": schema,
        **components[record.__name__],
        "title": schema,
        "description": meaning,
    }


def describe_line(record: type[Struct]) -> Mapping[str, str]:
    """Return what is said of the keys of a line of JSON Lines."""
    _, components = schema_components([record])
    properties = components[record.__name__]["properties"]
    return {key: one["description"] for key, one in properties.items() if "description" in one}


def _conditions(required: Sequence[str], row_lists: Sequence[RowList]) -> Json:
    """Require all but under --max-chars, lists unless grouped, fields unless chosen."""
    always = [rows.name for rows in row_lists if not rows.is_optional]
    full = {
        rows.name: {"items": {"required": [field.name for field in rows.fields]}}
        for rows in row_lists
    }
    return {
        "allOf": [
            {"if": {"required": ["lists"]}, "else": {"required": required}},
            {"if": {"required": ["grouped_by"]}, "else": {"required": always}},
            {"if": {"required": ["columns"]}, "else": {"properties": full}},
        ]
    }


def _array(rows: RowList) -> Json:
    """Return the schema of a row list."""
    return {
        "description": rows.meaning,
        "type": "array",
        "items": {"type": "object", "properties": _figures(rows.record, rows.fields)},
    }


def _block(block: Block) -> Json:
    """Return the schema of a record of scalars and the blocks inside it."""
    properties = {
        **_figures(block.record, block.fields),
        **{inner.name: _block(inner) for inner in block.blocks},
        **{rows.name: _array(rows) for rows in block.row_lists},
    }
    return {
        "description": block.meaning,
        "type": ["object", "null"] if block.is_nullable else "object",
        "properties": properties,
        "required": list(properties),
    }


def _figures(record: type[Struct], fields: Sequence[Field]) -> Json:
    """Return the schemas of figures of a record by their names; none has parts of its own."""
    types = {each.name: each.type for each in fields_in(record)}
    schemas, _ = schema_components([types[field.attribute] for field in fields])
    units = ({"unit": field.unit.value} if field.is_numeric else {} for field in fields)
    return {
        field.name: {"description": field.meaning, **unit, **schema}
        for field, unit, schema in zip(fields, units, schemas, strict=True)
    }
