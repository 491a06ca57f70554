"""What an instruction computes itself, and how often it runs the computations it names.

Follows the handlers of xla/service/hlo_cost_analysis.cc (0.10.2). An opcode that is in no
table here does no arithmetic that XLA counts: data movement, collectives but all-reduce,
batch-norm-*, topk and the like. A conditional applies nothing: it runs one of its branches.
Counts are exact; what the text leaves open raises UnknownCostError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import gcd, prod
from typing import Final, TypeAlias

from hlotool.analysis.cost.cost import (
    NOTHING,
    Cost,
    UnknownCostError,
    count_all_elements,
    count_elements,
    expect_array,
    first_array,
    operand_shape,
)
from hlotool.hlo import ArrayShape, Computation, DimLabels, Instruction, Shape, WindowDimension
from hlotool.hlo.opcodes import ELEMENTWISE, TRANSCENDENTAL
from hlotool.hlo.shape import UNBOUNDED

MULTIPLY_ADD: Final = 2
_FFT_FLOPS: Final = 4 * MULTIPLY_ADD  # a complex multiplication
_MOST_POSITIONS: Final = 1 << 20  # a longer window in both directions is no window of a model

Applications: TypeAlias = tuple[tuple[Computation, int], ...]  # what is run, and how often


def count_work(instruction: Instruction) -> Cost:
    """Return the arithmetic of an instruction itself; raises UnknownCostError.

    An elementwise operation counts one for each element of its result, whatever the type;
    transcendental functions are counted apart.
    """
    opcode = instruction.opcode
    if opcode in _FLOPS:
        return Cost(count_elements(instruction.shape))
    if opcode in TRANSCENDENTAL:
        return Cost(0, count_elements(instruction.shape))
    handler = _OPERATIONS.get(opcode)
    return handler(instruction) if handler else NOTHING


def work_of_dot(instruction: Instruction) -> Cost:
    """Count two for each result element and contracted element; scaled-dot likewise.

    xla/service/hlo_cost_analysis.cc `GetDotFlops`. Scales of a scaled-dot count nothing.
    """
    dimensions = instruction.dot_dimensions()
    if instruction.opcode == "dot":
        _check_dot(instruction)
    contracting = dimensions.lhs_contracting
    flops = count_dot_flops(instruction.shape, operand_shape(instruction, 0), contracting)
    return Cost(flops, 0, flops)


def _check_dot(dot: Instruction) -> None:
    """Raise UnknownCostError where the two sides or the result do not fit (InferDotOpShape).

    Of a sparse side, older versions contract fewer elements than of the other.
    """
    dimensions = dot.dot_dimensions()
    lhs, rhs, result = operand_shape(dot, 0), operand_shape(dot, 1), expect_array(dot.shape)
    left = (*dimensions.lhs_contracting, *dimensions.lhs_batch)
    right = (*dimensions.rhs_contracting, *dimensions.rhs_batch)
    if len(set(left)) != len(left) or len(set(right)) != len(right):
        raise UnknownCostError("a contracting or batch dimension is listed twice")
    contracted = len(dimensions.lhs_contracting)
    if contracted != len(dimensions.rhs_contracting) or len(left) != len(right):
        raise UnknownCostError("lhs and rhs contract, or batch, different numbers of dimensions")
    pairs = [(lhs.dims[one], rhs.dims[other]) for one, other in zip(left, right, strict=True)]
    if "sparsity" not in dot.attributes and any(
        one != other and UNBOUNDED not in {one, other} for one, other in pairs
    ):
        raise UnknownCostError("contracting or batch dimensions differ in size")
    free = len(lhs.dims) + len(rhs.dims) - len(left) - len(right)
    if len(result.dims) != free + len(dimensions.lhs_batch):
        raise UnknownCostError(f"the product has another rank than {result}")


def count_dot_flops(result: Shape, lhs: ArrayShape, contracting: Iterable[int]) -> int:
    """Count the flops of a matrix product from its result, left operand and contraction."""
    return MULTIPLY_ADD * count_elements(result) * _product(lhs, contracting)


def _product(shape: ArrayShape, numbers: Iterable[int]) -> int:
    dims = [shape.dims[number] for number in numbers]
    if UNBOUNDED in dims:
        raise UnknownCostError(f"the size of {shape} is unknown")
    return prod(dims)


def work_of_ragged_dot(instruction: Instruction) -> Cost:
    """Count a ragged-dot: `flops` as XLA does, `matrix_flops` as the hardware does.

    XLA (`HandleRaggedDot`) takes as many leading dimensions off the result as there are
    group dimensions, and with the usual `[rows, columns]` result that is the rows: its figure
    is that of a single row. Each row meets one group, so the real work is that of a dot.
    """
    result, dimensions = expect_array(instruction.shape), instruction.dot_dimensions()
    contracting = dimensions.lhs_contracting
    kept = list(result.dims)
    for number in range(len(instruction.integers("rhs_group_dims"))):
        del kept[number]
    width = MULTIPLY_ADD * _product(operand_shape(instruction, 0), contracting)
    elements = count_elements(result)
    # Where the contracted dimension is ragged, the groups divide it among them: the group
    # dimension of the result multiplies nothing.
    ragged = instruction.integers("lhs_ragged_dims")
    if ragged and ragged[0] in contracting:
        elements //= max(result.dims[0], 1)
    return Cost(width * prod(kept), 0, width * elements)


def work_of_convolution(instruction: Instruction) -> Cost:
    """Count two for each multiplication that does not fall on padding or between dilated rows.

    xla/service/hlo_cost_analysis.cc `GetConvolutionFlops`.
    """
    lhs, rhs = operand_shape(instruction, 0), operand_shape(instruction, 1)
    result = expect_array(instruction.shape)
    flops = count_convolution_flops(instruction, lhs, rhs, result)
    _check_convolution(instruction, lhs, rhs, result)
    return Cost(flops, 0, flops)


def _check_convolution(
    convolution: Instruction, lhs: ArrayShape, rhs: ArrayShape, result: ArrayShape
) -> None:
    """Raise UnknownCostError where operands, window, groups or result do not fit each other.

    xla/service/shape_inference.cc `InferConvolveShape`.
    """
    labels, window = _read_labels(convolution), convolution.window()
    feature_groups = _group_count(convolution, "feature_group_count")
    batch_groups = _group_count(convolution, "batch_group_count")
    inputs, batch = lhs.dims[labels.lhs_feature], lhs.dims[labels.lhs_batch]
    outputs, taken = rhs.dims[labels.rhs_output], rhs.dims[labels.rhs_input]
    if feature_groups > 1 and batch_groups > 1:
        raise UnknownCostError("both features and batch are grouped")
    if inputs % feature_groups or outputs % feature_groups:
        raise UnknownCostError(f"feature_group_count={feature_groups} does not divide the features")
    if batch % batch_groups or outputs % batch_groups:
        raise UnknownCostError(
            f"batch_group_count={batch_groups} does not divide the batch and the output features"
        )
    if (left := inputs // feature_groups) != taken:
        raise UnknownCostError(
            f"the kernel takes {taken} features, but a group of the input has {left}"
        )
    for number, dimension in zip(labels.rhs_spatial, window, strict=True):
        if dimension.size != rhs.dims[number]:
            raise UnknownCostError(
                f"window= has size {dimension.size}, but the kernel {rhs.dims[number]}"
            )
    made = {labels.output_batch: batch // batch_groups, labels.output_feature: outputs}
    for place, dimension in enumerate(window):
        places = dimension.count_places(lhs.dims[labels.lhs_spatial[place]])
        made[labels.output_spatial[place]] = places
    if list(result.dims) != [made[number] for number in sorted(made)]:
        raise UnknownCostError(f"the operands, window= and dim_labels= do not give {result}")


def count_convolution_flops(
    instruction: Instruction, lhs: ArrayShape, rhs: ArrayShape, result: ArrayShape
) -> int:
    """Count the flops of the convolution that window and dim_labels describe on these shapes."""
    labels = _read_labels(instruction)
    if any(UNBOUNDED in shape.dims for shape in (lhs, rhs, result)):
        raise UnknownCostError("the size of an operand or the result is unknown")
    window = instruction.window()
    if len(window) != len(labels.lhs_spatial):
        raise UnknownCostError(
            f"window= has {len(window)} dimensions, dim_labels= {len(labels.lhs_spatial)} "
            "spatial ones"
        )
    feature_groups = _group_count(instruction, "feature_group_count")
    batch_groups = _group_count(instruction, "batch_group_count")
    positions = [
        count_window_positions(dimension, lhs.dims[inputs], rhs.dims[kernels], result.dims[outputs])
        for dimension, inputs, kernels, outputs in zip(
            window, labels.lhs_spatial, labels.rhs_spatial, labels.output_spatial, strict=True
        )
    ]
    return (
        MULTIPLY_ADD
        * (lhs.dims[labels.lhs_feature] // feature_groups)
        * result.dims[labels.output_feature]
        * (lhs.dims[labels.lhs_batch] // batch_groups)
        * prod(positions)
    )


def _read_labels(instruction: Instruction) -> DimLabels:
    if (labels := instruction.dim_labels()) is None:
        raise UnknownCostError("dim_labels= is missing")
    return labels


def _group_count(instruction: Instruction, key: str) -> int:
    if (count := instruction.integers(key)) and count[0] < 1:
        raise UnknownCostError(f"{key}= is less than 1")
    return count[0] if count else 1


def count_window_positions(
    dimension: WindowDimension, inputs: int, kernels: int, outputs: int
) -> int:
    """Count pairs (k, o) for which output o at kernel element k reads an input element.

    It reads at `o * stride + k * rhs_dilate - pad_low`, which must be a multiple of
    `lhs_dilate` and lie below `inputs * lhs_dilate`. k and o have the same part in this, so
    the shorter of the two is walked and the other is counted.
    """
    steps = (dimension.stride, kernels, dimension.rhs_dilate, outputs)
    if kernels <= outputs:
        step, walked, walked_step, counted = steps
    else:
        walked_step, counted, step, walked = steps
    if walked > _MOST_POSITIONS or not dimension.is_possible:
        raise UnknownCostError("the window has no end, or a size, stride or dilation below 1")
    return sum(
        _count_multiples(
            walked_step * place - dimension.pad_low, step, counted, inputs, dimension.lhs_dilate
        )
        for place in range(walked)
    )


def _count_multiples(offset: int, step: int, count: int, inputs: int, dilate: int) -> int:
    """Count n in [0, count) with offset + n * step a multiple of dilate in [0, inputs * dilate).

    >>> _count_multiples(-1, 1, 10, 10, 1), _count_multiples(0, 2, 8, 4, 3)
    (9, 2)
    """
    last = (inputs - 1) * dilate
    low = max(0, -(offset // step))
    high = min(count - 1, (last - offset) // step)
    if high < low:
        return 0
    if dilate == 1:
        return high - low + 1
    shared = gcd(step, dilate)
    if offset % shared:
        return 0
    period = dilate // shared
    first = (-offset // shared) * pow(step // shared, -1, period) % period
    first += -(-(low - first) // period) * period
    return 0 if first > high else (high - first) // period + 1


def _work_of_fft(instruction: Instruction) -> Cost:
    """Count eight for each input element and each halving of every transformed dimension."""
    lengths = instruction.integers("fft_length")
    halvings = prod(max(length, 1).bit_length() - 1 for length in lengths)
    return Cost(_FFT_FLOPS * halvings * count_elements(operand_shape(instruction, 0)))


def count_solve_flops(instruction: Instruction) -> int:
    """Count two for each element of b and row of a; XLA does not take off the zero half."""
    rows = operand_shape(instruction, 0).dims[-1]
    return MULTIPLY_ADD * rows * count_elements(operand_shape(instruction, 1))


def count_cholesky_flops(instruction: Instruction) -> int:
    """Count n**3 / 3 for each matrix, rounded down."""
    matrices = operand_shape(instruction, 0)
    return count_elements(matrices) * matrices.dims[-1] // 3


def _work_of_sort(instruction: Instruction) -> Cost:
    """Count E log2 E, rounded up, for the E elements of the first operand; not the comparator."""
    elements = count_elements(operand_shape(instruction, 0))
    return Cost(elements * (elements - 1).bit_length() if elements else 0)


def _work_of_all_reduce(instruction: Instruction) -> Cost:
    """Count an addition for each element, as if two devices took part; `to_apply` is not read."""
    return Cost(count_all_elements(instruction.shape))


_OPERATIONS: Final[Mapping[str, Callable[[Instruction], Cost]]] = {
    "all-reduce": _work_of_all_reduce,
    "all-reduce-start": _work_of_all_reduce,
    "cholesky": lambda one: Cost(count_cholesky_flops(one)),
    "convolution": work_of_convolution,
    "dot": work_of_dot,
    "fft": _work_of_fft,
    "ragged-dot": work_of_ragged_dot,
    # A transcendental for each random number; of a generator the new state is counted, too.
    "rng": lambda one: Cost(0, count_elements(one.shape)),
    "rng-bit-generator": lambda one: Cost(0, count_all_elements(one.shape)),
    "scaled-dot": work_of_dot,
    "sort": _work_of_sort,
    "triangular-solve": lambda one: Cost(count_solve_flops(one)),
}

WORKING: Final = ELEMENTWISE | _OPERATIONS.keys()
_FLOPS: Final = ELEMENTWISE - TRANSCENDENTAL


def list_applications(instruction: Instruction) -> Applications:
    """Return what an instruction runs and how often; raises UnknownCostError."""
    handler = _APPLICATIONS.get(instruction.opcode)
    return handler(instruction) if handler else ()


def _callee(instruction: Instruction, key: str) -> Computation:
    if not (callees := instruction.callees(key)):
        raise UnknownCostError(f"{instruction.opcode} has no computation {key}=")
    return callees[0]


def _fitting_window(instruction: Instruction) -> tuple[WindowDimension, ...]:
    """Return the window; raise UnknownCostError if it is not one over the first operand."""
    window = instruction.window()
    rank = len(operand_shape(instruction, 0).dims)
    if len(window) != rank:
        raise UnknownCostError(f"window= has {len(window)} dimensions, the operand {rank}")
    if not all(one.is_possible for one in window):
        raise UnknownCostError("a size, stride or dilation of the window is below 1")
    return window


def _run(key: str, count: Callable[[Instruction], int]) -> Callable[[Instruction], Applications]:
    """Make what applies the one computation that an attribute names."""

    def apply(instruction: Instruction) -> Applications:
        times = count(instruction)  # first, as it has the better reason where both are unknown
        return ((_callee(instruction, key), times),)

    return apply


def _apply_fusion(instruction: Instruction) -> Applications:
    """Run the body once. Of a custom fusion with a gather or scatter XLA counts nothing else."""
    body = _callee(instruction, "calls")
    if (special := find_custom_body(instruction, body)) is None:
        return ((body, 1),)
    return _APPLICATIONS["scatter"](special) if special.opcode == "scatter" else ()


def find_custom_body(fusion: Instruction, body: Computation) -> Instruction | None:
    """Return the gather or scatter for which XLA takes a fusion of kind kCustom, or None."""
    if fusion.attributes.get("kind") != "kCustom":
        return None
    return next((one for one in body.instructions if one.opcode in {"gather", "scatter"}), None)


def find_offloaded(call: Instruction) -> Computation | None:
    """Return the computation that a custom call stands for, or None.

    TPU compilers hand collectives over to the SparseCores so: the one called computation takes
    the call's operands and makes its result. A comparator or combiner, which is applied to
    elements, does neither.
    """
    called = call.called_computations() if "called_computations" in call.attributes else ()
    if len(called) != 1:
        return None
    given = [one.shape.without_layout() for one in (*call.operands, call)]
    taken = [one.shape.without_layout() for one in (*called[0].parameters, called[0].root)]
    return called[0] if given == taken else None


def _apply_while(instruction: Instruction) -> Applications:
    """Run body and condition once: XLA knows no trip counts."""
    body, condition = _callee(instruction, "body"), _callee(instruction, "condition")
    return ((body, 1), (condition, 1))


def _count_reductions(instruction: Instruction) -> int:
    """Count the elements that go; a variadic reducer takes all at once."""
    before = count_elements(operand_shape(instruction, 0))
    after = count_elements(first_array(instruction.shape))
    if after > before:
        raise UnknownCostError(f"a reduction of {before} elements cannot leave {after}")
    return before - after


def _count_window_reductions(instruction: Instruction) -> int:
    """Count the elements of all windows but the first of each.

    A window that sees a whole dimension from everywhere (size 2p + 1, padded by p on both
    sides, p + 1 elements) is a reduction whose result is broadcast, and counted as XLA counts
    that.
    """
    result = first_array(instruction.shape)
    results = count_elements(result)
    window = _fitting_window(instruction)
    wide = [place for place, one in enumerate(window) if one.size != 1]
    padded = [place for place, one in enumerate(window) if one.pad_low or one.pad_high]
    if len(wide) == 1 and len(padded) == 1 and not instruction.shape.is_tuple:
        dimension, length = window[wide[0]], result.dims[wide[0]]
        reach = dimension.pad_low
        is_whole = reach == dimension.pad_high == length - 1 and dimension.size == 2 * reach + 1
        if is_whole and reach > 0:
            return results // length + length - 1
    return (prod(one.size for one in window) - 1) * results


def _apply_select_and_scatter(instruction: Instruction) -> Applications:
    """Run select for all but one element of each window, and scatter once for each window."""
    windows = count_elements(operand_shape(instruction, 1))
    size = prod(one.size for one in _fitting_window(instruction))
    select, scatter = _callee(instruction, "select"), _callee(instruction, "scatter")
    return ((select, windows * (size - 1)), (scatter, windows))


def _count_updates(scatter: Instruction) -> int:
    """Count the elements of the first update."""
    return count_elements(operand_shape(scatter, len(scatter.operands) // 2 + 1))


_APPLICATIONS: Final[Mapping[str, Callable[[Instruction], Applications]]] = {
    "async-start": _run("calls", lambda _: 1),
    "call": _run("to_apply", lambda _: 1),
    "fusion": _apply_fusion,
    "map": _run("to_apply", lambda one: count_elements(one.shape)),
    "reduce": _run("to_apply", _count_reductions),
    "reduce-window": _run("to_apply", _count_window_reductions),
    # XLA's figure, the elements of the second operand, not the steps.
    "scan": _run("to_apply", lambda one: count_elements(operand_shape(one, 1))),
    "scatter": _run("to_apply", _count_updates),
    "select-and-scatter": _apply_select_and_scatter,
    "while": _apply_while,
}

APPLYING: Final = _APPLICATIONS.keys()
