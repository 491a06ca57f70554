"""What `jax.checkpoint` of each layer leaves of what the forward pass saves.

A loop over layers stacks a value of each. Computed again, one slice of the stack is there while the
backward loop runs. Of unrolled layers a value is there until the forward pass has used it, and
again from when its layer is computed again. What enters a layer is kept whole: the loop stacks it
as it got it; of unrolled layers it is what is alive, for the forward pass, where a layer begins.

Layers that are no loop begin where least is alive for the forward pass: XLA's text has no names for
most of them. Attention and what follows it are two then, each with an input that is kept: of three
layers that tells a tenth too much saved, of dozens a tenth too little.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from math import prod
from typing import Final

from msgspec import Struct

from hlotool.analysis.dataflow.flow import SLICED, Flow
from hlotool.analysis.graph.backend import find_backend
from hlotool.analysis.memory import intervals
from hlotool.analysis.memory.memory_map import Tenure
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.origin import is_backward, is_forward
from hlotool.hlo import ArrayShape, Instruction, Module, Shape
from hlotool.hlo.opcodes import MATRIX_PRODUCTS
from hlotool.table.words import fold_numbers

_PRODUCTS: Final = re.compile(r"(?:dot_general|conv_general_dilated|ragged_dot)\Z")
_REPEATED: Final = 2  # layers at least


def _count(shape: Shape) -> int:
    return (shape.element_count or 0) if isinstance(shape, ArrayShape) else 0


def dims_of(shape: object) -> tuple[int, ...]:
    """Return the dimensions of an array, none of what is none."""
    return shape.dims if isinstance(shape, ArrayShape) else ()


class Stack(Struct, frozen=True):
    """What a loop stacks: its elements and slices; `is_kept`: they are what enters a round."""

    elements: int
    slices: int
    is_kept: bool
    loop: Instruction
    index: tuple[int, ...]


class _Saved(Struct, frozen=True):
    """A value of unrolled layers: when it is made, and used by the forward pass and all others."""

    tenure: Tenure
    size_bytes: int
    made: int
    last_forward: int
    uses: Sequence[int]


class Checkpoint:
    """What `jax.checkpoint` of each layer would leave of what the forward pass saves.

    `turn` is where the backward pass begins; None where nothing is differentiated.
    """

    def __init__(
        self,
        report: MemoryReport,
        module: Module,
        flow: Flow,
        definers: Mapping[str, Instruction],
        tenures: Iterable[Tenure],
    ) -> None:
        self.flow = flow
        self.definers = definers
        self.is_undone = find_backend(module) == "cpu"  # XLA:CPU merges it with the first time
        live = report.map.live_ranges
        sequence, self.places = (live.sequence, live.positions) if live else ((), {})
        instructions = list(module.instructions())
        names = {one.name: one for one in instructions}
        names |= {one.full_name: one for one in instructions}
        self.sequence = [names.get(name) for name in sequence]
        self.op_names = [one.metadata().op_name if one else "" for one in self.sequence]
        self.turn = _find_turn(self.op_names)
        given = (shape for one in module.entry.parameters for shape in one.shape.leaves())
        self._given = set(map(dims_of, given))
        self._stacks: dict[tuple[Instruction, tuple[int, ...]], Stack | None] = {}
        alive = [one for one in tenures if self.turn is not None and one.end >= self.turn]
        self._saved_stacks = set(map(self.find_stack, alive)) - {None}

    def is_saved(self, tenure: Tenure, name: str) -> bool:
        """Whether what the forward pass made is needed when the backward pass runs.

        So are the zeros with which a stack begins, and a stack of which a copy in another order
        goes on: both are there at once where the passes meet, often at the peak.
        """
        if self.turn is not None and tenure.end >= self.turn and is_forward(name):
            return True
        if self._find_filled(tenure) is not None:
            return True
        return self.find_stack(tenure) in self._saved_stacks

    def _find_filled(self, tenure: Tenure) -> Stack | None:
        """Return the stack that begins with what a tenure holds."""
        stacks = [self.stacks.get(dims_of(value.shape)) for value in tenure.values]
        value = tenure.values[0]
        first = self.definers.get(value.instruction)
        if first is None or not all(stacks):
            return None
        made = self.flow.source(first, value.index or ())
        return stacks[0] if made.inner.opcode in {"broadcast", "constant", "iota"} else None

    @cached_property
    def stacks(self) -> Mapping[tuple[int, ...], Stack]:
        """A stack of the forward pass by its dimensions; those that are computed again alone."""
        found: dict[tuple[int, ...], Stack] = {}
        for one in self.sequence:
            if one is not None and one.opcode == "while" and is_forward(one.metadata().op_name):
                for index, shape in one.shape.leaves_with_index():
                    stack = self._read_stack(one, index) if index else None
                    if stack and not stack.is_kept and not self._is_rematerialized(one):
                        found[dims_of(shape)] = stack
        return found

    def is_kept(self, tenure: Tenure) -> bool:
        """Whether a saved value is what a checkpoint keeps, or is checkpointed already."""
        stack = self.find_stack(tenure)
        if stack is not None:
            return stack.is_kept or self._is_rematerialized(stack.loop)
        return self.is_on

    @cached_property
    def is_on(self) -> bool:
        """Whether anything outside of loops is computed again."""
        return any(
            "rematted_computation" in name and "while/body" not in name for name in self.op_names
        )

    def is_logits(self, tenure: Tenure) -> bool:
        """Whether it is as large as the logits, with their columns last, or first: transposed.

        What a product before theirs uses is none: words to embed, one-hot.
        """
        if self._logits is None:
            return False
        count, columns, made = self._logits
        dims = [dims_of(value.shape) for value in tenure.values]
        is_alike = any(
            len(one) > 1
            and prod(one) == count
            and (one[-1] == columns or (one[0] == columns and one not in self._given))
            for one in dims
        )
        before = {place for place, _ in self.products if place < made}
        return is_alike and before.isdisjoint(self._list_uses(tenure))

    @cached_property
    def _logits(self) -> tuple[int, int, int] | None:
        """Elements and columns of logits, and when they are made; None where none look like them.

        They are what the last product of the forward pass makes, where it makes more columns than
        it adds up, and no loop makes it.
        """
        for place, product in self.products[-1:]:
            made = next(map(dims_of, product.shape.leaves()), ())
            weights = [dims_of(one.shape) for one in product.operands]
            if made and any(len(one) == 2 and min(one) < made[-1] in one for one in weights):  # noqa: PLR2004
                return prod(made), made[-1], place
        return None

    @cached_property
    def products(self) -> list[tuple[int, Instruction]]:
        """The matrix products of the forward pass outside of loops, in fusions too."""
        found = []
        for place, one in enumerate(self.sequence[: self.turn]):
            body = one.callee() if one is not None and one.opcode == "fusion" else None
            for inner in (*(body.instructions if body else ()), *([one] if one else ())):
                name = inner.metadata().op_name
                if is_forward(name) and "while/body" not in name and _PRODUCTS.search(name):
                    is_product = inner.opcode in MATRIX_PRODUCTS or inner.opcode == "custom-call"
                    if is_product:
                        found.append((place, inner))
        return found

    def find_stack(self, tenure: Tenure) -> Stack | None:
        """Return what a loop stacks in a tenure, or in what it is a copy of."""
        for value in tenure.values:
            one = self.definers.get(value.instruction)
            if one is None or not isinstance(value.shape, ArrayShape):
                continue
            made = self.flow.source(one, value.index or (), SLICED)
            if made.inner.opcode == "while" and made.index:
                key = made.inner, made.index
                if key not in self._stacks:
                    self._stacks[key] = self._read_stack(*key)
                if self._stacks[key] is not None:
                    return self._stacks[key]
        return None

    def _read_stack(self, loop: Instruction, index: tuple[int, ...]) -> Stack | None:
        body = loop.expect_callee("body")
        made = self.flow.source(body.root, index, within=body)
        if made.inner.opcode != "dynamic-update-slice" or not made.inner.operands[1:]:
            return None
        update = made.inner.operands[1]
        whole, part = (_count(made.inner.shape), _count(update.shape))
        if not whole or not part:
            return None
        source = self.flow.source(update, within=body)
        return Stack(whole, max(1, whole // part), source.inner is body.parameters[0], loop, index)

    def _is_rematerialized(self, loop: Instruction) -> bool:
        """Whether the loop that goes back over what one stacks computes anything again."""
        bodies = [one.expect_callee("body") for one in self._backward_loops(loop)]
        bodies += [inner for body in bodies for one in body.instructions if (inner := one.callee())]
        names = (one.metadata().op_name for body in bodies for one in body.instructions)
        return any("rematted_computation" in name for name in names)

    def _backward_loops(self, loop: Instruction) -> list[Instruction]:
        """Return the loops of the backward pass to which a loop hands anything it made."""
        found: dict[Instruction, None] = {}
        for index, _ in loop.shape.leaves_with_index():
            for use in self.flow.uses(loop, index):
                user = use.instruction
                if user is not None and user.opcode == "while" and user is not loop:
                    found[user] = None
        return list(found)

    def list_left(self, tenures: Sequence[Tenure]) -> dict[Tenure, intervals.Curve]:
        """Return what is left of saved activations where layers are computed again.

        Those without an entry stay as they are.
        """
        left: dict[Tenure, intervals.Curve] = {}
        unrolled: list[Tenure] = []
        for tenure in tenures if self.turn is not None else ():
            stack = self.find_stack(tenure) or self._find_filled(tenure)
            if stack is not None and self.loops[self._name_alike(stack.loop)] == 1:
                left[tenure] = self._slice(tenure, stack)
            elif not self.is_undone:
                unrolled.append(tenure)
        return left | self._list_unrolled(unrolled)

    @cached_property
    def loops(self) -> Counter[object]:
        """How many loops of the forward pass are alike: several are parts of unrolled layers."""
        return Counter(
            self._name_alike(one)
            for one in self.sequence
            if one is not None and one.opcode == "while" and is_forward(one.metadata().op_name)
        )

    def _name_alike(self, one: Instruction) -> object:
        return fold_numbers(one.metadata().op_name), one.source_location(), str(one.shape)

    def _slice(self, tenure: Tenure, stack: Stack) -> intervals.Curve:
        """Return what is left of a stack: one slice, while the backward loop runs."""
        starts = [
            self.places.get(body.instructions[0].name, self.turn)
            for loop in self._backward_loops(stack.loop)
            for body in loop.callees("body")
        ]
        if all(_count(value.shape) < stack.elements for value in tenure.values):
            return intervals.Curve()  # one slice, read from the stack
        size = max(block.high - block.low for block in tenure.blocks) // stack.slices
        start = max(self.turn or 0, min((one for one in starts if one is not None), default=0))
        if tenure.end < start:
            return intervals.Curve()
        return _draw([(size, start, tenure.end)])

    def _list_unrolled(self, tenures: Sequence[Tenure]) -> dict[Tenure, intervals.Curve]:
        """Return what is left of values of unrolled layers."""
        turn = self.turn or 0
        saved = list(map(self._read_saved, tenures))
        bounds = self._find_bounds(saved)
        if len(bounds) < _REPEATED:
            return {}
        layers: defaultdict[int, list[_Saved]] = defaultdict(list)
        users: defaultdict[int, set[int]] = defaultdict(set)  # by place, the layers it looks at
        for one in saved:
            layer = bisect_right(bounds, one.made)
            if layer and layer == bisect_right(bounds, one.last_forward):
                layers[layer].append(one)
                for place in one.uses:
                    users[place].add(layer)
        left = {}
        for members in layers.values():
            # XLA fuses work of several layers, such as transposes, and runs it before all of them:
            # that is no work of the layer, and would not be there if the layer came again.
            uses = (place for one in members for place in one.uses if len(users[place]) == 1)
            again = min((place for place in uses if place >= turn), default=turn)
            for one in members:
                start = min(block.start for block in one.tenure.blocks)
                spans = [(start, one.last_forward), (again, one.tenure.end)]
                left[one.tenure] = _draw(
                    [(one.size_bytes, first, last) for first, last in spans if first <= last]
                )
        return left

    def _read_saved(self, tenure: Tenure) -> _Saved:
        made = min(block.start for block in tenure.blocks)
        # Zeros of the loops of all layers may be made at once.
        if (stack := self.find_stack(tenure)) is not None:
            made = self.places.get(stack.loop.name, made)
        uses = sorted(self._list_uses(tenure))
        last = max((place for place in uses if place < (self.turn or 0)), default=made)
        size = max(block.high - block.low for block in tenure.blocks)
        return _Saved(tenure, size, made, max(made, last), uses)

    def _find_bounds(self, saved: Iterable[_Saved]) -> list[int]:
        """Return where unrolled layers begin: where least is alive for the forward pass.

        Before each product it is the place with least behind the one before; where the products
        beside it have no less, a layer begins. Products `a b c d` with 1, 4, 3 and 1 MiB alive
        before each: layers begin before `a` and before `d`.
        """
        products = sorted({place for place, _ in self.products})
        changes: Counter[int] = Counter()
        for one in saved:
            if one.made < one.last_forward:
                changes[one.made + 1] += one.size_bytes
                changes[one.last_forward + 1] -= one.size_bytes
        alive = list(accumulate(changes[place] for place in range(max(products, default=0) + 1)))
        # The last of several: what only prepares the next layer is a part of the one before.
        least = [
            min(range(last, first, -1), key=alive.__getitem__)
            for first, last in pairwise([-1, *products])
        ]
        sizes = [alive[place] for place in least]
        return [
            place
            for number, place in enumerate(least)
            if sizes[number] == min(sizes[max(0, number - 1) : number + 2])
        ]

    def _list_uses(self, tenure: Tenure) -> list[int]:
        """Return the places at which values are used, past what only moves them."""
        found = []
        for value in tenure.values:
            one = self.definers.get(value.instruction)
            for use in self.flow.uses(one, value.index or ()) if one is not None else ():
                user = use.instruction
                while user is not None and user.name not in self.places:
                    user = self.flow.caller(user.computation)
                if user is not None:
                    found.append(self.places[user.name])
        return found


def _draw(spans: Sequence[tuple[int, int, int]]) -> intervals.Curve:
    """Return the curve of sizes, each from one position to another; where they meet, once."""
    changes: dict[int, int] = {}
    end = -1
    for size, start, last in spans:
        intervals.add_blocks([intervals.LiveBlock(0, size, max(start, end + 1), last)], changes)
        end = max(end, last)
    return intervals.make_curve(changes)


def _find_turn(op_names: Sequence[str]) -> int | None:
    """Return where the backward pass begins; None where nothing was differentiated.

    That is behind the position up to which most more of the forward pass ran than of the backward
    pass: schedules put some of each among the other.
    """
    steps = [is_forward(name) - is_backward(name) for name in op_names]
    balance = list(accumulate(steps, initial=0))
    turn = balance.index(max(balance))
    return next((place for place in range(turn, len(steps)) if steps[place] < 0), None)
