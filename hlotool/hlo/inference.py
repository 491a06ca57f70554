"""The shapes of instructions whose text states none, by a rule for each opcode.

Texts written by hand leave shapes out, and XLA's parser infers them. The results are those of
ShapeInference (xla/service/shape_inference.cc), as the parser calls it. The opcodes are those of
CanInferShape (xla/hlo/parser/hlo_parser.cc), and two whose result is as plain: XLA's parser reads
no fusion and no opt-barrier without its shape.

A rule stands behind the opcodes it is for. It asks the operands by `_shape_of` and its kin, and
says no by `_fail`. It checks what the shape depends on and leaves the rest to XLA.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NoReturn, TypeAlias, TypeVar

from msgspec.structs import replace

from hlotool.errors import ParseError
from hlotool.hlo.module import Instruction
from hlotool.hlo.scanner import MOST_NESTED
from hlotool.hlo.shape import UNBOUNDED, ArrayShape, Layout, Shape, TupleShape
from hlotool.hlo.shape_parser import is_countable
from hlotool.hlo.values import DotDimensions
from hlotool.table.words import count_noun

MOST_PARTS: Final = 1 << 20  # tuples, arrays and dimensions; what people write has thousands

_Dimension: TypeAlias = tuple[int, bool]  # its size or bound, and whether it is dynamic
_Rule: TypeAlias = Callable[[Instruction], Shape]
_AnyRule = TypeVar("_AnyRule", bound=_Rule)
_RULES: Final[dict[str, _Rule]] = {}

# From less to more range and precision: a result of mixed operands has the later type
# (primitive_util::HigherPrecisionType, xla/primitive_util.h).
_INTEGERS: Final = "pred u1 s1 u2 s2 u4 s4 u8 s8 u16 s16 u32 s32 u64 s64"
_FLOATS: Final = (
    "f4e2m1fn f6e2m3fn f8e3m4 f6e3m2fn f8e4m3b11fnuz f8e4m3fnuz f8e4m3 f8e4m3fn f8e5m2fnuz f8e5m2 "
    "f16 f8e8m0fnu bf16 f32 f64"
)
_REAL: Final = {"c64": "f32", "c128": "f64"}
_COMPLEX: Final = {"f32": "c64", "f64": "c128"}
_ORDER: Final = f"{_INTEGERS} {_FLOATS} c64 c128".split()
_SCALARS: Final = {
    "after-all": "token",
    "get-dimension-size": "s32",
    "partition-id": "u32",
    "replica-id": "u32",
}


def can_infer(opcode: str) -> bool:
    """Say whether there is a rule for an opcode."""
    return opcode in _RULES


def infer_shape(instruction: Instruction, parts: int = 0) -> tuple[Shape, int]:
    """Return the shape of an instruction whose operands and attributes have been read.

    `parts` are those of all shapes inferred for the module before; the sum with these comes back.
    Raises ParseError where there is no answer. Readers of attributes compare ranks with the
    instruction's shape, so it must have one meanwhile: that of its first operand.
    """
    if instruction.operands:
        instruction.shape = instruction.operands[0].shape
    shape = _RULES[instruction.opcode](instruction)
    return shape, parts + _count_parts(instruction, shape, MOST_PARTS - parts)


def _count_parts(instruction: Instruction, shape: Shape, most: int) -> int:
    """Count the parts of a shape; refuse one that is too large.

    A stated shape is as long as its text. Inferred ones can double with every line.
    """
    parts = 0
    pending = [(shape, 1)]
    while pending:
        part, level = pending.pop()
        parts += 1
        if isinstance(part, ArrayShape):
            parts += len(part.dims)
            if not is_countable(part.dims):
                _fail(instruction, "it has more elements than 64 bits can count")
        else:
            pending.extend((element, level + 1) for element in part.elements)
        if parts + len(pending) > most:
            _fail(instruction, f"shapes left out have more than {MOST_PARTS:,} parts together")
        if level > MOST_NESTED:
            _fail(instruction, f"tuples are nested more than {MOST_NESTED} deep")
    return parts


# -- what a rule asks, and how it says no


def _infers(opcodes: str) -> Callable[[_AnyRule], _AnyRule]:
    """Make a function the rule of some opcodes."""

    def register(rule: _AnyRule) -> _AnyRule:
        _RULES.update(dict.fromkeys(opcodes.split(), rule))
        return rule

    return register


def _fail(instruction: Instruction, reason: str) -> NoReturn:
    """Refuse a text whose shape is missing, at the end of the operands."""
    message = f"the shape of {instruction.opcode} is missing, and cannot be inferred: {reason}"
    end = instruction.start
    raise ParseError(message, instruction.module.source, end - 1, end)


def _shape_of(instruction: Instruction, number: int) -> Shape:
    """Return the shape of one operand."""
    if number >= len(instruction.operands):
        _fail(instruction, f"it needs {count_noun(number + 1, 'operand')}")
    return instruction.operands[number].shape


def _array_of(instruction: Instruction, number: int) -> ArrayShape:
    """Return the shape of an operand that must be an array."""
    shape = _shape_of(instruction, number)
    if not isinstance(shape, ArrayShape):
        _fail(instruction, f"operand {number} is a tuple")
    return shape


def _arrays_of(instruction: Instruction) -> list[ArrayShape]:
    """Return the shapes of all operands, which must be arrays; there is at least one."""
    return [_array_of(instruction, number) for number in range(max(1, len(instruction.operands)))]


def _callee_result(instruction: Instruction, key: str) -> Shape:
    """Return the shape of the root of a computation, which stands above."""
    if key not in instruction.attributes:
        _fail(instruction, f"it has no {key}=")
    try:
        callees = instruction.callees(key)
    except ParseError:
        _fail(instruction, f"{key}= names no computation that is defined above")
    if not callees:
        _fail(instruction, f"{key}= names no computation")
    return callees[0].root.shape


def _one_dimension(instruction: Instruction) -> int:
    """Return the one number in `dimensions=`."""
    numbers = instruction.integers("dimensions")
    if len(numbers) != 1:
        _fail(instruction, "dimensions= is not one number")
    return numbers[0]


def _expect_dimension(instruction: Instruction, shape: ArrayShape, number: int) -> int:
    """Return the number of a dimension that the array has."""
    if not 0 <= number < len(shape.dims):
        _fail(instruction, f"{shape} has no dimension {number}")
    return number


def _dimensions_of(shape: ArrayShape) -> list[_Dimension]:
    """Return the dimensions with their sizes."""
    return [(size, number in shape.dynamic) for number, size in enumerate(shape.dims)]


def _make_array(
    dtype: str, dimensions: Sequence[_Dimension], layout: Layout | None = None
) -> ArrayShape:
    """Make an array; without a layout it has XLA's default one, as where the text has none."""
    return ArrayShape(
        dtype,
        tuple(size for size, _ in dimensions),
        layout,
        tuple(number for number, (_, is_dynamic) in enumerate(dimensions) if is_dynamic),
    )


