"""What goes between device and host by `send` and `recv`, and how many bytes of it.

That is no collective, and no total of those has it. Infeeds, outfeeds and copies to host
memory are none of these rows.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.collectives.rows import HowOften, KnownHowOften, KnownPayloadPerRun
from hlotool.analysis.collectives.transfers import (
    WHOLE,
    list_received,
    list_sent,
    measure_share,
    name_dtypes,
    sum_sizes,
)
from hlotool.analysis.graph.backend import ENDS, find_handler, find_rendezvous, is_with_host
from hlotool.analysis.graph.executions import Executions
from hlotool.analysis.origin import read_origin
from hlotool.hlo import Instruction
from hlotool.hlo.shape import DTYPES
from hlotool.table import BYTES, COUNT, NUMBER, TIMES, Block, Fold, RowList, column, figure


class HostTransferRow(Struct, frozen=True, kw_only=True):
    """One transfer between device and host."""

    name: Annotated[str, column("the send or recv", heading="host transfer", min_width=26)]
    count: Annotated[
        int, column("equal rows that a table shows as one", TIMES, heading="×", is_exact=True)
    ]
    kind: Annotated[str, column("send to the host, or recv from it", words=ENDS)]
    dtype: Annotated[
        str, column("the element type; several are joined with commas", words=DTYPES, hide_order=1)
    ]
    payload_bytes_per_run: Annotated[
        int | None,
        column(
            "payload_bytes times executions",
            BYTES,
            heading="payload/run",
            total_from="known_payload_bytes_per_run",
        ),
    ]
    known_payload_bytes_per_run: KnownPayloadPerRun
    payload_bytes: Annotated[
        int | None, column("the array that is sent; unpadded", BYTES, is_summed=False)
    ]
    executions: HowOften
    known_executions: KnownHowOften
    handler: Annotated[
        str | None, column("who handles it on the host's side, as printed", null_text="")
    ]
    rendezvous: Annotated[str | None, figure("the name under which both ends meet", null_text="")]
    channel_id: Annotated[int | None, figure("its channel", NUMBER, null_text="")]
    scope: Annotated[
        str | None, column("module path in the user's program", null_text="", is_path=True)
    ]
    op_name: Annotated[str | None, figure("its op_name", null_text="")]
    source_file: Annotated[str | None, figure("file of the user's program", null_text="")]
    source_line: Annotated[int | None, figure("line in that file", NUMBER, null_text="")]
    computation: Annotated[str, figure("the computation that holds it")]
    is_conditional: Annotated[bool, figure("whether a conditional decides if it runs")]


class HostTotals(Struct, frozen=True):
    """All transfers between device and host."""

    count: Annotated[int, figure("sends to the host and recvs from it", COUNT, is_exact=True)]
    executions: Annotated[
        int, figure("how often they run, unknown trip counts taken as one", COUNT)
    ]
    to_host_bytes_per_run: Annotated[
        int, figure("what a device sends to the host in one run", BYTES)
    ]
    from_host_bytes_per_run: Annotated[
        int, figure("what a device receives from the host in one run", BYTES)
    ]
    is_lower_bound: Annotated[bool, figure("whether a trip count or a size is unknown")]
    is_upper_bound: Annotated[bool, figure("whether a conditional decides if all of it is sent")]


class HostTransfers(Struct, frozen=True):
    """Every transfer between device and host, in dump order, and what they add up to."""

    rows: tuple[HostTransferRow, ...]
    totals: HostTotals


HOST_ROWS: Final = RowList(
    "host_transfers",
    HostTransferRow,
    "sends to the host and recvs from it, most bytes first; no total of collectives has them",
    sort="-payload_bytes_per_run",
    size="payload_bytes_per_run",
    upper_if=("is_conditional",),
    fold=Fold(
        keys=("kind", "dtype", "payload_bytes", "executions", "handler", "scope"), name="name"
    ),
    title="Transfers between device and host",
)
HOST_TOTALS: Final = Block(
    "host", HostTotals, "transfers between device and host, which collectives leave out"
)

# What a summary says of them, and `hlotool collectives`.
HOST_LINE: Final = (
    "host transfers: {count} run {executions:time}, with {to_host_bytes_per_run} to the host and "
    "{from_host_bytes_per_run} from it"
)


def list_host_transfers(executions: Executions) -> HostTransfers:
    """List the sends to the host and the recvs from it that a run makes.

    Sizes are those of shapes, without tile padding. An unknown trip count counts once, an
    unknown size as nothing; both make a lower bound. Branches of conditionals count as taken
    and make an upper bound.
    """
    rows = tuple(
        _make_row(instruction, executions)
        for computation in executions.executed
        for instruction in computation.instructions
        if instruction.opcode in ENDS and is_with_host(instruction)
    )
    to_host, from_host = (
        sum(row.known_payload_bytes_per_run for row in rows if row.kind == kind)
        for kind in ("send", "recv")
    )
    totals = HostTotals(
        len(rows),
        sum(row.known_executions for row in rows),
        to_host,
        from_host,
        any(row.payload_bytes_per_run is None for row in rows),
        any(row.is_conditional for row in rows),
    )
    return HostTransfers(rows, totals)


def _make_row(instruction: Instruction, executions: Executions) -> HostTransferRow:
    computation = instruction.computation
    parts = list_sent(instruction) if instruction.opcode == "send" else list_received(instruction)
    runs = executions.runs_of(computation)
    payload = measure_share(sum_sizes(parts), WHOLE, runs)
    origin = read_origin(instruction)
    return HostTransferRow(
        name=instruction.full_name,
        count=1,
        kind=instruction.opcode,
        dtype=name_dtypes(parts),
        payload_bytes_per_run=payload.per_run,
        known_payload_bytes_per_run=payload.known_per_run,
        payload_bytes=payload.once,
        executions=runs.exact,
        known_executions=runs.known,
        handler=find_handler(instruction),
        rendezvous=find_rendezvous(instruction),
        channel_id=instruction.channel_id,
        scope=origin.scope,
        op_name=origin.op_name,
        source_file=origin.source_file,
        source_line=origin.source_line,
        computation=computation.name,
        is_conditional=runs.is_conditional,
    )
