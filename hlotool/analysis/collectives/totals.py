"""What the collectives of a module add up to: by kind, by network, and together.

Bytes and seconds are of one device in one run. An unknown trip count counts once, an unknown size
as nothing; a flag beside each figure says whether it is a bound for that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from hlotool.analysis.collectives.machine import Machine, Pricing
from hlotool.analysis.collectives.mesh import Network
from hlotool.analysis.collectives.overlap import Exposure, N, PerRun
from hlotool.analysis.collectives.transfers import Transfer
from hlotool.hlo.opcodes import COLLECTIVES
from hlotool.table import BYTES, COUNT, NUMBER, SECONDS, Block, RowList, column, figure

_IsLower: TypeAlias = Annotated[bool, figure("whether a trip count or a size is unknown")]
_IsExecutionsLower: TypeAlias = Annotated[bool, figure("whether a trip count is unknown")]
_IsPayloadLower: TypeAlias = Annotated[
    bool, figure("whether that, or the size of a payload, is unknown")
]
_IsUpper: TypeAlias = Annotated[
    bool, figure("whether a conditional, or the data, decides if all of it is sent")
]
_IsExposedLower: TypeAlias = Annotated[
    bool, figure("whether for some of them that part is unknown, or what they send")
]
_IsTransferLower: TypeAlias = Annotated[
    bool, figure("whether for some of them the time on the link is unknown")
]
_IsSecondsLower: TypeAlias = Annotated[
    bool, figure("whether for some of them one of these times is unknown")
]


def _seconds(meaning: str, heading: str, lower_if: str = "is_seconds_lower_bound") -> Meta:
    """Declare a time, which a lower bound marks."""
    return figure(
        f"{meaning}, in one run; null without --chip or --bandwidth",
        SECONDS,
        heading=heading,
        is_summed=True,
        lower_if=lower_if,
    )


class Figures(Struct, frozen=True, kw_only=True):
    """What one kind, one network and all together have alike."""

    count: Annotated[int, column("logical collectives", COUNT, is_exact=True)]
    textual_count: Annotated[
        int,
        column(
            "instructions in the text that were folded into them",
            COUNT,
            heading="in text",
            is_exact=True,
            hide_order=3,
        ),
    ]
    executions: Annotated[
        int,
        column(
            "how often they run, unknown trip counts taken as one",
            COUNT,
            heading="runs",
            lower_if="is_executions_lower_bound",
            hide_order=2,
        ),
    ]
    payload_bytes_per_run: Annotated[
        int,
        column(
            "their payloads in one run",
            BYTES,
            heading="payload/run",
            lower_if="is_payload_lower_bound",
            hide_order=1,
        ),
    ]
    wire_bytes_per_run: Annotated[
        int, column("bytes a device sends in one run", BYTES, heading="wire/run")
    ]
    exposed_wire_bytes_per_run: Annotated[
        int | None,
        column(
            "estimated part of the bytes sent in one run that no work hides; null where the order "
            "is unknown",
            BYTES,
            heading="exposed/run",
            lower_if="is_exposed_lower_bound",
        ),
    ] = None
    transfer_seconds: Annotated[
        float | None,
        _seconds("estimated time on the link", "transfer/run", "is_transfer_lower_bound"),
    ] = None
    overlapped_seconds: Annotated[
        float | None, _seconds("estimated time that work scheduled meanwhile hides", "hidden time")
    ] = None
    exposed_seconds: Annotated[
        float | None, _seconds("estimated time that no work hides", "exposed time")
    ] = None


class Sums(Figures, frozen=True, kw_only=True):
    """The figures, and which of them are bounds."""

    is_executions_lower_bound: _IsExecutionsLower = False
    is_payload_lower_bound: _IsPayloadLower = False
    is_lower_bound: _IsLower
    is_upper_bound: _IsUpper
    is_exposed_lower_bound: _IsExposedLower = False
    is_transfer_lower_bound: _IsTransferLower = False
    is_seconds_lower_bound: _IsSecondsLower = False


# The name of a row stands first in every answer: what is not `kw_only` stands before what is.
class KindRow(Sums, frozen=True):
    """All collectives of one kind."""

    kind: Annotated[str, column("what they amount to, as the kind of rows", words=COLLECTIVES)]


class NetworkRow(Sums, frozen=True):
    """All collectives over one network."""

    network: Annotated[
        Network | None,
        column("ici within a TPU slice, dcn between slices; null where the text does not tell"),
    ]


class CollectiveTotals(Figures, frozen=True, kw_only=True):
    """All collectives of a module, and the same figures by kind and by network.

    `machine` is what times are estimated for. Answers have it before the bounds, which is why
    these are not those of `Sums`.
    """

    measured_seconds: Annotated[
        float | None,
        figure(
            "from a profile: time of all of them in one run on one device; null without one",
            SECONDS,
            lower_if="is_measured_lower_bound",
        ),
    ] = None
    measured_exposed_seconds: Annotated[
        float | None,
        figure(
            "the part of each in which nothing but collectives ran on the device, added up",
            SECONDS,
            lower_if="is_measured_lower_bound",
        ),
    ] = None
    machine: Annotated[
        str | None,
        figure("what is known of the machine that times are estimated for", null_text=""),
    ] = None
    reference_chip: Annotated[
        str | None,
        figure("the chip at whose ratios exposure is estimated, where none is named", null_text=""),
    ] = None
    devices_per_node: Annotated[
        int | None, figure("devices of a node; null where all are joined alike", NUMBER)
    ] = None
    is_node_assumed: Annotated[
        bool,
        figure("whether devices_per_node is the usual number of the chip, which nobody stated"),
    ] = False
    is_executions_lower_bound: _IsExecutionsLower = False
    is_payload_lower_bound: _IsPayloadLower = False
    is_lower_bound: _IsLower
    is_upper_bound: _IsUpper
    is_exposed_lower_bound: _IsExposedLower = False
    is_transfer_lower_bound: _IsTransferLower = False
    is_seconds_lower_bound: _IsSecondsLower = False
    is_measured_lower_bound: Annotated[
        bool, figure("whether for some of them nothing was measured, though for others it was")
    ] = False
    by_kind: tuple[KindRow, ...]
    by_network: tuple[NetworkRow, ...]

    def between_slices(self) -> NetworkRow | None:
        """Return what goes over the data-centre network, None where nothing is known to."""
        return next((row for row in self.by_network if row.network == "dcn"), None)


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

BY_NETWORK: Final = replace(
    BY_KIND,
    name="by_network",
    record=NetworkRow,
    meaning="totals of each network, most bytes sent first",
    title="By network",
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

# A transfer, and what of it no work hides; None where that was not asked for.
Measured: TypeAlias = tuple[Transfer, Exposure | None]


def sum_transfers(
    found: Sequence[Measured], machine: Machine | None = None, pricing: Pricing | None = None
) -> CollectiveTotals:
    """Add up all transfers, those of each kind and of each network; what sends most is first.

    Unknown trip counts count as one, unknown sizes as nothing; both make a lower bound, as do
    an unknown exposure and an unknown time of the sums of these. Branches of conditionals
    count as taken and make an upper bound, as do bytes that depend on the data.
    """
    is_timed = machine is not None and bool(machine.link or machine.between)
    kinds: defaultdict[str, list[Measured]] = defaultdict(list)
    networks: defaultdict[Network | None, list[Measured]] = defaultdict(list)
    for one in found:
        kinds[one[0].kind].append(one)
        networks[one[0].network].append(one)
    add_up = partial(_sum, is_timed=is_timed)
    by_kind = [KindRow(kind, **asdict(add_up(some))) for kind, some in sorted(kinds.items())]
    by_network = [
        NetworkRow(network, **asdict(add_up(some)))
        for network, some in sorted(networks.items(), key=lambda item: item[0] or "")
    ]
    return CollectiveTotals(
        machine=None if machine is None else str(machine),
        reference_chip=pricing.reference if pricing else None,
        devices_per_node=pricing.devices_per_node if pricing else None,
        is_node_assumed=pricing is not None and pricing.is_node_assumed,
        by_kind=tuple(sorted(by_kind, key=lambda row: -row.wire_bytes_per_run)),
        by_network=tuple(sorted(by_network, key=lambda row: -row.wire_bytes_per_run)),
        **asdict(add_up(found)),
    )


def _sum(found: Sequence[Measured], *, is_timed: bool) -> Sums:
    transfers = [transfer for transfer, _ in found]
    exposures = [exposure for _, exposure in found if exposure is not None]
    is_measured = len(exposures) == len(found)
    is_timed = is_timed and is_measured
    wire, is_wire_lower = _add_up([one.wire for one in exposures], is_asked=is_measured)
    sending, is_sending_lower = _add_up([one.transfer for one in exposures], is_asked=is_timed)
    hidden, is_hidden_lower = _add_up([one.overlapped for one in exposures], is_asked=is_timed)
    exposed, is_exposed_lower = _add_up([one.exposed for one in exposures], is_asked=is_timed)
    is_payload_lower = any(one.payload.per_run is None for one in transfers)
    return Sums(
        count=len(transfers),
        textual_count=sum(len(one.collective.members) for one in transfers),
        executions=sum(one.collective.runs.known for one in transfers),
        payload_bytes_per_run=sum(one.payload.known_per_run for one in transfers),
        wire_bytes_per_run=sum(one.wire.known_per_run for one in transfers),
        exposed_wire_bytes_per_run=wire,
        transfer_seconds=sending,
        overlapped_seconds=hidden,
        exposed_seconds=exposed,
        is_executions_lower_bound=any(not one.collective.runs.is_exact for one in transfers),
        is_payload_lower_bound=is_payload_lower,
        is_lower_bound=is_payload_lower or any(one.wire.per_run is None for one in transfers),
        is_upper_bound=any(
            one.is_upper_bound or one.collective.runs.is_conditional for one in transfers
        ),
        is_exposed_lower_bound=is_wire_lower,
        is_transfer_lower_bound=is_sending_lower,
        is_seconds_lower_bound=is_sending_lower or is_hidden_lower or is_exposed_lower,
    )


def _add_up(parts: Sequence[PerRun[N]], *, is_asked: bool) -> tuple[N | None, bool]:
    """Add up figures, None where nothing is known; say whether a part is unknown."""
    known = [known for exact, known in parts if exact is not None or known]
    if not is_asked or (parts and not known):
        return None, False
    return sum(known), any(exact is None for exact, _ in parts)
