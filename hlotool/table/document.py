"""What an answer is declared to hold, what it holds, and what the row options leave of a list.

A `DocumentSpec` is all that a command can answer: `Block`s, records of scalars, and `RowList`s,
lists of equal records, each with the fields that its record declares. A `Document` is one answer,
with the prose around its tables. A `Selection` is what `--where`, `--sort`, `--by`, `--columns`
and `-n` leave of a list, which is what every format is written from.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Final

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from hlotool.table.field import Field, fields_of, figure

WIDE: Final = 120  # columns of a terminal from which on tables show more


class Various(Struct, frozen=True):
    """In a folded row: how many values there are of what is no number and differs."""

    count: int

    def __str__(self) -> str:
        return f"{self.count:,} different"


class Range(Struct, frozen=True):
    """In a folded row, the least and the most of a number in which its rows differ."""

    least: int | float
    most: int | float


class Fold(Struct, frozen=True):
    """Which rows of a table are one row `×48`; JSON, JSON Lines and CSV are never folded.

    Names have commas between, as for `--columns`. Rows fold when they agree in every field of
    `keys` and, where `name` is given, in that field without its computation and trailing number
    (`fusion.12` and `body/fusion.7` agree). Numbers at the end of a path's components do not
    count (`layer_0/mlp` and `layer_1/mlp` agree). Summable fields, a `count` among them, are
    added up; of other numbers the least and the most are shown, of a path what the rows share, of
    other fields how many differ. Rows that know a field in `known` do not fold with those
    that do not. Lists in fields of `joined` are put together, each item once.
    """

    keys: str
    name: str = ""
    known: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()


class _Declared(Struct, frozen=True):
    """A name in a document, and the record whose figures stand under it."""

    name: str
    record: type[Struct]
    meaning: str

    @property
    def fields(self) -> tuple[Field, ...]:
        """The figures of the record."""
        return fields_of(self.record)

    def field(self, name: str) -> Field:
        """Return the field of that name; KeyError is a mistake in a declaration."""
        return {each.name: each for each in self.fields}[name]


class RowList(_Declared, frozen=True):
    """A list of equal records in a document.

    `record` declares the fields of a row.
    `sort` is written as for `--sort`: names with `-` before those that fall, comma between.
    `size` names the field that `… and N smaller (SIZE)` and the share of `--by` speak of.
    `no_total_across` names a field whose values do not add up together, as memory spaces do not:
    rows that differ in it have a TOTAL for each value, and groups are divided by it first.
    A row whose field in `lower_if` is true makes every total ≥, one in `upper_if` ≤; its own
    figures, too, if it `is_sum`.
    """

    sort: str = ""  # '': the order the analysis gives
    size: str = ""
    key: str = ""  # breaks ties; '': the first field
    lower_if: tuple[str, ...] = ()
    upper_if: tuple[str, ...] = ()
    is_sum: bool = False  # whether each row adds others up
    fold: Fold | None = None
    no_total_across: str = ""
    has_total: bool = True  # False where rows do not add up, as modules or peaks do not
    is_optional: bool = False  # not in every answer
    option: str = ""  # what adds the list, which then is optional: an option, or a profile
    limit: int = 20  # rows of a table when -n is not given
    title: str = ""  # a line above the table, when a document shows several
    screen: str = ""  # columns that answer, in order, as for --columns; '': all of its table
    wide_screen: str = ""  # those that a terminal of WIDE columns shows after them
    more: str = ""  # the command that lists what a limit leaves out
    chosen: tuple[Field, ...] = ()  # where an answer has other columns or headings

    def __post_init__(self) -> None:
        """Note that a list which something adds is optional."""
        if self.option:
            force_setattr(self, "is_optional", True)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The figures of the record, as the answer has them."""
        return self.chosen or fields_of(self.record)

    @property
    def key_field(self) -> Field:
        """The field that names a row."""
        return self.field(self.key) if self.key else self.fields[0]

    def lower_flags(self, field: Field) -> tuple[str, ...]:
        """Name the flags of a row that make this figure a lower bound."""
        return (field.lower_if,) if field.lower_if else self.lower_if

    def upper_flags(self, field: Field) -> tuple[str, ...]:
        """Name the flags of a row that make this figure an upper bound."""
        return (field.upper_if,) if field.upper_if else self.upper_if

    def showing(self, names: Iterable[str]) -> RowList:
        """Return the list with these columns in its table and no others.

        KeyError, a mistake in a declaration: a name that is none of its fields.
        """
        shown = frozenset(names)
        if unknown := shown - {each.name for each in self.fields}:
            raise KeyError(min(unknown))
        fields = tuple(replace(each, in_table=each.name in shown) for each in self.fields)
        return replace(self, chosen=fields)

    def list_columns(self, width: int | None) -> tuple[Field, ...]:
        """Return the columns of its table, in order; on a terminal those of its screen alone.

        KeyError, a mistake in a declaration: a name that is none of its fields.
        """
        is_whole = (width or WIDE) >= WIDE and self.screen
        names = [*filter(None, f"{self.screen},{self.wide_screen * bool(is_whole)}".split(","))]
        by_name = {each.name: each for each in self.fields}
        first = [by_name[name] for name in dict.fromkeys(names)]
        is_all = width is None or not names
        rest = (each for each in self.fields if each not in first and (is_all or each.is_below))
        return tuple(each for each in (*first, *rest) if each.in_table)

    def shown(self) -> set[str]:
        """Return the names of the columns in its table."""
        return {each.name for each in self.fields if each.in_table}


