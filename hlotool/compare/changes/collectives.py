"""What crosses the interconnect on each side, by kind, interconnect, devices and element type.

Collectives are put in pairs first: by the devices, never by the notation of their groups, as
`mesh['a'=4,'b'=2] {'a'}` and `[2,4]<=[4,2]T(1,0)` are the same. Groups that follow no strides are
taken together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import replace

from hlotool.analysis.collectives.mesh import Interconnect
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.collectives.totals import KindRow
from hlotool.compare.changes import instructions as columns
from hlotool.compare.changes.instructions import NEW, OLD, Change, N, share_scope, sides, subtract
from hlotool.hlo.opcodes import COLLECTIVES
from hlotool.hlo.shape import DTYPES
from hlotool.table import BYTES, COUNT, NUMBER, SECONDS, Unit, column, figure
from hlotool.table.sums import group_by


class RowPair(Struct, frozen=True):
    """A collective on the old side, on the new side, or the same on both."""

    old: CollectiveRow | None
    new: CollectiveRow | None

    @property
    def kinds(self) -> Hashable:
        """What it is on both sides; one without a counterpart is as if it had one like itself."""
        one, other = self.old or self.new, self.new or self.old
        return _devices(one), one and one.dtype, _devices(other), other and other.dtype


_Key: TypeAlias = Callable[[CollectiveRow], Hashable]


def _devices(row: CollectiveRow | None) -> Hashable:
    """Return kind and devices; only the data-centre network is told from others.

    Of other interconnects a side may not know its own, and of axes not the names.
    """
    return row and (*_unlocated(row), row.strides, row.group_size)


def _unlocated(row: CollectiveRow) -> tuple[str, bool]:
    return row.kind, row.interconnect == "dcn"


# From strict to loose. What has another dtype or runs over other devices is at the same place.
_KEYS: Final[tuple[_Key, ...]] = (
    lambda row: (_devices(row), row.dtype, row.message_bytes, row.executions, row.scope),
    lambda row: (_devices(row), row.dtype, row.message_bytes),
    lambda row: (_devices(row), row.dtype, row.scope),
    lambda row: (_devices(row), row.dtype),
    lambda row: (_devices(row), row.executions, row.scope),
    lambda row: (_devices(row), row.executions),
    # Over other devices only what moves the same bytes as often for the same scope.
    lambda row: (*_unlocated(row), row.dtype, row.message_bytes, row.executions, row.scope),
)


def pair_collectives(old: Sequence[CollectiveRow], new: Sequence[CollectiveRow]) -> list[RowPair]:
    """Pair collectives of one kind: by devices and dtype, then dtype, then devices aside.

    Where equals are left, their order decides. Over other devices only what moves the same
    bytes as often for the same scope is a pair.
    """
    found: list[RowPair] = []
    here, there = list(old), list(new)
    for key in _KEYS:
        waiting, alone = {each: deque(rows) for each, rows in group_by(there, key).items()}, []
        for row in here:
            others = waiting.get(key(row))
            if others:
                found.append(RowPair(row, others.popleft()))
            else:
                alone.append(row)
        here = alone
        there = [row for others in waiting.values() for row in others]
    return [*found, *(RowPair(row, None) for row in here), *(RowPair(None, row) for row in there)]


_UNSURE: Final = "whether a size or a trip count is unknown,"
_EXPOSED: Final = "bytes sent that are exposed,"
_SECONDS: Final = "with --chip: time that is exposed,"
_SENT: Final = "bytes sent per device and step,"
_OLD_LOWER, _NEW_LOWER = "is_old_lower_bound", "is_new_lower_bound"
_RUNS: Final = "their executions"
_MESSAGE: Final = "message size per step,"
_COUNTS: Final = sides(column, "how many", COUNT, "", is_exact=True)


def _exposed(meaning: str, unit: Unit, heading: str) -> Meta:
    """Declare what is exposed, with its own mark of a lower bound."""
    return figure(meaning, unit, heading=heading, is_summed=True, lower_if="is_exposed_lower_bound")


class CollectiveChange(Struct, frozen=True, kw_only=True):
    """All collectives of one kind, interconnect, devices and dtype that differ.

    Those that a counterpart takes the place of, with another dtype or over other devices, are one
    row, whose `details` say so. Bytes are bytes sent per device per step; `count` is how many
    there are now (were, if removed). An unknown trip count counts once, and the flags say so.
    """

    change: Annotated[Change, columns.CHANGE]
    kind: Annotated[str, column("their effect", words=COLLECTIVES)]
    interconnect: Annotated[
        Interconnect | None, column("their interconnect, if known", null_text="")
    ] = None
    axes: Annotated[
        tuple[str, ...] | None,
        column("mesh axes, as named by the new side, else by the old", null_text=""),
    ] = None
    group_size: Annotated[int | None, column("devices of a group", NUMBER, null_text="")] = None
    dtype: Annotated[
        str | None,
        column(
            "element type, of the new side if both have one; null if a document lacks it",
            words=DTYPES,
        ),
    ] = None
    count: Annotated[
        int, figure("their number on the new side, else on the old side", is_summed=False)
    ]
    old_count: Annotated[int, _COUNTS[0]]
    new_count: Annotated[int, _COUNTS[1]]
    old_executions: Annotated[int, figure(_RUNS, heading="old runs")]
    new_executions: Annotated[int, figure(_RUNS, heading="new runs")]
    old_message_bytes: Annotated[int, figure(_MESSAGE + OLD)]
    new_message_bytes: Annotated[int, figure(_MESSAGE + NEW)]
    old_bytes: Annotated[int, column(_SENT + OLD, heading="old sent/step", lower_if=_OLD_LOWER)]
    new_bytes: Annotated[int, column(_SENT + NEW, heading="new sent/step", lower_if=_NEW_LOWER)]
    delta_bytes: Annotated[
        int,
        column(
            "new minus old",
            heading="difference",
            is_signed=True,
            lower_if="is_lower_bound",
            upper_if="is_upper_bound",
        ),
    ]
    old_exposed_bytes: Annotated[int | None, _exposed(_EXPOSED + OLD, BYTES, "old exposed")]
    new_exposed_bytes: Annotated[int | None, _exposed(_EXPOSED + NEW, BYTES, "new exposed")]
    delta_exposed_bytes: Annotated[
        int | None,
        figure(
            "exposed bytes, new minus old",
            heading="exposed difference",
            is_signed=True,
            is_summed=True,
            lower_if="is_exposed_lower_bound",
        ),
    ]
    old_exposed_seconds: Annotated[
        float | None, _exposed(_SECONDS + OLD, SECONDS, "old exposed time")
    ]
    new_exposed_seconds: Annotated[
        float | None, _exposed(_SECONDS + NEW, SECONDS, "new exposed time")
    ]
    is_old_lower_bound: Annotated[bool, figure(_UNSURE + OLD)]
    is_new_lower_bound: Annotated[bool, figure(_UNSURE + NEW)]
    is_lower_bound: Annotated[bool, figure("whether the difference is a lower bound")]
    is_upper_bound: Annotated[bool, figure("whether the difference is an upper bound")]
    is_exposed_lower_bound: Annotated[bool, figure("whether the overlap of some is unknown")]
    scope: Annotated[
        str | None, column("module path that they share", null_text="", is_path=True)
    ] = None
    source_file: Annotated[str | None, figure("file of the largest")] = None
    source_line: Annotated[int | None, columns.SOURCE_LINE] = None
    details: Annotated[
        tuple[str, ...], figure("other differences, with both values: dtype, axes, origin")
    ] = ()
    what: Annotated[str, columns.WHAT] = ""


def compare_collectives(
    old: Sequence[CollectiveRow], new: Sequence[CollectiveRow]
) -> tuple[CollectiveChange, ...]:
    """Compare group by group; the largest difference of bytes sent comes first.

    Rows are put in pairs first; pairs of one kind that differ alike in dtype and devices, and rows
    without a counterpart of that dtype and these devices, are a group. Groups in which neither
    number, executions, bytes, exposure nor who asked differ are left out.
    """
    groups = group_by(pair_collectives(old, new), lambda pair: pair.kinds)
    changed = [row for row in map(_row, groups.values()) if has_changed(row)]
    changed.sort(key=lambda row: (-abs(row.delta_bytes), -row.count, row.kind, row.dtype))
    return tuple(changed)


_OF_LARGEST: Final = "interconnect", "axes", "group_size", "dtype", "source_file", "source_line"


def _row(pairs: Sequence[RowPair]) -> CollectiveChange:
    old = [pair.old for pair in pairs if pair.old]
    new = [pair.new for pair in pairs if pair.new]
    shown = new or old
    largest = max(shown, key=lambda row: row.known_sent_bytes_per_step)
    details = _list_details(pairs)
    return replace(
        make_change(_sum_up(old), _sum_up(new)),
        **{name: getattr(largest, name) for name in _OF_LARGEST},
        scope=share_scope(row.scope for row in shown),
        details=details,
        what="; ".join(details),
    )


def _list_details(pairs: Sequence[RowPair]) -> tuple[str, ...]:
    """Say what differs between counterparts that no figure tells: dtype, axes, who asked.

    Of axes the names do not count where the devices are equal, nor does who asked where a side
    does not tell.
    """
    whole = [(pair.old, pair.new) for pair in pairs if pair.old and pair.new]
    moved = [(one, other) for one, other in whole if one.strides != other.strides]
    asked = [(one.inserted_by, other.inserted_by) for one, other in whole]
    found = []
    for title, values in (
        ("dtype", [(one.dtype, other.dtype) for one, other in whole]),
        ("axes", [(_name_axes(one), _name_axes(other)) for one, other in moved]),
        ("asked by", [both for both in asked if all(both)]),
    ):
        changes = dict.fromkeys(both for both in values if both[0] != both[1])
        found += [f"{title} {one} → {other}" for one, other in changes]
    return tuple(found)


def _name_axes(row: CollectiveRow) -> str:
    return ", ".join(row.axes or row.strides or ("?",))


def _sum_up(rows: Sequence[CollectiveRow]) -> KindRow | None:
    """Add up a group on one side, None where it has none; no exposure where nobody says."""
    if not rows:
        return None
    return KindRow(
        rows[0].kind,
        count=len(rows),
        hlo_op_count=0,
        executions=sum(row.known_executions for row in rows),
        message_bytes_per_step=sum(row.known_message_bytes_per_step for row in rows),
        sent_bytes_per_step=sum(row.known_sent_bytes_per_step for row in rows),
        exposed_bytes_per_step=_add_up([row.exposed_bytes_per_step for row in rows]),
        exposed_seconds=_add_up([row.exposed_seconds for row in rows]),
        is_lower_bound=any(row.sent_bytes_per_step is None for row in rows),
        is_upper_bound=False,
        is_exposed_lower_bound=any(row.exposed_bytes_per_step is None for row in rows),
    )


def _add_up(values: Sequence[N | None]) -> N | None:
    """Add up what is known, None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