def _retype(shape: ArrayShape, dtype: str, element_bits: int = 0) -> ArrayShape:
    """Return a shape with another type of element, packed into so many bits if any."""
    if dtype == shape.dtype:
        return shape
    layout = shape.layout
    if element_bits and layout is None:
        layout = Layout(tuple(reversed(range(len(shape.dims)))))
    return replace(shape, dtype=dtype, layout=layout and replace(layout, element_bits=element_bits))


def _higher_precision(instruction: Instruction, one: ArrayShape, other: ArrayShape) -> str:
    """Return the type of a product: the one that holds the elements of both."""
    if one.dtype == other.dtype:
        return one.dtype
    if not {one.dtype, other.dtype} <= set(_ORDER):
        _fail(instruction, f"{one} and {other} have no type in common")
    return max(one.dtype, other.dtype, key=_ORDER.index)


def _common_type(instruction: Instruction, one: ArrayShape, other: ArrayShape) -> str:
    """Return the type of what works by element: types agree, but for the precision of floats."""
    if one.dtype != other.dtype and not {one.dtype, other.dtype} <= set(_FLOATS.split()):
        _fail(instruction, f"the types of {one} and {other} differ")
    return _higher_precision(instruction, one, other)


def _differ(sizes: Sequence[int], others: Sequence[int]) -> bool:
    """Say whether sizes are not the same; one without bound is like any."""
    return len(sizes) != len(others) or any(
        size != other and UNBOUNDED not in {size, other}
        for size, other in zip(sizes, others, strict=True)
    )


# -- element by element


