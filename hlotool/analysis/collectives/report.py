"""What crosses the interconnect per step of a module, and what `hlotool collectives` answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from hlotool.analysis.collectives.logical import LogicalCollective
from hlotool.analysis.collectives.machine import Machine, Pricing, price
from hlotool.analysis.collectives.mesh import Extent, ExtentFinder, MeshSource
from hlotool.analysis.collectives.overlap import Exposure, is_marked_sync, measure_exposures
from hlotool.analysis.collectives.rows import (
    HOST_ROWS,
    HOST_TOTALS,
    CollectiveRow,
    HostTransfers,
    OperandRow,
    Requester,
    list_host_transfers,
)
from hlotool.analysis.collectives.totals import (
    BY_KIND,
    BY_NETWORK,
    COLLECTIVE_TOTALS,
    CollectiveTotals,
    sum_transfers,
)
from hlotool.analysis.collectives.transfers import (
    WHOLE,
    MessagePart,
    Transfer,
    measure_share,
    name_dtypes,
)
from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.graph.backend import find_reduce_operation, find_rendezvous
from hlotool.analysis.measured import join_times
from hlotool.analysis.origin import Origin, find_scope, read_origin, write_short_source
from hlotool.hlo import Instruction, Mesh, Module
from hlotool.hlo.module import find_passed
from hlotool.hlo.opcodes import FREE, MOVES, VIEWS
from hlotool.hlo.values import Measurement
from hlotool.table import DocumentSpec, Fold, RowList


class CollectiveReport(Struct, frozen=True):
    """Every collective of a module, in dump order, and what they add up to.

    `host` is what goes between device and host, which nothing else here counts.
    """

    rows: tuple[CollectiveRow, ...]
    operands: tuple[OperandRow, ...]
    totals: CollectiveTotals
    host: HostTransfers


class CollectiveOptions(Struct, frozen=True):
    """What the user knows about the machine, and which details are wanted."""

    mesh: Mesh | None = None
    machine: Machine | None = None  # what times are estimated for
    with_groups: bool = False  # list the devices of every group
    with_operands: bool = False  # one row for each operand of a collective with several


NO_OPTIONS: Final = CollectiveOptions()


def analyze_collectives(
    module: Module,
    transfers: Sequence[Transfer],
    costs: CostModel,
    options: CollectiveOptions,
    *,
    sibling_mesh: MeshSource,
) -> CollectiveReport:
    """List the logical collectives of a module, with bytes per device, once and per step.

    What counts as one is said in `logical`, message size and bytes sent in `transfers`, what work
    cannot hide, and times, in `overlap`. `*_per_step` is multiplied by the executions, bytes sent
    as an exact rational that is rounded up afterwards. Where a trip count or a size is unknown,
    `known_*` counts once what the others leave unknown, and the totals are lower bounds. Branches
    of conditionals count as taken and make the totals upper bounds, as do bytes that depend on the
    data. `sibling_mesh` is asked for the mesh where the module does not name its axes.

    Raises UsageError where the user's mesh does not fit the module, ParseError where an
    attribute is malformed or a computation calls itself.
    """
    pricing = price(module, options.machine)
    extents = ExtentFinder(
        module,
        [one.groups for one in transfers],
        options.mesh,
        sibling_mesh,
        pricing.devices_per_node,
    )
    placed = [(one, extents.find(one.groups)) for one in transfers]
    exposures = measure_exposures(placed, pricing, costs)
    waited = _find_waited([one.collective for one in transfers])
    rows = [
        replace(
            _make_row(*one, exposure, pricing, options),
            waits_for=waited.get(one[0].collective.begin),
        )
        for one, exposure in zip(placed, exposures, strict=True)
    ]
    pairs = zip(transfers, rows, strict=True) if options.with_operands else ()
    operands = [operand for one, row in pairs for operand in _list_operands(one, row)]
    measured = list(zip(transfers, exposures, strict=True))
    return CollectiveReport(
        tuple(rows),
        tuple(operands),
        sum_transfers(
            measured,
            options.machine,
            pricing if measured else None,
            is_part=module.source.is_fragment,
        ),
        list_host_transfers(costs.executions),
    )


def sum_collectives(module: Module, transfers: Sequence[Transfer]) -> CollectiveTotals:
    """Return the totals of `analyze_collectives` alone, in a fraction of its time."""
    return sum_transfers([(one, None) for one in transfers], is_part=module.source.is_fragment)


def _make_row(
    transfer: Transfer,
    extent: Extent,
    exposure: Exposure,
    pricing: Pricing,
    options: CollectiveOptions,
) -> CollectiveRow:
    one, groups = transfer.collective, transfer.groups
    work = exposure.work
    exposed_sent, known_exposed_sent = exposure.sent
    # What is sent of each element type, counting what is unknown once.
    sizes = dict.fromkeys(sorted({part.shape.dtype for part in transfer.parts}), 0)
    for part in transfer.parts:
        sizes[part.shape.dtype] += part.size_bytes or 0
    origin = _find_origin(one)
    return CollectiveRow(
        name=one.begin.full_name,
        count=1,
        kind=transfer.kind,
        opcode=one.operation.opcode.removesuffix("-start"),
        interconnect=pricing.shown.name_interconnect(transfer.interconnect, extent.span),
        dtype=name_dtypes(transfer.parts),
        sent_bytes_by_dtype=tuple(
            (dtype, measure_share(size, transfer.share, one.runs).known_per_step)
            for dtype, size in sizes.items()
        ),
        **transfer.sent.figures("sent_bytes"),
        **transfer.message.figures("message_bytes"),
        **one.runs.figures(),
        group_size=groups.group_size,
        least_group_size=groups.least_size,
        group_count=groups.group_count,
        pair_count=groups.pair_count,
        is_uneven=groups.is_uneven,
        mode=groups.mode,
        problem=groups.problem,
        is_async=one.is_async,
        is_sync=is_marked_sync(one),
        exposed_share=None if exposure.share is None else float(exposure.share),
        exposed_bytes_per_step=exposed_sent,
        known_exposed_bytes_per_step=known_exposed_sent,
        overlapped_instructions=work.instruction_count if work else None,
        overlapped_flops=work.flops if work else None,
        overlapped_bytes=work.traffic_bytes if work else None,
        transfer_seconds=exposure.transfer[0],
        overlapped_seconds=exposure.overlapped[0],
        exposed_seconds=exposure.exposed[0],
        inserted_by=_find_requester(one, origin.op_name or ""),
        source=write_short_source(origin.source_file, origin.source_line),
        computation=one.begin.computation.name,
        operation=one.operation.full_name,
        operand_count=len(transfer.parts),
        channel_id=one.operation.channel_id,
        rendezvous=find_rendezvous(one.operation),
        reduce_operation=find_reduce_operation(one.operation),
        is_upper_bound=transfer.is_upper_bound,
        hlo_op_count=len(one.members),
        members=tuple(member.full_name for member in one.members),
        replica_groups=groups.expand() if options.with_groups else None,
        source_target_pairs=groups.expand_pairs() if options.with_groups else None,
        **asdict(extent),
        **asdict(origin),
    )


def _find_waited(collectives: Iterable[LogicalCollective]) -> Mapping[Instruction, str]:
    """Return what some wait for: the instruction before them, that makes one of their operands.

    Parameters, constants and views run no code and are passed over. Only pairs of a start and a
    done could begin earlier; and only in a schedule is one instruction before another.
    """
    begins = {one.begin for one in collectives if one.is_async and not one.is_fused}
    found: dict[Instruction, str] = {}
    for computation in {one.computation for one in begins}:
        last: Instruction | None = None
        for one in computation.instructions if computation.module.header.is_scheduled else ():
            if one in begins and last is not None and last in map(_pass_views, one.operands):
                found[one] = last.full_name
            last = last if one.opcode in FREE else one
    return found


def _pass_views(one: Instruction) -> Instruction:
    """Return what a value is a view of."""
    while one.opcode in VIEWS - {"tuple"} and one.operands:
        one = one.operands[0]
    return one


def _find_origin(one: LogicalCollective) -> Origin:
    """Return the operation's op_name and source line; where it has none, what it stands in has."""
    found = [read_origin(each) for each in (one.operation, one.begin, one.done) if each is not None]
    named = next((each for each in found if each.op_name), Origin())
    located = next((each for each in found if each.source_file), Origin())
    return replace(located, op_name=named.op_name, scope=named.scope)


