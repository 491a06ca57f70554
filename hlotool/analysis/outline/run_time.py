"""How long does one run take, by estimate: its work, and what no work hides?"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from hlotool.analysis.cost.arithmetic import list_unstated, weigh_flops
from hlotool.analysis.graph.call_graph import find_branches
from hlotool.analysis.outline.steps import OutlineEvidence, find_kind
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction


class Duration(Struct, frozen=True):
    """Seconds by what they go to: work that arithmetic limits, work that memory does, waiting.

    `is_known` is false where a part is unknown to anybody, and left out.
    """

    compute: float = 0.0
    memory: float = 0.0
    exposed: float = 0.0
    is_known: bool = True

    @property
    def total(self) -> float:
        """All of it."""
        return self.compute + self.memory + self.exposed

    def plus(self, other: Duration, times: int = 1) -> Duration:
        """Add another, so many times."""
        return Duration(
            self.compute + times * other.compute,
            self.memory + times * other.memory,
            self.exposed + times * other.exposed,
            self.is_known and other.is_known,
        )


_NONE = Duration()


class RunTime(Struct, frozen=True):
    """The estimated time of one run on a chip, which is the user's where `is_timed`.

    Of a reference chip only ratios of times are to be shown. `priced_as_bf16` are the types of
    products for which nobody states a peak of the chip, `links` the links whose speed the user
    states.
    """

    chip: str
    is_timed: bool
    duration: Duration
    priced_as_bf16: tuple[str, ...] = ()
    links: tuple[str, ...] = ()


def estimate_run_time(evidence: OutlineEvidence) -> RunTime | None:
    """Add up the steps of an outline: the clock of `grow_tree`, without its tree.

    Work takes the longer of its flops and its bytes at the chip's peaks; of a transfer counts what
    no work hides. Of a conditional the longest branch counts, an unknown trip count as one round.
    Products are priced by the type they compute in, other arithmetic at the bfloat16 peak. Nothing
    is said of launches and caches. None where no chip stands for the backend, and where the text is
    no schedule, as it is not what runs.
    """
    pricing = evidence.pricing
    if not evidence.module.header.is_scheduled or not (pricing.is_timed or pricing.reference):
        return None
    found: dict[Computation, Duration] = {}
    for computation in reversed(evidence.executions.executed):  # what is called comes first
        total = _NONE
        for one in computation.instructions:
            total = total.plus(_measure(one, evidence, found))
        found[computation] = total
    entry = evidence.module.entry
    products = evidence.costs.of_computation(entry).products
    return RunTime(
        pricing.chip.name,
        pricing.is_timed,
        found[entry],
        list_unstated(products, pricing.chip),
        tuple(
            str(link)
            for link in (pricing.links.inside, pricing.links.between)
            if link is not None and link.is_as_given
        ),
    )


def _measure(
    one: Instruction, evidence: OutlineEvidence, found: Mapping[Computation, Duration]
) -> Duration:
    """Measure one execution of an instruction; a condition takes no time."""
    kind = find_kind(one, evidence)
    if kind is None:
        return _NONE
    if kind == "conditional":
        branches = [found.get(each, _NONE) for each in find_branches(one)]
        return max(branches, key=lambda each: each.total, default=_NONE)
    if kind in {"loop", "call"}:
        called = one.callees("body") or one.called_computations()
        rounds = evidence.trips.get(one, 1)
        total = Duration(is_known=rounds is not None)
        for body in called:
            total = total.plus(found.get(body, _NONE), 1 if rounds is None else rounds)
        return total
    if kind in {"collective", "wait"}:
        return _measure_wait(one, evidence, is_end=kind == "wait")
    cost = evidence.costs.of(one)
    chip = evidence.pricing.chip
    compute = weigh_flops(cost.total_flops, cost.products, chip) / chip.flops_per_second
    memory = cost.memory_bytes / chip.hbm_bytes_per_second
    is_known = not (cost.is_total_lower_bound or cost.is_memory_lower_bound)
    if compute > memory:
        return Duration(compute=compute, is_known=is_known)
    return Duration(memory=memory, is_known=is_known)


def _measure_wait(one: Instruction, evidence: OutlineEvidence, *, is_end: bool) -> Duration:
    """Measure how long a collective stops the work, where it ends."""
    row = (evidence.ends if is_end else evidence.begins)[one.full_name]
    if not is_end and row.name in evidence.waited:
        return _NONE
    links = evidence.pricing.links
    seconds = links.estimate(row.wire_bytes, row.network, row.span)
    if seconds is None or row.exposed_share is None:
        return Duration(is_known=False)
    return Duration(exposed=float(seconds) * row.exposed_share)
