"""How long does one run take, by estimate: its work, and what no work hides?"""

from __future__ import annotations

from msgspec import Struct

from hlotool.analysis.cost.arithmetic import list_unstated
from hlotool.analysis.outline.clock import Clock
from hlotool.analysis.outline.duration import Duration
from hlotool.analysis.outline.steps import OutlineEvidence


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
    """Return what the clock of an outline shows when the entry has run.

    Products are priced by the type they compute in, other arithmetic at the bfloat16 peak. Nothing
    is said of launches and caches. None where no chip stands for the backend, and where the text is
    no schedule, as it is not what runs.
    """
    pricing = evidence.pricing
    if not evidence.module.header.is_scheduled or not pricing.is_rated:
        return None
    entry = evidence.module.entry
    products = evidence.costs.of_computation(entry).products
    return RunTime(
        pricing.chip.name,
        pricing.is_timed,
        Clock(evidence).of_run(entry),
        list_unstated(products, pricing.chip),
        tuple(
            str(link)
            for link in (pricing.links.inside, pricing.links.between)
            if link is not None and link.is_as_given
        ),
    )