# The last part of an op_name is the primitive. These, and what begins like them, are JAX's own
# collectives; all others have none in them until the partitioner puts one there.
_PRIMITIVES: Final = (
    "psum", "pmax", "pmin", "ppermute", "pbroadcast", "pgather", "pcast", "all_gather",
    "all_to_all", "reduce_scatter", "ragged_all_to_all", "all_reduce",
)  # fmt: skip
_BY_PMAP: Final = "pmap("
_BY_JAX: Final = ("jit(", "pjit(", _BY_PMAP)


def _find_requester(one: LogicalCollective, op_name: str) -> Requester | None:
    """Return `partitioner`, `user`, or None where the dump does not tell.

    The attribute `is_spmd_generated` says spmd. Without it, the primitive in a JAX `op_name` tells:
    collective primitives are the user's, and any other primitive under jit has a collective only
    because the partitioner gave it one. Where XLA combined several and they differ, None.
    """
    for instruction in (one.operation, one.begin):
        if instruction.frontend_attributes().get("is_spmd_generated") == "true":
            return "partitioner"
    if not op_name.startswith(_BY_JAX):
        return None
    names = op_name.replace(":", ";").split(";")
    primitives = [name.rpartition("/")[2].rstrip(")") for name in names]
    are_collective = {
        one.replace("_", "").isalnum() and one.startswith(_PRIMITIVES) for one in primitives if one
    }
    if len(are_collective) != 1:
        return None
    if are_collective.pop():
        return "user"
    return None if op_name.startswith(_BY_PMAP) else "partitioner"


