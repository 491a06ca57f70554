"""The parts of a program's memory: what one would do the same about.

`divide_memory` puts each tenure of space 0 (`memory_map.Tenure`: values that share bytes) into one
part. A saved activation is what the forward pass makes and the backward pass needs; which pass an
operation is of, its op_name tells (`jvp(`, `transpose(`, `rematted_computation`). `Checkpoint` says
what is left of one where layers are computed again:

    a loop over layers stacks a value of each: one slice of the stack, while the backward loop runs
    unrolled layers: the value, until the forward pass has used it, and again from when its layer
    is computed again

What enters a layer is kept whole: the loop stacks it as it got it; of unrolled layers it is what is
alive, for the forward pass, where a layer begins.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, groupby, starmap
from operator import itemgetter, mul
from typing import Final, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from hlotool.analysis.dataflow.copies import CopyReader
from hlotool.analysis.dataflow.flow import SLICED, Flow
from hlotool.analysis.dataflow.sharing import follow
from hlotool.analysis.graph.backend import find_backend
from hlotool.analysis.graph.calls import read_call_graph
from hlotool.analysis.memory import donation, intervals
from hlotool.analysis.memory.memory_map import Tenure
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.memory.rows import BufferRow, all_rows
from hlotool.analysis.memory.value_origins import index_definers
from hlotool.analysis.origin import find_parameter_tree, is_backward, is_forward
from hlotool.hlo import ArrayShape, Instruction, Module, Shape
from hlotool.hlo.buffers import Allocation, ValueKey
from hlotool.hlo.opcodes import MATRIX_PRODUCTS
from hlotool.table.sums import group_pairs
from hlotool.table.words import ANY, fold_numbers

PartKind: TypeAlias = Literal[
    "missed-donation", "carried-copy", "donated-copy", "saved-activations", "layer-inputs",
    "logits", "parameter-layout", "parameter-copy", "gradients", "temporaries", "given",
]  # fmt: skip

# What the last component of a scope is called where logits are made and compared.
_LOGITS: Final = re.compile(
    r"(?i)(?:.*_)?(?:logits?|head|unembed(?:ding)?|loss(?:_fn)?|cross_entropy(?:_loss)?)"
)
_PRODUCTS: Final = re.compile(r"(?:dot_general|conv_general_dilated|ragged_dot)\Z")
_REPEATED: Final = 2  # layers at least


class Part(Struct, frozen=True, eq=False, dict=True):
    """Tenures one would do the same about; `of` is a scope, or a part of the arguments' tree.

    `again` is what a tenure still holds where layers are computed again, or what lies in an
    output's memory before it. That needs room elsewhere up to `read_until` of the allocation, when
    the parameter is done that could have the output. `has_batch`: it is as large as a batch.
    """

    kind: PartKind
    of: str
    has_batch: bool = False
    read_until: dict[Allocation, int] = field(default_factory=dict)
    tenures: list[Tenure] = field(default_factory=list)
    again: dict[Tenure, intervals.Curve] = field(default_factory=dict)

    @cached_property
    def temp_curve(self) -> intervals.Curve:
        """What it holds, without what allocations are there for; asked when all is known."""
        return intervals.add_curves(
            [tenure.curve() for tenure in self.tenures if not tenure.is_owner]
        )

    @cached_property
    def again_curve(self) -> intervals.Curve:
        """The same where layers are computed again."""
        curves = [self.again.get(one) or one.curve() for one in self.tenures if not one.is_owner]
        return intervals.add_curves(curves)


def divide_memory(report: MemoryReport, module: Module | None) -> list[Part]:
    """Return the parts of space 0; none where nothing says when values live.

    Every tenure is in one part: by the type of its allocation, and by what its value that lives
    longest belongs to, of those with a scope of their own. Scopes are cut behind their first
    numbered component, so that layers are one part.
    """
    rows_of: dict[Tenure, dict[str, BufferRow]] = {}
    for row in all_rows(report, 0):
        if row.held and row.held.part:
            rows_of.setdefault(row.held.part, {})[row.value] = row
    missed = donation.list_missed_outputs(module, report.flow) if module else {}
    divider = _Divider(report, module)
    parts: dict[tuple[PartKind, str, bool], Part] = {}
    kind: PartKind
    for tenure, row in chain.from_iterable(starmap(split_passes, rows_of.items())):
        donors = (missed[value.key] for value in tenure.values if value.key in missed)
        donor = next(donors, None) if tenure.is_owner and row.allocation_type == "output" else None
        if donor is not None:
            kind, of = "missed-donation", donor.argument
        else:
            kind, of = divider.name_part(row, tenure)
        key = (
            kind,
            of,
            any(not divider.batches.isdisjoint(_dims(value.shape)) for value in tenure.values),
        )
        part = parts.setdefault(key, Part(*key))
        part.tenures.append(tenure)
        if donor is not None:
            read_until = find_last_read(module, report, donor)
            part.again[tenure] = keep_before(tenure, missed, read_until)
            part.read_until[tenure.allocation] = read_until
    found = list(parts.values())
    if divider.checkpoint:
        divider.checkpoint.add_to([one for one in found if one.kind == "saved-activations"])
    return found


def find_last_read(module: Module | None, report: MemoryReport, donor: donation.DonationRow) -> int:
    """Return when a parameter is read last, for which nothing needs room beside it any more."""
    if module is None or report.map.live_ranges is None:
        return 1 << 63
    places = report.map.live_ranges.positions
    pending = [module.entry.parameters[donor.parameter_number]]
    last = 0
    while pending:
        one = pending.pop()
        for user in one.users:
            # A copy of what is read no more is not made if that may be written over.
            is_spared = user.opcode == "copy" and user.shape == one.shape
            last = max(last, places.get(user.name, 0) - is_spared)
            if user.opcode in {"bitcast", "get-tuple-element"}:
                pending.append(user)
            elif user.opcode == "tuple":
                pending += user.users
    return last


def keep_before(tenure: Tenure, outputs: Collection[ValueKey], read_until: int) -> intervals.Curve:
    """Return what lies in an output's memory before the output does, while the donor is read."""
    held = list(zip(tenure.values, tenure.blocks, strict=True))
    start = min(block.start for value, block in held if value.key in outputs)
    before = [
        replace(one, end=min(one.end, start))
        for _, one in held
        if one.start < start and one.start <= read_until
    ]
    return intervals.add_up_groups(before, [range(len(before))] if len(before) > 1 else ())


