"""Bytes that a fusion moves: as XLA counts them, and those that it really touches.

`measure_fusion_traffic` follows `FusionParameterReadBytes`, `FusionProcessOutputBytesAccessed` and
`FusionCountConstantsMemoryAccess` of xla/service/hlo_cost_analysis.cc (0.10.2). XLA follows a slice
only where it reads a parameter directly, and an update in place only at the root itself.
`measure_touched` finds both behind bitcasts, copies of layout, tuples, elementwise operations and
nested fusions as well.

Bodies are shared by many fusions, and fusions nest: what is found of a body is kept in `Sizes`,
and no limit below is reached by what a compiler makes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, TypeAlias

from msgspec import Struct

from hlotool.analysis.cost.cost import Sizes, TouchedBody, UnknownCostError, count_elements
from hlotool.analysis.dataflow.sharing import follow
from hlotool.hlo import ArrayShape, Computation, Instruction, Shape, TupleShape
from hlotool.hlo.opcodes import ELEMENTWISE, MOVES, SLICES, UPDATES_IN_PLACE
from hlotool.hlo.shape import find_part
from hlotool.hlo.values import ShapeIndex

_TOO_DEEP: Final = "fusions are nested too deeply"
_IMMEDIATE_ELEMENTS: Final = 1  # a fused constant of more elements is read from memory
_UPDATE: Final = "dynamic-update-slice"
_SPREADS: Final = frozenset(("broadcast", "reshape"))  # read all of their operand, apart
_MOST_NESTED: Final = 64  # fusions within fusions; XLA makes two levels

# An example: a fusion that adds to one row of a matrix, in place.
#
#     p = f32[8,512] parameter(0)                   2,048 B: dynamic-slice reads one row, and
#     i = s32[] parameter(1)                            4 B   dynamic-update-slice none
#     q = f32[512] parameter(2)                     2,048 B: both of its users share a reading
#     row = f32[1,512] dynamic-slice(p, i, zero)
#     flat = f32[512] reshape(row)
#     sum = f32[512] add(flat, q)
#     twice = f32[512] multiply(sum, q)
#     new = f32[1,512] reshape(twice)
#     ROOT r = f32[8,512] dynamic-update-slice(p, new, i, zero)   2,048 B: the update is written
#
# Together 6,148 B; its operands and its result are 34,820 B in full.

TouchedBytes: TypeAlias = tuple[ArrayShape, int]  # an array, and how many bytes of it are touched
Touched: TypeAlias = tuple[Instruction, int]  # an instruction of a body, and the bytes it accesses


class FusionTraffic(Struct, frozen=True):
    """What a fusion reads of its parameters and constants, and writes of its results."""

    operands: tuple[Touched, ...]
    constants: tuple[Touched, ...]
    results: tuple[Touched, ...]


def measure_fusion_traffic(instruction: Instruction, sizes: Sizes) -> FusionTraffic:
    """Measure a fusion: a parameter only sliced is read by its slices, one updated in place not.

    A result made by dynamic-update-slice is written by its update. Raises UnknownCostError
    where a size is unknown.
    """
    body = expect_body(instruction)
    _read_parameters(body, sizes)
    return FusionTraffic(
        tuple((one, _measure_parameter(one, sizes)) for one in body.parameters),
        tuple(
            (one, sizes.content_bytes(one.shape))
            for one in body.instructions
            if one.opcode == "constant"
            and not one.shape.is_tuple
            and count_elements(one.shape) > _IMMEDIATE_ELEMENTS
        ),
        _measure_results(instruction, body.root, sizes),
    )


def expect_body(fusion: Instruction) -> Computation:
    """Return the computation of a fusion; raises UnknownCostError where there is none."""
    if (body := fusion.callee()) is None:
        raise UnknownCostError("fusion has no computation")
    return body


def _measure_results(fusion: Instruction, root: Instruction, sizes: Sizes) -> tuple[Touched, ...]:
    """Measure what is written of each result: of one made in place, the update."""
    shape, made = fusion.shape, root.operands
    parts: Iterable[tuple[Shape, Instruction]] = [(shape, root)]
    if (
        isinstance(shape, TupleShape)
        and root.opcode == "tuple"
        and len(made) == len(shape.elements)
    ):
        parts = zip(shape.elements, made, strict=True)
    return tuple(
        (one, sizes.content_bytes(one.operands[1].shape if one.opcode == _UPDATE else part))
        for part, one in parts
    )


def _measure_parameter(parameter: Instruction, sizes: Sizes) -> int:
    """Measure a parameter; of a tuple, the elements that are taken out of it.

    Follows get-tuple-elements as far as they lead, and measures what is read of the last.
    """
    total = 0
    for index, _ in parameter.shape.leaves_with_index():
        found = parameter
        for number in index:
            if found not in sizes.elements:  # the first instruction that takes out each element
                taken = [one for one in found.users if one.opcode == "get-tuple-element"]
                sizes.elements[found] = {one.tuple_index: one for one in reversed(taken)}
            found = sizes.elements[found].get(number, found)
        if found not in sizes.reads:
            sizes.reads |= _add_reads([found], found.users, sizes)
        total += sizes.reads[found]
    return total


def _read_parameters(body: Computation, sizes: Sizes, depth: int = 0) -> None:
    """Find out, in one pass, what a body reads of each parameter, a tuple's table for a tuple."""
    if body.parameters and body.parameters[0] not in sizes.reads:
        sizes.reads |= _add_reads(body.parameters, body.instructions, sizes, depth)