_VIEWS_AND_COPIES: Final = MOVES | {"bitcast", "convert", "get-tuple-element"}
_MOST_VIEWS: Final = 8  # steps back to something that has a name


def _list_operands(transfer: Transfer, row: CollectiveRow) -> Iterator[OperandRow]:
    """Open a collective of several arrays: one row for each part of its message."""
    collective = transfer.collective
    parts = transfer.parts if len(transfer.parts) > 1 else _open_concatenation(transfer)
    for number, part in enumerate(parts):
        message = measure_share(part.size_bytes, WHOLE, collective.runs)
        sent = measure_share(part.size_bytes, transfer.share, collective.runs)
        operand = find_outer(part.operand, collective.begin)
        op_name = _find_op_name(operand)
        yield OperandRow(
            name=row.name,
            kind=row.kind,
            opcode=row.opcode,
            operand=number,
            operand_name=operand.full_name if operand else None,
            shape=str(part.shape),
            dtype=part.shape.dtype,
            executions=row.executions,
            **message.figures("message_bytes"),
            **sent.figures("sent_bytes"),
            op_name=op_name or None,
            scope=find_scope(op_name),
        )


def _open_concatenation(transfer: Transfer) -> Sequence[MessagePart]:
    """Return the arrays that GPU's combiner put behind each other in a message, none of another."""
    for part in transfer.parts:
        fusion = find_outer(part.operand, transfer.collective.begin)
        body = fusion.callee() if fusion else None
        made = body.root if body else fusion
        if fusion and made and made.opcode == "concatenate" and fusion.shape == part.shape:
            given = [find_outer(_pass_views(one), fusion) for one in made.operands]
            return [MessagePart(one, leaf) for one in given if one for leaf in one.shape.leaves()]
    return ()


def find_outer(operand: Instruction | None, begin: Instruction) -> Instruction | None:
    """Return what an async-start or a fusion is given for a parameter of what it wraps."""
    if (
        operand is None
        or operand.opcode != "parameter"
        or operand.computation is not begin.callee()
    ):
        return operand
    return find_passed(operand, begin) or operand


def _find_op_name(operand: Instruction | None) -> str:
    """Return the op_name of an operand, or of what it is only a view or copy of."""
    for _ in range(_MOST_VIEWS):
        if operand is None:
            return ""
        op_name = operand.metadata().op_name
        if op_name or operand.opcode not in _VIEWS_AND_COPIES or not operand.operands:
            return op_name
        operand = operand.operands[0]
    return ""


