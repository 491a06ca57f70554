"""Which custom calls does a module run, how often, and what do they cost, as far as known?

What do all custom calls cost together, and of how many is that unknown?
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Final

from msgspec import Meta, Struct

from hlotool.analysis.cost.arithmetic import find_offloaded
from hlotool.analysis.cost.cost import (
    OF_TYPES,
    TYPES,
    add_typed_flops,
    list_flops,
    list_types,
    repeat_typed_flops,
)
from hlotool.analysis.cost.custom_calls import CostSource, CustomCall
from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.cost.report import CostReport
from hlotool.analysis.fusions.rows import (
    FLOATING_POINT,
    MEMORY,
    FirstOpName,
    FirstSourceFile,
    FirstSourceLine,
    IsConditional,
    KnownExecutions,
    KnownMemoryPerRun,
    Members,
    SharedScope,
    TotalExecutions,
    known_per_run,
)
from hlotool.analysis.graph.calls import CallGraph
from hlotool.analysis.graph.executions import Executions, count_runs
from hlotool.analysis.measured import MeasuredCount, MeasuredSeconds
from hlotool.analysis.origin import Origin, find_common_scope, find_origin
from hlotool.hlo import Computation, Instruction
from hlotool.table import BYTES, COUNT, FLOPS, PERCENT, SECONDS, TIMES, column, figure

_UNKNOWN: Final = "in one run of the entry; null where unknown, or under an unknown loop"
_TELLS: Final = (
    "what tells their {}: target and shapes, a cost estimate in the call, the computation that "
    "it calls, or a rule in hlotool.toml; null where nothing does"
)


class CustomCallRow(Struct, frozen=True, kw_only=True):
    """Custom calls of one target, on the same shapes, whose cost is known in the same way.

    The name and what is said of its place are those of the first; `scope` is what all share,
    `members` names them all. `known_*` leave out what is unknown, and take unknown trip counts
    as one.
    """

    target: Annotated[str, column("the target", wants=26)]
    count: Annotated[
        int, column("custom calls with this target and these shapes", TIMES, heading="×")
    ]
    executions: TotalExecutions
    known_executions: KnownExecutions
    operand_shapes: Annotated[
        tuple[str, ...], column("shapes of the operands", heading="operands", give_way=1)
    ]
    shape: Annotated[str, column("shape of the result", heading="result", is_shape=True)]
    known: Annotated[CostSource | None, column(_TELLS.format("flops"), give_way=2)]
    flops_per_run: Annotated[
        int | None, column(f"{FLOATING_POINT} {_UNKNOWN}", FLOPS, once="known_flops_per_run")
    ]
    known_flops_per_run: Annotated[int, known_per_run(FLOATING_POINT, FLOPS)]
    product_types: Annotated[tuple[str, ...], figure(f"of known_flops_per_run, {TYPES}")]
    product_flops_per_run: Annotated[tuple[int, ...], figure(f"of known_flops_per_run, {OF_TYPES}")]
    memory_known: Annotated[CostSource | None, figure(_TELLS.format("traffic"))]
    memory_bytes_per_run: Annotated[
        int | None,
        column(
            f"{MEMORY} {_UNKNOWN}",
            BYTES,
            heading="memory/run",
            once="known_memory_bytes_per_run",
        ),
    ]
    known_memory_bytes_per_run: KnownMemoryPerRun
    estimated_seconds: Annotated[
        float | None,
        figure(
            "with --chip: estimated time of all of them in one run, at the chip's peaks; null "
            "where flops or traffic are unknown",
            SECONDS,
            heading="estimate/run",
            is_summed=True,
        ),
    ] = None
    measured_count: MeasuredCount = None
    measured_seconds: MeasuredSeconds = None
    name: Annotated[str, figure("the first of these")]
    computation: Annotated[str, figure("the computation that holds the first")]
    scope: SharedScope
    op_name: FirstOpName
    source_file: FirstSourceFile
    source_line: FirstSourceLine
    is_conditional: IsConditional
    is_upper_bound: Annotated[bool, figure("whether lengths known only at run time may lessen it")]
    members: Members


class _Kind(Struct, frozen=True):
    """What the calls of one row have in common."""

    target: str
    operand_shapes: tuple[str, ...]
    shape: str
    known: CostSource | None
    memory_known: CostSource | None


class _Found(Struct, frozen=True):
    """A custom call, what runs it (itself, or the fusion that holds it), and its cost."""

    call: Instruction
    runner: Instruction
    known: CustomCall
    memory_bytes: int | None

    @property
    def kind(self) -> _Kind:
        """What the calls of one row have in common."""
        return _Kind(
            self.call.custom_call_target,
            tuple(str(one.shape) for one in self.call.operands),
            str(self.call.shape),
            self.known.flops_from,
            None if self.memory_bytes is None else self.known.bytes_from or "shape",
        )


def count_custom_calls(
    graph: CallGraph, executions: Executions, costs: CostModel, *, tells_places: bool = False
) -> tuple[CustomCallRow, ...]:
    """List the custom calls of executed computations and of the fusions in them.

    Calls of one target and the same shapes share a row, unless other things tell their cost. A
    call in the body of a fusion runs as often as that, and moves nothing itself: its fusion does.
    What a call stands for says where it comes from, if the call does not; if it `tells_places`,
    calls that come from different places have rows of their own. Rows come in dump order.
    """
    groups: dict[tuple[_Kind, object], list[_Found]] = {}
    calls: list[_Found] = []
    inside: dict[Computation, list[Instruction]] = {}
    for computation in executions.executed:
        for instruction in computation.instructions:
            if instruction.opcode == "custom-call":
                calls.append(_read(instruction, instruction, costs))
            elif instruction.opcode == "fusion":
                for body in graph.callees.get(instruction, ()):
                    if body not in inside:
                        inside[body] = [
                            one for one in body.instructions if one.opcode == "custom-call"
                        ]
                    calls += [_read(call, instruction, costs) for call in inside[body]]
    for one in calls:
        place = (one.call.computation, _find_origin(one.call)) if tells_places else None
        groups.setdefault((one.kind, place), []).append(one)
    return tuple(_make_row(kind, found, executions) for (kind, _), found in groups.items())


def _read(call: Instruction, runner: Instruction, costs: CostModel) -> _Found:
    known = costs.read_call(call)
    if call is not runner:
        return _Found(call, runner, known, 0)
    cost = costs.of(call)
    return _Found(call, call, known, None if cost.unknown_traffic_count else cost.memory_bytes)


def _make_row(kind: _Kind, found: list[_Found], executions: Executions) -> CustomCallRow:
    first = found[0].call
    flops = _add_up(found, [one.known.flops for one in found], executions)
    memory = _add_up(found, [one.memory_bytes for one in found], executions)
    runs = count_runs((one.runner for one in found), executions)
    origins = [_find_origin(one.call) for one in found]
    products = add_typed_flops(
        repeat_typed_flops(one.known.products, count_runs((one.runner,), executions).known)
        for one in found
    )
    return CustomCallRow(
        target=kind.target,
        count=len(found),
        executions=runs.exact,
        known_executions=runs.known,
        operand_shapes=kind.operand_shapes,
        shape=kind.shape,
        known=kind.known,
        flops_per_run=flops.exact,
        known_flops_per_run=flops.known,
        memory_known=kind.memory_known,
        memory_bytes_per_run=memory.exact,
        known_memory_bytes_per_run=memory.known,
        name=first.full_name,
        computation=first.computation.name,
        scope=find_common_scope(one.scope for one in origins),
        op_name=origins[0].op_name,
        source_file=origins[0].source_file,
        source_line=origins[0].source_line,
        is_conditional=runs.is_conditional,
        is_upper_bound=any(one.known.is_upper_bound for one in found),
        members=tuple(one.call.full_name for one in found),
        product_types=list_types(products),
        product_flops_per_run=list_flops(products),
    )


def _find_origin(call: Instruction) -> Origin:
    offloaded = find_offloaded(call)
    return find_origin(call, reversed(offloaded.instructions if offloaded else ()))


class _PerRun(Struct, frozen=True):
    """A figure of all calls in one run: exact, or None; and what is known of it."""

    exact: int | None
    known: int


def _add_up(found: list[_Found], figures: list[int | None], executions: Executions) -> _PerRun:
    """Add up a figure of one execution over all calls, each as often as it runs."""
    exact: int | None = 0
    known = 0
    for one, value in zip(found, figures, strict=True):
        runs = count_runs((one.runner,), executions)
        more = None if value is None else runs.times(value)
        exact = None if exact is None or more is None else exact + more
        known += (value or 0) * runs.known
    return _PerRun(exact, known)


_LOWER_FLOPS: Final = "is_flops_lower_bound"
_LOWER_MEMORY: Final = "is_memory_lower_bound"


def _count_of(calls: str) -> Meta:
    return figure(calls, COUNT, is_summed=False)


class CustomCallTotals(Struct, frozen=True, kw_only=True):
    """All custom calls of a module together, unknown trip counts taken as one."""

    call_count: Annotated[int, _count_of("custom calls in executed computations and fusions")]
    distinct_count: Annotated[int, _count_of("rows that they make")]
    computing_count: Annotated[int, _count_of("those that are known to do flops")]
    moving_count: Annotated[int, _count_of("those that are known to move memory")]
    unknown_flops_count: Annotated[int, _count_of("those whose flops nothing tells")]
    unknown_traffic_count: Annotated[int, _count_of("those whose traffic nothing tells")]
    flops_per_run: Annotated[
        int, figure("their known flops in one run of the entry", FLOPS, lower_if=_LOWER_FLOPS)
    ]
    flops_share: Annotated[
        float | None,
        figure("their part of all flops known of the program; null where none are", PERCENT),
    ]
    memory_bytes_per_run: Annotated[
        int,
        figure(
            "their known bytes that cross memory space 0 in one run, fusions left out",
            BYTES,
            lower_if=_LOWER_MEMORY,
        ),
    ]
    estimated_seconds: Annotated[
        float | None,
        figure(
            "with --chip: their estimated time in one run, at the chip's peaks",
            SECONDS,
            lower_if="is_time_lower_bound",
        ),
    ]
    is_flops_lower_bound: Annotated[
        bool, figure("whether a trip count, or the flops of a call, is unknown")
    ]
    is_memory_lower_bound: Annotated[
        bool, figure("whether a trip count, or the traffic of a call, is unknown")
    ]
    is_time_lower_bound: Annotated[bool, figure("whether the time of a call is unknown")]
    is_upper_bound: Annotated[bool, figure("whether something counted may not happen")]


def add_up_calls(rows: Sequence[CustomCallRow], cost: CostReport) -> CustomCallTotals:
    """Add up all custom calls of a module that costs `cost`.

    Calls in all branches of a conditional count, in the share those of the most expensive one.
    """
    times = [row.estimated_seconds for row in rows if row.estimated_seconds is not None]
    hidden, all_flops = cost.custom_call_flops_per_run, cost.total_flops_per_run
    return CustomCallTotals(
        call_count=_count(rows),
        distinct_count=len(rows),
        computing_count=_count(row for row in rows if row.known_flops_per_run),
        moving_count=_count(row for row in rows if row.known_memory_bytes_per_run),
        unknown_flops_count=_count(row for row in rows if row.known is None),
        unknown_traffic_count=_count(row for row in rows if row.memory_known is None),
        flops_per_run=sum(row.known_flops_per_run for row in rows),
        flops_share=hidden / all_flops if all_flops else None,
        memory_bytes_per_run=sum(row.known_memory_bytes_per_run for row in rows),
        estimated_seconds=sum(times) if times else None,
        is_flops_lower_bound=any(row.flops_per_run is None for row in rows),
        is_memory_lower_bound=any(row.memory_bytes_per_run is None for row in rows),
        is_time_lower_bound=bool(times) and len(times) < len(rows),
        is_upper_bound=any(row.is_conditional or row.is_upper_bound for row in rows),
    )


def _count(rows: Iterable[CustomCallRow]) -> int:
    return sum(row.count for row in rows)