def _add_reads(
    sources: Iterable[Instruction], users: Iterable[Instruction], sizes: Sizes, depth: int = 0
) -> dict[Instruction, int]:
    """Add up the bytes that users read of some fused values.

    Slices, fusions, broadcasts and reshapes read for themselves, all others share one reading.
    """
    if depth > _MOST_NESTED:
        raise UnknownCostError(_TOO_DEEP)
    whole = {one: sizes.pointer_bytes(one.shape) for one in sources}
    reads = dict.fromkeys(whole, 0)
    sharing: set[Instruction] = set()
    for user in users:
        for source in dict.fromkeys(user.operands):
            if source not in whole:
                continue
            size: int | None = None
            if user.opcode in SLICES:
                size = _measure_slice(source, user, sizes)
            elif user.opcode == "fusion":
                size = _measure_nested(source, user, sizes, depth + 1)
            elif user.opcode in _SPREADS:
                size = whole[source]
            if size is None:
                sharing.add(source)
            else:
                reads[source] += size
    for source in sharing:
        reads[source] += whole[source]
    return reads


def _measure_nested(source: Instruction, fusion: Instruction, sizes: Sizes, depth: int) -> int:
    """Return what a fusion inside the fusion reads, by what is made of its result.

    Where it only passes the parameter on to its root, a slice of the result is a slice
    of the parameter.
    """
    body = expect_body(fusion)
    _read_parameters(body, sizes, depth)
    passed = body.root.operands
    size = 0
    for number, operand in enumerate(fusion.operands):
        if operand is not source:
            continue
        parameter = body.parameters[number]
        is_simple = not passed or passed[0] is parameter
        is_read = False
        for user in fusion.users:
            is_slice = is_simple and user.opcode in SLICES
            sliced = _measure_slice(fusion, user, sizes) if is_slice else None
            if sliced is not None:
                size += sliced
            elif not is_read:  # the users that are no slices share one reading
                is_read = True
                size += sizes.reads[parameter]
    return size


def _measure_slice(source: Instruction, user: Instruction, sizes: Sizes) -> int | None:
    """Return what a slice reads of its operand, 0 for an update in place, None for all else."""
    if user.opcode == "slice":
        return sizes.content_bytes(user.shape)
    if user.operands[0] is source:
        return sizes.content_bytes(user.shape) if user.opcode == "dynamic-slice" else 0
    return None