def measure_collectives(report: CollectiveReport, measured: Measurement) -> CollectiveReport:
    """Set what was measured of every collective, and of all together.

    The time of one in several steps is that in which any of them ran: the start, what goes on
    beside the work, the wait at its end.
    """
    rows: list[CollectiveRow] = []
    for row in report.rows:
        time = join_times(measured, (row.name, *row.members))
        rows.append(
            replace(
                row,
                measured_count=time.count,
                measured_seconds=time.seconds,
                measured_exposed_seconds=time.exposed_seconds,
            )
        )
    totals = replace(
        report.totals,
        measured_seconds=_sum([row.measured_seconds for row in rows]),
        measured_exposed_seconds=_sum([row.measured_exposed_seconds for row in rows]),
        is_measured_lower_bound=any(row.measured_seconds is None for row in rows),
    )
    return replace(report, rows=tuple(rows), totals=totals)


def _sum(times: Iterable[float | None]) -> float | None:
    """Add up the times that are known, None if none is."""
    known = [time for time in times if time is not None]
    return sum(known) if known else None


COLLECTIVE_ROWS: Final = RowList(
    "rows",
    CollectiveRow,
    "logical collectives, most bytes sent per step first",
    sort="-sent_bytes_per_step,-message_bytes_per_step",
    size="sent_bytes_per_step",
    upper_if=("is_upper_bound", "is_conditional"),
    fold=Fold(
        keys="kind,opcode,interconnect,dtype,message_bytes,sent_bytes,executions,group_size,"
        "least_group_size,group_count,pair_count,axes,span,is_async,is_sync,operand_count,"
        "problem,cause,scope,source,stack",
        name="name",
        known=("exposed_seconds",),
        joined=("members",),
    ),
    screen="name,count,kind,interconnect,sent_bytes_per_step,exposed_share,"
    "exposed_seconds,measured_seconds,axes,cause",
    wide_screen="transfer_seconds,exposed_bytes_per_step,measured_count,measured_exposed_seconds,"
    "scope,source",
)

OPERANDS: Final = RowList(
    "operands",
    OperandRow,
    "the operands of collectives that have several, largest first",
    sort="-sent_bytes_per_step,name,operand",
    size="sent_bytes_per_step",
    option="--operands",
    title="Operands of combined collectives",
    screen="name,operand,operand_name,shape,message_bytes,scope",
    wide_screen="kind,sent_bytes_per_step",
)

COLLECTIVES: Final = DocumentSpec(
    "collectives",
    "collectives",
    blocks=(COLLECTIVE_TOTALS, HOST_TOTALS),
    row_lists=(COLLECTIVE_ROWS, BY_KIND, BY_NETWORK, HOST_ROWS, OPERANDS),
)

_MEASURED: Final = ("measured_count", "measured_seconds", "measured_exposed_seconds")
_TIMES: Final = ("transfer_seconds", "overlapped_seconds", "exposed_seconds")
# Where times are shown, these say less than they do: they give way sooner than is declared.
# Columns that a table has only where some row has a value for them.
_WHERE_KNOWN: Final = (
    "axes",
    "span",
    "overlapped_flops",
    "overlapped_bytes",
    *_TIMES,
    *_MEASURED,
    "scope",
    "source",
)


def choose_collective_columns(rows: Sequence[CollectiveRow]) -> DocumentSpec:
    """Return the declaration with the columns that suit an answer; JSON is always the same."""
    chosen = choose_row_columns(rows)
    sums: tuple[RowList, ...] = (BY_KIND, BY_NETWORK)
    if any(row.transfer_seconds is not None for row in rows):
        sums = tuple(each.showing(each.shown() | set(_TIMES)) for each in sums)
    return replace(COLLECTIVES, row_lists=(chosen, *sums, HOST_ROWS, OPERANDS))


def choose_row_columns(rows: Sequence[CollectiveRow]) -> RowList:
    """Return the list of collectives without columns that would say nothing.

    Those are the ones without any value, exposure where all are synchronous, and `interconnect`
    where all have the same. Where times are estimated, what is exposed longest comes first; where
    for some nobody knows how long that is, what takes longest, lest the largest be buried.
    """
    empty = {name for name in _WHERE_KNOWN if all(getattr(row, name) is None for row in rows)}
    if not any(row.is_async for row in rows):
        empty |= {"exposed_share", "exposed_bytes_per_step", *_TIMES[1:]}
    if all(row.cause in {None, "unknown"} for row in rows):
        empty.add("cause")
    if len({row.interconnect for row in rows}) < 2:  # noqa: PLR2004
        empty.add("interconnect")
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
    return chosen