_FIGURES: Final = {
    "count": "count",
    "executions": "executions",
    "message_bytes": "message_bytes_per_step",
    "bytes": "sent_bytes_per_step",
    "exposed_bytes": "exposed_bytes_per_step",
    "exposed_seconds": "exposed_seconds",
}


def make_change(old: KindRow | None, new: KindRow | None) -> CollectiveChange:
    """Put two sides together, None for the one that has none; all else is left open."""
    here, there = old or _make_nothing(new), new or _make_nothing(old)
    values = {
        f"{side}_{name}": getattr(row, field)
        for side, row in (("old", here), ("new", there))
        for name, field in _FIGURES.items()
    }
    return CollectiveChange(
        change=columns.name_change(old, new),
        kind=there.kind,
        count=there.count or here.count,
        **values,
        delta_bytes=there.sent_bytes_per_step - here.sent_bytes_per_step,
        delta_exposed_bytes=subtract(there.exposed_bytes_per_step, here.exposed_bytes_per_step),
        is_old_lower_bound=here.is_lower_bound,
        is_new_lower_bound=there.is_lower_bound,
        is_lower_bound=there.is_lower_bound,
        is_upper_bound=here.is_lower_bound,
        is_exposed_lower_bound=here.is_exposed_lower_bound or there.is_exposed_lower_bound,
    )


