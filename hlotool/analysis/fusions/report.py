"""How long did fusions and custom calls take in a profile?

How much of the measured time lies outside fusions, where their list does not show it?

What does each fusion of a module cost, and what does it save?

How long would fusions and calls take on a chip at its peaks? An estimate, a lower bound.

What `hlotool fusions` answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.cost.chips import Chip, weigh_flops
from hlotool.analysis.cost.cost import list_flops, list_types, pair_types
from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.cost.traffic import MAIN_SPACE
from hlotool.analysis.fusions.body import BodyRow, find_intermediates
from hlotool.analysis.fusions.calls import CustomCallRow, CustomCallTotals
from hlotool.analysis.fusions.missed import MissedRow, RecomputeRow
from hlotool.analysis.fusions.rows import (
    Bound,
    Flag,
    FusionRow,
    FusionTotals,
    add_up_fusions,
    find_backend_kind,
    find_flags,
    find_kind,
)
from hlotool.analysis.graph.backend import Backend, find_backend, find_space_name
from hlotool.analysis.graph.calls import CallGraph
from hlotool.analysis.graph.equality import Fingerprints
from hlotool.analysis.graph.executions import Executions, count_runs
from hlotool.analysis.measured import MeasuredInstruction, join_times
from hlotool.analysis.origin import Origin, find_common_scope, find_origin
from hlotool.hlo import Computation, Instruction
from hlotool.hlo.measurement import Measurement
from hlotool.table import PERCENT, SECONDS, Block, DocumentSpec, RowList, figure


def add_measured_times(rows: Iterable[FusionRow], measured: Measurement) -> tuple[FusionRow, ...]:
    """Set what was measured of every row: all fusions of equal bodies together."""
    return tuple(_add(row, measured) for row in rows)


def _add(row: FusionRow, measured: Measurement) -> FusionRow:
    time = join_times(measured, row.members)
    return replace(row, measured_count=time.count, measured_seconds=time.seconds)


def add_measured_calls(
    rows: Iterable[CustomCallRow], measured: Measurement
) -> tuple[CustomCallRow, ...]:
    """Set what was measured of every row of the census; calls in fusions have no times."""
    return tuple(_add_to_call(row, measured) for row in rows)


def _add_to_call(row: CustomCallRow, measured: Measurement) -> CustomCallRow:
    time = join_times(measured, row.members)
    return replace(row, measured_count=time.count, measured_seconds=time.seconds)


class OutsideFusions(Struct, frozen=True):
    """The measured time of what is no fusion, in one run on one device."""

    measured_seconds: Annotated[
        float, figure("time of all instructions that are no fusions, in one run", SECONDS)
    ]
    share: Annotated[
        float, figure("its share of the time of all instructions, fusions too", PERCENT)
    ]
    longest: Annotated[str | None, figure("the instruction that takes most of it; null if none")]
    longest_seconds: Annotated[
        float | None, figure("how long that takes in one run; null if there is none", SECONDS)
    ]


OUTSIDE: Final = Block(
    "outside",
    OutsideFusions,
    "with a profile: what was measured outside fusions; null where runs are unknown",
    is_optional=True,
    is_nullable=True,
)


def measure_outside(rows: Iterable[MeasuredInstruction]) -> OutsideFusions | None:
    """Add up what took time outside fusions; None where no time of a run is known.

    Of `rank_instructions`, so that no time counts twice. What runs side by side is added up.
    """
    timed = [(row, row.measured_seconds) for row in rows if row.measured_seconds is not None]
    total = sum(seconds for _, seconds in timed)
    if not total:
        return None
    outside = [(row, seconds) for row, seconds in timed if row.opcode != "fusion"]
    longest, longest_seconds = max(outside, key=lambda each: each[1], default=(None, None))
    seconds = sum(each for _, each in outside)
    return OutsideFusions(
        seconds, seconds / total, longest.name if longest else None, longest_seconds
    )


class FusionReport(Struct, frozen=True):
    """Answer of `find_fusions`."""

    totals: FusionTotals
    rows: tuple[FusionRow, ...]


def find_fusions(
    graph: CallGraph,
    prints: Fingerprints,
    executions: Executions,
    costs: CostModel,
    *,
    tells_places: bool = False,
) -> FusionReport:
    """List the fusions in executed computations, equal ones in one row.

    Two fusions are equal when their bodies have the same fingerprint, and they the same kind
    and backend kind. Bytes are those of shapes without tile padding. `bytes_accessed` is
    XLA's own (an operand only sliced is read by its slices, a result updated in place is written
    by its update), `memory_bytes` what crosses memory space 0 (see
    `memory_traffic`), `operand_bytes` and `result_bytes` are the whole of both, `saved_bytes`
    the results inside the body that reach no memory. If it `tells_places`, equal fusions that come
    from different places have rows of their own. A fusion that names no computation has a
    row of its own, a lower bound. Rows come in dump order.
    """
    groups: dict[object, list[Instruction]] = {}
    inside = _Bodies(costs)
    for computation in executions.executed:
        for instruction in computation.instructions:
            if instruction.opcode == "fusion":
                bodies = graph.callees.get(instruction)
                same = prints.of(bodies[0]) if bodies else instruction
                kinds = find_kind(instruction), find_backend_kind(instruction)
                place = _place(instruction, inside) if tells_places else None
                groups.setdefault((same, kinds, place), []).append(instruction)
    backend = find_backend(graph.callees_first[0].module)
    rows = tuple(
        _make_row(members, executions, costs, backend, inside) for members in groups.values()
    )
    return FusionReport(add_up_fusions(rows), rows)


class _Body(Struct, frozen=True):
    """What the instructions of a fused computation say of the fusions that call it."""

    saved_bytes: int
    flags: tuple[Flag, ...]


class _Bodies:
    """Looks at each fused computation once, however many fusions call it."""

    def __init__(self, costs: CostModel) -> None:
        self._costs = costs
        self._known: dict[Computation | None, _Body] = {None: _Body(0, ())}
        self._origins: dict[Computation | None, Origin] = {None: Origin()}

    def of(self, fusion: Instruction) -> _Body:
        """Return what the body of a fusion says."""
        body = fusion.callee()
        if body is not None and body not in self._known:
            saved = sum(self._costs.size_bytes(one.shape) for one in find_intermediates(body))
            self._known[body] = _Body(saved, find_flags(body))
        return self._known[body]

    def find_origin(self, fusion: Instruction) -> Origin:
        """Return where a fusion comes from; its body says what it does not say itself."""
        own = find_origin(fusion)
        if own.scope is not None and own.source_file is not None:
            return own
        body = fusion.callee()
        if body is not None and body not in self._origins:
            last, *others = reversed(body.instructions)
            self._origins[body] = find_origin(last, others)
        return _join_origins(own, self._origins[body])


def _make_row(
    members: list[Instruction],
    executions: Executions,
    costs: CostModel,
    backend: Backend | None,
    bodies: _Bodies,
) -> FusionRow:
    fusion = members[0]
    by_space = costs.memory_by_space(fusion)
    body = fusion.callee()
    inside = bodies.of(fusion)
    cost = costs.of(fusion)
    saved = inside.saved_bytes
    runs = count_runs(members, executions)
    origin = _find_origin(members, bodies)
    # Those of custom calls inside are not among the flops.
    products = () if cost.custom_call_flops else cost.products
    return FusionRow(
        name=fusion.full_name,
        count=len(members),
        kind=find_kind(fusion),
        backend_kind=find_backend_kind(fusion),
        root_opcode=body.root.opcode if body else None,
        computation=fusion.computation.name,
        fused_computation=body.name if body else None,
        instruction_count=len(body.instructions) if body else None,
        operand_bytes=costs.operand_bytes(fusion),
        result_bytes=costs.size_bytes(fusion.shape),
        memory_bytes=cost.memory_bytes,
        memory_bytes_by_space=by_space,
        space_names=tuple(
            find_space_name(backend, number) or f"space {number}" for number, _ in by_space
        ),
        bytes_accessed=cost.bytes_accessed,
        saved_bytes=saved,
        flops=cost.flops,
        product_types=list_types(products),
        product_flops=list_flops(products),
        transcendentals=cost.transcendentals,
        flops_per_byte=cost.flops / cost.memory_bytes if cost.memory_bytes else None,
        executions=runs.exact,
        known_executions=runs.known,
        memory_bytes_per_run=runs.times(cost.memory_bytes),
        known_memory_bytes_per_run=cost.memory_bytes * runs.known,
        bytes_accessed_per_run=runs.times(cost.bytes_accessed),
        known_bytes_accessed_per_run=cost.bytes_accessed * runs.known,
        flops_per_run=runs.times(cost.flops),
        known_flops_per_run=cost.flops * runs.known,
        saved_bytes_per_run=runs.times(saved),
        known_saved_bytes_per_run=saved * runs.known,
        flags=inside.flags,
        scope=origin.scope,
        op_name=origin.op_name,
        source_file=origin.source_file,
        source_line=origin.source_line,
        is_conditional=runs.is_conditional,
        is_lower_bound=cost.is_lower_bound,
        is_flops_lower_bound=cost.is_flops_lower_bound,
        members=tuple(one.full_name for one in members),
        stack_frame=origin.frame or None,
    )


def _place(fusion: Instruction, bodies: _Bodies) -> tuple[str, Origin]:
    """Say where a fusion stands, and where in the user's program it comes from."""
    return fusion.computation.name, bodies.find_origin(fusion)


