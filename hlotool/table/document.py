"""A command's whole answer: declared (`DocumentSpec`) and computed (`Document`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Final

from msgspec import Struct, field

from hlotool.table.field import figure
from hlotool.table.rows import Block, RowList


class DocumentSpec(Struct, frozen=True):
    """All that a document may hold, in the order JSON prints it."""

    name: str  # the schema is hlotool/<name>/v<version>
    meaning: str
    blocks: tuple[Block, ...] = ()
    row_lists: tuple[RowList, ...] = ()  # the first is the default of --rows
    scalars: Block | None = None  # its fields stand at the top of the document, unnested
    version: int = 1

    @property
    def schema(self) -> str:
        """The document's `schema` value."""
        return f"hlotool/{self.name}/v{self.version}"

    def find_row_list(self, name: str) -> RowList | None:
        """Find a row list by name."""
        return next((rows for rows in self.row_lists if rows.name == name), None)


class InputPaths(Struct, frozen=True):
    """Where the answer comes from: paths as the user typed them or as they were found."""

    path: Annotated[str, figure("the input as it was typed; - is standard input")]
    module_path: Annotated[str | None, figure("the HLO text that was read")] = None
    buffers_path: Annotated[str | None, figure("the buffer assignment that was read")] = None
    live_range_path: Annotated[str | None, figure("the live ranges that were read")] = None
    mesh_path: Annotated[
        str | None,
        figure("the text before optimization whose mesh names the axes; only its header is read"),
    ] = None


INPUT_BLOCK: Final = Block(
    "input", InputPaths, "the files the answer was made from", is_nullable=True
)


class Line(Struct, frozen=True):
    """A line of prose around a table: `"peak {peak_bytes} at {position}"` filled from a record.

    Names in braces are fields of `block`, shown in their unit and in `--units`; an unknown
    is `?`; with a noun behind a colon, `{count:loop}`, it is one loop or several loops. Where the
    record has `is_lower_bound` or `is_upper_bound` and it is true, summed figures
    carry `≥` or `≤`. Without a block the text is printed as it stands.
    """

    template: str
    block: Block | None = None
    record: object | None = None
    tone: str = ""  # a verdict or a severity, which colours it
    is_typed: bool = False  # a command to be copied: never broken
    is_cuttable: bool = False  # a text of any length, told in full elsewhere: one line at most
    spans: tuple[tuple[int, int, str], ...] = ()  # of a drawing: from, to, and the tone there


def quote_braces(text: str) -> str:
    """Return foreign text as a template may hold it: its braces are not taken for a figure's."""
    return text.replace("{", "{{").replace("}", "}}")


class Document(Struct, frozen=True):
    """A command's answer: records under the names of its spec, and prose for tables.

    `rows` and `blocks` hold every name of the spec that is not optional. `shown` are the
    row lists a table prints, in order (empty: the first of the spec that is present), each
    under its lines of `above`.
    `find_words` returns the opcodes that its programs hold.
    """

    spec: DocumentSpec
    input: InputPaths | None
    rows: Mapping[str, Sequence[object]] = field(default_factory=dict)
    blocks: Mapping[str, object | None] = field(default_factory=dict)
    scalars: object | None = None
    lines: tuple[Line, ...] = ()  # above the tables
    above: Mapping[str, tuple[Line, ...]] = field(default_factory=dict)  # above one table
    notes: tuple[Line, ...] = ()  # below the tables
    shown: tuple[str, ...] = ()
    limits_all: bool = False  # whether -n holds for every list that is shown
    focus: str = ""  # the list that row options act on; '': the first that is present
    find_words: Callable[[], Collection[str]] = frozenset

    def present(self) -> tuple[RowList, ...]:
        """Return the row lists that this answer holds."""
        return tuple(rows for rows in self.spec.row_lists if rows.name in self.rows)
