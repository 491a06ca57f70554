"""The tree of an expression: frozen values that know where they stood in the text.

Errors point at these places. `grammar` leaves `type`, `Name.field` and `Aggregate.row_list` empty;
`check` returns the same tree with all of them found. Only such a tree can be compiled.

Sums, products, `and` and `or` hold all their operands side by side, so that a tree is only as
deep as its text has brackets: a budget of a thousand terms needs no deep stack, and `grammar`
refuses more than `MAX_DEPTH` brackets. What walks a tree may therefore call itself.

`1 + temp_bytes > 5%` is a Relation of an Arithmetic of (Literal 1, Name) and a Literal 5 with the
suffix `%`. The Arithmetic has the sure unit BYTES, from the Name, and the Relation is refused as
its right side has a literal with another.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final, TypeAlias

from msgspec import Struct

from hlotool.table.document import RowList
from hlotool.table.field import Field, Unit
from hlotool.table.units import to_base_unit

KEYWORDS: Final = ("and", "or", "not", "in", "contains", "true", "false", "null")
FUNCTIONS: Final = ("count", "sum", "max", "min")


class Kind(Enum):
    """What an expression yields, in the words of messages."""

    NUMBER = "a number"
    TEXT = "text"
    FLAG = "true or false"
    LIST = "a list"
    NULL = "null"


class Type(Struct, frozen=True):
    """What is known of a part of an expression before any row is read.

    `unit` is how answers print the value, the best guess: RATIO where units cancel or mix, of a
    comparison that of its sides. `sure_unit` is for refusals: what the value is measured in beyond
    doubt, None where that is open, as of most products, where any number may stand for anything.
    """

    kind: Kind
    unit: Unit = Unit.NUMBER
    sure_unit: Unit | None = None
    # The numbers that it is a sum of, or is itself: their suffixes must fit its other side.
    literals: tuple[Literal, ...] = ()
    # Fields that list their words, with each text they are compared with. Whether the word exists
    # is asked when rows are at hand (`where`): a newer XLA has words that hlotool does not know.
    compared: tuple[tuple[Field, Literal], ...] = ()


_UNCHECKED: Final = Type(Kind.NULL)


class Part(Struct, frozen=True, kw_only=True):
    """Any part of an expression, and its place in the text."""

    start: int = 0
    end: int = 0
    type: Type = _UNCHECKED


class Literal(Part, frozen=True):
    """`64MiB`, `2ms`, `5%`, `12`, `"text"`, `true`, `null`: what was written, and its suffix."""

    written: int | float | str | bool | None
    suffix: str = ""  # '' or a key of SUFFIXES

    @property
    def value(self) -> int | float | str | bool | None:
        """The value meant: sizes in bytes, times in seconds, percentages as fractions."""
        if self.suffix and isinstance(self.written, int | float):
            return to_base_unit(self.written, self.suffix)
        return self.written


class Name(Part, frozen=True):
    """A field of a row, or a metric such as `buffers.temp_bytes`."""

    path: str
    field: Field | None = None


class Negative(Part, frozen=True):
    """`-a`."""

    operand: Expression


class Arithmetic(Part, frozen=True):
    """`a + b - c` or `a * b / c`, from left to right; `operators` stand between `operands`."""

    operators: tuple[str, ...]  # all of + and -, or all of * and /
    operands: tuple[Expression, ...]


class Relation(Part, frozen=True):
    """`a < b` and its kin."""

    operator: str  # == != < <= > >=
    left: Expression
    right: Expression


class Match(Part, frozen=True):
    """`a ~ "regex"`, or `!~`."""

    left: Expression
    right: Expression  # a text literal, once checked
    is_negated: bool = False


class Membership(Part, frozen=True):
    """`a in [b, c]`, `"a" in flags`, or `not in`."""

    left: Expression
    right: Expression  # a Listing, or the name of a list field
    is_negated: bool = False


class Listing(Part, frozen=True):
    """`[a, b]`, after `in` only."""

    items: tuple[Literal, ...]


class Not(Part, frozen=True):
    """`not a`."""

    operand: Expression


class And(Part, frozen=True):
    """`a and b and c`."""

    operands: tuple[Expression, ...]


class Or(Part, frozen=True):
    """`a or b or c`."""

    operands: tuple[Expression, ...]


class Aggregate(Part, frozen=True):
    """`collectives.sum(sent_bytes, kind == "all-gather")`: a figure made from many rows."""

    function: str  # of FUNCTIONS
    rows: str  # 'collectives', 'summary.loops'; '' where none was written, which `check` refuses
    value: Expression | None = None  # None for count
    where: Expression | None = None
    row_list: RowList | None = None


# The leaves that are no constants: `compile` asks its caller how to read the value of each.
Read: TypeAlias = Name | Aggregate
Expression: TypeAlias = (
    Literal
    | Name
    | Negative
    | Arithmetic
    | Relation
    | Match
    | Membership
    | Listing
    | Not
    | And
    | Or
    | Aggregate
)


def find_reads(tree: Expression) -> Iterator[Read]:
    """Yield every name and aggregate that an expression reads, from left to right.

    What stands inside an aggregate names fields of its rows, and is left out: they are no metrics.
    Nor are literals, and listings of these, ever read.
    """
    match tree:
        case Name() | Aggregate():
            yield tree
        case Negative() | Not():
            yield from find_reads(tree.operand)
        case Arithmetic() | And() | Or():
            for operand in tree.operands:
                yield from find_reads(operand)
        case Relation() | Match() | Membership():
            yield from find_reads(tree.left)
            yield from find_reads(tree.right)
