"""What is computed while the collectives of a module are under way, and what of it hides which?"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction

from msgspec import Struct

from hlotool.analysis.collectives.logical import LogicalCollective
from hlotool.analysis.collectives.overlap.hiding import HidingWalk, Window
from hlotool.analysis.collectives.overlap.open_transfers import Claim
from hlotool.analysis.collectives.overlap.overlap_work import OverlapWork
from hlotool.analysis.collectives.overlap.work_meter import WorkMeter
from hlotool.analysis.cost import CostModel
from hlotool.analysis.cost.chips import Chip
from hlotool.analysis.graph.executions import Executions
from hlotool.ir import Instruction
from hlotool.ir.async_chain import list_later_steps


class Hiding(Struct, frozen=True):
    """What hides one execution of a collective.

    `hidden_seconds` of the `need_seconds` that it takes are hidden, at least that where not
    `is_sure`; None where nobody knows. `has_work` says whether anything is computed beside it.
    """

    need_seconds: Fraction | None
    hidden_seconds: Fraction
    is_sure: bool
    has_work: bool


class Overlap(Struct, frozen=True):
    """Work between the start and the done of a collective, and what of it hides it.

    `work` is None where there is no such place, or where it is not known; `hiding` is None
    only where it is not known.
    """

    work: OverlapWork | None
    hiding: Hiding | None


class Asked(Struct, frozen=True):
    """A collective, how long work must take to hide it, and what shares its links."""

    collective: LogicalCollective
    need_seconds: Fraction | None
    network: Hashable


def measure_overlaps(
    asked: Sequence[Asked], executions: Executions, costs: CostModel, chip: Chip
) -> list[Overlap]:
    """Measure the work that hides each collective, in schedule order.

    What is work, and what it costs a chip, says `work_meter`; which transfer it hides,
    `open_transfers`. Only what stands behind the step that takes the last operand is beside a
    transfer: before, it cannot have begun, and what makes the operand cannot hide it.

    None hides a synchronous one, nor a pair that GPU marks `is_sync`. Unknown where the order of
    the text is no schedule, or where the end stands in another computation; such a transfer takes
    no work from others.
    """
    carriers = {one.collective.begin for one in asked}
    carriers.update(one.collective.done for one in asked if one.collective.done is not None)
    meter = WorkMeter(executions, costs, carriers, chip)
    windows = [_find_window(one) for one in asked]
    walks: dict[Hashable, HidingWalk] = {}
    for network in dict.fromkeys(one.network for one in asked):
        beside = [
            window
            for one, window in zip(asked, windows, strict=True)
            if window is not None and one.network == network
        ]
        walks[network] = HidingWalk(beside, executions, meter, chip)
    return [
        _measure(one, window, walks[one.network].find_work)
        for one, window in zip(asked, windows, strict=True)
    ]


def _find_window(asked: Asked) -> Window | None:
    """Return where work stands beside a collective, None where it does nowhere or nobody knows."""
    one = asked.collective
    claim = None if is_marked_sync(one) else Claim(asked.need_seconds)
    if one.is_async and one.is_fused:
        return Window(None, one.steps, claim)
    is_scheduled = one.begin.computation.module.header.is_scheduled
    if not one.is_async or not is_scheduled or one.done is None:
        return None
    if one.done.computation is not one.begin.computation:
        return None
    return Window((find_opening(one.begin), one.done), (), claim)


def _measure(
    asked: Asked, window: Window | None, find_work: Callable[[Window], OverlapWork]
) -> Overlap:
    """Return the work in the window of a collective, and what of it hides it."""
    need = asked.need_seconds
    never = Hiding(need, Fraction(), is_sure=True, has_work=False)
    if window is None:
        one = asked.collective
        is_scheduled = one.begin.computation.module.header.is_scheduled
        is_known = is_marked_sync(one) or (is_scheduled and not one.is_async)
        return Overlap(None, never if is_known else None)
    work, claim = find_work(window), window.claim
    if claim is None or not work.instruction_count:
        return Overlap(work, never)
    return Overlap(work, Hiding(need, claim.hidden_seconds, claim.is_sure, has_work=True))


def find_opening(begin: Instruction) -> Instruction:
    """Return the step at which a transfer can begin: the last that takes an operand.

    TPU hands collectives to its SparseCores by `async-start()`; an `async-update` has the
    operands.
    """
    if begin.opcode != "async-start":
        return begin
    taking = [step for step in list_later_steps(begin) if len(step.operands) > 1]
    return taking[-1] if taking else begin


def is_marked_sync(collective: LogicalCollective) -> bool:
    """Whether GPU runs a start and its done back to back (`collective_backend_config`)."""
    for instruction in (collective.begin, collective.operation):
        if "backend_config" in instruction.attributes:
            config = instruction.backend_config()
            if config and config.find("collective_backend_config", "is_sync") is True:
                return True
    return False
