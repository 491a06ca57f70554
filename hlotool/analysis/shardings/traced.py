"""How values lie that are made of the program's arguments by nothing but moves.

The way goes back through views, copies, conversions, transposes, slices, fusions and loops, as
long as each dimension can be followed:

    %w = parameter(0), sharding={devices=[1,4,2]<=[8] last_tile_dim_replicate}     P(None, 'data')
    %s = dynamic-slice(%w, %i, 0), of f32[12,64] the part f32[1,64]
    %b = bitcast(%s), f32[64]                                                      P('data')

A dimension that is cut, or left out, must not be sharded; and all devices must cut alike, so what
an offset is made of must not say which device it is. Of what a loop hands on the spec is that of
what it began with: a part of its state has one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.dataflow.flow import MOST_STEPS, Flow
from hlotool.analysis.dataflow.values import Position
from hlotool.analysis.shardings.report import ArrayRow, ShardingReport
from hlotool.hlo import ArrayShape, Instruction, Module, ShapeIndex, opcodes
from hlotool.hlo.sharding import Spec

_SAME_DIMS: Final = opcodes.ASYNC_DONES | {"convert", "copy", "copy-start", "domain", "opt-barrier"}
_MOVING: Final = opcodes.MOVES - {"copy"} | {"bitcast", "dynamic-slice", "slice"}
_UNLIKE: Final = (
    opcodes.COLLECTIVES | opcodes.CONTROL_FLOW | opcodes.DEVICE_NUMBERS | opcodes.EFFECTS
)  # may differ by device
_Each = TypeVar("_Each")
_Dims: TypeAlias = Mapping[int, int]  # of a value, and what they are of its operand


class Traced(Struct, frozen=True):
    """The argument whose elements a value holds, and how they lie; None where nothing tells.

    A round of a loop makes others of the same spec: then `argument` is None.
    """

    argument: ArrayRow | None
    spec: Spec | None


class Tracer:
    """Traces values of one module back to the arrays that its entry is given."""

    def __init__(self, module: Module, flow: Flow, arrays: ShardingReport) -> None:
        self._entry = module.entry
        self._flow = flow
        given = module.entry.parameter_arrays()
        places = ((one.parameter_number, index) for one, index, _ in given)
        self._rows = dict(zip(places, arrays.parameters, strict=True))
        self._specs = arrays.specs

    def find(self, value: Instruction) -> Traced | None:
        """Return what a value is made of, None where that is no argument."""
        if not isinstance(value.shape, ArrayShape):
            return None
        rank = len(value.shape.dims)
        one: Instruction = value
        index: ShapeIndex = ()
        kept: _Dims | None = {at: at for at in range(rank)}
        whole = set[int]()  # dimensions that must not be sharded
        is_state = False
        for _ in range(MOST_STEPS):
            one, index = self._find_source(one, index)
            if one.opcode == "parameter" and one.computation is self._entry:
                place = one.parameter_number, index
                spec = self._specs.get(place)
                spec = None if kept is None or not spec else _choose_dims(spec, rank, kept, whole)
                return Traced(None if is_state else self._rows.get(place), spec)
            if loop := self._find_loop(one, index):
                behind = self._flow.source(loop.expect_callee("body").root, index).inner
                if behind.opcode.startswith("collective-permute"):
                    return None  # devices hand parts round: no spec says who has which
                one, is_state = loop.operands[0], True
                continue
            if index or not one.operands or one.opcode not in _SAME_DIMS | _MOVING:
                return None
            if one.opcode in _MOVING and kept is not None:
                dims, cut = self._match(one) or (None, set())
                whole = {dims[at] for at in whole if at in dims} | cut if dims is not None else cut
                kept = None if dims is None else {a: dims[b] for a, b in kept.items() if b in dims}
            one = one.operands[0]
        return None

    def _match(self, one: Instruction) -> tuple[_Dims, set[int]] | None:
        """Return which dimensions of its operand those of a value are, and which it cuts or lacks.

        None where that cannot be followed. A dimension of 1 need not be one of the operand.
        """
        before, after = one.operands[0].shape, one.shape
        if not isinstance(before, ArrayShape) or not isinstance(after, ArrayShape):
            return None
        dims: _Dims = {at: at for at in range(len(after.dims))}
        if one.opcode == "transpose":
            dims = dict(enumerate(one.integers("dimensions")))
        elif one.opcode in {"bitcast", "reshape"}:
            is_bits = one.opcode == "bitcast"
            pair = [_list_long(shape, in_memory=is_bits) for shape in (after, before)]
            if [after.dims[at] for at in pair[0]] != [before.dims[at] for at in pair[1]]:
                return None
            dims = dict(zip(*pair, strict=True))
        elif one.opcode == "dynamic-slice" and not self._is_alike(one.operands[1:]):
            return None
        if any(at >= len(after.dims) or to >= len(before.dims) for at, to in dims.items()):
            return None
        cut = {to for at, to in dims.items() if after.dims[at] != before.dims[to]}
        return dims, cut | (set(range(len(before.dims))) - set(dims.values()))

    def _is_alike(self, offsets: Sequence[Instruction]) -> bool:
        """Whether values are the same on all devices: nothing that they are made of may differ."""
        pending: list[Position] = [(one, ()) for one in offsets]
        met = set(pending)
        while pending and len(met) < MOST_STEPS:
            one, index = self._find_source(*pending.pop())
            below: list[Position] = [(operand, ()) for operand in one.operands]
            if loop := self._find_loop(one, index):
                below = [(loop.operands[0], index), (loop.expect_callee("body").root, index)]
            elif one.opcode == "parameter":
                leaf = dict(one.shape.leaves_with_index()).get(index)
                if one.computation is not self._entry or leaf is None or leaf.dims:
                    return False  # scalars alone are never sharded
            elif one.opcode in _UNLIKE:
                return False
            pending += [each for each in below if each not in met]
            met.update(below)
        return not pending

    def _find_source(self, one: Instruction, index: ShapeIndex) -> Position:
        """Go back through what only hands a value on, as it is."""
        made = self._flow.source(one, index, ())
        return made.inner, made.index if made.inner is made.instruction else ()

    def _find_loop(self, one: Instruction, index: ShapeIndex) -> Instruction | None:
        """Return the loop of whose state a value is a part, None of other values."""
        loop: Instruction | None = one
        if one.opcode == "parameter" and one.computation is not self._entry:
            loop = self._flow.caller(one.computation)
        return loop if loop and loop.opcode == "while" and loop.operands and index else None


def _list_long(shape: ArrayShape, *, in_memory: bool) -> list[int]:
    """Return the dimensions that are longer than 1, in the order of the shape or of memory."""
    order: Sequence[int] = range(len(shape.dims))
    if in_memory and shape.layout and shape.layout.minor_to_major:
        order = shape.layout.minor_to_major[::-1]
    return [at for at in order if shape.dims[at] != 1]


def _choose_dims(spec: Spec, rank: int, kept: _Dims, whole: Collection[int]) -> Spec | None:
    """Return the spec of a value from that of what it is made of, whose dimensions it has."""
    if any(spec.parts[at] > 1 for at in whole):
        return None

    def choose(of: Sequence[_Each] | None, unsharded: _Each) -> tuple[_Each, ...] | None:
        if of is None:
            return None
        return tuple(of[kept[at]] if at in kept else unsharded for at in range(rank))

    return replace(
        spec, parts=choose(spec.parts, 1), dims=choose(spec.dims, ()), axes=choose(spec.axes, ())
    )
