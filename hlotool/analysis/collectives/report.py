"""What crosses the interconnect in one run of a module?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from hlotool.analysis.collectives.device_groups import DeviceGroups, GroupReader, Share
from hlotool.analysis.collectives.effect import find_effective_kind
from hlotool.analysis.collectives.extent import PlaceFinder
from hlotool.analysis.collectives.logical import LogicalCollective, find_collectives
from hlotool.analysis.collectives.maker import find_origin
from hlotool.analysis.collectives.overlap import OverlapMeter, is_marked_sync
from hlotool.analysis.collectives.rows import (
    CollectiveOptions,
    CollectiveReport,
    CollectiveRow,
    CollectiveTotals,
    Exposed,
    KindRow,
    OperandRow,
)
from hlotool.analysis.collectives.wire_bytes import (
    Part,
    list_parts,
    name_dtypes,
    sum_sizes,
    wire_share,
)
from hlotool.analysis.cost import CostModel
from hlotool.analysis.graph.call_graph import CallGraph
from hlotool.analysis.graph.executions import Executions
from hlotool.analysis.origin.scope import find_scope
from hlotool.ir import Instruction, Module, SourceLocation
from hlotool.ir.opcodes import MOVES

__all__ = [
    "CollectiveOptions",
    "CollectiveReport",
    "CollectiveRow",
    "CollectiveTotals",
    "analyze_collectives",
    "sum_collectives",
]

_VIEWS_AND_COPIES: Final = MOVES | {"bitcast", "convert", "get-tuple-element"}
_ALL: Final = (1, 1)
_MOST_VIEWS: Final = 8  # steps back to something that has a name


def analyze_collectives(
    module: Module,
    executions: Executions,
    costs: CostModel | None = None,
    options: CollectiveOptions | None = None,
    graph: CallGraph | None = None,
) -> CollectiveReport:
    """List the logical collectives of a module, with bytes per device, once and per run.

    What counts as one is said in `logical_collectives`, payload and wire bytes in
    `collective_bytes`, overlap in `overlap`; the overlap's flops and bytes need `costs`.
    `*_per_run` is multiplied by the executions, wire bytes as an exact rational that is
    rounded up afterwards. Where a trip count or a size is unknown, `known_*` counts once
    what the others leave unknown, and the totals are lower bounds. Branches of conditionals
    count as taken and make the totals upper bounds, as do bytes that depend on the data.

    Raises UsageError where the user's mesh does not fit the module, ParseError where an
    attribute is malformed, InputError where a computation calls itself.
    """
    options = options or CollectiveOptions()
    places = PlaceFinder(module, options.mesh, options.devices_per_node)
    traffic = _measure_traffic(module, executions, graph)
    meter = OverlapMeter([one.collective for one in traffic], executions, costs)
    rows: list[CollectiveRow] = []
    operands: list[OperandRow] = []
    for one in traffic:
        row = _make_row(one, meter, places, with_groups=options.with_groups)
        rows.append(row)
        if options.with_operands and len(one.parts) > 1:
            operands += _list_operands(one, row)
    return CollectiveReport(tuple(rows), tuple(operands), _sum_all(traffic), _sum_exposed(rows))


def sum_collectives(
    module: Module, executions: Executions, graph: CallGraph | None = None
) -> CollectiveTotals:
    """Return the totals of `analyze_collectives` alone, in a fraction of its time."""
    return _sum_all(_measure_traffic(module, executions, graph))


class _Sizes(Struct, frozen=True):
    """Payload or wire bytes: once, per run, and per run with the unknown counted once."""

    once: int | None
    per_run: int | None
    known_per_run: int


class _Traffic(Struct, frozen=True):
    """What a collective sends, and to how many."""

    collective: LogicalCollective
    effective_kind: str
    groups: DeviceGroups
    parts: tuple[Part, ...]
    share: Share | None
    payload: _Sizes
    wire: _Sizes

    @property
    def is_upper_bound(self) -> bool:
        """Whether the data decides how much of the payload is sent."""
        return self.effective_kind == "ragged-all-to-all"


def _measure_traffic(
    module: Module, executions: Executions, graph: CallGraph | None
) -> list[_Traffic]:
    reader = GroupReader(module)
    found: list[_Traffic] = []
    for one in find_collectives(module, executions, graph):
        groups = reader.read(one.operation)
        kind = find_effective_kind(
            one.operation, is_fused=one.is_fused, group_size=groups.group_size
        )
        parts = list_parts(one.operation, kind)
        share = wire_share(kind, groups)
        size = sum_sizes(parts)
        payload, wire = _measure(size, _ALL, one), _measure(size, share, one)
        found.append(_Traffic(one, kind, groups, parts, share, payload, wire))
    return found


def _measure(size: int | None, share: Share | None, one: LogicalCollective) -> _Sizes:
    """Multiply exactly, and round up only then."""
    if size is None or share is None:
        return _Sizes(None, None, 0)
    numerator, denominator = share
    once = -(-size * numerator // denominator)
    known = -(-size * numerator * one.executions // denominator)
    return _Sizes(once, known if one.is_exact else None, known)


def _make_row(
    traffic: _Traffic, meter: OverlapMeter, places: PlaceFinder, *, with_groups: bool
) -> CollectiveRow:
    one, groups, payload, wire = (
        traffic.collective,
        traffic.groups,
        traffic.payload,
        traffic.wire,
    )
    overlap = meter.measure(one, payload.once)
    place = places.find(groups)
    op_name, location = _find_place(one)
    return CollectiveRow(
        name=one.begin.name,
        count=1,
        kind=one.kind,
        effective_kind=traffic.effective_kind,
        computation=one.begin.computation.name,
        operation=one.operation.name,
        is_async=one.is_async,
        is_sync=is_marked_sync(one),
        is_exposed=overlap.is_exposed,
        dtype=name_dtypes(traffic.parts),
        operand_count=len(traffic.parts),
        payload_bytes=payload.once,
        wire_bytes=wire.once,
        group_size=groups.group_size,
        group_count=groups.group_count,
        pair_count=groups.pair_count,
        is_uneven=groups.is_uneven,
        is_upper_bound=traffic.is_upper_bound,
        axes=place.axes,
        span=place.span,
        mode=groups.mode,
        channel_id=one.operation.channel_id,
        problem=groups.problem,
        executions=one.executions if one.is_exact else None,
        known_executions=one.executions,
        is_conditional=one.is_conditional,
        payload_bytes_per_run=payload.per_run,
        known_payload_bytes_per_run=payload.known_per_run,
        wire_bytes_per_run=wire.per_run,
        known_wire_bytes_per_run=wire.known_per_run,
        textual_count=len(one.members),
        members=tuple(member.name for member in one.members),
        origin=find_origin((one.operation, one.begin), op_name),
        overlap_instructions=overlap.instruction_count,
        overlap_flops=overlap.flops,
        overlap_bytes=overlap.size_bytes,
        op_name=op_name or None,
        scope=find_scope(op_name) if op_name else None,
        source_file=location.file if location else None,
        source_line=location.line if location else None,
        replica_groups=groups.expand() if with_groups else None,
        source_target_pairs=groups.expand_pairs() if with_groups else None,
    )


def _find_place(one: LogicalCollective) -> tuple[str, SourceLocation | None]:
    """Return the operation's op_name and source line.

    Where it has none, those of what it stands in.
    """
    op_name, location = "", None
    for instruction in (one.operation, one.begin, one.done):
        if instruction is not None and not (op_name and location):
            metadata = instruction.metadata()
            op_name = op_name or metadata.op_name
            location = location or instruction.source_location(metadata)
    return op_name, location


def _list_operands(traffic: _Traffic, row: CollectiveRow) -> Iterable[OperandRow]:
    """Open a collective: one row for each part of its payload."""
    for number, part in enumerate(traffic.parts):
        payload = _measure(part.size_bytes, _ALL, traffic.collective)
        wire = _measure(part.size_bytes, traffic.share, traffic.collective)
        operand = _find_outer(part.operand, traffic.collective.begin)
        op_name = _find_maker_name(operand)
        yield OperandRow(
            name=row.name,
            kind=row.kind,
            effective_kind=row.effective_kind,
            operand=number,
            operand_name=operand.name if operand else None,
            shape=str(part.shape),
            dtype=part.shape.dtype,
            payload_bytes=payload.once,
            wire_bytes=wire.once,
            executions=row.executions,
            payload_bytes_per_run=payload.per_run,
            known_payload_bytes_per_run=payload.known_per_run,
            wire_bytes_per_run=wire.per_run,
            known_wire_bytes_per_run=wire.known_per_run,
            op_name=op_name or None,
            scope=find_scope(op_name) if op_name else None,
        )


def _find_outer(operand: Instruction | None, begin: Instruction) -> Instruction | None:
    """Return what an async-start or a fusion is given for a parameter of what it wraps."""
    if (
        operand is None
        or operand.opcode != "parameter"
        or operand.computation is not begin.callee()
    ):
        return operand
    number = operand.parameter_number
    return begin.operands[number] if number < len(begin.operands) else operand


def _find_maker_name(operand: Instruction | None) -> str:
    """Return the op_name of an operand, or of what it is only a view or copy of."""
    for _ in range(_MOST_VIEWS):
        if operand is None:
            return ""
        op_name = operand.metadata().op_name
        if op_name or operand.opcode not in _VIEWS_AND_COPIES or not operand.operands:
            return op_name
        operand = operand.operands[0]
    return ""


def _sum_all(found: Sequence[_Traffic]) -> CollectiveTotals:
    kinds: dict[str, list[_Traffic]] = {}
    for one in found:
        kinds.setdefault(one.collective.kind, []).append(one)
    by_kind = [KindRow(kind, *_sum(kinds[kind])) for kind in sorted(kinds)]
    by_kind.sort(key=lambda row: -row.wire_bytes_per_run)
    return CollectiveTotals(*_sum(found), tuple(by_kind))


def _sum_exposed(rows: Sequence[CollectiveRow]) -> Exposed:
    exposed = [row for row in rows if row.is_exposed]
    unknown_count = sum(row.is_exposed is None for row in rows)
    return Exposed(
        len(exposed),
        sum(row.known_wire_bytes_per_run for row in exposed),
        unknown_count > 0 or any(row.wire_bytes_per_run is None for row in exposed),
        any(row.is_upper_bound or row.is_conditional for row in exposed),
        unknown_count,
    )


def _sum(found: Sequence[_Traffic]) -> tuple[int, int, int, int, int, bool, bool]:
    """Add up traffic, in the order in which KindRow and CollectiveTotals have the sums."""
    return (
        len(found),
        sum(len(one.collective.members) for one in found),
        sum(one.collective.executions for one in found),
        sum(one.payload.known_per_run for one in found),
        sum(one.wire.known_per_run for one in found),
        any(one.payload.per_run is None or one.wire.per_run is None for one in found),
        any(one.is_upper_bound or one.collective.is_conditional for one in found),
    )