def split_passes(
    tenure: Tenure, rows: Mapping[str, BufferRow]
) -> Iterator[tuple[Tenure, BufferRow]]:
    """Divide a tenure where the backward pass writes over what the forward pass made.

    Both need the bytes, each in its time. Yields each with the value that tells what it is. Values
    of one size at one place take turns, each until the next begins; where a tenure's values have
    different sizes, or the allocation is there for one of them, it stays whole.
    """
    held = sorted(zip(tenure.values, tenure.blocks, strict=True), key=lambda one: one[1].start)
    sides = _fill_gaps([rows[value.name].producer_op_name for value, _ in held])
    is_uniform = len({(block.low, block.high) for block in tenure.blocks}) == 1
    if tenure.is_owner or not is_uniform or len(set(sides)) == 1:
        yield tenure, max(rows.values(), key=_rank)
        return
    parts = [
        [one for _, one in part]
        for _, part in groupby(zip(sides, held, strict=True), itemgetter(0))
    ]
    ends = [part[0][1].start - 1 for part in parts[1:]]
    for part, end in zip(parts, [*ends, tenure.end], strict=True):
        kept = [(one, replace(block, end=min(block.end, end))) for one, block in part]
        kept = [(one, block) for one, block in kept if block.start <= block.end]
        if kept:
            values, blocks = zip(*kept, strict=True)
            best = max((rows[value.name] for value in values), key=_rank)
            yield Tenure(tenure.allocation, list(values), list(blocks)), best


def _fill_gaps(producers: Sequence[str | None]) -> list[bool | None]:
    """Say of each value whether the forward pass made it, by the op_name of its producer.

    One without is as what comes behind it; at the end, as what came before: forward, none,
    backward, none become forward and three times backward.
    """
    sides = [None if one is None else is_forward(one) for one in producers]
    # Backwards, each from the one behind; then forwards, what is still open from the one before.
    for places in (range(len(sides) - 2, -1, -1), range(1, len(sides))):
        for place in places:
            if sides[place] is None:
                sides[place] = sides[place - places.step]
    return sides


def _rank(row: BufferRow) -> tuple[bool, bool, int]:
    """Rank who tells of a tenure: with a scope, then a name; the longest-lived."""
    is_told = row.producer_op_name is not None
    return is_told and row.scope is not None, is_told, row.live_positions or 0


