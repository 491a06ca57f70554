"""Findings about gathers: what is gathered again, and what is gathered whole for a part of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from math import prod
from typing import Final, TypeAlias

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.collectives.transfers import MessagePart, Transfer, measure_share
from hlotool.analysis.dataflow.flow import SLICED, Flow, Use
from hlotool.analysis.dataflow.values import Position
from hlotool.analysis.findings.collectives import Waste, find_waste, list_results
from hlotool.analysis.findings.finding import Evidence, Finding
from hlotool.analysis.shardings.rows import ReshardRow
from hlotool.hlo import ArrayShape, Instruction
from hlotool.hlo.opcodes import DEVICE_NUMBERS, UPDATES_IN_PLACE
from hlotool.table.words import plural

_SLICING: Final = frozenset(("dynamic-slice", "slice"))
_OWN_PART: Final = "each device uses its own part"
_Gather: TypeAlias = tuple[CollectiveRow, Transfer, MessagePart, Position]


def _list_gathers(evidence: Evidence) -> Iterator[_Gather]:
    """Yield the arrays of all gathers in the order of the text."""
    report = evidence.collectives
    for row, transfer in zip(report.rows, evidence.transfers, strict=True) if report else ():
        if row.kind == "all-gather" and row.sent_bytes:
            for part, result in list_results(transfer):
                yield row, transfer, part, result


def _measure(transfer: Transfer, part: MessagePart) -> int:
    return measure_share(part.size_bytes, transfer.share, transfer.collective.runs).known_per_step


def find_gathered_twice(evidence: Evidence) -> Iterator[Finding]:
    """Find arrays that are gathered over the same devices more than once.

    The same is what is made at one place, however it was copied, turned or converted since; and
    slices of one array, where loops of one length each go through all of it. A note where the first
    result is not in use any more, as checkpointing asks for.
    """
    alike: defaultdict[object, list[_Gather]] = defaultdict(list)
    for gather in _list_gathers(evidence):
        row, transfer, part, _ = gather
        if part.operand is not None:
            devices = row.axes, row.strides or transfer.groups.printed, row.group_size
            if (key := _identify(evidence.flow, part, row.executions)) is not None:
                alike[key, devices].append(gather)
    kept, dropped = list[Waste](), list[Waste]()
    for gathers in alike.values():
        first = gathers[0]
        sizes = [_measure(one[1], one[2]) for one in gathers]
        largest = sizes.index(max(sizes))
        for number, (row, transfer, _, _) in enumerate(gathers):
            if number == largest or len(gathers) == 1:
                continue
            is_kept = transfer is not first[1] and _is_alive(evidence.flow, first, transfer)
            beside = gathers[0 if number else largest][0].name
            (kept if is_kept else dropped).append(Waste(row, sizes[number], beside))
    yield from find_waste(evidence, "gathered-twice", kept, partial(_say_again, is_kept=True))
    say = partial(_say_again, is_kept=False)
    yield from find_waste(evidence, "gathered-twice", dropped, say, "info")


def _say_again(group: list[Waste], names: str, *, is_kept: bool) -> str:
    first = group[0].row
    over = f" over {', '.join(first.axes)}" if first.axes else ""
    gathers = plural(len(group), "gathers", "gather")
    state = "which is still in use" if is_kept else "which was freed in between"
    return f"{names} {gathers}{over} what {group[0].beside} has already gathered, {state}."


def _identify(flow: Flow, part: MessagePart, runs: int | None) -> object:
    """Return what is equal in gathers of the same, None where nothing tells."""
    if part.operand is None or runs is None:
        return None
    made = flow.source(part.operand)
    if runs == 1:
        return made.instruction, made.index
    if made.inner.opcode == "dynamic-slice":
        # A loop goes through a stack: all of it is gathered if the slices together are as large.
        taken = made.inner.shape
        stack = flow.source(part.operand, (), SLICED)
        whole = _find_shape(stack.instruction, stack.index)
        if (
            isinstance(taken, ArrayShape)
            and whole is not None
            and prod(taken.dims) * runs == prod(whole.dims)
        ):
            return stack.instruction, stack.index, runs
    return None


def _find_shape(one: Instruction, index: tuple[int, ...]) -> ArrayShape | None:
    return dict(one.shape.leaves_with_index()).get(index)


def _is_alive(flow: Flow, first: _Gather, later: Transfer) -> bool:
    """Whether a gathered array is used once more where another gather begins, or after."""
    begin = later.collective.begin
    seen, index = first[3]
    if seen.computation is not begin.computation:
        return False
    order = flow.positions(begin.computation)
    uses = [_lift(flow, use, seen) for use in flow.uses(seen, index)]
    return any(use is None or order.get(use, -1) > order[begin] for use in uses)


def _lift(flow: Flow, use: Use, seen: Instruction) -> Instruction | None:
    """Return what of the computation of a value uses it, perhaps inside of a fusion."""
    user = use.instruction
    while user is not None and user.computation is not seen.computation:
        user = flow.caller(user.computation)
    return user


def find_sliced_gathers(evidence: Evidence) -> Iterator[Finding]:
    """Find gathered arrays of which a slice is all that is used.

    One that is the same on all devices can be cut out before it is gathered, unless it is cut along
    what is gathered. Where each device takes its own part, an all-to-all sends that alone. Where
    the texts of passes prove that the partitioner knew no other way, and hlotool knows one, that
    is told instead.
    """
    wastes = []
    for row, transfer, part, (seen, index) in _list_gathers(evidence):
        needed = _find_needed(evidence.flow, transfer, part, list(evidence.flow.uses(seen, index)))
        if needed is not None:
            sent = _measure(transfer, part)
            wastes.append(Waste(row, sent - int(sent * needed[0]), needed[1]))

    proved = set[str]()
    if any(one.beside == _OWN_PART for one in wastes):
        ways, proved = _list_involuntary(evidence)
        yield from find_waste(evidence, "involuntary-reshard", ways, _say_involuntary)
    wastes = [one for one in wastes if one.row.name not in proved]

    def say(group: list[Waste], names: str) -> str:
        verb = plural(len(group), "gathers", "gather")
        is_known = group[0].beside != _OWN_PART or group[0].row.inserted_by == "user"
        most = "" if is_known else "; all-to-alls save at most this"
        return f"{names} {verb} whole arrays, of which {group[0].beside}{most}."

    yield from find_waste(evidence, "gather-then-slice", wastes, say)


def _list_involuntary(evidence: Evidence) -> tuple[list[Waste], set[str]]:
    """List what involuntary reshards send in vain, each with all its collectives; and all these."""
    report, reshards = evidence.collectives, evidence.find_reshards()
    groups: defaultdict[object, list[tuple[CollectiveRow, ReshardRow]]] = defaultdict(list)
    for row, reshard in zip(report.rows, reshards, strict=True) if report and reshards else ():
        if reshard.cause == "involuntary" and reshard.via_sent_bytes_per_step is not None:
            groups[reshard.value, reshard.from_text, reshard.to_text].append((row, reshard))
    wastes = []
    for group in groups.values():
        largest, reshard = max(group, key=lambda one: one[0].known_sent_bytes_per_step)
        sent = sum(row.known_sent_bytes_per_step for row, _ in group)
        saved = sent - (reshard.via_sent_bytes_per_step or 0)
        way = f"from {reshard.from_text} to {reshard.to_text}"
        told = f"{way}, as the partitioner knew no other way; {reshard.via_text}"
        wastes.append(Waste(largest, saved, told))
    return wastes, {row.name for group in groups.values() for row, _ in group}


def _say_involuntary(group: list[Waste], names: str) -> str:
    verb = plural(len(group), "gathers", "gather")
    way, _, between = group[0].beside.partition("; ")
    return f"{names} {verb} a whole array to reshard it {way}; via {between}, no gather is needed."


def _find_needed(
    flow: Flow, transfer: Transfer, part: MessagePart, uses: list[Use]
) -> tuple[float, str] | None:
    """Return the part of a gather that has to be sent, and how it is used; None if all.

    A slice that is cut out several times counts once.
    """
    whole, operation = part.shape, transfer.collective.operation
    gathered = next(iter(operation.integers("dimensions")), None)
    sizes: dict[object, int] = {}
    is_own = False
    for use in uses:
        one = use.instruction
        if one is None or one.opcode not in _SLICING or use.place or gathered is None:
            return None
        offsets = flow.ancestors(one.operands[1:], transfer.collective.begin.computation)
        taken = one.shape
        if offsets is None or not isinstance(taken, ArrayShape) or not taken.element_count:
            return None
        if any(each.opcode in DEVICE_NUMBERS for each in offsets):
            is_own = True
        elif not _is_same_everywhere(offsets) or _cuts_gathered(one, whole, gathered):
            return None
        made_of = ((each.opcode, each.literal) for each in offsets if each.opcode != "parameter")
        key = one.opcode, taken.dims, one.attributes.get("slice"), *made_of
        sizes[key] = taken.element_count
    total = sum(sizes.values()) / (whole.element_count or 1)
    if is_own:
        # Of an all-to-all a device sends to each of the others what that one needs.
        return (total, _OWN_PART) if len(sizes) == 1 else None
    return (total, "a slice is used") if sizes and total < 1 else None


def _is_same_everywhere(made_of: list[Instruction]) -> bool:
    """Whether an offset is made of scalars alone: parameters of no dimension are not sharded."""
    return all(
        isinstance(one.shape, ArrayShape) and not one.shape.dims
        for one in made_of
        if one.opcode not in {"get-tuple-element", "parameter", "tuple", *UPDATES_IN_PLACE}
    )


def _cuts_gathered(one: Instruction, whole: ArrayShape, gathered: int) -> bool:
    """Whether a slice cuts the gathered dimension, or nobody knows, as it has other dimensions."""
    before, after = one.operands[0].shape, one.shape
    if not isinstance(before, ArrayShape) or not isinstance(after, ArrayShape):
        return True
    return before.dims != whole.dims or before.dims[gathered] != after.dims[gathered]
