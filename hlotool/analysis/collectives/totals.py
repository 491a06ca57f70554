"""What the collectives of a module add up to: by kind, by interconnect, and together.

Bytes and seconds are of one device per step. An unknown trip count counts once, an unknown size
as nothing; a flag beside each figure says whether it is a bound for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from hlotool.analysis.collectives.machine import Machine, Pricing
from hlotool.analysis.collectives.mesh import Interconnect
from hlotool.analysis.collectives.overlap import Exposure, N, PerStep
from hlotool.analysis.collectives.transfers import Transfer
from hlotool.hlo.opcodes import COLLECTIVES
from hlotool.table import NUMBER, Block, RowList, column, figure
from hlotool.table.sums import group_by


def _seconds(meaning: str, heading: str, lower_if: str = "is_seconds_lower_bound") -> Meta:
    """Declare a time, which a lower bound marks."""
    return figure(
        f"{meaning}, per step; null without --chip or --bandwidth",
        heading=heading,
        is_summed=True,
        lower_if=lower_if,
    )


class Sums(Struct, frozen=True, kw_only=True):
    """What one kind, one interconnect and all together have alike, and what of it is a bound."""

    count: Annotated[int, column("logical collectives", is_exact=True)]
    hlo_op_count: Annotated[
        int,
        column(
            "instructions in the text that were folded into them", heading="HLO ops", is_exact=True
        ),
    ]
    executions: Annotated[
        int,
        column(
            "executions, with unknown trip counts as one",
            heading="runs",
            lower_if="is_executions_lower_bound",
        ),
    ]
    message_bytes_per_step: Annotated[
        int,
        column(
            "their messages per step", heading="messages/step", lower_if="is_message_lower_bound"
        ),
    ]
    sent_bytes_per_step: Annotated[int, column("bytes a device sends per step")]
    exposed_bytes_per_step: Annotated[
        int | None,
        column(
            "estimated part of the bytes sent per step that is exposed; null if the "
            "order is unknown",
            lower_if="is_exposed_lower_bound",
        ),
    ] = None
    transfer_seconds: Annotated[
        float | None,
        _seconds("estimated time on the link", "transfer/step", "is_transfer_lower_bound"),
    ] = None
    overlapped_seconds: Annotated[
        float | None, _seconds("estimated overlapped time", "hidden time")
    ] = None
    exposed_seconds: Annotated[float | None, _seconds("estimated exposed time", "exposed time")] = (
        None
    )

    is_executions_lower_bound: Annotated[bool, figure("whether a trip count is unknown")] = False
    is_message_lower_bound: Annotated[
        bool, figure("whether a trip count or the size of a message is unknown")
    ] = False
    is_lower_bound: Annotated[bool, figure("whether a trip count or a size is unknown")]
    is_upper_bound: Annotated[bool, figure("whether the sent size depends on a branch or on data")]
    is_exposed_lower_bound: Annotated[
        bool, figure("whether the exposed share or the sent bytes of some are unknown")
    ] = False
    is_transfer_lower_bound: Annotated[bool, figure("whether the link time of some is unknown")] = (
        False
    )
    is_seconds_lower_bound: Annotated[bool, figure("whether the time of some is unknown")] = False


# The name of a row stands first in every answer: what is not `kw_only` stands before what is.
class KindRow(Sums, frozen=True):
    """All collectives of one kind."""

    kind: Annotated[str, column("kind of collective, as in rows", words=COLLECTIVES)]


class InterconnectRow(Sums, frozen=True):
    """All collectives over one interconnect."""

    interconnect: Annotated[
        Interconnect | None,
        column("ici within a TPU slice, dcn between slices; null if the text does not say"),
    ]


class CollectiveTotals(Sums, frozen=True, kw_only=True):
    """All collectives of a module, and the same figures by kind and by interconnect.

    `machine` is what times are estimated for.
    """

    measured_seconds: Annotated[
        float | None,
        figure(
            "from a profile: time of all of them per step on one device; null without one",
            lower_if="is_measured_lower_bound",
        ),
    ] = None
    measured_exposed_seconds: Annotated[
        float | None,
        figure(
            "the part of it in which only collectives ran on the device",
            lower_if="is_measured_lower_bound",
        ),
    ] = None
    machine: Annotated[
        str | None, figure("the machine that times are estimated for", null_text="")
    ] = None
    reference_chip: Annotated[
        str | None, figure("without --chip: the chip whose ratios estimate exposure", null_text="")
    ] = None
    devices_per_node: Annotated[
        int | None, figure("devices of a node; null if all links are equal", NUMBER)
    ] = None
    is_node_assumed: Annotated[
        bool, figure("whether devices_per_node is the chip's usual number, not given by the user")
    ] = False
    is_measured_lower_bound: Annotated[bool, figure("whether only some of them were measured")] = (
        False
    )
    by_kind: tuple[KindRow, ...]
    by_network: tuple[InterconnectRow, ...]

    def between_slices(self) -> InterconnectRow | None:
        """Return what goes over the data-centre network, None where nothing is known to."""
        return next((row for row in self.by_network if row.interconnect == "dcn"), None)


BY_KIND: Final = RowList(
    "by_kind",
    KindRow,
    "totals of each kind, most bytes sent first",
    sort="-sent_bytes_per_step",
    size="sent_bytes_per_step",
    lower_if=("is_lower_bound",),
    upper_if=("is_upper_bound",),
    is_sum=True,
    title="By kind",
    screen="kind,count,sent_bytes_per_step,exposed_bytes_per_step,exposed_seconds",
    wide_screen="hlo_op_count,executions,message_bytes_per_step,"
    "transfer_seconds,overlapped_seconds",
)

BY_NETWORK: Final = replace(
    BY_KIND,
    name="by_network",
    record=InterconnectRow,
    meaning="totals of each interconnect, most bytes sent first",
    screen=BY_KIND.screen.replace("kind", "interconnect"),
    title="By interconnect",
)

COLLECTIVE_TOTALS: Final = Block(
    "totals",
    CollectiveTotals,
    "all collectives; bytes are per device",
    row_lists=(BY_KIND, BY_NETWORK),
)

BETWEEN_SLICES: Final = Block(
    "between_slices", InterconnectRow, "transfers over the data-centre network"
)

# A transfer, and what of it is exposed; None where that was not asked for.
Measured: TypeAlias = tuple[Transfer, Exposure | None]


def sum_transfers(
    found: Sequence[Measured],
    machine: Machine | None = None,
    pricing: Pricing | None = None,
    *,
    is_part: bool = False,
) -> CollectiveTotals:
    """Add up all transfers, those of each kind and of each interconnect; what sends most is first.

    Unknown trip counts count as one, unknown sizes as nothing; both make a lower bound, as do
    an unknown exposure and an unknown time of the sums of these. Branches of conditionals
    count as taken and make an upper bound, as do bytes that depend on the data. Of a part of a
    program all is a lower bound.
    """
    is_timed = machine is not None and bool(machine.link or machine.between)
    kinds = group_by(found, lambda one: one[0].kind)
    interconnects = group_by(found, lambda one: one[0].interconnect)
    add_up = partial(_sum, is_timed=is_timed, is_part=is_part)
    by_kind = [KindRow(kind, **asdict(add_up(some))) for kind, some in sorted(kinds.items())]
    by_network = [
        InterconnectRow(interconnect, **asdict(add_up(some)))
        for interconnect, some in sorted(interconnects.items(), key=lambda item: item[0] or "")
    ]
    return CollectiveTotals(
        machine=None if machine is None else str(machine),
        reference_chip=pricing.reference if pricing else None,
        devices_per_node=pricing.devices_per_node if pricing else None,
        is_node_assumed=pricing is not None and pricing.is_node_assumed,
        by_kind=tuple(sorted(by_kind, key=lambda row: -row.sent_bytes_per_step)),
        by_network=tuple(sorted(by_network, key=lambda row: -row.sent_bytes_per_step)),
        **asdict(add_up(found)),
    )


def _sum(found: Sequence[Measured], *, is_timed: bool, is_part: bool) -> Sums:
    transfers = [transfer for transfer, _ in found]
    exposures = [exposure for _, exposure in found if exposure is not None]
    is_measured = len(exposures) == len(found)
    is_timed = is_timed and is_measured
    sent, is_sent_lower = _add_up([one.sent for one in exposures], is_asked=is_measured)
    sending, is_sending_lower = _add_up([one.transfer for one in exposures], is_asked=is_timed)
    hidden, is_hidden_lower = _add_up([one.overlapped for one in exposures], is_asked=is_timed)
    exposed, is_exposed_lower = _add_up([one.exposed for one in exposures], is_asked=is_timed)
    is_message_lower = is_part or any(one.message.per_step is None for one in transfers)
    return Sums(
        count=len(transfers),
        hlo_op_count=sum(len(one.collective.members) for one in transfers),
        executions=sum(one.collective.runs.known for one in transfers),
        message_bytes_per_step=sum(one.message.known_per_step for one in transfers),
        sent_bytes_per_step=sum(one.sent.known_per_step for one in transfers),
        exposed_bytes_per_step=sent,
        transfer_seconds=sending,
        overlapped_seconds=hidden,
        exposed_seconds=exposed,
        is_executions_lower_bound=is_part
        or any(not one.collective.runs.is_exact for one in transfers),
        is_message_lower_bound=is_message_lower,
        is_lower_bound=is_message_lower or any(one.sent.per_step is None for one in transfers),
        is_upper_bound=any(
            one.is_upper_bound or one.collective.runs.is_conditional for one in transfers
        ),
        is_exposed_lower_bound=is_part or is_sent_lower,
        is_transfer_lower_bound=is_part or is_sending_lower,
        is_seconds_lower_bound=is_part or is_sending_lower or is_hidden_lower or is_exposed_lower,
    )


def _add_up(parts: Sequence[PerStep[N]], *, is_asked: bool) -> tuple[N | None, bool]:
    """Add up figures, None where nothing is known; say whether a part is unknown."""
    known = [known for exact, known in parts if exact is not None or known]
    if not is_asked or (parts and not known):
        return None, False
    return sum(known), any(exact is None for exact, _ in parts)
