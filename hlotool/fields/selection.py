"""What the row options leave of a row list: the value that `render` prints."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from hlotool.fields.field import Field
from hlotool.fields.rows import RowList


class Sum(Struct, frozen=True):
    """A sum over rows. A part that is unknown makes it lower; what may not happen, upper.

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