@_infers(
    "acos acosh asin asinh atanh cbrt ceil cholesky cosh cosine count-leading-zeros erf "
    "exponential exponential-minus-one floor log log-plus-one logistic negate not popcnt "
    "batch-norm-inference reverse round-nearest-afz round-nearest-even rsqrt select-and-scatter "
    "sign sine sinh sqrt tan tanh"
)
def _unary(instruction: Instruction) -> Shape:
    return _array_of(instruction, 0)


@_infers("abs imag real")
def _real(instruction: Instruction) -> Shape:
    """Complex numbers become real ones."""
    operand = _array_of(instruction, 0)
    return replace(operand, dtype=_REAL.get(operand.dtype, operand.dtype))


@_infers("is-finite")
def _is_finite(instruction: Instruction) -> Shape:
    return _retype(_array_of(instruction, 0), "pred")


@_infers(
    "add and atan2 divide maximum minimum mulhi multiply or power remainder shift-left "
    "shift-right-arithmetic shift-right-logical subtract xor"
)
def _binary(instruction: Instruction) -> ArrayShape:
    """Return the shape that both operands fit; a scalar and a dimension of 1 are repeated."""
    left, right = _array_of(instruction, 0), _array_of(instruction, 1)
    dtype = _common_type(instruction, left, right)
    if bool(left.dims) != bool(right.dims):
        return _make_array(dtype, _dimensions_of(left if left.dims else right))
    return _join(instruction, dtype, left, right)


@_infers("compare")
def _compare(instruction: Instruction) -> Shape:
    return _retype(_binary(instruction), "pred")


@_infers("complex")
def _complex(instruction: Instruction) -> Shape:
    joined = _binary(instruction)
    if joined.dtype not in _COMPLEX:
        _fail(instruction, f"no complex number has parts of type {joined.dtype}")
    return replace(joined, dtype=_COMPLEX[joined.dtype])


@_infers("clamp")
def _clamp(instruction: Instruction) -> Shape:
    """Return the shape of the middle operand; the bounds are scalars, or like it."""
    low, operand, high = (_array_of(instruction, number) for number in range(3))
    for bound in (low, high):
        if bound.dims:
            _expect_alike(instruction, bound, operand)
    return operand


@_infers("select")
def _select(instruction: Instruction) -> Shape:
    """Return the shape of both choices, in the layout of the first operand that is no scalar."""
    chosen, yes, no = (_array_of(instruction, number) for number in range(3))
    dtype = _common_type(instruction, yes, no)
    _expect_alike(instruction, yes, no)
    joined = _join(instruction, dtype, yes, no)
    if not chosen.dims:
        return joined
    _expect_alike(instruction, chosen, joined)
    element_bits = yes.layout.element_bits if yes.layout else 0
    return _retype(_join(instruction, chosen.dtype, chosen, joined), dtype, element_bits)


def _expect_alike(instruction: Instruction, one: ArrayShape, other: ArrayShape) -> None:
    if _differ(one.dims, other.dims):
        _fail(instruction, f"{one} and {other} differ in size")


def _join(instruction: Instruction, dtype: str, one: ArrayShape, other: ArrayShape) -> ArrayShape:
    """Return the shape of both, in the layout of the first unless that is repeated."""
    if len(one.dims) != len(other.dims):
        _fail(instruction, f"{one} and {other} differ in rank")
    joined: list[_Dimension] = []
    for dimension, others in zip(_dimensions_of(one), _dimensions_of(other), strict=True):
        if (both := _join_dimension(dimension, others)) is None:
            _fail(instruction, f"{one} and {other} differ in size")
        joined.append(both)
    made = _make_array(one.dtype, joined, one.layout if one.dims == other.dims else None)
    return _retype(made, dtype)


def _join_dimension(one: _Dimension, other: _Dimension) -> _Dimension | None:
    """Return the size of both, None if they differ.

    Any size is better known than none, and a 1 is repeated as often as the other one says.
    """
    if one[0] == other[0]:
        return one[0], one[1] or other[1]
    for weak in (UNBOUNDED, 1):
        if one[0] == weak:
            return other
        if other[0] == weak:
            return one
    return None


# -- what moves elements, or hands values on


@_infers("add-dependency copy domain opt-barrier while")
def _same(instruction: Instruction) -> Shape:
    """Return the shape of the first operand: of a while the state, which no iteration changes."""
    return _shape_of(instruction, 0)


@_infers("tuple")
def _tuple(instruction: Instruction) -> Shape:
    return TupleShape(tuple(one.shape for one in instruction.operands))


