"""One figure of an answer: its name, unit, meaning and place in a table.

A figure is declared where its record stands: meaning and column beside its type.

    class OpcodeRow(Struct, frozen=True):
        opcode: Annotated[str, column("the opcode; async sugar is undone")]
        executions: Annotated[int | None, column("how often they run", heading="runs")]
        result_bytes: Annotated[int, figure("size of their results")]
        layer: Annotated[int, figure("the layer that they are in", NUMBER)]

A name that ends in its unit says it; other numbers are declared with theirs. The type says the
rest: `| None` may be unknown, a `Literal` is a closed vocabulary, text, flags and lists are what
they are; `words` are a vocabulary to which newer dumps may add. A record's
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
from msgspec.structs import FieldInfo, fields, force_setattr, replace


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
    MEASURE = "measure"  # int or float, in the Unit that the record has in `unit`


BYTES: Final = Unit.BYTES  # for declarations, where units stand on every line
COUNT: Final = Unit.COUNT
FLOPS: Final = Unit.FLOPS
MEASURE: Final = Unit.MEASURE
NUMBER: Final = Unit.NUMBER
PERCENT: Final = Unit.PERCENT
RATIO: Final = Unit.RATIO
SECONDS: Final = Unit.SECONDS
TIMES: Final = Unit.TIMES

# What the last word of a name says, before `_per_step`.
_SAID_BY: Final = {
    **dict.fromkeys(("bytes", "accessed"), BYTES),
    **dict.fromkeys(("count", "executions", "copies", "devices"), COUNT),
    **dict.fromkeys(("flops", "transcendentals"), FLOPS),
    **dict.fromkeys(("line", "number", "position", "space"), NUMBER),
    "ratio": RATIO,
    "seconds": SECONDS,
    "share": PERCENT,
}
_SUMMED = frozenset({Unit.COUNT, Unit.TIMES, Unit.BYTES, Unit.FLOPS})
_NUMERIC = _SUMMED | {Unit.NUMBER, Unit.RATIO, Unit.PERCENT, Unit.SECONDS, Unit.MEASURE}
_HEADING_ENDINGS = ("_bytes", "_seconds")  # the value's unit says it already


class Joint(Protocol):
    """What a record keeps for a figure that does not add up: two savings are not their sum."""

    def together(self, others: Sequence[Any], /) -> float:
        """Return the figure of several rows, from what each of them keeps."""


class Shown(Struct, frozen=True):
    """What a table and a sentence show of a figure, where that is more than its bare value."""

    value: object
    prefix: str = ""
    unit: Unit | None = None  # None: the figure's own
    unlike: float | None = None  # a number gets as many digits as it needs to look unlike this one
    digits: int = 0  # more than usual, at least
    has_lines: bool = False  # below the row its line breaks stay


class Field(Struct, frozen=True):
    """One figure: a JSON key, a name in expressions, and perhaps a column.

    `heading` and `attribute`, which holds the value in a record, are made from the name when
    empty; `class` is a word of Python's, so its attribute has another name. What one column alone
    needs is a function of the record: `shown`, `joint`.
    """

    name: str
    unit: Unit
    meaning: str
    heading: str = ""
    in_table: bool = False  # shown without --columns and --wide
    is_nullable: bool = False  # may be unknown: null in JSON, ? in a table
    null_from: str = ""  # the text that a table shows where this one is null
    null_text: str = "?"  # in a table, where null says that there is none, not that it is unknown
    is_summed: bool | None = None  # None: as the unit has it
    is_signed: bool = False  # a difference: shown with + or −
    extra_digits: int = 0  # of BYTES, where no unit is asked for: as XLA's messages have them
    is_path: bool = False  # into the user's program: numbered siblings fold to `layer_*`
    is_shape: bool = False  # TEXT: a shape, which of a tuple is a list
    is_below: bool = False  # a table prints it below the row, of a LIST an item a line
    is_curve: bool = False  # LIST of numbers: a table draws them in a line
    is_exact: bool = False  # counts what the text holds: sums of it are never ≥ or ≤
    is_verdict: bool = False  # TEXT: a terminal colours it by its word
    total_from: str = ""  # the figure that totals add where this one is null; then they are ≥
    lower_if: str = ""  # the record's flag that makes it ≥; '': is_lower_bound, outside tables
    upper_if: str = ""  # the same for ≤ and is_upper_bound
    shown: Callable[[Any], object] | None = None  # of a record: a Shown, a Range, or the value
    joint: Callable[[Any], Joint | None] | None = None  # of a record, where rows do not add up
    values: tuple[str, ...] = ()  # all a TEXT, or an item of a LIST, may be: an enum in the schema
    words: frozenset[str] = frozenset()  # a vocabulary, to which a newer dump may add
    word_meanings: tuple[tuple[str, str], ...] = ()  # what some of these words mean
    items: Unit = Unit.TEXT  # what a LIST holds: TEXT, NUMBER, or LIST
    inner: Unit = Unit.NUMBER  # what the lists in a LIST hold: NUMBER or TEXT
    is_mapping: bool = False  # LIST of pairs, a word and a number: no word stands there twice
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
        name, per, _ = self.name.partition("_per_step")
        for ending in _HEADING_ENDINGS:
            name = name.removesuffix(ending)
        return name.removeprefix("is_").replace("_", " ") + ("/step" if per else "")

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


class Options(TypedDict, total=False):
    """What a declaration may add; `Field` says what each means."""

    heading: str
    null_from: str
    null_text: str
    is_summed: bool
    is_signed: bool
    extra_digits: int
    is_path: bool
    is_shape: bool
    is_below: bool
    is_curve: bool
    is_exact: bool
    is_verdict: bool
    lower_if: str
    upper_if: str
    shown: Callable[[Any], object]
    joint: Callable[[Any], Joint | None]
    words: frozenset[str]
    word_meanings: Mapping[str, str]


_OPTIONS: Final = "figure"  # where a Meta keeps what `Field` has to know


def figure(meaning: str, unit: Unit | None = None, **options: Unpack[Options]) -> Meta:
    """Declare a figure that a table shows only on request; its name may say the `unit`."""
    return _declare(meaning, unit, in_table=False, **options)


def column(meaning: str, unit: Unit | None = None, **options: Unpack[Options]) -> Meta:
    """Declare a figure that a table shows."""
    return _declare(meaning, unit, in_table=True, **options)


def _declare(meaning: str, unit: Unit | None, **options: Any) -> Meta:
    # The schema is msgspec's, made of the type and of this; it knows nothing of the options.
    return Meta(description=meaning, extra={_OPTIONS: {"unit": unit, **options}})


@cache
def fields_of(record: type[Struct]) -> tuple[Field, ...]:
    """Return the figures that a record declares; parts of it that are no figures are left out.

    Of a figure that adds up, totals add what is known of it, where the record has that: of
    `sent_bytes` it is `known_sent_bytes`. Raises TypeError for a number without a unit, and for a
    unit of anything else: a mistake in a declaration.
    """
    found = {
        each.name: _read(each, meta)
        for each in fields(record)
        if get_origin(each.type) is Annotated
        for meta in get_args(each.type)[1:]
        if _OPTIONS in (meta.extra or {})
    }
    for name, each in found.items():
        known = f"known_{name}"
        if each.is_summable and known in found:
            found[name] = replace(each, total_from=known)
    return tuple(found.values())


_IMPLIED: Final = {str: Unit.TEXT, Literal: Unit.TEXT, bool: Unit.FLAG, tuple: Unit.LIST}


def _read(declared: FieldInfo, meta: Meta) -> Field:
    options = dict((meta.extra or {})[_OPTIONS])
    bare = get_args(declared.type)[0]
    parts = get_args(bare) if get_origin(bare) in {UnionType, Union} else (bare,)
    known = [part for part in parts if part is not NoneType]
    units = {_IMPLIED.get(get_origin(part) or part) for part in known}
    given, implied = options.pop("unit"), units.pop() if len(units) == 1 else None
    last_word = declared.name.partition("_per_step")[0].rpartition("_")[2]
    unit = given or implied or _SAID_BY.get(last_word)
    # A number without a unit cannot be shown, summed or compared: a mistake in a declaration.
    if unit is None or (given and implied):
        raise TypeError(f"{declared.name}: numbers have a unit, and nothing else has one")
    texts, items, inner, is_mapping = known, Unit.TEXT, Unit.NUMBER, False
    if unit is Unit.LIST:
        texts = [get_args(part)[0] for part in known]
        items = _IMPLIED.get(get_origin(texts[0]) or texts[0], Unit.NUMBER)
        if items is Unit.LIST and get_args(texts[0])[0] is str:
            is_mapping = get_args(texts[0])[1] is not ...
            inner = Unit.NUMBER if is_mapping else Unit.TEXT
    literals = (each for each in texts if get_origin(each) is Literal)
    return Field(
        declared.encode_name,
        unit,
        meta.description or "",
        is_nullable=NoneType in parts,
        values=tuple(word for each in literals for word in get_args(each)),
        items=items,
        inner=inner,
        is_mapping=is_mapping,
        attribute=declared.name,
        word_meanings=tuple(options.pop("word_meanings", {}).items()),
        **options,
    )
