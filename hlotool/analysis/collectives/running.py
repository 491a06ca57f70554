"""Where does a collective run, and how often? In a loop body, behind a call, inside a fusion."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from msgspec import Struct

from hlotool.analysis.graph.call_graph import CallGraph, reach, read_call_graph
from hlotool.analysis.graph.executions import Executions, check_count
from hlotool.ir import Computation, Instruction, Module


class Site(Struct, frozen=True):
    """Where the collectives of one computation run, in one run of the entry.

    `wrapper` is what an executed computation holds of them: the async-start that wraps them,
    or the fusion they stand in; None where the computation itself is executed.
    `executions` takes unknown trip counts as one; `is_exact` says that there were none.
    """

    wrapper: Instruction | None
    executions: int
    is_exact: bool
    is_conditional: bool


def find_sites(
    module: Module,
    executions: Executions,
    holders: Iterable[Computation],
    starts: Mapping[Computation, Instruction],
    called: Container[Computation],
    *,
    graph: CallGraph | None = None,
) -> dict[Computation, Site]:
    """Find the site of each computation of `holders`; those that no run reaches are absent.

    `starts` gives the async-start of each computation that one calls, `called` has those that
    a call runs. What stands in fusions and custom calls runs as often as these, summed over
    them; what a call inside an async-start runs belongs to the async-start. Raises InputError
    for more runs than there can be.
    """
    wanted = set(holders)
    if all(one in executions.counts and one not in called for one in wanted):
        return {one: _executed_site(one, executions, starts.get(one)) for one in wanted}
    graph = graph or read_call_graph(module)
    callers = graph.find_callers()

    def holding(computation: Computation) -> list[Computation]:
        return [caller.computation for caller in callers.get(computation, ())]

    above = set(reach(wanted, holding))
    sites: dict[Computation, Site] = {}
    for computation in reversed(graph.callees_first):
        if computation not in above:
            continue
        around = [
            (caller, sites[caller.computation])
            for caller in callers.get(computation, ())
            if caller.computation in sites
        ]
        if computation in executions.counts:
            start = starts.get(computation) or _find_start(around)
            sites[computation] = _executed_site(computation, executions, start)
        elif around:
            sites[computation] = site = _embedded_site(around)
            check_count(site.executions, computation)
    return sites


def _executed_site(
    computation: Computation, executions: Executions, start: Instruction | None
) -> Site:
    return Site(
        start,
        executions.lower_bound(computation),
        executions.of(computation) is not None,
        executions.is_conditional(computation),
    )


def _embedded_site(around: list[tuple[Instruction, Site]]) -> Site:
    """Add up the runs of the instructions that a computation is embedded in."""
    caller, outer = around[0]
    return Site(
        outer.wrapper or caller,
        sum(site.executions for _, site in around),
        all(site.is_exact for _, site in around),
        any(site.is_conditional for _, site in around),
    )


def _find_start(around: list[tuple[Instruction, Site]]) -> Instruction | None:
    """Return the async-start around a computation that is called from inside one."""
    for caller, site in around:
        if caller.opcode == "call" and site.wrapper and site.wrapper.opcode == "async-start":
            return site.wrapper
    return None
