"""What do all collectives of a module add up to: by kind, by network, and together?"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from hlotool.analysis.collectives.mesh import Network
from hlotool.hlo.opcodes import COLLECTIVES
from hlotool.table import BYTES, COUNT, NUMBER, SECONDS, column, figure

# One kind and all of them have these alike.
_Count: TypeAlias = Annotated[int, column("logical collectives", COUNT, is_exact=True)]
_TextualCount: TypeAlias = Annotated[
    int,
    column(
        "instructions in the text that were folded into them",
        COUNT,
        heading="in text",
        is_exact=True,
        give_way=3,
    ),
]
_Executions: TypeAlias = Annotated[
    int,
    column(
        "how often they run, unknown trip counts taken as one",
        COUNT,
        heading="runs",
        lower_if="is_executions_lower_bound",
        give_way=2,
    ),
]
_Payload: TypeAlias = Annotated[
    int,
    column(
        "their payloads in one run",
        BYTES,
        heading="payload/run",
        lower_if="is_payload_lower_bound",
        give_way=1,
    ),
]
_Wire: TypeAlias = Annotated[
    int, column("bytes a device sends in one run", BYTES, heading="wire/run")
]
_IsLower: TypeAlias = Annotated[bool, figure("whether a trip count or a size is unknown")]
_IsExecutionsLower: TypeAlias = Annotated[bool, figure("whether a trip count is unknown")]
_IsPayloadLower: TypeAlias = Annotated[
    bool, figure("whether that, or the size of a payload, is unknown")
]
_IsUpper: TypeAlias = Annotated[
    bool, figure("whether a conditional, or the data, decides if all of it is sent")
]


_ExposedWire: TypeAlias = Annotated[
    int | None,
    column(
        "estimated part of the bytes sent in one run that no work hides; null where the order is "
        "unknown",
        BYTES,
        heading="exposed/run",
        lower_if="is_exposed_lower_bound",
    ),
]
_IsExposedLower: TypeAlias = Annotated[
    bool, figure("whether for some of them that part is unknown, or what they send")
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


_Transfer: TypeAlias = Annotated[
    float | None,
    _seconds("estimated time on the link", "transfer/run", "is_transfer_lower_bound"),
]
_Overlapped: TypeAlias = Annotated[
    float | None, _seconds("estimated time that work scheduled meanwhile hides", "hidden time")
]
_Exposed: TypeAlias = Annotated[
    float | None, _seconds("estimated time that no work hides", "exposed time")
]
_IsTransferLower: TypeAlias = Annotated[
    bool, figure("whether for some of them the time on the link is unknown")
]
_IsSecondsLower: TypeAlias = Annotated[
    bool, figure("whether for some of them one of these times is unknown")
]


class KindRow(Struct, frozen=True, kw_only=True):
    """All collectives of one kind."""

    kind: Annotated[str, column("what they amount to, as the kind of rows", words=COLLECTIVES)]
    count: _Count
    textual_count: _TextualCount
    executions: _Executions
    payload_bytes_per_run: _Payload
    wire_bytes_per_run: _Wire
    exposed_wire_bytes_per_run: _ExposedWire = None
    transfer_seconds: _Transfer = None
    overlapped_seconds: _Overlapped = None
    exposed_seconds: _Exposed = None
    is_executions_lower_bound: _IsExecutionsLower = False
    is_payload_lower_bound: _IsPayloadLower = False
    is_lower_bound: _IsLower
    is_upper_bound: _IsUpper
    is_exposed_lower_bound: _IsExposedLower = False
    is_transfer_lower_bound: _IsTransferLower = False
    is_seconds_lower_bound: _IsSecondsLower = False


class NetworkRow(Struct, frozen=True, kw_only=True):
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
    exposed_wire_bytes_per_run: _ExposedWire = None
    transfer_seconds: _Transfer = None
    overlapped_seconds: _Overlapped = None
    exposed_seconds: _Exposed = None
    is_executions_lower_bound: _IsExecutionsLower = False
    is_payload_lower_bound: _IsPayloadLower = False
    is_lower_bound: _IsLower
    is_upper_bound: _IsUpper
    is_exposed_lower_bound: _IsExposedLower = False
    is_transfer_lower_bound: _IsTransferLower = False
    is_seconds_lower_bound: _IsSecondsLower = False


class CollectiveTotals(Struct, frozen=True, kw_only=True):
    """All collectives of a module, and the same figures by kind and by network.

    `machine` is what times are estimated for.
    """

    count: _Count
    textual_count: _TextualCount
    executions: _Executions
    payload_bytes_per_run: _Payload
    wire_bytes_per_run: _Wire
    exposed_wire_bytes_per_run: _ExposedWire = None
    transfer_seconds: _Transfer = None
    overlapped_seconds: _Overlapped = None
    exposed_seconds: _Exposed = None
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
