"""Where does a collective run, and how often? In a loop body, behind a call, inside a fusion."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from msgspec import Struct

from hlotool.analysis.graph.call_graph import CallGraph, reach
from hlotool.analysis.graph.executions import Executions, check_count
from hlotool.ir import Computation, Instruction


class Running(Struct, frozen=True):
    """Where the collectives of one computation run, in one run of the entry.

    `wrapper` is what an executed computation holds of them: the async-start that wraps them,
    or the fusion they stand in; None where the computation itself is executed.
    `executions` takes unknown trip counts as one; `is_exact` says that there were none.
    """

    wrapper: Instruction | None
    executions: int
    is_exact: bool
    is_conditional: bool


def find_running(
    executions: Executions,
    graph: CallGraph,
    holders: Iterable[Computation],
    starts: Mapping[Computation, Instruction],
    called: Container[Computation],
) -> dict[Computation, Running]:
    """Find out where and how often each of `holders` runs; those no run reaches are absent.

    `starts` gives the async-start of each computation that one calls, `called` has those that
    a call runs. What stands in fusions and custom calls runs as often as these, summed over
    them; what a call inside an async-start runs belongs to the async-start. Raises InputError
    for more runs than there can be.
    """
    wanted = set(holders)
    if all(one in executions.counts and one not in called for one in wanted):
        return {one: _run_itself(one, executions, starts.get(one)) for one in wanted}
    callers = graph.find_callers()

    def holding(computation: Computation) -> list[Computation]:
        return [caller.computation for caller in callers.get(computation, ())]

    above = set(reach(wanted, holding))
    found: dict[Computation, Running] = {}
    for computation in reversed(graph.callees_first):
        if computation not in above:
            continue
        around = [
            (caller, found[caller.computation])
            for caller in callers.get(computation, ())
            if caller.computation in found
        ]
        if computation in executions.counts:
            start = starts.get(computation) or _find_start(around)
            found[computation] = _run_itself(computation, executions, start)
        elif around:
            found[computation] = _run_embedded(around)
            check_count(found[computation].executions, computation)
    return found


def _run_itself(
    computation: Computation, executions: Executions, start: Instruction | None
) -> Running:
    """Say how often a computation runs that is executed itself."""
    return Running(
        start,
        executions.lower_bound(computation),
        executions.of(computation) is not None,
        executions.is_conditional(computation),
    )


def _run_embedded(around: list[tuple[Instruction, Running]]) -> Running:
    """Add up the runs of the instructions that a computation is embedded in."""
    caller, first = around[0]
    return Running(
        first.wrapper or caller,
        sum(outer.executions for _, outer in around),
        all(outer.is_exact for _, outer in around),
        any(outer.is_conditional for _, outer in around),
    )


def _find_start(around: list[tuple[Instruction, Running]]) -> Instruction | None:
    """Return the async-start around a computation that is called from inside one."""
    for caller, outer in around:
        if caller.opcode == "call" and outer.wrapper and outer.wrapper.opcode == "async-start":
            return outer.wrapper
    return None