@_infers("get-tuple-element")
def _element(instruction: Instruction) -> Shape:
    operand = _shape_of(instruction, 0)
    if isinstance(operand, ArrayShape):
        _fail(instruction, f"{operand} is not a tuple")
    return operand.elements[instruction.tuple_index]


@_infers(" ".join(_SCALARS))
def _scalar(instruction: Instruction) -> Shape:
    return ArrayShape(_SCALARS[instruction.opcode], ())


@_infers("broadcast")
def _broadcast(instruction: Instruction) -> Shape:
    """Return the operand's dimensions behind new ones of the sizes in `dimensions=`.

    That is not what broadcast means by `dimensions=` but how XLA's parser reads it where the
    shape is missing (ShapeInference::InferBroadcastShape takes sizes). A scalar stays one.
    """
    operand = _array_of(instruction, 0)
    sizes = instruction.integers("dimensions")
    if operand.dims and "dimensions" not in instruction.attributes:
        _fail(instruction, "it has no dimensions=")
    if any(size < 0 for size in sizes):
        _fail(instruction, "a size in dimensions= is negative")
    added = [(size, False) for size in sizes]
    return _make_array(operand.dtype, [*added, *_dimensions_of(operand)])


@_infers("transpose")
def _transpose(instruction: Instruction) -> Shape:
    """Return the operand's dimensions in the order of `dimensions=`; they stay where they lie."""
    operand = _array_of(instruction, 0)
    order = instruction.integers("dimensions")
    if sorted(order) != list(range(len(operand.dims))):
        _fail(instruction, f"dimensions= does not name each dimension of {operand} once")
    layout = operand.layout or Layout(tuple(reversed(range(len(order)))))
    minor_to_major = tuple(order.index(number) for number in layout.minor_to_major)
    moved = replace(layout, minor_to_major=minor_to_major)
    return _make_array(operand.dtype, _pick(operand, order), moved)


@_infers("concatenate")
def _concatenate(instruction: Instruction) -> Shape:
    """Return the operands' dimensions, of which one is the sum of theirs."""
    arrays = _arrays_of(instruction)
    axis = _expect_dimension(instruction, arrays[0], _one_dimension(instruction))
    joined, dtype = _dimensions_of(arrays[0]), arrays[0].dtype
    for array in arrays[1:]:
        dtype = _common_type(instruction, ArrayShape(dtype, ()), array)
        if len(array.dims) != len(joined):
            _fail(instruction, f"{arrays[0]} and {array} differ in rank")
        for number, (size, is_dynamic) in enumerate(_dimensions_of(array)):
            before, was_dynamic = joined[number]
            if UNBOUNDED in {before, size}:
                known = UNBOUNDED if number == axis else max(before, size)
            elif number == axis:
                known = before + size
            elif before == size:
                known = size
            else:
                _fail(instruction, f"{arrays[0]} and {array} differ outside dimension {axis}")
            joined[number] = known, is_dynamic or was_dynamic
    return _make_array(dtype, joined)


@_infers("pad")
def _pad(instruction: Instruction) -> Shape:
    """Return the operand's dimensions, padded at the edges and between the elements."""
    operand, value = _array_of(instruction, 0), _array_of(instruction, 1)
    dtype = _common_type(instruction, operand, value)
    padded = []
    for (size, is_dynamic), pad in zip(_dimensions_of(operand), instruction.padding(), strict=True):
        between = pad.interior * max(size - 1, 0)
        whole = UNBOUNDED if size == UNBOUNDED else size + pad.low + pad.high + between
        if size != UNBOUNDED and whole < 0:
            _fail(instruction, "padding= removes more than there is")
        padded.append((whole, is_dynamic))
    return _make_array(dtype, padded)


