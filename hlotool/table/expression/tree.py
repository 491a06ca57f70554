"""The tree of an expression: frozen values that know where they stood in the text.

Sums, products, `and` and `or` hold all their operands side by side, so that a tree is only
as deep as its text has brackets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, TypeAlias

from hlotool.table.quantity import SIZES, TIMES

PERCENT: Final = "%"
KEYWORDS: Final = ("and", "or", "not", "in", "true", "false", "null")
_SCALES: Final[dict[str, Fraction | int]] = {PERCENT: Fraction(1, 100), **SIZES, **TIMES}
FUNCTIONS: Final = ("count", "sum", "max", "min")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Any part of an expression; equal to one that says the same elsewhere."""

    start: int = field(default=0, compare=False, repr=False)
    end: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Literal(Part):
    """`64MiB`, `2ms`, `5%`, `12`, `"text"`, `true`, `null`: what was written, and its suffix."""

    written: int | float | str | bool | None
    suffix: str = ""  # '', '%', or a key of SIZES or TIMES

    @property
    def value(self) -> int | float | str | bool | None:
        """The value meant: sizes in bytes, times in seconds, percentages as fractions."""
        return self.number if isinstance(self.written, int | float) else self.written

    @property
    def number(self) -> int | float:
        """The number meant, 0 where it is none."""
        if not isinstance(self.written, int | float):
            return 0
        if not self.suffix:
            return self.written
        exact = Fraction(repr(self.written)) * _SCALES[self.suffix]
        return exact.numerator if exact.denominator == 1 else float(exact)


@dataclass(frozen=True, slots=True)
class Name(Part):
    """A field of a row, or a metric such as `buffers.temp_bytes`."""

    path: str


@dataclass(frozen=True, slots=True)
class Negative(Part):
    """`-a`."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Arithmetic(Part):
    """`a + b - c` or `a * b / c`, from left to right; `operators` stand between `operands`."""

    operators: tuple[str, ...]
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Relation(Part):
    """`a < b` and its kin."""

    operator: str  # == != < <= > >=
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Match(Part):
    """`a ~ "regex"`, or `!~`."""

    left: Expression
    right: Expression  # a text literal, or the check refuses it
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Membership(Part):
    """`a in [b, c]`, `"a" in flags`, or `not in`."""

    left: Expression
    right: Expression  # a Listing, or the name of a list field
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Listing(Part):
    """`[a, b]`, after `in` only."""

    items: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Not(Part):
    """`not a`."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class And(Part):
    """`a and b and c`."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or(Part):
    """`a or b or c`."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Aggregate(Part):
    """`collectives.sum(wire_bytes, kind == "all-gather")`: a figure made from many rows."""

    function: str  # of FUNCTIONS
    rows: str  # 'collectives', 'summary.loops'; '' where one row list is meant
    value: Expression | None = None  # None for count
    where: Expression | None = None


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


def find_reads(tree: Expression) -> Iterator[Name | Aggregate]:
    """Yield every name and aggregate that an expression reads; its depth is bounded.

    What stands inside an aggregate names fields of rows, and is left out.
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
