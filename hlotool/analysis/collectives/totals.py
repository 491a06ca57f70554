"""What do all collectives of a module add up to: by kind, together, and exposed?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

from msgspec import Struct

from hlotool.analysis.collectives.networks import Network
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.collectives.transfers import Transfer
from hlotool.fields import BYTES, COUNT, column, figure

# One kind and all of them have these alike.
_Count: TypeAlias = Annotated[int, column("logical collectives", COUNT, is_exact=True)]
_TextualCount: TypeAlias = Annotated[
    int,
    column(
        "instructions in the text that were folded into them",
        COUNT,
        heading="in text",
        is_exact=True,
    ),
]
_Executions: TypeAlias = Annotated[
    int, column("how often they run, unknown trip counts taken as one", COUNT, heading="runs")
]
_Payload: TypeAlias = Annotated[
    int, column("their payloads in one run", BYTES, heading="payload/run")
]
_Wire: TypeAlias = Annotated[
    int, column("bytes a device sends in one run", BYTES, heading="wire/run")
]
_IsLower: TypeAlias = Annotated[bool, figure("whether a trip count or a size is unknown")]
_IsUpper: TypeAlias = Annotated[
    bool, figure("whether a conditional, or the data, decides if all of it is sent")
]


class KindRow(Struct, frozen=True):
    """All collectives of one kind."""

    kind: Annotated[
        str, column("the opcode without -start; between TPU slices, the type of the transfer")
    ]
    count: _Count
    textual_count: _TextualCount
    executions: _Executions
    payload_bytes_per_run: _Payload
    wire_bytes_per_run: _Wire
    is_lower_bound: _IsLower
    is_upper_bound: _IsUpper


class NetworkRow(Struct, frozen=True):
    """All collectives over one network."""

    network: Annotated[
        Network | None,
        column("ici within a TPU slice, dcn between slices; null where the text does not tell"),
    ]
    count: _Count
    textual_count: _TextualCount
    executions: _Executions
    payload_bytes_per_run: _Payload
    wire_bytes_per_run: _Wire
    is_lower_bound: _IsLower
    is_upper_bound: _IsUpper


class CollectiveTotals(Struct, frozen=True):
    """All collectives of a module, and the same figures by kind and by network."""

    count: _Count
    textual_count: _TextualCount
    executions: _Executions
    payload_bytes_per_run: _Payload
    wire_bytes_per_run: _Wire
    is_lower_bound: _IsLower
    is_upper_bound: _IsUpper
    by_kind: tuple[KindRow, ...]
    by_network: tuple[NetworkRow, ...]

    def between_slices(self) -> NetworkRow | None:
        """Return what goes over the data-centre network, None where nothing is known to."""
        return next((row for row in self.by_network if row.network == "dcn"), None)


class ExposedTotals(Struct, frozen=True):
    """The collectives during which no real work is done; `unknown_count` may be such too."""

    count: Annotated[
        int, figure("collectives during which no real work is done", COUNT, is_exact=True)
    ]
    wire_bytes_per_run: Annotated[int, figure("bytes a device sends for them in one run", BYTES)]
    is_lower_bound: Annotated[bool, figure("whether something about them is unknown")]
    is_upper_bound: Annotated[bool, figure("whether some of it may not be sent")]
    unknown_count: Annotated[
        int, figure("collectives for which that is unknown", COUNT, is_exact=True)
    ]


def sum_transfers(transfers: Sequence[Transfer]) -> CollectiveTotals:
    """Add up all transfers, those of each kind and of each network; what sends most is first.

    Unknown trip counts count as one, unknown sizes as nothing; both make a lower bound.
    Branches of conditionals count as taken and make an upper bound, as do bytes that depend
    on the data.
    """
    kinds: dict[str, list[Transfer]] = {}
    networks: dict[Network | None, list[Transfer]] = {}
    for one in transfers:
        kinds.setdefault(one.collective.kind, []).append(one)
        networks.setdefault(one.network, []).append(one)
    by_kind = [KindRow(kind, *_sum(kinds[kind])) for kind in sorted(kinds)]
    by_kind.sort(key=lambda row: -row.wire_bytes_per_run)
    by_network = [
        NetworkRow(network, *_sum(networks[network]))
        for network in sorted(networks, key=lambda name: name or "")
    ]
    by_network.sort(key=lambda row: -row.wire_bytes_per_run)
    return CollectiveTotals(*_sum(transfers), tuple(by_kind), tuple(by_network))


def _sum(transfers: Sequence[Transfer]) -> tuple[int, int, int, int, int, bool, bool]:
    """Add up transfers, in the order in which KindRow, NetworkRow and all together have them."""
    return (
        len(transfers),
        sum(len(one.collective.members) for one in transfers),
        sum(one.collective.executions for one in transfers),
        sum(one.payload.known_per_run for one in transfers),
        sum(one.wire.known_per_run for one in transfers),
        any(one.payload.per_run is None or one.wire.per_run is None for one in transfers),
        any(one.is_upper_bound or one.collective.is_conditional for one in transfers),
    )


def sum_exposed(rows: Sequence[CollectiveRow]) -> ExposedTotals:
    """Add up the collectives that nothing hides, and count those of which nobody knows."""
    exposed = [row for row in rows if row.is_exposed]
    unknown_count = sum(row.is_exposed is None for row in rows)
    return ExposedTotals(
        len(exposed),
        sum(row.known_wire_bytes_per_run for row in exposed),
        unknown_count > 0 or any(row.wire_bytes_per_run is None for row in exposed),
        any(row.is_upper_bound or row.is_conditional for row in exposed),
        unknown_count,
    )
