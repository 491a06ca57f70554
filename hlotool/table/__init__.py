"""Lists of records and how they are shown: everything between an analysis and an answer's text.

`field` declares a figure beside its record: unit, meaning, heading. `document` declares an answer
of such records and holds one. `select` applies the row options, with `sums` for totals and folded
rows; `expression` is the language of `--where` and of budgets. `units` reads and writes values,
`words` writes counts and lists in sentences, and shares and suggests names. `cells` writes a table,
which `terminal` lays out, also as markdown; `curve` draws; `formats` are JSON and CSV, `schema` the
JSON Schema of an answer, `unified` two texts as a diff.

The table, the JSON, CSV and markdown, `--where`, `--sort`, `--by`, `--columns`, the field list
in `--help`, the JSON Schemas and docs/fields.md are all made from these declarations.
"""

from hlotool.table.document import (
    INPUT_BLOCK,
    VARIOUS,
    Block,
    Document,
    DocumentSpec,
    Fold,
    InputPaths,
    Line,
    Range,
    RowList,
    Selection,
    Sum,
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
    Joint,
    Shown,
    Unit,
    column,
    fields_of,
    figure,
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
    "InputPaths",
    "Joint",
    "Line",
    "Range",
    "RowList",
    "Selection",
    "Shown",
    "Sum",
    "Unit",
    "column",
    "fields_of",
    "figure",
    "quote_braces",
]
