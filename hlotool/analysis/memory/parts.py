"""The parts of a program's memory: what one would do the same about.

`divide_memory` puts each tenure of space 0 (`memory_map.Tenure`: values that share bytes) into one
part. A saved activation is what the forward pass makes and the backward pass needs; which pass an
operation is of, its op_name tells (`jvp(`, `transpose(`, `rematted_computation`). What a checkpoint
of each layer leaves of one, `checkpoint` knows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, groupby, starmap
from operator import itemgetter, mul
from typing import Final, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from hlotool.analysis.dataflow.copies import CopyReader
from hlotool.analysis.dataflow.flow import Flow
from hlotool.analysis.dataflow.sharing import follow
from hlotool.analysis.graph.calls import read_call_graph
from hlotool.analysis.memory import donation, intervals
from hlotool.analysis.memory.checkpoint import Checkpoint, dims_of
from hlotool.analysis.memory.donated import Donations
from hlotool.analysis.memory.memory_map import Tenure
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.memory.rows import BufferRow, all_rows
from hlotool.analysis.memory.value_origins import index_definers
from hlotool.analysis.origin import find_parameter_tree, is_forward
from hlotool.hlo import Instruction, Module
from hlotool.table.words import ANY, fold_numbers

PartKind: TypeAlias = Literal[
    "missed-donation", "donated-copy", "saved-activations", "layer-inputs",
    "logits", "parameter-layout", "parameter-copy", "gradients", "temporaries", "given",
]  # fmt: skip

# What the last component of a scope is called where logits are made and compared.
_LOGITS: Final = re.compile(
    r"(?i)(?:.*_)?(?:logits?|head|unembed(?:ding)?|loss(?:_fn)?|cross_entropy(?:_loss)?)"
)


class Part(Struct, frozen=True, eq=False, dict=True):
    """Tenures one would do the same about; `of` is a scope, or a part of the arguments' tree.

    `again` is what a tenure still holds where layers are computed again. `has_batch`: it is as
    large as a batch.
    """

    kind: PartKind
    of: str
    has_batch: bool = False
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


def divide_memory(
    report: MemoryReport, module: Module | None, donations: Donations | None
) -> list[Part]:
    """Return the parts of space 0; none where nothing says when values live.

    Every tenure is in one part: by the type of its allocation, and by what its value that lives
    longest belongs to, of those with a scope of their own. Scopes are cut behind their first
    numbered component, so that layers are one part.
    """
    rows_of: dict[Tenure, dict[str, BufferRow]] = {}
    for row in all_rows(report, 0):
        if row.held and row.held.part:
            rows_of.setdefault(row.held.part, {})[row.value] = row
    missed = donations.missed if donations else {}
    divider = _Divider(report, module, rows_of)
    parts: dict[tuple[PartKind, str, bool], Part] = {}
    kind: PartKind
    for tenure, row in chain.from_iterable(starmap(split_passes, rows_of.items())):
        outputs = (missed[value.key] for value in tenure.values if value.key in missed)
        is_output = tenure.is_owner and row.allocation_type == "output"
        if (output := next(outputs, None) if is_output else None) is not None:
            kind, of = "missed-donation", output.donor.argument
        else:
            kind, of = divider.name_part(row, tenure)
        key = (
            kind,
            of,
            any(not divider.batches.isdisjoint(dims_of(value.shape)) for value in tenure.values),
        )
        part = parts.setdefault(key, Part(*key))
        part.tenures.append(tenure)
    found = list(parts.values())
    if divider.checkpoint:
        saved = [one for one in found if one.kind == "saved-activations"]
        left = divider.checkpoint.list_left([tenure for part in saved for tenure in part.tenures])
        for part in saved:
            part.again.update({one: left[one] for one in part.tenures if one in left})
    return found


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

    def __init__(
        self, report: MemoryReport, module: Module | None, tenures: Collection[Tenure]
    ) -> None:
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
        self.checkpoint = Checkpoint(report, module, flow, self.definers, tenures)
        results = {dims_of(shape) for shape in module.entry.root.shape.leaves()}
        given = {dims_of(shape) for one in module.entry.parameters for shape in one.shape.leaves()}
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
        is_weight = any(dims_of(value.shape) in self.weights for value in tenure.values)
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
    given = [dims_of(each) for one in module.entry.parameters for each in one.shape.leaves()]
    made = sorted(filter(None, map(dims_of, module.entry.root.shape.leaves())), key=len)
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
