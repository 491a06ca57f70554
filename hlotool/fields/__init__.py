"""What a command's answer consists of: declared once, before anything is computed.

A `Field` names one figure, a `RowList` a list of records, a `Block` a record of scalars,
a `DocumentSpec` all of one command's. The table, the JSON, CSV and markdown, `--where`,
`--sort`, `--by`, `--columns`, the field list in `--help` and the JSON Schema are all made
from these declarations. A `Document` is the answer itself: records under those names.
"""

from hlotool.fields.document import INPUT_BLOCK, Document, DocumentSpec, InputPaths, Line
from hlotool.fields.field import (
    BYTES,
    COUNT,
    FLOPS,
    MEASURE,
    NUMBER,
    PERCENT,
    RATIO,
    SECONDS,
    TIMES,
    Field,
    Unit,
)
from hlotool.fields.figure import column, fields_of, figure
from hlotool.fields.rows import VARIOUS, Block, Fold, RowList
from hlotool.fields.selection import Group, Grouping, Rest, Selection, Sum

__all__ = [
    "BYTES",
    "COUNT",
    "FLOPS",
    "INPUT_BLOCK",
    "MEASURE",
    "NUMBER",
    "PERCENT",
    "RATIO",
    "SECONDS",
    "TIMES",
    "VARIOUS",
    "Block",
    "Document",
    "DocumentSpec",
    "Field",
    "Fold",
    "Group",
    "Grouping",
    "InputPaths",
    "Line",
    "Rest",
    "RowList",
    "Selection",
    "Sum",
    "Unit",
    "column",
    "fields_of",
    "figure",
]
