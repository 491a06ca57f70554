"""What `hlotool collectives` says of one logical collective, and of each of its operands.

What goes between device and host by `send` and `recv` is no collective, and no total of those has
it. Infeeds, outfeeds and copies to host memory are in none of these rows.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, Struct

from hlotool.analysis.collectives import transfers
from hlotool.analysis.collectives.groups import GroupMode, Pairs
from hlotool.analysis.collectives.mesh import Interconnect, Span
from hlotool.analysis.graph.backend import ENDS, find_handler, find_rendezvous, is_with_host
from hlotool.analysis.graph.executions import Executions
from hlotool.analysis.measured import MeasuredCount, MeasuredExposedSeconds, MeasuredSeconds
from hlotool.analysis.origin import Stack, StackFrame, read_origin
from hlotool.hlo import Instruction
from hlotool.hlo.groups import Groups
from hlotool.hlo.opcodes import COLLECTIVES
from hlotool.hlo.shape import DTYPES
from hlotool.table import COUNT, NUMBER, TIMES, Block, Fold, Range, RowList, column, figure

Requester: TypeAlias = Literal["partitioner", "user"]
Cause: TypeAlias = Literal[
    "partial-sum",
    "reshard",
    "replicated-gradient",
    "halo",
    "involuntary",
    "gathered-then-cut",
    "user",
    "pipeline",
    "unknown",
]

# Rows and their operands have these alike.
_SENT: Final = "bytes that a device sends for it, averaged over a ring; rounded up"
_KNOWN: Final = "the same, with unknown counts as one"
_ASKED: Final = "with --wide, or if a row option names it"
MessagePerStep: TypeAlias = Annotated[
    int | None, figure("message_bytes times executions", heading="messages/step")
]
KnownMessagePerStep: TypeAlias = Annotated[int, figure(_KNOWN)]
HowOften: TypeAlias = Annotated[
    int | None,
    column("executions per step; null under a loop of unknown trip count", heading="runs"),
]
KnownHowOften: TypeAlias = Annotated[int, figure("the same with unknown trip counts as one")]
SentPerStep: TypeAlias = Annotated[
    int | None, column("sent_bytes times executions; multiplied exactly, then rounded up")
]
KnownSentPerStep: TypeAlias = Annotated[int, figure(_KNOWN)]
UserScope: TypeAlias = Annotated[
    str | None, column("module path in the user's program", null_text="", is_path=True)
]


def _show_group_size(row: CollectiveRow) -> object:
    """Show both ends where groups are uneven."""
    least, most = row.least_group_size, row.group_size
    if least is None or most is None or least == most:
        return most
    return Range(least, most)


def _number(meaning: str, heading: str) -> Meta:
    """Declare a number of devices, of groups or of pairs, which not every collective has."""
    return figure(meaning, NUMBER, heading=heading, null_text="")


def _meanwhile(meaning: str, heading: str) -> Meta:
    """Declare what work beside a collective does in one execution."""
    return column(meaning, heading=heading, is_summed=False, null_text="")


def _seconds(meaning: str, heading: str) -> Meta:
    """Declare a time that is estimated where the user names a machine."""
    meaning = f"with --chip or --bandwidth: estimated {meaning}"
    return column(meaning, heading=heading, is_summed=True)


class CollectiveRow(Struct, frozen=True, kw_only=True):
    """One logical collective; bytes are per device."""

    name: Annotated[
        str,
        column(
            "the instruction: the collective itself, or its start or fusion", heading="collective"
        ),
    ]
    count: Annotated[int, column("equal rows, shown as one in tables", TIMES, is_exact=True)]
    kind: Annotated[
        str,
        column(
            "its effect: the opcode; reduce-scatter if only a shard of a fused "
            "all-reduce is used; between TPU slices, the transfer's type",
            words=COLLECTIVES,
        ),
    ]
    opcode: Annotated[
        str, figure("the opcode in the text, without -start", words=COLLECTIVES | {"send", "recv"})
    ]
    interconnect: Annotated[
        Interconnect | None,
        column(
            "ici within a TPU slice, dcn between slices, with --chip nvlink within a "
            "node; null if unknown"
        ),
    ]
    dtype: Annotated[str, column("the element type; several are joined by commas", words=DTYPES)]
    sent_bytes_per_step: SentPerStep
    known_sent_bytes_per_step: KnownSentPerStep
    sent_bytes_by_dtype: Annotated[
        tuple[tuple[str, int], ...],
        figure("its bytes of each element type, with unknown counts as one"),
    ]
    sent_bytes: Annotated[int | None, column(_SENT, is_summed=False)]
    message_bytes: Annotated[
        int | None,
        column(
            "size of the array that a group shares: gathered results, else operands; unpadded",
            heading="message size",
            is_summed=False,
        ),
    ]
    executions: HowOften
    known_executions: KnownHowOften
    message_bytes_per_step: MessagePerStep
    known_message_bytes_per_step: KnownMessagePerStep
    group_size: Annotated[
        int | None,
        column(
            "devices in a group, or in the largest one; null for pairs",
            NUMBER,
            null_text="",
            shown=_show_group_size,
        ),
    ]
    least_group_size: Annotated[
        int | None, _number("devices in the smallest group; null for pairs", "least n")
    ]
    group_count: Annotated[int | None, _number("groups of devices; null for pairs", "groups")]
    pair_count: Annotated[
        int | None, _number("pairs of source and target, self-sends too; null for groups", "pairs")
    ]
    is_uneven: Annotated[bool, figure("whether its groups differ in size")]
    axes: Annotated[
        tuple[str, ...] | None,
        column(
            "its mesh axes, as named by --mesh, the text or the text before "
            "optimization; else its strides"
        ),
    ]
    strides: Annotated[
        tuple[str, ...] | None,
        figure(
            "numbering of a group's devices: 4@2 are 4 devices with numbers 2 apart; "
            "null without such an order"
        ),
    ]
    span: Annotated[
        Span | None,
        column(
            "whether it stays in a node of --devices-per-node, or of the chip's usual "
            "size; null if unknown"
        ),
    ]
    mode: Annotated[GroupMode, figure("meaning of the ids in its groups")]
    problem: Annotated[
        str | None,
        figure("how its groups contradict num_partitions × replica_count", null_text=""),
    ]
    is_async: Annotated[bool, figure("whether it starts and completes in separate instructions")]
    is_sync: Annotated[bool, figure("whether the backend runs start and done back to back")]
    exposed_share: Annotated[
        float | None,
        column(
            "estimated share of its time without overlapping work, 0 to 1. With --chip "
            "or --bandwidth it is exposed_seconds / transfer_seconds, else at the ratios "
            "of totals.reference_chip. Null if order, link or the cost of that work is "
            "unknown",
            heading="exposed",
        ),
    ]
    exposed_bytes_per_step: Annotated[
        int | None, column("estimate: sent_bytes_per_step times exposed_share; rounded up")
    ]
    known_exposed_bytes_per_step: Annotated[int, figure(_KNOWN)]
    overlapped_instructions: Annotated[
        int | None,
        figure(
            "instructions that compute between start and done; null if synchronous",
            COUNT,
            heading="overlapped",
            is_summed=False,
            null_text="",
        ),
    ]
    overlapped_flops: Annotated[
        int | None,
        _meanwhile(
            "flops of the work scheduled while a collective runs, in one execution, with "
            "known custom calls",
            "overlapped flops",
        ),
    ]
    overlapped_bytes: Annotated[
        int | None,
        _meanwhile(
            "bytes that the work scheduled while a collective runs moves in memory, "
            "in one execution",
            "overlapped bytes",
        ),
    ]
    transfer_seconds: Annotated[
        float | None, _seconds("time of all executions per step", "transfer/step")
    ] = None
    overlapped_seconds: Annotated[
        float | None,
        _seconds(
            "overlapped part of transfer_seconds, at the peaks of the chip, else of "
            "totals.reference_chip; a second of work overlaps one transfer per "
            "interconnect",
            "hidden time",
        ),
    ] = None
    exposed_seconds: Annotated[
        float | None, _seconds("part of transfer_seconds that is exposed", "exposed time")
    ] = None
    measured_count: MeasuredCount = None
    measured_seconds: MeasuredSeconds = None
    measured_exposed_seconds: MeasuredExposedSeconds = None
    inserted_by: Annotated[Requester | None, figure("its origin: the partitioner or the user")]
    cause: Annotated[Cause | None, column("its cause; null if unknown", null_text="")] = None
    moves: Annotated[
        str | None,
        column(
            "the moved value, its shardings before and after, and the operation that needs it",
            heading="moves",
            null_text="",
            is_path=True,
            is_below=True,
        ),
    ] = None
    waits_for: Annotated[
        str | None,
        column(
            "the instruction that makes its operand, if the collective starts right after that",
            heading="waits for",
            null_text="",
            is_below=True,
        ),
    ] = None
    scope: UserScope
    op_name: Annotated[str | None, figure("its op_name", null_text="")]
    source: Annotated[
        str | None, column("file and line in the user's program, without directories", null_text="")
    ]
    source_file: Annotated[str | None, figure("file of the user's program", null_text="")]
    source_line: Annotated[int | None, figure("line in that file", null_text="")]
    computation: Annotated[str, figure("the computation that holds it")]
    operation: Annotated[str, figure("the collective itself, if `name` contains it")]
    operand_count: Annotated[
        int, figure("arrays that it moves at once", NUMBER, heading="operands")
    ]
    channel_id: Annotated[int | None, figure("its channel", NUMBER, null_text="")]
    rendezvous: Annotated[
        str | None,
        figure("between slices: the name that both ends share, as in XProf", null_text=""),
    ]
    reduce_operation: Annotated[
        str | None, figure("between slices: its reduction, as printed: SUM", null_text="")
    ]
    is_upper_bound: Annotated[
        bool, figure("whether the sent size depends on data, at most sent_bytes")
    ]
    is_conditional: Annotated[bool, figure("whether it is in a branch that might not run")]
    hlo_op_count: Annotated[
        int,
        figure(
            "instructions in the text that were folded into it", heading="HLO ops", is_exact=True
        ),
    ]
    members: Annotated[tuple[str, ...], figure("names of those instructions")]
    replica_groups: Annotated[
        Groups | None, figure(f"{_ASKED}: the devices of each group, by flattened id", null_text="")
    ] = None
    source_target_pairs: Annotated[
        Pairs | None, figure(f"{_ASKED}: the devices of each pair, by flattened id", null_text="")
    ] = None
    stack: Stack = None
    stack_frame: StackFrame = None


class OperandRow(Struct, frozen=True):
    """One operand of a collective that has several."""

    name: Annotated[str, column("the collective", heading="collective")]
    kind: Annotated[str, column("effect of the collective", words=COLLECTIVES)]
    opcode: Annotated[str, figure("its opcode without -start", words=COLLECTIVES)]
    operand: Annotated[int, column("number of the operand in the collective", NUMBER, heading="#")]
    operand_name: Annotated[
        str | None, column("the instruction that makes the operand", heading="operand")
    ]
    shape: Annotated[str, column("shape of the array that the message size counts")]
    dtype: Annotated[str, figure("its element type", words=DTYPES)]
    message_bytes: Annotated[int | None, column("its size, unpadded", heading="message size")]
    sent_bytes: Annotated[int | None, figure(_SENT)]
    executions: Annotated[int | None, figure("executions of the collective", heading="runs")]
    message_bytes_per_step: MessagePerStep
    known_message_bytes_per_step: KnownMessagePerStep
    sent_bytes_per_step: SentPerStep
    known_sent_bytes_per_step: KnownSentPerStep
    op_name: Annotated[str | None, figure("op_name of the operand", null_text="")]
    scope: UserScope


class HostTransferRow(Struct, frozen=True, kw_only=True):
    """One transfer between device and host."""

    name: Annotated[str, column("the send or recv", heading="host transfer")]
    count: Annotated[int, column("equal rows, shown as one in tables", TIMES, is_exact=True)]
    kind: Annotated[str, column("send to the host, or recv from it", words=ENDS)]
    dtype: Annotated[str, column("the element type; several are joined by commas", words=DTYPES)]
    message_bytes_per_step: Annotated[
        int | None, column("message_bytes times executions", heading="messages/step")
    ]
    known_message_bytes_per_step: KnownMessagePerStep
    message_bytes: Annotated[
        int | None,
        column("the array that it sends; unpadded", heading="message size", is_summed=False),
    ]
    executions: HowOften
    known_executions: KnownHowOften
    handler: Annotated[str | None, column("its handler on the host, as printed", null_text="")]
    rendezvous: Annotated[str | None, figure("the name that both ends share", null_text="")]
    channel_id: Annotated[int | None, figure("its channel", NUMBER, null_text="")]
    scope: UserScope
    op_name: Annotated[str | None, figure("its op_name", null_text="")]
    source_file: Annotated[str | None, figure("file of the user's program", null_text="")]
    source_line: Annotated[int | None, figure("line in that file", null_text="")]
    computation: Annotated[str, figure("the computation that holds it")]
    is_conditional: Annotated[bool, figure("whether it is in a branch that might not run")]


class HostTotals(Struct, frozen=True):
    """All transfers between device and host."""

    count: Annotated[int, figure("sends to the host and recvs from it", is_exact=True)]
    executions: Annotated[int, figure("executions, with unknown trip counts as one")]
    to_host_bytes_per_step: Annotated[int, figure("bytes that a device sends to the host per step")]
    from_host_bytes_per_step: Annotated[
        int, figure("bytes that a device receives from the host per step")
    ]
    is_lower_bound: Annotated[bool, figure("whether a trip count or a size is unknown")]
    is_upper_bound: Annotated[bool, figure("whether some of it is in a branch that might not run")]


class HostTransfers(Struct, frozen=True):
    """Every transfer between device and host, in dump order, and what they add up to."""

    rows: tuple[HostTransferRow, ...]
    totals: HostTotals


HOST_ROWS: Final = RowList(
    "host_transfers",
    HostTransferRow,
    "sends to the host and recvs from it, most bytes first; totals of collectives exclude them",
    sort="-message_bytes_per_step",
    size="message_bytes_per_step",
    upper_if=("is_conditional",),
    fold=Fold(keys="kind,dtype,message_bytes,executions,handler,scope", name="name"),
    title="Transfers between device and host",
    screen="name,count,kind,message_bytes_per_step,handler,scope",
    wide_screen="dtype,message_bytes,executions",
)
HOST_TOTALS: Final = Block(
    "host", HostTotals, "transfers between device and host, which collectives exclude"
)

# What a summary says of them, and `hlotool collectives`.
HOST_LINE: Final = (
    "host transfers: {count} run {executions:time}, with {to_host_bytes_per_step} to the host and "
    "{from_host_bytes_per_step} from it"
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
        sum(row.known_message_bytes_per_step for row in rows if row.kind == kind)
        for kind in ("send", "recv")
    )
    totals = HostTotals(
        len(rows),
        sum(row.known_executions for row in rows),
        to_host,
        from_host,
        any(row.message_bytes_per_step is None for row in rows),
        any(row.is_conditional for row in rows),
    )
    return HostTransfers(rows, totals)


def _make_row(instruction: Instruction, executions: Executions) -> HostTransferRow:
    computation = instruction.computation
    parts = (
        transfers.list_sent(instruction)
        if instruction.opcode == "send"
        else transfers.list_received(instruction)
    )
    runs = executions.runs_of(computation)
    message = transfers.measure_share(transfers.sum_sizes(parts), transfers.WHOLE, runs)
    origin = read_origin(instruction)
    return HostTransferRow(
        name=instruction.full_name,
        count=1,
        kind=instruction.opcode,
        dtype=transfers.name_dtypes(parts),
        **message.figures("message_bytes"),
        **runs.figures(),
        handler=find_handler(instruction),
        rendezvous=find_rendezvous(instruction),
        channel_id=instruction.channel_id,
        scope=origin.scope,
        op_name=origin.op_name,
        source_file=origin.source_file,
        source_line=origin.source_line,
        computation=computation.name,
    )