def _make_nothing(other: KindRow | None) -> KindRow:
    """Make a side that has none: it exposes nothing, where the other side knows what it exposes."""
    if other is None:
        raise ValueError("one side is always there")
    return replace(
        other,
        count=0,
        executions=0,
        message_bytes_per_step=0,
        sent_bytes_per_step=0,
        exposed_bytes_per_step=None if other.exposed_bytes_per_step is None else 0,
        exposed_seconds=None if other.exposed_seconds is None else 0.0,
        is_lower_bound=False,
        is_exposed_lower_bound=False,
    )


def has_changed(row: CollectiveChange) -> bool:
    """Whether number, executions, bytes, exposure or anything in the details differ."""
    old = row.old_count, row.old_executions, row.old_message_bytes, row.old_bytes
    new = row.new_count, row.new_executions, row.new_message_bytes, row.new_bytes
    return old != new or bool(row.delta_exposed_bytes) or bool(row.details)


def compare_kinds(old: Sequence[KindRow], new: Sequence[KindRow]) -> tuple[CollectiveChange, ...]:
    """Compare collectives by kind alone, which is all that a summary tells of them."""
    here, there = ({row.kind: row for row in side} for side in (old, new))
    rows = (make_change(here.get(kind), there.get(kind)) for kind in sorted({*here, *there}))
    changed = [row for row in rows if has_changed(row)]
    return tuple(sorted(changed, key=lambda row: (-abs(row.delta_bytes), row.kind)))