def _find_origin(members: list[Instruction], bodies: _Bodies) -> Origin:
    """Return the first fusion's origin, with the scope that all have in common."""
    origins = [bodies.find_origin(one) for one in members]
    return replace(origins[0], scope=find_common_scope(one.scope for one in origins))


def _join_origins(own: Origin, inside: Origin) -> Origin:
    """Take from the body what a fusion does not say itself."""
    scope = own.scope or inside.scope
    if own.source_file is not None:
        return replace(own, scope=scope)
    return replace(inside, op_name=own.op_name, scope=scope)


_VMEM: Final = 1  # the memory space of TPU's vector memory


def estimate_fusions(found: FusionReport, chip: Chip) -> FusionReport:
    """Set the estimates of a report: those of its rows, and in `totals` their sum.

    The sum leaves out the rows without one, whose executions are unknown; `totals` is a lower
    bound then.
    """
    rows = estimate_fusion_times(found.rows, chip)
    times = [row.estimated_seconds for row in rows if row.estimated_seconds is not None]
    total = sum(times) if times or not rows else None
    return FusionReport(replace(found.totals, estimated_seconds=total), rows)


def estimate_fusion_times(rows: Iterable[FusionRow], chip: Chip) -> tuple[FusionRow, ...]:
    """Set `bound` and `estimated_seconds` of every row, for all its executions in one run.

    A fusion takes the longest of `flops` at the chip's matrix peaks, by the types that products
    compute in, and of the bytes of each memory space at its bandwidth; a space whose bandwidth
    nobody states limits nothing. Nothing is said of launch latency, of caches, nor of
    transcendentals and custom calls, which have no flops. None where the executions are unknown.
    """
    bandwidths: dict[int, tuple[Bound, float]] = {MAIN_SPACE: ("memory", chip.hbm_bytes_per_second)}
    if chip.vmem_bytes_per_second is not None:
        bandwidths[_VMEM] = ("vmem", chip.vmem_bytes_per_second)
    return tuple(_estimate(row, chip, bandwidths) for row in rows)