class _Divider:
    """Says of each tenure what part it is of."""

    def __init__(self, report: MemoryReport, module: Module | None) -> None:
        self.checkpoint: Checkpoint | None = None
        self.donated_copies: dict[str, str] = {}
        self.weights: set[tuple[int, ...]] = set()
        self.copies: CopyReader | None = None
        self.definers: Mapping[str, Instruction] = {}
        self.batches = _find_batches(module) if module else set()
        if module is None or report.map.live_ranges is None:
            return
        self.definers = index_definers(module, report.map.assignment, report.flow)
        flow = Flow(read_call_graph(module))
        self.copies = CopyReader(module, flow)
        self.checkpoint = Checkpoint(report, module, flow, self.definers)
        results = {_dims(shape) for shape in module.entry.root.shape.leaves()}
        given = {_dims(shape) for one in module.entry.parameters for shape in one.shape.leaves()}
        self.weights = {one for one in results & given if len(one) > 1}
        self.donated_copies = find_donated_copies(module)

    def name_part(self, row: BufferRow, tenure: Tenure) -> tuple[PartKind, str]:
        """Say what kind of part a tenure is in, and of what."""
        if tenure.is_owner:
            return "given", ""  # parameters, constants, other outputs
        for value in tenure.values:
            if value.instruction in self.donated_copies:
                return "donated-copy", self.donated_copies[value.instruction]
        moved = self._find_moved(row, tenure)
        if moved is not None:
            kind, name = moved
            if kind == "carried-copy" and (argument := donation.ARGUMENT.match(name)):
                return kind, argument[0]
            return kind, find_parameter_tree(name) or name
        if row.scope and _LOGITS.fullmatch(row.scope.rpartition("/")[2]):
            return "logits", fold_numbers(row.scope)
        of, name = _cut_scope(row.scope), row.producer_op_name or ""
        if self.checkpoint is not None:
            is_looped = "while/body" in name or self.checkpoint.find_stack(tenure)
            if not is_looped and self.checkpoint.is_logits(tenure):
                return "logits", of
            if self.checkpoint.is_saved(tenure, name):
                is_kept = self.checkpoint.is_kept(tenure)
                return ("layer-inputs" if is_kept else "saved-activations"), of
        is_weight = any(_dims(value.shape) in self.weights for value in tenure.values)
        return ("gradients" if is_weight and not is_forward(name) else "temporaries"), of

    def _find_moved(self, row: BufferRow, tenure: Tenure) -> tuple[PartKind, str] | None:
        """Return the parameter that a tenure has in another order of dimensions, or a copy of."""
        for value in tenure.values:
            one = self.definers.get(value.instruction)
            if one is None or value.index or self.copies is None:
                continue
            given = self.copies.find_parameter(one)
            if given is not None:
                before = [(each.dtype, each.element_count) for each in given.shape.leaves()]
                after = [(each.dtype, each.element_count) for each in one.shape.leaves()]
                cause = self.copies.read(one).cause
                name = given.metadata().op_name or f"parameter {given.parameter_number}"
                if cause == "loop-carry" and before == after:
                    return "carried-copy", name
                is_layout = cause == "layout" and before == after
                return "parameter-layout" if is_layout else "parameter-copy", name
        if row.moved_parameter is not None and row.scope_from not in {"own", "producer"}:
            return "parameter-copy", row.moved_parameter
        return None


def find_donated_copies(module: Module) -> dict[str, str]:
    """Return the copies that are made since an argument is donated, each with that argument."""
    found: dict[str, str] = {}
    for row in donation.list_donations(module):
        names = list(row.spare_copies)
        if row.is_donated and row.output_index is not None:
            # What is copied to where it goes, as something still reads there.
            copy, index = follow(module.entry.root, row.output_index)
            if copy.opcode == "copy" and not index and copy.shape == copy.operands[0].shape:
                names.append(copy.operands[0].full_name)
        found |= dict.fromkeys(names, row.argument)
    return found


def _find_batches(module: Module) -> set[int]:
    """Return the dimensions that grow with the batch where nothing is differentiated.

    The batch is the first dimension of an input and of the result of fewest dimensions; it may be
    joined with those behind it. None where an input has it twice, as then nobody knows.
    """
    given = [_dims(each) for one in module.entry.parameters for each in one.shape.leaves()]
    made = sorted(filter(None, map(_dims, module.entry.root.shape.leaves())), key=len)
    firsts = {one[0] for one in given if one}
    batch = next((one[0] for one in made if one[0] in firsts and one[0] > 1), None)
    if batch is None or any(one.count(batch) > 1 for one in given):
        return set()
    return {size for one in given if one[:1] == (batch,) for size in accumulate(one, mul)}


def _cut_scope(scope: str | None) -> str:
    """Cut a scope behind its first numbered component; one without any, behind its first."""
    if scope is None:
        return "no scope"
    components = fold_numbers(scope).split("/")
    numbered = (place for place, one in enumerate(components) if one.endswith(ANY))
    return "/".join(components[: next(numbered, 0) + 1])


def _count(shape: Shape) -> int:
    return (shape.element_count or 0) if isinstance(shape, ArrayShape) else 0


def _dims(shape: object) -> tuple[int, ...]:
    return shape.dims if isinstance(shape, ArrayShape) else ()


