"""What a user asks of a list of records, and how numbers with units are read.

`expression` is the language of `--where` and of budgets, `quantity` a number with its unit.

What a command's answer consists of: declared once, before anything is computed.

`figure` puts unit, meaning and heading beside a record's field; a `Field` is what queries and
renderers read of it. `rows` has the `Block`, a record in a document, and the `RowList`, a list
of records. `document` puts them together: a `DocumentSpec` is all that a command can answer, a
`Document` one answer. `selection` is what the row options leave of a list. `paths` says what
paths into the user's program share, `words` writes counts and lists in sentences.

The table, the JSON, CSV and markdown, `--where`, `--sort`, `--by`, `--columns`, the field list
in `--help`, the JSON Schemas and docs/fields.md are all made from these declarations.
"""

from hlotool.table.document import (
    INPUT_BLOCK,
    Document,
    DocumentSpec,
    InputPaths,
    Line,
    quote_braces,
)
from hlotool.table.field import (
    BYTES,
    COUNT,
    FLOPS,
    MEASURE,
    NUMBER,
    PERCENT,
    RATIO,
    SECONDS,
    TIMES,
    WHOLE,
    Field,
    Unit,
    column,
    fields_of,
    figure,
)
from hlotool.table.rows import (
    VARIOUS,
    Block,
    Fold,
    Group,
    Grouping,
    Range,
    Rest,
    RowList,
    Selection,
    Sum,
    Total,
)

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
    "WHOLE",
    "Block",
    "Document",
    "DocumentSpec",
    "Field",
    "Fold",
    "Group",
    "Grouping",
    "InputPaths",
    "Line",
    "Range",
    "Rest",
    "RowList",
    "Selection",
    "Sum",
    "Total",
    "Unit",
    "column",
    "fields_of",
    "figure",
    "quote_braces",
]