def estimate_call_times(rows: Iterable[CustomCallRow], chip: Chip) -> tuple[CustomCallRow, ...]:
    """Set `estimated_seconds` of every row of the census, as of fusions.

    Flops and space 0 alone are known of calls. None where either is unknown.
    """
    return tuple(replace(row, estimated_seconds=_estimate_calls(row, chip)) for row in rows)


def _estimate_calls(row: CustomCallRow, chip: Chip) -> float | None:
    if row.flops_per_run is None or row.memory_bytes_per_run is None:
        return None
    products = pair_types(row.product_types, row.product_flops_per_run)
    return max(
        weigh_flops(row.flops_per_run, products, chip) / chip.flops_per_second,
        row.memory_bytes_per_run / chip.hbm_bytes_per_second,
    )


def _estimate(
    row: FusionRow, chip: Chip, bandwidths: Mapping[int, tuple[Bound, float]]
) -> FusionRow:
    times: dict[Bound, float] = {"memory": row.memory_bytes / chip.hbm_bytes_per_second}
    for space, size in row.memory_bytes_by_space:
        if space in bandwidths:
            bound, bytes_per_second = bandwidths[space]
            times[bound] = size / bytes_per_second
    products = pair_types(row.product_types, row.product_flops)
    times["compute"] = weigh_flops(row.flops, products, chip) / chip.flops_per_second
    bound = max(times, key=lambda name: times[name])
    seconds = times[bound]
    return replace(
        row,
        bound=bound if seconds else None,
        estimated_seconds=None if row.executions is None else seconds * row.executions,
    )


