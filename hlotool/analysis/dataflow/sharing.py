"""Sharing: which output of an instruction must, or may, lie in the memory of which operand.

`must_share` follows AliasInfo::GetInPlaceInputOutputPairs (xla/hlo/analysis/alias_info.cc):
the pairs every backend keeps to. LiveRanges are made of them.

`SharingRule` is sharing by choice: whether an output may be written over an operand needed no more.
It follows HloDataflowAnalysis::CanShareOperandBufferWithUser and, for GPU, GpuAliasInfo
(xla/hlo/analysis/hlo_dataflow_analysis.cc, xla/service/gpu/alias_info.cc). The CPU compiler has
no rules of its own (xla/service/cpu/cpu_compiler.cc takes AliasInfo as it is), not for the
fusions of libraries either. The TPU compiler keeps its own, which are in no open source;
nothing is assumed there. Only the estimate asks; where an assignment is at hand, offsets tell.

`trace_sources` says which values an output was before it was moved and updated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final, Generic, TypeVar

from hlotool.analysis.dataflow.values import Position, Value, find_given
from hlotool.analysis.graph.backend import Backend
from hlotool.analysis.graph.calls import reach
from hlotool.hlo import Alias, ArrayShape, Computation, Instruction, ShapeIndex, TupleShape
from hlotool.hlo.opcodes import ELEMENTWISE, MATRIX_PRODUCTS, UPDATES_IN_PLACE, VIEWS

MOST_STEPS: Final = 64  # bitcasts and tuples followed inside one fusion
_SAME_BYTES: Final = frozenset(("bitcast",))  # another name for what lies in memory
_ANNOTATED: Final = frozenset(("custom-call", "async-start", "async-update"))
_BY_OPCODE: Final = UPDATES_IN_PLACE | {
    "all-reduce-start",
    "collective-permute",
    "collective-permute-start",
    "ragged-all-to-all",
}
_SHARING: Final = _BY_OPCODE | _ANNOTATED
_FUSED: Final = _SHARING | VIEWS  # or lead to such a root


def must_share(instruction: Instruction) -> tuple[Alias, ...]:
    """Return the pairs of operand and output that are one buffer."""
    opcode = instruction.opcode
    if opcode == "fusion":
        return (*instruction.aliasing(), *_fused(instruction))
    if opcode in _ANNOTATED:
        return instruction.aliasing()
    return _by_opcode(instruction) if opcode in _BY_OPCODE else ()


def _by_opcode(instruction: Instruction) -> tuple[Alias, ...]:
    opcode, count = instruction.opcode, len(instruction.operands)
    if opcode in {"dynamic-update-slice", "set-dimension-size"} and count:
        return (Alias((), 0, ()),)
    if opcode == "scatter":
        return _one_to_one((count - 1) // 2)
    if opcode == "all-reduce-start":
        is_nvshmem = "nvshmem" in instruction.attributes.get("backend_config", "").lower()
        return () if is_nvshmem else _one_to_one(count)
    if opcode == "ragged-all-to-all" and count > 1:
        return (Alias((), 1, ()),)
    if opcode in {"collective-permute", "collective-permute-start"} and (
        count == 4 and "slice_sizes" in instruction.attributes  # noqa: PLR2004
    ):
        output = () if opcode == "collective-permute" else (1,)
        shape = instruction.operands[1].shape
        nested = range(len(shape.elements)) if isinstance(shape, TupleShape) else range(0)
        return (
            Alias(output, 1, ()),
            *(Alias((*output, number), 1, (number,)) for number in nested),
        )
    return ()


def _one_to_one(count: int) -> tuple[Alias, ...]:
    """Operand i with output i; one operand with the whole output."""
    if count == 1:
        return (Alias((), 0, ()),)
    return tuple(Alias((number,), number, ()) for number in range(count))


def _fused(fusion: Instruction) -> tuple[Alias, ...]:
    """Pairs found inside a fusion: an in-place root whose operand is a parameter."""
    if (body := fusion.callee()) is None or body.root.opcode not in _FUSED:
        return ()
    found: list[Alias] = []
    # XLA asks what makes each output inside; only tuples and bitcasts are looked through.
    for index, _ in fusion.shape.leaves_with_index():
        root, at = follow(body.root, index)
        for pair in must_share(root) if root.opcode in _SHARING else ():
            if pair.output_index == at and pair.number < len(root.operands):
                source, inner = follow(root.operands[pair.number], pair.index)
                if source.opcode == "parameter":
                    found.append(Alias(index, source.parameter_number, inner))
    return tuple(found)


def follow(
    instruction: Instruction, index: ShapeIndex, views: Collection[str] = _SAME_BYTES
) -> tuple[Instruction, ShapeIndex]:
    """Go back through tuples, get-tuple-elements and views to where a value is made."""
    for _ in range(MOST_STEPS):
        opcode, operands = instruction.opcode, instruction.operands
        if opcode == "tuple" and index and index[0] < len(operands):
            instruction, index = operands[index[0]], index[1:]
        elif opcode == "get-tuple-element" and operands:
            instruction, index = operands[0], (instruction.tuple_index, *index)
        elif opcode in views and operands:
            instruction = operands[0]
        else:
            break
    return instruction, index


MOST_FOLLOWED: Final = 10_000  # instructions behind one output of a GPU fusion
_MAY_SHARE: Final = (
    ELEMENTWISE
    | UPDATES_IN_PLACE
    | {"all-reduce", "collective-broadcast", "fusion", "sort", "triangular-solve"}
)


class SharingRule:
    """What a backend may write over what; it keeps what it found out about fusions."""

    def __init__(self, backend: Backend | None) -> None:
        self.backend = backend
        self._reordered: dict[Computation, set[Instruction]] = {}

    def concerns(self, opcode: str) -> bool:
        """Say whether outputs of an opcode may be written over operands at all."""
        return self.backend != "tpu" and opcode in _MAY_SHARE

    def allows(self, seen: Position, output: Value) -> bool:
        """Say whether a value may be written over another, seen at a position its producer uses."""
        (operand, index), user = seen, output.instruction
        if not self.concerns(user.opcode) or index:
            return False
        if not (places := user.places_of(operand)):
            return False
        before, after = operand.shape, output.shape
        if not isinstance(before, ArrayShape) or not isinstance(after, ArrayShape):
            return False
        if operand.opcode == "constant":
            return False  # its memory belongs to the program, and is read again by the next run
        if user.opcode != "fusion":
            return before == after and self._allows_other(user, places, output.index)
        is_alike = before == after
        if self.backend == "gpu" and not is_alike:
            is_same_count = before.element_count == after.element_count
            is_alike = is_same_count and before.unpadded_bytes == after.unpadded_bytes
        return is_alike and self._allows_fusion(user, places[0], output.index)

    def _allows_other(self, user: Instruction, places: Sequence[int], index: ShapeIndex) -> bool:
        """Say it of an instruction that is no fusion, for an operand as large as the output."""
        if user.opcode in ELEMENTWISE:
            return True
        if len(places) > 1:
            return False
        number = places[0]
        is_paired = len(user.operands) == 1 or index == (number,)
        if user.opcode in {"all-reduce", "collective-broadcast"}:
            return self.backend == "gpu" and is_paired
        if user.opcode == "sort":
            return is_paired
        return number == (1 if user.opcode == "triangular-solve" else 0)

    def _allows_fusion(self, fusion: Instruction, number: int, index: ShapeIndex) -> bool:
        if (body := fusion.callee()) is None or number >= len(body.parameters):
            return False
        is_gpu = self.backend == "gpu"
        parameter = body.parameters[number]
        kind = fusion.attributes.get("kind", "")
        if kind == "kOutput" and body.root.opcode == "add" and not is_gpu:
            # The CPU's rule: a bias is written over where its one use is the sum with a product.
            is_sum = any(one.opcode in MATRIX_PRODUCTS for one in body.root.operands)
            return is_sum and parameter.users == (body.root,)
        if (reordered := self._reordered.get(body)) is None:
            reordered = self._reordered[body] = _list_reordered(body, kind, is_gpu=is_gpu)
        if parameter in reordered:
            return False
        output = body.root
        for element in index:
            if output.opcode != "tuple" or element >= len(output.operands):
                break
            output = output.operands[element]
        return not is_gpu or _leads_to(parameter, output, kind)


def _list_reordered(body: Computation, kind: str, *, is_gpu: bool) -> set[Instruction]:
    """Return what a fusion, directly or not, goes over in another than its own order.

    On GPU, reductions do not count where the fusion is emitted as one, as such kernels reduce
    before they write anything else.
    """
    into_tuple = is_gpu or kind in {"kLoop", "kInput"}
    found: set[Instruction] = set()
    # Users stand behind their operands: backwards, all users of an instruction are known before it.
    for user in reversed(body.instructions):
        if is_gpu and kind == "kInput" and user.opcode == "reduce":
            continue
        is_tuple = into_tuple and user.opcode == "tuple"
        for operand in user.operands:
            if user in found or not (is_tuple or _keeps_order(user, operand, is_gpu=is_gpu)):
                found.add(operand)
    return found


def _keeps_order(user: Instruction, operand: Instruction, *, is_gpu: bool) -> bool:
    """Whether an element of the result is made of the operand's at the same place, if of any.

    Follows HloInstruction::IsElementwiseOnOperand (xla/hlo/ir/hlo_instruction.cc).
    """
    if user.opcode in ELEMENTWISE:
        return True
    if is_gpu:
        is_updated = user.opcode in UPDATES_IN_PLACE and user.operands[0] is operand
        return is_updated or user.opcode == "bitcast"
    if user.opcode == "dynamic-update-slice":
        return list(user.places_of(operand)) == [0]
    return user.opcode == "copy"


def _leads_to(parameter: Instruction, output: Instruction, kind: str) -> bool:
    """Whether an output of a GPU fusion is made of a parameter, by no reduction on the way."""
    seen = {output}
    pending = [output]
    while pending and len(seen) <= MOST_FOLLOWED:
        if (one := pending.pop()) is parameter:
            return True
        for operand in one.operands:
            if operand not in seen and not (kind == "kInput" and operand.opcode == "reduce"):
                seen.add(operand)
                pending.append(operand)
    return False


_UPDATING: Final = ELEMENTWISE | {"copy", "fusion"}


def trace_sources(root: Instruction, index: ShapeIndex) -> set[Instruction]:
    """Return the instructions whose values become what a root has at an index.

    Followed back are tuples, bitcasts, calls, loops and conditionals, updates in place, and, where
    shape and layout stay as they are, copies and what computes element by element, in fusions too.
    """
    callers: dict[Computation, Instruction] = {}
    start: Position = root, index
    met = reach([start], lambda position: _step_back(*position, callers))
    return {instruction for instruction, _ in met}


def _step_back(
    one: Instruction, index: ShapeIndex, callers: dict[Computation, Instruction]
) -> Iterator[Position]:
    """Yield where the value at an index of an instruction comes from; note whom it calls."""
    opcode, operands = one.opcode, one.operands
    if opcode == "parameter":
        caller = callers.get(one.computation)
        if caller is not None and caller.opcode == "while":  # what a round hands to the next
            yield one.computation.root, index
        if caller is not None and (given := find_given(one, caller)):
            yield given, index
    elif opcode in {"call", "conditional", "while"}:
        bodies = one.callees("body") if opcode == "while" else one.called_computations()
        for body in bodies:
            callers[body] = one
            yield body.root, index
        if opcode == "while" and operands:
            yield operands[0], index
    elif operands:
        yield from _enter_operands(one, index)


def _enter_operands(one: Instruction, index: ShapeIndex) -> Iterator[Position]:
    """Yield which operands, and where in them, become the value at an index."""
    opcode, operands = one.opcode, one.operands
    if opcode == "tuple":
        if index and index[0] < len(operands):
            yield operands[index[0]], index[1:]
    elif opcode == "get-tuple-element":
        yield operands[0], (one.tuple_index, *index)
    elif opcode in {"add-dependency", "bitcast", "domain", "opt-barrier"}:
        yield operands[0], index
    elif opcode == "copy-done":
        start = operands[0]
        yield start, ()
        yield from ((source, ()) for source in start.operands if source.shape == one.shape)
    else:
        for pair in must_share(one):
            if pair.output_index == index and pair.number < len(operands):
                yield operands[pair.number], pair.index
        if opcode in _UPDATING:
            made = dict(one.shape.leaves_with_index()).get(index)
            yield from ((operand, ()) for operand in operands if operand.shape == made)


T = TypeVar("T")


class Groups(Generic[T]):
    """Things joined in groups of two and more, the smaller into the larger."""

    def __init__(self) -> None:
        self.group_of: dict[T, list[T]] = {}

    def join(self, one: T, other: T) -> None:
        """Say that two things are one."""
        if one is other:
            return
        first = self.group_of.setdefault(one, [one])
        second = self.group_of.setdefault(other, [other])
        if first is second:
            return
        small, large = sorted((first, second), key=len)
        large += small
        self.group_of |= dict.fromkeys(small, large)

    def all(self) -> list[list[T]]:
        """Return the groups, each once."""
        return list({id(group): group for group in self.group_of.values()}.values())
