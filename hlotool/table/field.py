"""One figure of an answer: its name, unit, meaning and place in a table.

A figure is declared where its record stands: unit, meaning and column beside its type.

    class OpcodeRow(Struct, frozen=True):
        opcode: Annotated[str, column("the opcode; async sugar is undone")]
        count: Annotated[int, figure("instructions in the text", COUNT)]
        executions: Annotated[int | None, column("how often they run", COUNT, heading="runs")]

The type says the rest: `| None` may be unknown, a `Literal` is a closed vocabulary, text, flags
and lists are what they are; `words` are a vocabulary to which newer dumps may add. A record's
`fields_of` are its figures in the order of the class; JSON, columns, `--where`, `hlotool fields`,
schemas and docs/fields.md are made from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    Protocol,
    TypedDict,
    Union,
    Unpack,
    get_args,
    get_origin,
)

from msgspec import Meta, Struct
from msgspec.structs import FieldInfo, fields, force_setattr


class Unit(Enum):
    """What a value is, which decides how it is shown, compared and summed."""

    TEXT = "text"  # str
    COUNT = "count"  # int: how many; summed in totals
    NUMBER = "number"  # int: a position, an id, a line; never summed
    TIMES = "times"  # int: equal things folded into one row, shown as ×48; summed
    BYTES = "bytes"  # int; summed
    FLOPS = "flops"  # int: floating-point operations, transcendentals; summed
    RATIO = "ratio"  # float
    PERCENT = "percent"  # float: the fraction, 0.41 is shown as 41.0 %
    SECONDS = "seconds"  # float
    FLAG = "flag"  # bool
    LIST = "list"  # tuple of what `items` says
    MEASURE = "measure"  # int or float, its unit is the row's own: see Field.unit_from


BYTES: Final = Unit.BYTES  # for declarations, where units stand on every line
COUNT: Final = Unit.COUNT
FLOPS: Final = Unit.FLOPS
MEASURE: Final = Unit.MEASURE
NUMBER: Final = Unit.NUMBER
PERCENT: Final = Unit.PERCENT
RATIO: Final = Unit.RATIO
SECONDS: Final = Unit.SECONDS
TIMES: Final = Unit.TIMES
WHOLE: Final = 10_000  # what a name that users grep for wants: all of it

_SUMMED = frozenset({Unit.COUNT, Unit.TIMES, Unit.BYTES, Unit.FLOPS})
_NUMERIC = _SUMMED | {Unit.NUMBER, Unit.RATIO, Unit.PERCENT, Unit.SECONDS, Unit.MEASURE}
_HEADING_ENDINGS = ("_bytes", "_seconds")  # the value's unit says it already


class Joint(Protocol):
    """What a record keeps for a figure that does not add up: two gains are not their sum."""

    def together(self, others: Sequence[Any], /) -> float:
        """Return the figure of several rows, from what each of them keeps."""


class Field(Struct, frozen=True):
    """One figure: a JSON key, a name in expressions, and perhaps a column.

    `heading` and `attribute`, which holds the value in a record, are made from the name when
    empty; `class` is a word of Python's, so its attribute has another name.
    """

    name: str
    unit: Unit
    meaning: str
    heading: str = ""
    in_table: bool = False  # shown without --columns and --wide
    is_nullable: bool = False  # may be unknown: null in JSON, ? in a table
    null_text: str = "?"  # in a table, where null says that there is none, not that it is unknown
    is_summed: bool | None = None  # None: as the unit has it
    is_signed: bool = False  # a difference: shown with + or −
    is_fine: bool = False  # BYTES: two decimals, as XLA's messages have
    is_path: bool = False  # into the user's program: numbered siblings fold to `layer_*`
    give_way: int = 0  # where a table is too wide, columns leave it highest first; 0: the answer
    wants: int = 0  # so many characters of it are shown as long as other columns may give way
    leaves_alike: bool = False  # too wide a table names it below, where all rows have the same
    is_whole: bool = False  # TEXT that a user types: never cut
    is_shape: bool = False  # TEXT: a shape, which of a tuple is a list
    is_below: bool = False  # a table prints it below the row, of a LIST an item a line
    has_lines: bool = False  # TEXT: its line breaks stay where it stands below the row
    is_curve: bool = False  # LIST of numbers: a table draws them in a line
    is_exact: bool = False  # counts what the text holds: sums of it are never ≥ or ≤
    joint_from: str = ""  # the record's attribute that says what rows come to together: see Joint
    once: str = ""  # the field that totals add instead where this one is null; then they are ≥
    lower_if: str = ""  # the record's flag that makes it ≥; '': is_lower_bound, outside tables
    upper_if: str = ""  # the same for ≤ and is_upper_bound
    is_verdict: bool = False  # TEXT: a terminal colours it by its word
    estimate_if: str = ""  # the record's flag that makes it an estimate: shown with ~
    values: tuple[str, ...] = ()  # all a TEXT, or an item of a LIST, may be: an enum in the schema
    words: frozenset[str] = (
        frozenset()
    )  # what it may be besides what a dump newer than hlotool holds
    word_meanings: tuple[tuple[str, str], ...] = ()  # what some of these words mean
    items: Unit = Unit.TEXT  # what a LIST holds: TEXT, NUMBER, or LIST (of NUMBERs)
    indent_by: str = ""  # the field that says how deep a table indents this one
    range_from: str = ""  # the record's attribute with the lower end: a table shows 3–5
    unit_from: str = ""  # MEASURE: the record's attribute that holds the Unit of its value
    apart_from: str = ""  # MEASURE: the record's attribute that it looks unlike, if it differs
    digits_from: str = ""  # MEASURE: the record's attribute with how many more digits it has
    names_from: str = ""  # LIST of number and bytes: the record's names for the numbers, in order
    attribute: str = ""

    def __post_init__(self) -> None:
        """Name the attribute as the field where it has no name of its own."""
        if not self.attribute:
            force_setattr(self, "attribute", self.name)

    @property
    def title(self) -> str:
        """What stands above the column."""
        if self.heading:
            return self.heading
        name = self.name
        for ending in _HEADING_ENDINGS:
            name = name.removesuffix(ending)
        return name.removeprefix("is_").replace("_per_run", "/run").replace("_", " ")

    @property
    def is_numeric(self) -> bool:
        """Whether the value is a number: right-aligned, and fit for arithmetic."""
        return self.unit in _NUMERIC

    @property
    def is_summable(self) -> bool:
        """Whether totals and groups add this field up."""
        return self.unit in _SUMMED if self.is_summed is None else self.is_summed

    @property
    def lower_flag(self) -> str:
        """The record's flag that makes this figure a lower bound, where it has one."""
        return self.lower_if or "is_lower_bound"

    def getter(self) -> Callable[[object], object]:
        """Return the function that reads this field from a record; the fastest there is."""
        return attrgetter(self.attribute)