@_infers("gather")
def _gather(instruction: Instruction) -> Shape:
    """Return the dimensions of the indices, and among them those of the slices.

    `index_vector_dim=` is no dimension of the result; `offset_dims=` says where those of a
    slice stand that are not in `collapsed_slice_dims=` or `operand_batching_dims=`.
    """
    operand, indices = _array_of(instruction, 0), _array_of(instruction, 1)
    sizes = instruction.integers("slice_sizes")
    if len(sizes) != len(operand.dims):
        _fail(instruction, f"slice_sizes= does not fit {operand}")
    if len(instruction.integers("index_vector_dim")) != 1:
        _fail(instruction, "it has no index_vector_dim=")
    keys = "collapsed_slice_dims", "operand_batching_dims"
    dropped = {number for key in keys for number in instruction.integers(key)}
    kept = [
        (size, number in operand.dynamic and size == operand.dims[number])
        for number, size in enumerate(sizes)
        if number not in dropped
    ]
    result = _drop(indices, instruction.integers("index_vector_dim"))
    offsets = instruction.integers("offset_dims")
    if len(offsets) != len(kept) or list(offsets) != sorted(set(offsets)):
        _fail(instruction, "offset_dims= does not fit slice_sizes=")
    for offset, one in zip(offsets, kept, strict=True):
        if not 0 <= offset <= len(result):
            _fail(instruction, f"offset_dims= names dimension {offset}, which is out of range")
        result.insert(offset, one)
    return _make_array(operand.dtype, result)


@_infers("topk")
def _top_k(instruction: Instruction) -> Shape:
    """Return the `k` largest along the last dimension, and their places."""
    operand = _array_of(instruction, 0)
    count = instruction.expect_number("k")
    if not operand.dims or not 0 <= count <= operand.dims[-1]:
        _fail(instruction, f"{operand} has fewer than {count} elements in a row")
    dimensions = [*_dimensions_of(operand)[:-1], (count, False)]
    return TupleShape((_make_array(operand.dtype, dimensions), _make_array("s32", dimensions)))


@_infers("set-dimension-size")
def _set_dimension_size(instruction: Instruction) -> Shape:
    """Return the operand's shape, one dimension of it made dynamic."""
    operand = _array_of(instruction, 0)
    number = _expect_dimension(instruction, operand, _one_dimension(instruction))
    return replace(operand, dynamic=tuple(sorted({*operand.dynamic, number})))


# -- windows, products, transforms, solvers and normalizations


@_infers("reduce-window")
def _reduce_window(instruction: Instruction) -> Shape:
    """Return an element of the initial value's type for each place of the window.

    XLA's parser infers no shape for a window over several arrays.
    """
    operand = _array_of(instruction, 0)
    result = _callee_result(instruction, "to_apply")
    if len(instruction.operands) != 2 or isinstance(result, TupleShape):  # noqa: PLR2004 (a pair)
        _fail(instruction, "it reduces several arrays")
    initial = _array_of(instruction, 1)
    return _make_array(initial.dtype, _slide(instruction, _dimensions_of(operand)))


def _slide(instruction: Instruction, dimensions: Sequence[_Dimension]) -> list[_Dimension]:
    """Return how many places `window=` has along each dimension."""
    window = instruction.window()
    if len(window) != len(dimensions):
        _fail(instruction, f"window= describes {len(window)} dimensions of {len(dimensions)}")
    places: list[_Dimension] = []
    for (size, is_dynamic), part in zip(dimensions, window, strict=True):
        if not part.is_possible:
            _fail(instruction, "a size, stride or dilation of window= is not positive")
        places.append((size if size == UNBOUNDED else part.count_places(size), is_dynamic))
    return places


@_infers("dot scaled-dot")
def _dot(instruction: Instruction) -> Shape:
    """Return the batch dimensions, then those of either side that are not multiplied away.

    The right side of a scaled dot is its third operand of four.
    """
    is_scaled = instruction.opcode == "scaled-dot"
    if is_scaled:
        _array_of(instruction, 3)
    left, right = _array_of(instruction, 0), _array_of(instruction, 2 if is_scaled else 1)
    numbers = _expect_dot(instruction, left, right)
    return _make_array(_higher_precision(instruction, left, right), _product(left, right, numbers))


@_infers("ragged-dot")
def _ragged_dot(instruction: Instruction) -> Shape:
    """Return the shape of a dot whose left side is cut into groups along `lhs_ragged_dims=`.

    A ragged dimension that is multiplied away leaves one product for each group; the right
    side's dimension of groups, where it has one, is none of the result.
    """
    left, right, groups = (_array_of(instruction, number) for number in range(3))
    numbers = _expect_dot(instruction, left, right)
    grouped = instruction.integers("rhs_group_dims")
    ragged = instruction.integers("lhs_ragged_dims")
    if len(ragged) != 1 or not groups.dims:
        _fail(instruction, "lhs_ragged_dims= is not one number, or the groups have no sizes")
    count = _dimensions_of(groups)[-1:] if ragged[0] in numbers.lhs_contracting else []
    dtype = _higher_precision(instruction, left, right)
    return _make_array(dtype, count + _product(left, right, numbers, grouped))


