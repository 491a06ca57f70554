"""Products that several devices compute alike, as their operands are the same on each.

Which devices hold equal values is a label for each device: equal labels, equal values. Parameters
have those of their shardings, constants one for all, and a value of several has equal labels where
all of these have. Who is in a group of an all-reduce or an all-gather gets one label for all of
theirs; what says which device it is, and what nobody knows, has a label of its own on each.

    %x = parameter(0), sharding={devices=[4,1,2]<=[8] last_tile_dim_replicate}    0 0 1 1 2 2 3 3
    %w = parameter(1), sharding={replicated}                                      0 0 0 0 0 0 0 0
    %y = dot(%x, %w)                                                              0 0 1 1 2 2 3 3

So each product %y is computed on two devices. Only products that count are asked for, and the way
back from them ends at `_MOST_STEPS`: then nothing is found.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from hlotool.analysis.collectives.groups import GroupReader
from hlotool.analysis.cost.chips import weigh_flops
from hlotool.analysis.dataflow.flow import Flow
from hlotool.analysis.dataflow.values import Position
from hlotool.analysis.findings.finding import LEAST_SHARE, Evidence, Finding, name_all, percent
from hlotool.analysis.findings.work import find_about
from hlotool.hlo import Instruction, Mesh, ShapeIndex
from hlotool.hlo.groups import find_order
from hlotool.hlo.module import find_passed
from hlotool.hlo.opcodes import COLLECTIVES, DEVICE_NUMBERS
from hlotool.hlo.sharding import Spec, name_steps, write_steps
from hlotool.table.words import plural

_MOST_STEPS: Final = 20_000
_MOST_NEAR: Final = 300
_DEEPEST: Final = 32  # loops in each other
_MOST_DEVICES: Final = 1_024
_OWN: Final = DEVICE_NUMBERS | {"conditional", "infeed", "recv", "rng", "rng-get-and-update-state"}
_HIDDEN: Final = _OWN | COLLECTIVES  # in a fusion
Labels: TypeAlias = tuple[int, ...]


class _TooFarError(Exception):
    """The way back is too long."""


class Sameness:
    """The labels of values, worked out when asked for and kept."""

    def __init__(self, evidence: Evidence, device_count: int) -> None:
        self._flow: Flow = evidence.flow
        self._entry = evidence.module.entry
        self._groups = GroupReader(evidence.module)
        self._specs = evidence.specs
        self.alone: Labels = tuple(range(device_count))
        self.equal: Labels = (0,) * device_count
        self._known: dict[Position, Labels] = {}
        self._open: dict[Instruction, dict[ShapeIndex, Labels]] = {}  # loops that are looked at
        self._joined: dict[tuple[Labels, Labels], Labels] = {}
        self._steps = 0

    def find(self, instruction: Instruction) -> Labels:
        """Return the labels of all that an instruction is given together.

        Raises _TooFarError.
        """
        if self._is_apart(instruction):
            return self.alone
        found = self.equal
        for operand in instruction.operands:
            found = self._join(found, self._label((operand, ())))
            if found == self.alone:
                break
        return found

    def _is_apart(self, instruction: Instruction) -> bool:
        """Whether it is plain from what is near that no two devices are given the same.

        What is behind a collective does not count, and of a loop's state only how it begins.
        """
        found = self.equal
        pending = deque[Position]((operand, ()) for operand in instruction.operands)
        met = set(pending)
        for _ in range(_MOST_NEAR):
            if not pending or found == self.alone:
                break
            one, index = position = pending.popleft()
            if position in self._known:
                found = self._join(found, self._known[position])
                continue
            if one.opcode.removesuffix("-start") in COLLECTIVES:
                continue
            loop = self._find_loop(one, index)
            parts = [(loop.operands[0], index)] if loop else self._list_parts(position)
            if parts:
                pending += (part for part in parts if part not in met)
                met.update(parts)
            else:
                found = self._join(found, self._combine(position, []))
        return found == self.alone

    def _join(self, one: Labels, other: Labels) -> Labels:
        if other in {one, self.equal}:
            return one
        if one == self.equal:
            return other
        key = one, other
        if key not in self._joined:
            self._joined[key] = _number(list(zip(one, other, strict=True)))
        return self._joined[key]

    def _label(self, start: Position) -> Labels:
        """Return the labels of a value; what it is made from is labelled first."""
        pending = [start]
        while pending:
            position = pending[-1]
            if position in self._known:
                pending.pop()
                continue
            self._steps += 1
            if self._steps > _MOST_STEPS:
                raise _TooFarError
            if (loop := self._find_loop(*position)) is not None:
                self._solve(loop, position[1])
                continue
            parts = self._list_parts(position)
            if missing := [part for part in parts if part not in self._known]:
                pending += missing
                continue
            self._known[position] = self._combine(position, [self._known[part] for part in parts])
            pending.pop()
        return self._known[start]

    def _find_loop(self, one: Instruction, index: ShapeIndex) -> Instruction | None:
        """Return the loop whose state a value is, where rounds may change it."""
        loop = self._flow.caller(one.computation) if one.opcode == "parameter" else one
        if loop is None or loop.opcode != "while":
            return None
        return None if index and self._flow.is_unchanged(loop, index[0]) else loop

    def _solve(self, loop: Instruction, index: ShapeIndex) -> None:
        """Label an element of a loop's state, with those that rounds make it from.

        What is equal at first is taken to stay so, and does if the body, given such a state, hands
        one back whose labels are the same.
        """
        body, given = loop.expect_callee("body"), loop.operands[0]
        state = body.parameters[0]
        if len(self._open) > _DEEPEST:
            raise _TooFarError
        if (taken := self._open.get(loop)) is not None:  # the body itself asks
            taken[index] = label = self._label((given, index))
            self._known[state, index] = self._known[loop, index] = label
            return
        taken = self._open[loop] = {index: self._label((given, index))}
        while True:
            before = self._known
            self._known = before | {
                (one, each): label for each, label in taken.items() for one in (state, loop)
            }
            joined: dict[ShapeIndex, Labels] = {}
            while missing := [each for each in taken if each not in joined]:
                for each in missing:
                    label = taken[each]
                    is_lost = label == self.alone
                    behind = label if is_lost else self._label((body.root, each))
                    joined[each] = self._join(label, behind)
            if joined == taken:
                break
            self._known = before
            taken |= joined
        del self._open[loop]

    def _list_parts(self, position: Position) -> Sequence[Position]:
        """Return the values that one is made from."""
        one, index = position
        opcode, operands = one.opcode, one.operands
        if opcode == "parameter":
            return self._list_given(one, index)
        if opcode == "tuple" and index:
            return [(operands[index[0]], index[1:])] if index[0] < len(operands) else ()
        if opcode == "get-tuple-element":
            return [(operands[0], (one.tuple_index, *index))]
        if opcode in {"opt-barrier", "while"}:
            return [(operands[0], index)]
        if opcode == "call" and (callee := one.callee()):
            return [(callee.root, index)]
        return [(operand, ()) for operand in operands] if opcode not in _OWN else ()

    def _list_given(self, parameter: Instruction, index: ShapeIndex) -> Sequence[Position]:
        caller = self._flow.caller(parameter.computation)
        if parameter.computation is self._entry or caller is None:
            return ()
        given = find_passed(parameter, caller) if caller.opcode != "conditional" else None
        return [(given, index)] if given else ()

    def _combine(self, position: Position, parts: list[Labels]) -> Labels:
        """Return the labels of a value that is made from others with these."""
        one, index = position
        if one.opcode in _OWN or (one.opcode == "tuple" and not parts):
            return self.alone
        if one.opcode == "parameter" and not parts:
            spec = self._specs.get((one.parameter_number, index))
            return _label_spec(spec, self.alone) if one.computation is self._entry else self.alone
        body = one.callee() if one.opcode == "fusion" else None
        if body and any(each.opcode in _HIDDEN for each in body.instructions):
            return self.alone
        found = self.equal
        for part in parts:
            found = self._join(found, part)
        kind = one.opcode.removesuffix("-start")
        return self._exchange(one, kind, found) if kind in COLLECTIVES else found

    def _exchange(self, one: Instruction, kind: str, labels: Labels) -> Labels:
        """Return the labels behind a collective: those of a group are one."""
        groups = self._groups.read(one).expand()
        if groups is None or kind not in {"all-gather", "all-reduce", "collective-broadcast"}:
            return self.alone
        behind: list[object] = list(self.alone)
        for group in groups:
            for device in group:
                if device >= len(behind):
                    return self.alone
                behind[device] = tuple(labels[each] for each in group)
        return _number(behind)


def _number(labels: Sequence[object]) -> Labels:
    """Give labels numbers in the order in which they are met."""
    numbers: dict[object, int] = {}
    return tuple(numbers.setdefault(label, len(numbers)) for label in labels)


def _label_spec(spec: Spec | None, alone: Labels) -> Labels:
    """Return which part of an array each device holds."""
    if spec is None or spec.dims is None or spec.manual > 1 or spec.unreduced > 1:
        return alone
    if spec.device is not None or spec.device_count != len(alone):
        return alone
    steps = [step for dim in spec.dims for step in dim]
    return _number([tuple(one // stride % size for size, stride in steps) for one in alone])


def find_replicated_compute(evidence: Evidence) -> Iterator[Finding]:
    """Find matrix products of which several devices compute the same, 1 % of all flops at least.

    One finding for all over the same axes, of as much time as 1 MiB of traffic. Not where the
    shardings of parameters are unknown.
    """
    header = evidence.module.header
    count = header.num_partitions
    total = evidence.cost.total_flops_per_step
    if not evidence.specs or not count or not 1 < count <= _MOST_DEVICES or not total:
        return
    if header.replica_count != 1 or not evidence.module.header.is_scheduled:
        return
    sameness = Sameness(evidence, count)
    found: defaultdict[Labels, list[tuple[int, Instruction]]] = defaultdict(list)
    for product in evidence.costs.products:
        runs = evidence.executions.lower_bound(product.computation)
        flops = evidence.costs.of(product).total_flops * runs
        if flops < LEAST_SHARE * total:
            continue
        try:
            labels = sameness.find(product)
        except _TooFarError:
            break
        if len(set(Counter(labels).values())) == 1 and len(set(labels)) < count:
            found[labels].append((flops, product))
    for labels, products in found.items():
        yield from _describe(evidence, labels, products)


def _describe(
    evidence: Evidence, labels: Labels, products: list[tuple[int, Instruction]]
) -> Iterator[Finding]:
    products.sort(key=lambda one: (-one[0], one[1].full_name))
    alike = [device for device, label in enumerate(labels) if label == labels[0]]
    flops = sum(one for one, _ in products)
    wasted = flops - flops // len(alike)
    chip = evidence.pricing.chip
    seconds = (
        sum(weigh_flops(size, _repeat(evidence, product), chip) for size, product in products)
        / chip.flops_per_second
        * (1 - 1 / len(alike))
    )
    members = [one for _, one in products]
    names, over = name_all([one.full_name for one in members]), _name_axes(alike, evidence.mesh)
    message = (
        f"{names} {plural(len(members), 'is', 'are')} repeated on {len(alike)} "
        f"devices{over}, with the same operands: {'at most ' * any(map(_has_window, members))}"
        f"{percent(wasted, evidence.cost.total_flops_per_step)} of all flops."
    )
    yield from find_about(
        evidence, "replicated-compute", members, message, flops=wasted, seconds=seconds
    )


def _has_window(product: Instruction) -> bool:
    """Whether it holds a convolution in space, which compilers turn as its batch is smaller."""
    body = product.callee() if product.opcode == "fusion" else None
    return any(
        "conv" in one.custom_call_target
        or (one.opcode == "convolution" and any(each.size > 1 for each in one.window()))
        for one in (body.instructions if body else (product,))
    )


def _repeat(evidence: Evidence, product: Instruction) -> tuple[tuple[str, int], ...]:
    runs = evidence.executions.lower_bound(product.computation)
    return tuple((name, flops * runs) for name, flops in evidence.costs.of(product).products)


def _name_axes(devices: Sequence[int], mesh: Mesh | None) -> str:
    """Write the axes along which devices lie: ` over model`."""
    order = find_order(devices)
    names = (name_steps(order, mesh) if order and mesh else None) or (
        write_steps(order) if order else ()
    )
    return f" over {', '.join(names)}" if names else ""