class Block(_Declared, frozen=True):
    """A record of scalars in a document, such as `totals`; may hold blocks and lists of records.

    `{name}` of a `Line` names one of `fields`; what is nested is the attribute of its name.
    """

    blocks: tuple[Block, ...] = ()
    row_lists: tuple[RowList, ...] = ()  # not for --rows: they are printed as they are
    is_nullable: bool = False
    is_optional: bool = False  # present only when an option asks for it


class DocumentSpec(Struct, frozen=True):
    """All that a document may hold, in the order JSON prints it."""

    name: str  # the schema is hlotool/<name>/v<version>
    meaning: str
    blocks: tuple[Block, ...] = ()
    row_lists: tuple[RowList, ...] = ()  # the first is the default of --rows
    scalars: Block | None = None  # its fields stand at the top of the document, unnested
    version: int = 2

    @property
    def schema(self) -> str:
        """The document's `schema` value."""
        return f"hlotool/{self.name}/v{self.version}"

    def find_row_list(self, name: str) -> RowList | None:
        """Find a row list by name."""
        return next((rows for rows in self.row_lists if rows.name == name), None)

    def walk(self) -> Iterator[tuple[str, Block | RowList]]:
        """Yield all that holds figures by its path: `cost`, `totals.by_kind`, last the row lists.

        What stands at the top of the document, unnested, has the path ''.
        """
        if self.scalars:
            yield "", self.scalars
        yield from _walk_blocks(self.blocks)
        yield from ((rows.name, rows) for rows in self.row_lists)


def _walk_blocks(
    blocks: Iterable[Block], prefix: str = ""
) -> Iterator[tuple[str, Block | RowList]]:
    for block in blocks:
        path = f"{prefix}{block.name}"
        yield path, block
        yield from ((f"{path}.{rows.name}", rows) for rows in block.row_lists)
        yield from _walk_blocks(block.blocks, f"{path}.")


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
    """Return foreign text for a template that has a block: its braces are not taken for a figure's.

    Without a block a line is no template, and its text is not quoted.
    """
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
    is_brief: bool = False  # no TOTALs: of a first look
    limits_all: bool = False  # whether -n holds for every list that is shown
    focus: str = ""  # the list that row options act on; '': the first that is present
    find_words: Callable[[], Collection[str]] = frozenset
    shorten: Callable[[Document], Iterable[Document]] | None = None  # into ever shorter ones
    most_rows: int = 0  # of which the first that has no more than so many is shown

    def present(self) -> tuple[RowList, ...]:
        """Return the row lists that this answer holds."""
        return tuple(rows for rows in self.spec.row_lists if rows.name in self.rows)


class Sum(Struct, frozen=True):
    """A sum over rows. A part that is unknown makes it lower; what might not happen, upper.

    The value is None where no part at all is known.
    """

    value: int | float | None
    is_lower_bound: bool = False
    is_upper_bound: bool = False


class Total(Struct, frozen=True):
    """The sums of a table's columns, None where a column does not add up.

    Where rows do not all add up together, `of` are those that the sums are over, as `space 1`.
    """

    sums: tuple[Sum | None, ...]
    of: str = ""


class Rest(Struct, frozen=True):
    """The rows a limit left out. `is_smaller`: every one is at most as large as those shown."""

    count: int
    size: Sum | None = None
    is_smaller: bool = False


class Group(Struct, frozen=True):
    """Rows that agree in one field, for `--by`; `groups` divides them by the next field."""

    label: object
    count: int
    sums: tuple[Sum, ...]  # of Grouping.summed, in that order
    share: float | None  # of the whole, as a fraction; None where the whole is 0 or unknown
    groups: tuple[Group, ...] = ()
    rest: Rest | None = None  # groups below this one that a limit left out


class Grouping(Struct, frozen=True):
    """All groups of a row list, outermost field first."""

    by: tuple[Field, ...]
    summed: tuple[Field, ...]
    groups: tuple[Group, ...]
    total: Group | None  # None where the outermost groups do not add up together
    rest: Rest | None = None  # outermost groups that a limit left out
    measured: Field | None = None  # what shares are of; None: of the count


class Selection(Struct, frozen=True):
    """Rows filtered, sorted and cut, with the columns to show and the totals over all of them.

    `rows_total` counts what the filter kept, before the limit. `totals` is one, or one for each
    part of the rows that adds up; it is empty where the list has no TOTAL.
    """

    row_list: RowList
    columns: tuple[Field, ...]
    rows: Sequence[object]
    rows_total: int
    rest: Rest | None = None
    totals: tuple[Total, ...] = ()
    grouping: Grouping | None = None
    is_limited: bool = False  # -n was given
    has_chosen_columns: bool = False  # --columns was given


def find_main(selections: Sequence[Selection]) -> Selection | None:
    """Return the list whose first row tells most: findings, else the first that has a row."""
    filled = [one for one in selections if one.rows or (one.grouping and one.grouping.groups)]
    filled.sort(key=lambda one: one.row_list.name not in {"findings", "causes"})
    return filled[0] if filled else None