def _expect_dot(instruction: Instruction, left: ArrayShape, right: ArrayShape) -> DotDimensions:
    """Return the dimensions of a dot, which go together."""
    numbers = instruction.dot_dimensions()
    for left_numbers, right_numbers in (
        (numbers.lhs_batch, numbers.rhs_batch),
        (numbers.lhs_contracting, numbers.rhs_contracting),
    ):
        sizes = [left.dims[number] for number in left_numbers]
        if _differ(sizes, [right.dims[number] for number in right_numbers]):
            _fail(instruction, f"{left} and {right} do not match")
    return numbers


def _product(
    left: ArrayShape, right: ArrayShape, numbers: DotDimensions, grouped: tuple[int, ...] = ()
) -> list[_Dimension]:
    return [
        *_pick(left, numbers.lhs_batch),
        *_drop(left, (*numbers.lhs_batch, *numbers.lhs_contracting)),
        *_drop(right, (*numbers.rhs_batch, *numbers.rhs_contracting, *grouped)),
    ]


def _pick(shape: ArrayShape, numbers: Sequence[int]) -> list[_Dimension]:
    dimensions = _dimensions_of(shape)
    return [dimensions[number] for number in numbers]


def _drop(shape: ArrayShape, numbers: Sequence[int]) -> list[_Dimension]:
    return [one for number, one in enumerate(_dimensions_of(shape)) if number not in numbers]


