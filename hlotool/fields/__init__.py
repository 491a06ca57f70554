"""What a command's answer consists of: declared once, before anything is computed.

A `Field` names one figure, a `RowList` a list of records, a `Block` a record of scalars,
a `DocumentSpec` all of one command's. The table, the JSON, CSV and markdown, `--where`,
`--sort`, `--by`, `--columns`, the field list in `--help` and the JSON Schema are all made
from these declarations. A `Document` is the answer itself: records under those names.
"""

from hlotool.fields.document import INPUT_BLOCK, Document, DocumentSpec, InputPaths, Line
from hlotool.fields.field import Field, Unit
from hlotool.fields.rows import VARIOUS, Block, Fold, RowList
from hlotool.fields.selection import Group, Grouping, Rest, Selection, Sum

__all__ = [
    "INPUT_BLOCK",
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
]
