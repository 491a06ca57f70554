"""Lists of records and how they are shown: everything between an analysis and an answer's text.

`field` declares a figure beside its record: unit, meaning, heading. `document` declares an answer
of such records and holds one. `select` applies the row options, with `sums` for totals and folded
rows; `expression` is the language of `--where` and of budgets. `units` reads and writes values,
`words` writes counts and lists in sentences, and shares and suggests names. `cells` writes a table,
which `terminal` lays out, also as markdown; `curve` draws; `formats` are JSON and CSV, `schema` the
JSON Schema of an answer, `unified` two texts as a diff; `renamed` is what older names are now.

The table, the JSON, CSV and markdown, `--where`, `--sort`, `--by`, `--columns`, the field list
in `--help`, the JSON Schemas and docs/fields.md are all made from these declarations.
"""

from hlotool.table.document import INPUT_BLOCK as INPUT_BLOCK
from hlotool.table.document import Block as Block
from hlotool.table.document import Document as Document
from hlotool.table.document import DocumentSpec as DocumentSpec
from hlotool.table.document import Fold as Fold
from hlotool.table.document import InputPaths as InputPaths
from hlotool.table.document import Line as Line
from hlotool.table.document import Range as Range
from hlotool.table.document import RowList as RowList
from hlotool.table.document import Selection as Selection
from hlotool.table.document import Sum as Sum
from hlotool.table.document import quote_braces as quote_braces
from hlotool.table.field import BYTES as BYTES
from hlotool.table.field import COUNT as COUNT
from hlotool.table.field import FLOPS as FLOPS
from hlotool.table.field import MEASURE as MEASURE
from hlotool.table.field import NUMBER as NUMBER
from hlotool.table.field import PERCENT as PERCENT
from hlotool.table.field import RATIO as RATIO
from hlotool.table.field import SECONDS as SECONDS
from hlotool.table.field import TIMES as TIMES
from hlotool.table.field import Field as Field
from hlotool.table.field import Joint as Joint
from hlotool.table.field import Shown as Shown
from hlotool.table.field import Unit as Unit
from hlotool.table.field import column as column
from hlotool.table.field import fields_of as fields_of
from hlotool.table.field import figure as figure
