"""Findings about work that need not be: products in vain, constants, copies for updates, sorts.

What is told of flops is worth a finding from 1 % of those of a step on, and as long as 1 MiB of
traffic takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from hlotool.analysis.cost.arithmetic import count_work
from hlotool.analysis.cost.chips import find_peak, weigh_flops
from hlotool.analysis.cost.cost import MALFORMED, find_product_type
from hlotool.analysis.dataflow.flow import SLICED
from hlotool.analysis.findings import finding
from hlotool.analysis.findings.loops import Rounds
from hlotool.analysis.graph.backend import find_backend
from hlotool.analysis.origin import read_origin, write_source
from hlotool.hlo import ArrayShape, Instruction
from hlotool.hlo.opcodes import MATRIX_PRODUCTS
from hlotool.hlo.shape import find_part
from hlotool.table.words import plural

_MOST_PRODUCTS: Final = 2_000  # that are looked at


def find_about(
    evidence: finding.Evidence,
    code: finding.FindingCode,
    members: Sequence[Instruction],
    message: str,
    size: int | None = None,
    *,
    severity: finding.Severity = "warning",
    flops: int | None = None,
    seconds: float = 0.0,
) -> Iterator[finding.Finding]:
    """Make the finding about some instructions, the first of which is named.

    Where flops are told it is none if they are few, or take less than 1 MiB of traffic.
    """
    moved = round(seconds * evidence.pricing.chip.hbm_bytes_per_second)
    least = finding.LEAST_SHARE * evidence.cost.total_flops_per_step
    if flops is not None and (moved < finding.LEAST_BYTES or flops < least):
        return
    first = members[0]
    origin = read_origin(first, reversed(finding.list_inside(first)))
    yield finding.Finding(
        size,
        severity,
        code,
        message,
        first.full_name,
        write_source(origin.source_file, origin.source_line),
        estimated_seconds=seconds if seconds and evidence.chip else None,
        weighted_bytes=moved if moved and evidence.pricing.is_rated else None,
        count=len(members),
        flops=flops,
    )


class Product(NamedTuple):
    """A product of the text, what runs it, its flops per step, and those that are in vain."""

    one: Instruction
    outer: Instruction
    flops: int
    wasted: int = 0


def list_products(evidence: finding.Evidence) -> Iterator[Product]:
    """Yield the large products of the text, those in fusions too."""
    least = finding.LEAST_SHARE * evidence.cost.total_flops_per_step
    for outer in evidence.costs.products[:_MOST_PRODUCTS]:
        runs = evidence.executions.lower_bound(outer.computation)
        for one in finding.list_inside(outer):
            try:
                flops = count_work(one).flops * runs if one.opcode in MATRIX_PRODUCTS else 0
            except MALFORMED:
                continue
            if flops and flops >= least:
                yield Product(one, outer, flops, flops)


def _find_wasted(
    evidence: finding.Evidence, code: finding.FindingCode, found: list[Product], what: str
) -> Iterator[finding.Finding]:
    """Make one finding about products that `what` says something of; the largest is named."""
    if not found:
        return
    found.sort(key=lambda one: (-one.wasted, one.outer.full_name))
    chip, seconds = evidence.pricing.chip, 0.0
    for product in found:
        name = find_product_type(product.one)
        types = ((name, product.wasted),) if name else ()
        seconds += weigh_flops(product.wasted, types, chip) / chip.flops_per_second
    wasted = sum(one.wasted for one in found)
    members = [one.outer for one in found]
    multiplies = plural(len(found), "multiplies", "multiply")
    message = (
        f"{finding.name_all([one.full_name for one in members])} {multiplies} {what}: "
        f"{finding.percent(wasted, evidence.cost.total_flops_per_step)} of all flops."
    )
    yield from find_about(evidence, code, members, message, flops=wasted, seconds=seconds)


def find_one_hot_products(evidence: finding.Evidence) -> Iterator[finding.Finding]:
    """Find products that add up a one-hot array with others: they look rows up."""
    found = []
    for product in list_products(evidence):
        shape = product.one.shape
        count = shape.element_count if isinstance(shape, ArrayShape) else None
        runs = evidence.executions.lower_bound(product.outer.computation)
        summed = product.flops // (2 * count * runs) if count else 0
        sides = zip(product.one.operands, ("lhs", "rhs"), strict=False)
        if any(_is_hot(evidence, product.one, one, side, summed) for one, side in sides):
            found.append(product)
    what = "by a one-hot array, which only looks rows up"
    yield from _find_wasted(evidence, "one-hot-product", found, what)


_SPREAD: Final = SLICED | {"broadcast"}


def _is_hot(
    evidence: finding.Evidence, product: Instruction, operand: Instruction, side: str, summed: int
) -> bool:
    """Whether an operand of a product is hot in one of the places that it sums up.

    That is a comparison of coordinates with what is none. Where two axes are as long, it must be
    plain which one is summed up.
    """
    made = evidence.flow.source(operand).inner
    if made.opcode != "compare" or made.attributes.get("direction") != "EQ":
        return False
    sides = [evidence.flow.source(one, (), _SPREAD).inner for one in made.operands]
    counted = [one for one in sides if one.opcode == "iota"]
    shapes = [one.shape for one in (made, operand, *counted)]
    if len(counted) != 1 or not all(isinstance(one, ArrayShape) for one in shapes):
        return False
    whole, given, places = (one.dims for one in shapes if isinstance(one, ArrayShape))
    axis = next(iter(counted[0].integers("iota_dimension")), 0)
    is_plain = product.integers(f"{side}_contracting_dims") == (axis,) and whole == given == places
    return places[axis] == summed and (is_plain or whole.count(summed) == 1)


_INTENDED: Final = ("rematted_computation", "checkpoint", "remat")


def find_computed_twice(evidence: finding.Evidence) -> Iterator[finding.Finding]:
    """Find products that are made again from the same values, or in every round of a loop.

    Not what rematerialization makes again to save memory.
    """
    named = {one.full_name: one for one in evidence.costs.products}
    again = []
    for row in evidence.find_recomputed():
        outers = [named[name] for name in row.members if name in named]
        inner = [one for each in outers for one in finding.list_inside(each)]
        products = [one for one in inner if one.opcode == row.opcode]
        told = " ".join(f"{one.full_name} {one.metadata().op_name}" for one in (*outers, *inner))
        if row.opcode in MATRIX_PRODUCTS and products and not any(x in told for x in _INTENDED):
            wasted = row.known_repeated_per_step
            again.append(Product(products[0], outers[-1], wasted, wasted))
    yield from _find_wasted(evidence, "computed-twice", again, "the operands of another product")
    rounds = Rounds(evidence.flow, evidence.loops)
    same = []
    for product in list_products(evidence):
        loop = evidence.loops.get(product.outer.computation)
        count = rounds.count_alike(list(product.one.operands[:2]), loop) if loop else 1
        if count > 1:
            same.append(product._replace(wasted=product.flops - product.flops // count))
    yield from _find_wasted(
        evidence, "computed-twice", same, "the same values in each iteration of a loop"
    )


_HALF: Final = frozenset(("bf16", "f16"))


def find_converted_products(evidence: finding.Evidence) -> Iterator[finding.Finding]:
    """Find products in f32 of what was converted from 16 bits, where that takes longer.

    On GPU they go at another peak; anywhere the converted arrays may cross memory.
    """
    chip, costs = evidence.pricing.chip, evidence.costs
    found: list[tuple[float, int, Instruction]] = []
    for product in list_products(evidence):
        name = find_product_type(product.one) or ""
        if not name.startswith("f32"):
            continue
        if not all(_is_half(evidence, one) for one in product.one.operands[:2]):
            continue
        runs = evidence.executions.lower_bound(product.outer.computation)
        moving = costs.of(product.outer).traffic_bytes * runs / chip.hbm_bytes_per_second
        peak = find_peak(name, chip) if evidence.pricing.is_rated else None
        best, now = (
            max(product.flops / one, moving)
            for one in (chip.flops_per_second, peak or chip.flops_per_second)
        )
        users = [use.instruction for use in evidence.flow.uses(product.one)]
        # What is narrowed again XLA for CPU widens by itself, however it is written.
        is_narrowed = all(one is not None and one.opcode == "convert" for one in users)
        wide = [
            one
            for one in set(product.outer.operands)
            if one.opcode in {"convert", "fusion"} and not is_narrowed and _is_half(evidence, one)
        ]
        size = runs * sum(
            costs.of(one).traffic_bytes + costs.size_bytes(one.shape) // 2 for one in wide
        )
        saved = max(now - best, 0.0) + size / chip.hbm_bytes_per_second
        if saved * chip.hbm_bytes_per_second >= evidence.least_traffic_bytes:
            found.append((saved, size, product.outer))
    if found:
        found.sort(key=lambda one: (-one[0], one[2].full_name))
        times, sizes, members = zip(*found, strict=True)
        names = finding.name_all([one.full_name for one in members])
        verb = plural(len(members), "multiplies", "multiply")
        message = f"{names} {verb}, in f32, operands that were converted from 16 bits."
        # On CPU the figure was three times what came of it: more is widened there, however written.
        is_cpu = find_backend(evidence.module) == "cpu"
        total, seconds = None if is_cpu else sum(sizes) or None, sum(times)
        yield from find_about(
            evidence, "converted-product", members, message, total, seconds=seconds
        )


def _is_half(evidence: finding.Evidence, one: Instruction) -> bool:
    """Whether an f32 array is only converted from one of 16 bits."""
    made = evidence.flow.source(one)
    part = made.inner.shape if made.inner is not made.instruction else None
    shapes = one.shape, part or find_part(made.instruction.shape, made.index)
    return all(
        isinstance(shape, ArrayShape) and shape.dtype in types
        for shape, types in zip(shapes, ({"f32"}, _HALF), strict=True)
    )


def find_baked_constants(evidence: finding.Evidence) -> Iterator[finding.Finding]:
    """Find constants of 1 MiB: one finding for all; a warning from half of the peak on."""
    found = [
        (size, one)
        for _, one in evidence.executed["constant"]
        if (size := evidence.costs.size_bytes(one.shape)) >= finding.LEAST_BYTES
    ]
    if found:
        found.sort(key=lambda one: (-one[0], one[1].full_name))
        sizes, members = zip(*found, strict=True)
        peak = evidence.memory.figures.totals.peak_bytes if evidence.memory else None
        part = f", {finding.percent(sum(sizes), peak)} of the peak" if peak else ""
        are = plural(len(found), "is a constant", "are constants")
        message = (
            f"{finding.name_all([one.full_name for one in members])} {are} constants of the "
            f"program{part}: each program that has them keeps its own copy."
        )
        size, is_most = sum(sizes), bool(peak) and 2 * sum(sizes) >= (peak or 0)
        severity: finding.Severity = "warning" if is_most else "info"
        yield from find_about(evidence, "baked-constant", members, message, size, severity=severity)


def find_update_copies(evidence: finding.Evidence) -> Iterator[finding.Finding]:
    """Find arrays that are copied whole so that a slice of them can be written."""
    for update, copies in evidence.update_copies:
        runs = evidence.executions.lower_bound(update.computation)
        size = sum(evidence.costs.of(one).traffic_bytes for one in copies) * runs
        if size >= evidence.least_traffic_bytes:
            names = finding.name_all([one.full_name for one in copies])
            message = (
                f"{names} {plural(len(copies), 'copies', 'copy')} a whole array because "
                f"{update.full_name} writes a part of it and the old array is still used."
            )
            yield from find_about(evidence, "update-copies", copies, message, size)


_FEW: Final = 8  # the part of a row of which top_k is tried


def find_sorted_slices(evidence: finding.Evidence) -> Iterator[finding.Finding]:
    """Find sorts of which only the first or the last few are used."""
    for outer, one in evidence.executed["sort"]:
        kept = _find_kept(evidence, one)
        leaves = [each for each in one.shape.leaves() if kept and not each.memory_space]
        runs = evidence.executions.lower_bound(outer.computation)
        saved = runs * sum(map(evidence.costs.size_bytes, leaves))
        if saved >= evidence.least_traffic_bytes:
            message = (
                f"{outer.full_name} sorts rows, but the program uses only {kept:,} at one end."
            )
            yield from find_about(evidence, "sort-then-slice", [outer], message, saved)


def _find_kept(evidence: finding.Evidence, sort: Instruction) -> int | None:
    """Return how many at one end of a sorted row are used, None if not only these."""
    axis = next(iter(sort.integers("dimensions")), 0)
    kept = None
    for index, shape in sort.shape.leaves_with_index():
        for use in evidence.flow.uses(sort, index):
            one = use.instruction
            if one is None or one.opcode != "slice" or not isinstance(one.shape, ArrayShape):
                return None
            whole, kept = shape.dims[axis], one.shape.dims[axis]
            begin = one.slice_dimensions()[axis].start
            is_whole = one.operands[0].shape.without_layout() == shape.without_layout()
            if not is_whole or kept * _FEW > whole or begin not in {0, whole - kept}:
                return None
    return kept


def find_nondeterminism(evidence: finding.Evidence) -> Iterator[finding.Finding]:
    """Find what may give other bits in another run of one program: a note."""
    is_gpu = find_backend(evidence.module) == "gpu"
    executed = (*evidence.executed["rng"], *evidence.executed["scatter"])
    chances = ((outer, _find_chance(evidence, one, is_gpu=is_gpu)) for outer, one in executed)
    found = {outer: why for outer, why in chances if why}
    if found and evidence.module.header.is_scheduled:
        members = list(found)
        names = finding.name_all([one.full_name for one in members])
        message = f"{names} may give different bits in each run: {found[members[0]]}."
        yield from find_about(evidence, "nondeterministic", members, message, severity="info")


def _find_chance(evidence: finding.Evidence, one: Instruction, *, is_gpu: bool) -> str:
    """Say why an instruction may give other bits in another run, '' where it does not.

    Indices of which one counts, as that of the row of a label does, do not collide.
    """
    if one.opcode == "rng":
        return "its random numbers have no key"
    reducer = one.callee() if is_gpu and one.opcode == "scatter" else None
    is_float = isinstance(one.shape, ArrayShape) and one.shape.dtype.startswith(("bf", "f"))
    if (
        reducer is None
        or not is_float
        or one.attributes.get("unique_indices") == "true"
        or reducer.root.opcode in {"maximum", "minimum"}
    ):
        return ""
    indices = evidence.flow.source(one.operands[len(one.operands) // 2]).inner
    columns = indices.operands if indices.opcode == "concatenate" else ()
    if any(evidence.flow.source(each, (), _SPREAD).inner.opcode == "iota" for each in columns):
        return ""
    return "threads write or add colliding indices in any order"
