"""The census of custom calls: which targets run, how often, and what they cost as far as known.

A call may compute anything, and its text says nothing of it. What tells its flops and its traffic
(`CostSource`) is a cost estimate in the call, the computation it offloads, or a rule of the user;
figures of calls that nothing tells are None, and `known_*` leave them out. A call in the body of a
fusion moves nothing itself: its fusion does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from hlotool.analysis.cost.arithmetic import find_offloaded
from hlotool.analysis.cost.cost import add_typed_flops, list_flops, list_types, repeat_typed_flops
from hlotool.analysis.cost.custom_calls import CostSource, CustomCall
from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.cost.report import CostReport
from hlotool.analysis.fusions.rows import CustomCallRow, CustomCallTotals
from hlotool.analysis.graph.calls import CallGraph
from hlotool.analysis.graph.executions import Executions, Runs, count_runs
from hlotool.analysis.origin import Origin, read_origin, share_origin
from hlotool.hlo import Computation, Instruction
from hlotool.hlo.shape import sum_known


class _Found(Struct, frozen=True):
    """A custom call, what runs it (itself, or the fusion that holds it), and its cost."""

    call: Instruction
    runner: Instruction
    known: CustomCall
    memory_bytes: int | None
    origin: Origin


def count_custom_calls(
    graph: CallGraph, executions: Executions, costs: CostModel, *, tells_places: bool = False
) -> tuple[CustomCallRow, ...]:
    """List the custom calls of executed computations and of the fusions in them.

    Calls of one target and the same shapes share a row, unless other things tell their cost. A
    call in the body of a fusion runs as often as that, and moves nothing itself: its fusion does.
    What a call stands for says where it comes from, if the call does not; if it `tells_places`,
    calls that come from different places have rows of their own. Rows come in dump order.
    """
    groups: dict[object, list[_Found]] = {}
    inside: dict[Computation, list[Instruction]] = {}  # many fusions may share a body
    for computation in executions.executed:
        for runner in computation.instructions:
            calls = [runner] if runner.opcode == "custom-call" else []
            for body in graph.callees.get(runner, ()) if runner.opcode == "fusion" else ():
                if body not in inside:
                    inside[body] = [one for one in body.instructions if one.opcode == "custom-call"]
                calls += inside[body]
            for call in calls:
                found = _read_call(call, runner, costs)
                place = (call.computation, found.origin) if tells_places else None
                shapes = str(call.shape), *(str(each.shape) for each in call.operands)
                tells = found.known.flops_from, _memory_source(found)
                key = call.custom_call_target, shapes, tells, place
                groups.setdefault(key, []).append(found)
    return tuple(_make_row(found, executions) for found in groups.values())


def _read_call(call: Instruction, runner: Instruction, costs: CostModel) -> _Found:
    offloaded = find_offloaded(call)
    origin = read_origin(call, reversed(offloaded.instructions if offloaded else ()))
    cost = costs.of(call)
    size = None if cost.unknown_traffic_count else cost.memory_bytes
    # Its fusion moves its operands and result, and counts them.
    return _Found(call, runner, costs.read_call(call), size if call is runner else 0, origin)


def _memory_source(found: _Found) -> CostSource | None:
    return None if found.memory_bytes is None else found.known.bytes_from or "shape"


def _make_row(found: list[_Found], executions: Executions) -> CustomCallRow:
    first = found[0]
    call, origin = first.call, share_origin([one.origin for one in found])
    each = [(one, count_runs((one.runner,), executions)) for one in found]
    runs = count_runs((one.runner for one in found), executions)
    flops = [(one.known.flops, times) for one, times in each]
    sizes = [(one.memory_bytes, times) for one, times in each]
    products = add_typed_flops(
        repeat_typed_flops(one.known.products, times.known) for one, times in each
    )
    return CustomCallRow(
        target=call.custom_call_target,
        count=len(found),
        executions=runs.exact,
        known_executions=runs.known,
        operand_shapes=tuple(str(operand.shape) for operand in call.operands),
        shape=str(call.shape),
        known=first.known.flops_from,
        flops_per_run=_add_exact(flops),
        known_flops_per_run=_add_known(flops),
        memory_known=_memory_source(first),
        memory_bytes_per_run=_add_exact(sizes),
        known_memory_bytes_per_run=_add_known(sizes),
        name=call.full_name,
        computation=call.computation.name,
        scope=origin.scope,
        op_name=origin.op_name,
        source_file=origin.source_file,
        source_line=origin.source_line,
        is_conditional=runs.is_conditional,
        is_upper_bound=any(one.known.is_upper_bound for one in found),
        members=tuple(one.call.full_name for one in found),
        product_types=list_types(products),
        product_flops_per_run=list_flops(products),
    )


def _add_exact(figures: Iterable[tuple[int | None, Runs]]) -> int | None:
    return sum_known(None if value is None else times.times(value) for value, times in figures)


def _add_known(figures: Iterable[tuple[int | None, Runs]]) -> int:
    return sum((value or 0) * times.known for value, times in figures)


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