_FIGURE: Final = "figure"  # where a Meta keeps what `Field` wants to know


class Options(TypedDict, total=False):
    """What a declaration may add; `Field` says what each means."""

    heading: str
    null_text: str
    is_summed: bool
    is_signed: bool
    is_fine: bool
    is_path: bool
    give_way: int
    wants: int
    leaves_alike: bool
    is_whole: bool
    is_shape: bool
    is_below: bool
    has_lines: bool
    is_curve: bool
    is_exact: bool
    joint_from: str
    once: str
    lower_if: str
    upper_if: str
    is_verdict: bool
    estimate_if: str
    indent_by: str
    range_from: str
    unit_from: str
    apart_from: str
    digits_from: str
    names_from: str
    words: frozenset[str]
    word_meanings: Mapping[str, str]


def figure(meaning: str, unit: Unit | None = None, **options: Unpack[Options]) -> Meta:
    """Declare a figure that a table shows only on request; `unit` is for numbers."""
    return _declare(meaning, unit, in_table=False, **options)


def column(meaning: str, unit: Unit | None = None, **options: Unpack[Options]) -> Meta:
    """Declare a figure that a table shows."""
    return _declare(meaning, unit, in_table=True, **options)


def _declare(meaning: str, unit: Unit | None, **options: Any) -> Meta:
    return Meta(
        description=meaning,
        extra_json_schema={"unit": unit.value} if unit else None,
        extra={_FIGURE: {"unit": unit, **options}},
    )


@cache
def fields_of(record: type[Struct]) -> tuple[Field, ...]:
    """Return the figures that a record declares; parts of it that are no figures are left out.

    Raises TypeError for a number without a unit, and for a unit of anything else: a mistake in
    a declaration.
    """
    found = []
    for each in fields(record):
        meta = _find_meta(each.type)
        if meta is not None:
            found.append(_read(each, meta))
    return tuple(found)


def _find_meta(declared: Any) -> Meta | None:
    """Return what `figure` or `column` made, None where there is no such annotation."""
    if get_origin(declared) is not Annotated:
        return None
    return next((one for one in get_args(declared)[1:] if _FIGURE in (one.extra or {})), None)


def _read(declared: FieldInfo, meta: Meta) -> Field:
    options = dict((meta.extra or {})[_FIGURE])
    parts = _alternatives(get_args(declared.type)[0])
    is_nullable = NoneType in parts
    known = [part for part in parts if part is not NoneType]
    given, implied = options.pop("unit"), _unit_of(known)
    unit = given or implied
    if unit is None or (given and implied):
        raise TypeError(f"{declared.name}: numbers have a unit, and nothing else has one")
    values = [word for part in known for word in _words_of(part)]
    word_meanings: Mapping[str, str] = options.pop("word_meanings", {})
    return Field(
        declared.encode_name,
        unit,
        meta.description or "",
        is_nullable=is_nullable,
        values=tuple(values),
        items=_items_of(known[0]) if unit is Unit.LIST else Unit.TEXT,
        attribute=declared.name,
        word_meanings=tuple(word_meanings.items()),
        **options,
    )


def _alternatives(declared: Any) -> tuple[Any, ...]:
    return get_args(declared) if get_origin(declared) in {UnionType, Union} else (declared,)


def _unit_of(known: list[Any]) -> Unit | None:
    """Return the unit that a type implies, None for numbers."""
    kinds = {get_origin(part) or part for part in known}
    if kinds <= {str, Literal}:
        return Unit.TEXT
    if kinds == {bool}:
        return Unit.FLAG
    return Unit.LIST if kinds == {tuple} else None


def _words_of(declared: Any) -> tuple[str, ...]:
    """Return all that a text, or an item of a list of texts, may be; nothing if that is open."""
    if get_origin(declared) is tuple:
        declared = get_args(declared)[0]
    return get_args(declared) if get_origin(declared) is Literal else ()


def _items_of(declared: Any) -> Unit:
    """Return what a tuple holds: texts, numbers, or tuples of numbers."""
    item = get_args(declared)[0]
    if get_origin(item) is tuple:
        return Unit.LIST
    return Unit.NUMBER if item is int else Unit.TEXT