_MOST_READINGS: Final = 16  # of one nested body, for different parts of its result
_VIEWS: Final = MOVES | {"bitcast", "get-tuple-element"}  # a slice of it is a slice of its operand
_BITCASTS: Final = frozenset(("bitcast",))  # another name for what lies in memory
_READS_PART: Final = (SLICES | {"gather"}) - UPDATES_IN_PLACE


# An example: one layer's activation is written into the stack of all layers, in place.
#
#     stack = bf16[24,1,512] parameter(0)          0 B: what it held is not looked at
#     new = bf16[512] parameter(1)             1,024 B
#     layer = s32[] parameter(2)                   4 B
#     flat = bf16[24,512] bitcast(stack)
#     row = bf16[1,512] bitcast(new)
#     all = bf16[24,512] dynamic-update-slice(flat, row, layer, zero)
#     ROOT r = bf16[24,1,512] bitcast(all)     1,024 B: the update is written
#
# Together 2,052 B. XLA's cost analysis sees a bitcast at the root and counts the stack twice.


def measure_touched(fusion: Instruction, body: Computation, sizes: Sizes) -> list[TouchedBytes]:
    """Return what a fusion reads of its operands and constants, and writes of its results.

    Of an operand only sliced (slice, dynamic-slice, gather), the slices are read, together at most
    the operand, through however many parameters. Of one updated in place (dynamic-update-slice,
    scatter), nothing is read but what the update itself reads, and of the result the update is
    written; the update is in place where the operand's array has the result's shape and layout, or
    only bitcasts stand between. Constants of more than one element lie in memory. Raises
    UnknownCostError where a size is unknown.
    """
    inside = _touch_body(body, None, sizes)
    found: list[TouchedBytes] = []
    read: dict[Instruction, int] = {}
    for parameter, touched in zip(body.parameters, inside.read, strict=True):
        operand = sizes.find_first(fusion.operands[parameter.parameter_number])
        read[operand] = read.get(operand, 0) + touched
    for operand, touched in read.items():
        # Each array of a tuple has its share of what is read of the tuple.
        whole = sizes.content_bytes(operand.shape)
        part = min(touched, whole)
        found += [
            (leaf, part * sizes.content_bytes(leaf) // whole if whole else 0)
            for leaf in operand.shape.leaves()
        ]
    found += inside.constants
    found += zip(fusion.shape.leaves(), inside.written, strict=False)
    return found


def _touch_body(
    body: Computation, read_outside: int | None, sizes: Sizes, depth: int = 0
) -> TouchedBody:
    """Return what a body touches, where so much is read of its result; worked out once."""
    known = sizes.touched.setdefault(body, {})
    if read_outside not in known:
        if len(known) > _MOST_READINGS:
            raise UnknownCostError("too many fusions share one body")
        reads = _TouchedReads(body, sizes, read_outside, depth)
        known[read_outside] = TouchedBody(
            tuple(reads.of[one] for one in body.parameters),
            tuple(reads.written),
            tuple(
                (leaf, sizes.content_bytes(leaf))
                for one in body.instructions
                if one.opcode == "constant"
                for leaf in one.shape.leaves()
                if count_elements(leaf) > _IMMEDIATE_ELEMENTS
            ),
        )
    return known[read_outside]


class _TouchedReads:
    """How many bytes are read of each value of a body, found from the last one to the first.

    `written` has the bytes written of each array of its result. `read_outside` is what is read
    of that result where the fusion stands in another.
    """

    def __init__(
        self, body: Computation, sizes: Sizes, read_outside: int | None, depth: int
    ) -> None:
        if depth > _MOST_NESTED:
            raise UnknownCostError(_TOO_DEEP)
        self._sizes = sizes
        self._depth = depth
        self.of: dict[Instruction, int] = {}
        self._nested: dict[Instruction, dict[Instruction, int]] = {}  # by operand
        self.written: list[int] = []
        self._so_far: dict[Instruction, int | None] = {}  # by users; None for the whole
        for index, shape in body.root.shape.leaves_with_index():
            made, _ = follow(body.root, index, _VIEWS)
            whole = sizes.content_bytes(shape)
            if made.opcode in UPDATES_IN_PLACE and _is_in_place(body.root, index, shape):
                self.written.append(min(whole, updated_bytes(made, sizes)))
            else:
                self.written.append(whole)
                self._so_far[made] = read_outside
        so_far = self._so_far
        for user in reversed(body.instructions):
            whole = sizes.content_bytes(user.shape)
            read = so_far.get(user, 0)
            self.of[user] = read = whole if read is None else min(read, whole)
            operands = user.operands
            if read == whole > 0 and user.opcode in ELEMENTWISE:
                so_far |= dict.fromkeys(operands)
                continue
            for value in operands if len(operands) == 1 else dict.fromkeys(operands):
                if (before := so_far.get(value, 0)) is not None:
                    more = self._read_by(value, user, whole)
                    so_far[value] = None if more is None else before + more

    def _read_by(self, value: Instruction, user: Instruction, made: int) -> int | None:
        """Return what a user, which makes so many bytes, reads of one value; None for the whole."""
        opcode, read = user.opcode, self.of[user]
        if opcode in _VIEWS:
            return read
        if opcode in ELEMENTWISE:
            return self._sizes.content_bytes(value.shape) * read // made if made else 0
        if opcode == "tuple":
            return None if user in self._so_far else 0  # the root's elements are results
        if opcode == "fusion":
            return self._inside(user, read).get(value, 0)
        if list(user.places_of(value)) != [0]:
            return None
        if opcode in _READS_PART:
            return read
        if opcode in UPDATES_IN_PLACE:
            return read + (updated_bytes(user, self._sizes) if opcode == "scatter" else 0)
        return None

    def _inside(self, fusion: Instruction, read: int) -> dict[Instruction, int]:
        """Return what a fusion inside the fusion reads of each of its operands."""
        if (found := self._nested.get(fusion)) is None:
            found = self._nested[fusion] = {}
            body = expect_body(fusion)
            inside = _touch_body(body, read, self._sizes, self._depth + 1).read
            for parameter, touched in zip(body.parameters, inside, strict=True):
                operand = fusion.operands[parameter.parameter_number]
                found[operand] = found.get(operand, 0) + touched
        return found


def _is_in_place(root: Instruction, index: ShapeIndex, shape: ArrayShape) -> bool:
    """Whether a result is an operand's array with something written into it.

    It is where they differ in no more than what they are called, a bitcast, and where copies
    of layout lead there and back.
    """
    if _find_updated(root, index, _BITCASTS):
        return True
    if (found := _find_updated(root, index, _VIEWS)) is None:
        return False
    source, at = found
    return find_part(source.shape, at) == shape


def _find_updated(
    root: Instruction, index: ShapeIndex, views: Collection[str]
) -> tuple[Instruction, ShapeIndex] | None:
    """Return the parameter, and its array, that an update behind views makes a result of."""
    made, at = follow(root, index, views)
    if at or made.opcode not in UPDATES_IN_PLACE or not made.operands:
        return None
    source, at = follow(made.operands[0], (), views)
    return (source, at) if source.opcode == "parameter" else None


def updated_bytes(update: Instruction, sizes: Sizes) -> int:
    """Return the bytes that an update in place writes into its first operand."""
    operands = update.operands
    if update.opcode == _UPDATE:
        return sizes.content_bytes(operands[1].shape)
    if update.opcode == "scatter":
        return sum(sizes.content_bytes(one.shape) for one in operands[len(operands) // 2 + 1 :])
    return 0
