"""What `hlotool collectives` answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from hlotool.analysis.collectives.host_rows import HOST_ROWS, HOST_TOTALS
from hlotool.analysis.collectives.operands import OperandRow
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.collectives.totals import (
    CollectiveTotals,
    KindRow,
    NetworkRow,
)
from hlotool.fields import Block, DocumentSpec, Fold, RowList

COLLECTIVE_ROWS: Final = RowList(
    "rows",
    CollectiveRow,
    "logical collectives, most bytes sent in a run first",
    sort="-wire_bytes_per_run,-payload_bytes_per_run",
    size="wire_bytes_per_run",
    upper_if=("is_upper_bound", "is_conditional"),
    fold=Fold(
        keys=(
            "kind",
            "opcode",
            "network",
            "dtype",
            "payload_bytes",
            "wire_bytes",
            "executions",
            "group_size",
            "least_group_size",
            "group_count",
            "pair_count",
            "axes",
            "span",
            "is_async",
            "is_sync",
            "operand_count",
            "problem",
            "scope",
            "source",
            "stack",
        ),
        name="name",
        known=("exposed_seconds",),
        joined=("members",),
    ),
)

BY_KIND: Final = RowList(
    "by_kind",
    KindRow,
    "totals of each kind, most bytes sent first",
    sort="-wire_bytes_per_run",
    size="wire_bytes_per_run",
    lower_if=("is_lower_bound",),
    upper_if=("is_upper_bound",),
    is_sum=True,
    title="By kind",
)

BY_NETWORK: Final = RowList(
    "by_network",
    NetworkRow,
    "totals of each network, most bytes sent first",
    sort="-wire_bytes_per_run",
    size="wire_bytes_per_run",
    lower_if=("is_lower_bound",),
    upper_if=("is_upper_bound",),
    is_sum=True,
    title="By network",
)

OPERANDS: Final = RowList(
    "operands",
    OperandRow,
    "the operands of collectives that have several, largest first",
    sort="-wire_bytes_per_run,name,operand",
    size="wire_bytes_per_run",
    is_optional=True,
    option="--operands",
    title="Operands of combined collectives",
)

COLLECTIVE_TOTALS: Final = Block(
    "totals",
    CollectiveTotals,
    "all collectives; bytes are per device",
    row_lists=(BY_KIND, BY_NETWORK),
)

BETWEEN_SLICES: Final = Block(
    "between_slices", NetworkRow, "what goes over the data-centre network"
)

COLLECTIVES: Final = DocumentSpec(
    "collectives",
    "what crosses the interconnect",
    blocks=(COLLECTIVE_TOTALS, HOST_TOTALS),
    row_lists=(COLLECTIVE_ROWS, BY_KIND, BY_NETWORK, HOST_ROWS, OPERANDS),
)

_MEASURED: Final = ("measured_count", "measured_seconds", "measured_exposed_seconds")
_TIMES: Final = ("transfer_seconds", "overlapped_seconds", "exposed_seconds")
# Where times are shown, these say less than they do: they give way sooner than is declared.
_BESIDE_TIMES: Final = {"wire_bytes_per_run": 1, "kind": 2, "exposed_share": 2}
_SUMS_BESIDE_TIMES: Final = {"overlapped_seconds": 1, "exposed_wire_bytes_per_run": 2}
# Columns that a table has only where some row has a value for them.
_WHERE_KNOWN: Final = (
    "axes",
    "span",
    "overlap_flops",
    "overlap_bytes",
    *_TIMES,
    *_MEASURED,
    "scope",
    "source",
)


def choose_collective_columns(rows: Sequence[CollectiveRow]) -> DocumentSpec:
    """Return the declaration with the columns that suit an answer; JSON is always the same."""
    chosen = choose_row_columns(rows)
    if any(row.transfer_seconds is not None for row in rows):
        shown = [
            _give_way(each.showing(each.shown() | set(_TIMES)), _SUMS_BESIDE_TIMES)
            for each in (BY_KIND, BY_NETWORK)
        ]
        return replace(COLLECTIVES, row_lists=(chosen, *shown, *COLLECTIVES.row_lists[3:]))
    return replace(COLLECTIVES, row_lists=(chosen, *COLLECTIVES.row_lists[1:]))


def choose_row_columns(rows: Sequence[CollectiveRow]) -> RowList:
    """Return the list of collectives without columns that would say nothing.

    Those are the ones without any value, exposure where all are synchronous, and `network`
    where all have the same. Where times are estimated, what is exposed longest comes first; where
    for some nobody knows how long that is, what takes longest, lest the largest be buried.
    """
    empty = {name for name in _WHERE_KNOWN if all(getattr(row, name) is None for row in rows)}
    if not any(row.is_async for row in rows):
        empty |= {"exposed_share", "exposed_wire_bytes_per_run", *_TIMES[1:]}
    if len({row.network for row in rows}) < 2:  # noqa: PLR2004
        empty.add("network")
    chosen = COLLECTIVE_ROWS.showing((COLLECTIVE_ROWS.shown() | {*_MEASURED}) - empty)
    if "measured_seconds" not in empty:
        longest = "-measured_exposed_seconds,-measured_seconds"
        chosen = replace(chosen, sort=f"{longest},{chosen.sort}")
    if "transfer_seconds" not in empty:
        is_unknown = any(
            row.exposed_seconds is None and row.transfer_seconds is not None for row in rows
        )
        first = ["-exposed_seconds", "-transfer_seconds"][:: -1 if is_unknown else 1]
        chosen = replace(chosen, sort=",".join([*first, chosen.sort]))
    if "exposed_seconds" in chosen.shown() - empty:
        chosen = _give_way(chosen, _BESIDE_TIMES)
    return chosen


def _give_way(rows: RowList, ranks: Mapping[str, int]) -> RowList:
    """Return a list whose columns give way in a narrow terminal as `ranks` says."""
    fields = (replace(each, give_way=ranks.get(each.name, each.give_way)) for each in rows.fields)
    return replace(rows, chosen=tuple(fields))