class Stack(Struct, frozen=True):
    """What a loop stacks: its elements and slices; `is_kept`: they are what enters a round."""

    elements: int
    slices: int
    is_kept: bool
    loop: Instruction


class Checkpoint:
    """What `jax.checkpoint` of each layer would leave of what the forward pass saves.

    `turn` is where the backward pass begins; None where nothing is differentiated.
    """

    def __init__(
        self, report: MemoryReport, module: Module, flow: Flow, definers: Mapping[str, Instruction]
    ) -> None:
        self.flow = flow
        self.definers = definers
        self.is_undone = find_backend(module) == "cpu"  # XLA:CPU merges it with the first time
        live = report.map.live_ranges
        sequence, self.places = (live.sequence, live.positions) if live else ((), {})
        self.instructions = list(module.instructions())
        names = {one.name: one for one in self.instructions}
        names |= {one.full_name: one for one in self.instructions}
        self.sequence = [names.get(name) for name in sequence]
        self.op_names = [one.metadata().op_name if one else "" for one in self.sequence]
        self.turn = _find_turn(self.op_names)
        self._stacks: dict[tuple[Instruction, tuple[int, ...]], Stack | None] = {}

    def is_saved(self, tenure: Tenure, name: str) -> bool:
        """Whether what the forward pass made is needed when the backward pass runs.

        So are the zeros with which a stack begins.
        """
        if self.turn is not None and tenure.end >= self.turn and is_forward(name):
            return True
        return self._find_filled(tenure) is not None

    def _find_filled(self, tenure: Tenure) -> Stack | None:
        """Return the stack that begins with what a tenure holds."""
        stacks = [self.stacks.get(_dims(value.shape)) for value in tenure.values]
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
                        found[_dims(shape)] = stack
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
        """Whether it has the columns of what the last product of the forward pass makes.

        That are logits where they are more than the product adds up, and no loop makes them.
        """
        dims = [_dims(value.shape) for value in tenure.values]
        return self.logit_columns is not None and any(
            len(one) > 1 and one[-1] == self.logit_columns for one in dims
        )

    @cached_property
    def logit_columns(self) -> int | None:
        """The columns of logits, None where nothing looks like them."""
        for _, product in self.products[-1:]:
            last = next((_dims(shape)[-1:] for shape in product.shape.leaves()), ())
            weights = [_dims(one.shape) for one in product.operands]
            if last and any(len(one) == 2 and min(one) < last[0] in one for one in weights):  # noqa: PLR2004
                return last[0]
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
        if made.inner.opcode != "dynamic-update-slice":
            return None
        update = made.inner.operands[1]
        whole, part = (_count(made.inner.shape), _count(update.shape))
        if not whole or not part:
            return None
        source = self.flow.source(update, within=body)
        return Stack(whole, max(1, whole // part), source.inner is body.parameters[0], loop)

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

    def add_to(self, parts: Sequence[Part]) -> None:
        """Say of each part of saved activations what is left where layers are computed again."""
        if self.turn is None:
            return
        unrolled: list[tuple[Part, Tenure]] = []
        for part in parts:
            for tenure in part.tenures:
                stack = self.find_stack(tenure) or self._find_filled(tenure)
                if stack is not None and self.loops[self._name_alike(stack.loop)] == 1:
                    part.again[tenure] = self._slice(tenure, stack)
                elif not self.is_undone:
                    unrolled.append((part, tenure))
        self._add_unrolled(unrolled)

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

    def _add_unrolled(self, saved: Sequence[tuple[Part, Tenure]]) -> None:
        bounds = self.layer_bounds
        if len(bounds) < _REPEATED:
            return
        turn = self.turn or 0
        layers: defaultdict[int, list[tuple[Part, Tenure, int, int]]] = defaultdict(list)
        for part, tenure in saved:
            start = min(block.start for block in tenure.blocks)
            uses = self._list_uses(tenure)
            last = max((place for place in uses if place < turn), default=start)
            again = min((place for place in uses if place >= turn), default=tenure.end)
            layer = bisect_right(bounds, start) - 1
            is_kept = layer < 0 or bisect_left(bounds, start + 1) != bisect_right(bounds, last)
            if not is_kept:
                layers[layer].append((part, tenure, last, again))
        for members in layers.values():
            first = min(again for *_, again in members)
            for part, tenure, last, _ in members:
                start = min(block.start for block in tenure.blocks)
                size = max(block.high - block.low for block in tenure.blocks)
                part.again[tenure] = _draw([(size, start, last), (size, first, tenure.end)])

    @cached_property
    def layer_bounds(self) -> list[int]:
        """Where unrolled layers begin: where the product stands that is there most often."""
        places = group_pairs((self._name_alike(one), place) for place, one in self.products)
        return max(places.values(), key=len, default=[])

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