@_infers("convolution")
def _convolution(instruction: Instruction) -> Shape:
    """Return a batch, a feature for each of the kernel's, and the places of the window."""
    left, right = _array_of(instruction, 0), _array_of(instruction, 1)
    if (labels := instruction.dim_labels()) is None:
        _fail(instruction, "it has no dim_labels=")
    if len(instruction.window()) != len(labels.lhs_spatial):
        _fail(instruction, "window= does not fit dim_labels=")
    groups = instruction.integers("feature_group_count") or (1,)
    batches = instruction.integers("batch_group_count") or (1,)
    size, is_dynamic = _dimensions_of(left)[labels.lhs_batch]
    if min(*groups, *batches) < 1 or left.dims[labels.lhs_feature] != (
        right.dims[labels.rhs_input] * groups[0]
    ):
        _fail(instruction, f"the features of {left} and {right} differ")
    spatial = _slide(instruction, _pick(left, labels.lhs_spatial))
    result = dict(zip(labels.output_spatial, spatial, strict=True)) | {
        labels.output_batch: (size if size == UNBOUNDED else size // batches[0], is_dynamic),
        labels.output_feature: _dimensions_of(right)[labels.rhs_output],
    }
    dtype = _higher_precision(instruction, left, right)
    return _make_array(dtype, [result[number] for number in sorted(result)])


@_infers("fft")
def _fft(instruction: Instruction) -> Shape:
    """Return the operand's shape; of real numbers half the spectrum is kept."""
    operand = _array_of(instruction, 0)
    kind = instruction.attributes.get("fft_type")
    lengths = instruction.integers("fft_length")
    if not operand.dims or not lengths:
        _fail(instruction, "it has no fft_length=, or transforms a scalar")
    if kind in {"FFT", "IFFT"}:
        return operand
    types, last = _REAL, lengths[-1]
    if kind == "RFFT":
        types, last = _COMPLEX, last // 2 + 1 if last else 0
    if kind not in {"RFFT", "IRFFT"} or operand.dtype not in types:
        _fail(instruction, f"there is no transform {kind} of {operand}")
    return replace(operand, dtype=types[operand.dtype], dims=(*operand.dims[:-1], last))


@_infers("triangular-solve")
def _triangular_solve(instruction: Instruction) -> Shape:
    """Return the shape of the right side."""
    return _array_of(instruction, 1)


@_infers("batch-norm-grad batch-norm-training")
def _batch_norm(instruction: Instruction) -> Shape:
    """Return the operand's shape, and two numbers for each feature."""
    operand = _array_of(instruction, 0)
    number = instruction.expect_number("feature_index")
    size = operand.dims[_expect_dimension(instruction, operand, number)]
    each = ArrayShape(operand.dtype, (size,))
    return TupleShape((operand, each, each))


# -- what calls a computation


@_infers("call fusion")
def _call(instruction: Instruction) -> Shape:
    return _callee_result(instruction, "calls" if instruction.opcode == "fusion" else "to_apply")


@_infers("conditional")
def _conditional(instruction: Instruction) -> Shape:
    """Return what the first branch returns, as all of them do."""
    has_two = "true_computation" in instruction.attributes
    return _callee_result(instruction, "true_computation" if has_two else "branch_computations")


@_infers("map")
def _map(instruction: Instruction) -> Shape:
    """Return the dimensions of the operands with elements of what `to_apply=` returns."""
    operand = _array_of(instruction, 0)
    element = _callee_result(instruction, "to_apply")
    if isinstance(element, TupleShape):
        _fail(instruction, "to_apply= returns a tuple")
    return replace(operand, dtype=element.dtype, layout=None)


@_infers("reduce")
def _reduce(instruction: Instruction) -> Shape:
    """Return the operands without the dimensions in `dimensions=`, with elements of the result.

    Half of the operands are values to begin with. Of several reductions the result is a tuple.
    """
    count, rest = divmod(len(instruction.operands), 2)
    if rest or not count:
        _fail(instruction, "it needs an initial value for each array")
    result = _callee_result(instruction, "to_apply")
    elements = result.elements if isinstance(result, TupleShape) else (result,)
    if len(elements) != count:
        _fail(instruction, "to_apply= does not return one element for each array")
    reduced: list[Shape] = []
    for operand, element in zip(_arrays_of(instruction)[:count], elements, strict=True):
        if isinstance(element, TupleShape):
            _fail(instruction, "to_apply= returns a tuple in a tuple")
        gone = instruction.integers("dimensions")
        for number in gone:
            _expect_dimension(instruction, operand, number)
        reduced.append(_make_array(element.dtype, _drop(operand, gone)))
    return TupleShape(tuple(reduced)) if isinstance(result, TupleShape) else reduced[0]


@_infers("sort")
def _sort(instruction: Instruction) -> Shape:
    return _one_or_tuple(_arrays_of(instruction))


@_infers("scatter")
def _scatter(instruction: Instruction) -> Shape:
    """Return the shapes of the arrays written to, which stand before indices and updates."""
    count, rest = divmod(len(instruction.operands), 2)
    if not rest or not count:
        _fail(instruction, "it needs indices, and updates for each array")
    return _one_or_tuple(_arrays_of(instruction)[:count])


def _one_or_tuple(shapes: list[ArrayShape]) -> Shape:
    return shapes[0] if len(shapes) == 1 else TupleShape(tuple(shapes))


@_infers("scan")
def _scan(instruction: Instruction) -> Shape:
    """Return the results of all steps along the scanned dimension, then the last carries.

    `num_carries=` says how many of the operands, and of what `to_apply=` returns, are carried.
    """
    carries = instruction.expect_number("num_carries")
    numbers = instruction.integers("dimensions")
    if len(numbers) != 1 or not 0 <= carries < len(instruction.operands):
        _fail(instruction, "dimensions= is not one number, or all operands are carried")
    operand = _array_of(instruction, 0)
    axis = _expect_dimension(instruction, operand, numbers[0])
    result = _callee_result(instruction, "to_apply")
    if isinstance(result, ArrayShape):
        return result if carries else _stack(instruction, result, axis, operand.dims[axis])
    steps = len(result.elements) - carries
    return TupleShape(
        tuple(
            _stack(instruction, one, axis, operand.dims[axis]) if place < steps else one
            for place, one in enumerate(result.elements)
        )
    )


def _stack(instruction: Instruction, shape: Shape, axis: int, size: int) -> Shape:
    """Insert a dimension, also into a stated layout: outside of the one it stands before."""
    if isinstance(shape, TupleShape) or axis > len(shape.dims):
        _fail(instruction, f"{shape} cannot be stacked along dimension {axis}")

    def move(number: int) -> int:
        return number + (number >= axis)

    order = [move(number) for number in shape.layout.minor_to_major] if shape.layout else []
    if axis == len(shape.dims):
        order.insert(0, axis)
    elif order:
        order.insert(order.index(axis + 1) + 1, axis)
    return ArrayShape(
        shape.dtype,
        (*shape.dims[:axis], size, *shape.dims[axis:]),
        Layout(tuple(order)) if shape.layout else None,
        tuple(map(move, shape.dynamic)),
    )
