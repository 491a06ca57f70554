"""Which custom calls does a module run, how often, and what tells their cost?"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.cost import CostModel
from hlotool.analysis.cost.custom_calls import CostSource, CustomCall
from hlotool.analysis.fusions.shared_figures import (
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
from hlotool.analysis.graph.call_graph import CallGraph
from hlotool.analysis.graph.executions import Executions
from hlotool.analysis.graph.runs import count_runs
from hlotool.analysis.origin.origin import find_common_scope, find_origin
from hlotool.fields import BYTES, FLOPS, TIMES, column, figure
from hlotool.ir.module import Computation, Instruction

_UNKNOWN: Final = "in one run of the entry; null where unknown, or under an unknown loop"
_TELLS: Final = (
    "what tells their {}: target and shapes, a cost estimate in the call, or a rule in "
    "hlotool.toml; null where nothing does"
)


class CustomCallRow(Struct, frozen=True, kw_only=True):
    """Custom calls of one target whose cost is known in the same way.

    The name and what is said of shapes and place are those of the first; `scope` is what all
    share, `members` names them all. `known_*` leave out what is unknown, and take unknown trip
    counts as one.
    """

    target: Annotated[str, column("the target")]
    count: Annotated[int, column("custom calls with this target", TIMES, heading="×")]
    executions: TotalExecutions
    known_executions: KnownExecutions
    operands: Annotated[tuple[str, ...], column("shapes of the operands of the first")]
    shape: Annotated[str, column("shape of the result of the first", heading="result")]
    known: Annotated[CostSource | None, column(_TELLS.format("flops"))]
    flops_per_run: Annotated[
        int | None, column(f"{FLOATING_POINT} {_UNKNOWN}", FLOPS, once="known_flops_per_run")
    ]
    known_flops_per_run: Annotated[int, known_per_run(FLOATING_POINT, FLOPS)]
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
    name: Annotated[str, figure("the first of these")]
    computation: Annotated[str, figure("the computation that holds the first")]
    scope: SharedScope
    op_name: FirstOpName
    source_file: FirstSourceFile
    source_line: FirstSourceLine
    is_conditional: IsConditional
    is_upper_bound: Annotated[bool, figure("whether lengths known only at run time may lessen it")]
    members: Members


class _Found(Struct, frozen=True):
    """A custom call, what runs it (itself, or the fusion that holds it), and its cost."""

    call: Instruction
    runner: Instruction
    known: CustomCall
    memory_bytes: int | None

    @property
    def kind(self) -> tuple[str, CostSource | None, CostSource | None]:
        """What the calls of one row have in common."""
        moves = None if self.memory_bytes is None else self.known.bytes_from or "shape"
        return self.call.custom_call_target, self.known.flops_from, moves


def count_custom_calls(
    graph: CallGraph, executions: Executions, costs: CostModel
) -> tuple[CustomCallRow, ...]:
    """List the custom calls of executed computations and of the fusions in them, by target.

    Calls of one target that differ in what tells their cost have a row each. A call in the
    body of a fusion runs as often as that, and moves nothing itself: its fusion does. Rows
    come in dump order.
    """
    groups: dict[object, list[_Found]] = {}
    inside: dict[Computation, list[Instruction]] = {}
    for computation in executions.executed:
        for instruction in computation.instructions:
            if instruction.opcode == "custom-call":
                found = _read(instruction, instruction, costs)
                groups.setdefault(found.kind, []).append(found)
            elif instruction.opcode == "fusion":
                for body in graph.callees.get(instruction, ()):
                    if body not in inside:
                        inside[body] = [
                            one for one in body.instructions if one.opcode == "custom-call"
                        ]
                    for call in inside[body]:
                        found = _read(call, instruction, costs)
                        groups.setdefault(found.kind, []).append(found)
    return tuple(_make_row(found, executions) for found in groups.values())


def _read(call: Instruction, runner: Instruction, costs: CostModel) -> _Found:
    known = costs.read_call(call)
    if call is not runner:
        return _Found(call, runner, known, 0)
    cost = costs.of(call)
    return _Found(call, call, known, None if cost.unknown_traffic_count else cost.memory_bytes)


def _make_row(found: list[_Found], executions: Executions) -> CustomCallRow:
    first = found[0].call
    target, known, memory_known = found[0].kind
    flops = _add_up(found, [one.known.flops for one in found], executions)
    memory = _add_up(found, [one.memory_bytes for one in found], executions)
    runs = count_runs((one.runner for one in found), executions)
    origin = find_origin(first)
    return CustomCallRow(
        target=target,
        count=len(found),
        executions=runs.exact,
        known_executions=runs.known,
        operands=tuple(str(one.shape) for one in first.operands),
        shape=str(first.shape),
        known=known,
        flops_per_run=flops.exact,
        known_flops_per_run=flops.known,
        memory_known=memory_known,
        memory_bytes_per_run=memory.exact,
        known_memory_bytes_per_run=memory.known,
        name=first.full_name,
        computation=first.computation.name,
        scope=find_common_scope(find_origin(one.call).scope for one in found),
        op_name=origin.op_name,
        source_file=origin.source_file,
        source_line=origin.source_line,
        is_conditional=runs.is_conditional,
        is_upper_bound=any(one.known.is_upper_bound for one in found),
        members=tuple(one.call.full_name for one in found),
    )


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