FUSION_ROWS: Final = RowList(
    "rows",
    FusionRow,
    "fusions in executed computations, one row for equal bodies",
    sort="-known_memory_bytes_per_run",
    size="memory_bytes_per_run",
    lower_if=("is_lower_bound",),
    upper_if=("is_conditional",),
)

MISSED: Final = RowList(
    "missed",
    MissedRow,
    "elementwise operations, copies, transposes, broadcasts and reshapes outside fusions",
    sort="-known_memory_bytes_per_run",
    size="memory_bytes_per_run",
    upper_if=("is_conditional",),
    is_optional=True,
    option="--missed",
    title="Not fused",
)

RECOMPUTE: Final = RowList(
    "recompute",
    RecomputeRow,
    "dots, convolutions and transcendentals that several fusions compute from the same values",
    sort="-known_repeated_per_run",
    size="repeated_per_run",
    upper_if=("is_conditional",),
    is_optional=True,
    option="--recompute",
    title="Computed again",
)

CUSTOM_CALLS: Final = RowList(
    "custom_calls",
    CustomCallRow,
    "custom calls in executed computations and their fusions, one row for a target and shapes",
    sort="-known_flops_per_run,-known_memory_bytes_per_run,-known_executions",
    size="flops_per_run",
    upper_if=("is_conditional", "is_upper_bound"),
    title="Custom calls",
)

BODY: Final = RowList(
    "body",
    BodyRow,
    "the body of one fusion, in the order of the dump; figures of one execution",
    size="bytes_accessed",
    is_optional=True,
    option="--body NAME",
    limit=0,
    title="Body",
)

FUSION_TOTALS: Final = Block("totals", FusionTotals, "all fusions together")

CALL_TOTALS: Final = Block("custom_call_totals", CustomCallTotals, "all custom calls together")

FUSIONS: Final = DocumentSpec(
    "fusions",
    "what each fusion costs",
    blocks=(FUSION_TOTALS, CALL_TOTALS, OUTSIDE),
    row_lists=(FUSION_ROWS, CUSTOM_CALLS, MISSED, RECOMPUTE, BODY),
)

_WITH_ESTIMATES: Final = FUSION_ROWS.shown() | {"bound", "estimated_seconds"}
_WITH_TIMES: Final = {"measured_count", "measured_seconds"}
# The same document with the estimates among the columns of its table, and sorted by them.
_ON_CHIP: Final = replace(
    FUSIONS,
    row_lists=(
        replace(
            FUSION_ROWS.showing(_WITH_ESTIMATES),
            sort="-estimated_seconds",
            size="estimated_seconds",
        ),
        CUSTOM_CALLS.showing(CUSTOM_CALLS.shown() | {"estimated_seconds"}),
        MISSED,
        RECOMPUTE,
        BODY,
    ),
)


def choose_fusion_columns(*, has_chip: bool, is_measured: bool) -> DocumentSpec:
    """Return the answer with estimates and measured times among its columns, if there are any.

    What took longest comes first, else what is estimated to.
    """
    spec = _ON_CHIP if has_chip else FUSIONS
    if not is_measured:
        return spec
    row_lists = tuple(
        replace(each.showing(each.shown() | _WITH_TIMES), sort=f"-measured_seconds,{each.sort}")
        if each.name in {FUSION_ROWS.name, CUSTOM_CALLS.name}
        else each
        for each in spec.row_lists
    )
    return replace(spec, row_lists=row_lists)
