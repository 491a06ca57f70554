"""The record that all of the cost model adds up, and the types that matrix products compute in.

Figures are those of XLA's HloCostAnalysis, in exact integers, beside what it leaves out: the
arithmetic inside custom calls, and the traffic of the main memory. The numbers of a `Cost` stand
first, its bounds behind them: sums and multiples go by that order.

Sizes of shapes follow the host rule of xla/shape_util.cc (`ByteSizeOf`) and of the CPU and GPU
backends (`ShapeSizeBytes`): no tile padding, whole bytes for sub-byte types unless the layout packs
them, eight bytes a pointer, four bytes a dimension behind an array of dynamic size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from math import prod
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import astuple, replace

from hlotool.analysis.graph.calls import fold_up
from hlotool.errors import ParseError
from hlotool.hlo import ArrayShape, Computation, Instruction, Shape, TupleShape
from hlotool.hlo.shape import DTYPE_BITS, UNBOUNDED
from hlotool.table.sums import group_pairs

# Flops of products by the type they compute in; those in bfloat16 and float16 are left out.
TypedFlops: TypeAlias = tuple[tuple[str, int], ...]

Join: TypeAlias = Callable[[Iterable[int]], int]  # what makes one figure of several: sum or max


class Cost(Struct, frozen=True):
    """Arithmetic and memory traffic; the same units whether once or per step.

    `flops`, `transcendentals` and `bytes_accessed` are XLA's HloCostAnalysis.
    `matrix_flops` are those of dot, convolution, ragged-dot and scaled-dot.
    `custom_call_flops` are hidden in custom calls, and in no other figure.
    `traffic_bytes` is what crosses memory space 0, custom calls included; `measure_memory`
    says how it is counted; `padded_bytes` are the same with the padding of tiles, `vmem_bytes` what
    crosses memory space 1.
    `unknown_custom_call_count` counts executions of custom calls that may compute anything,
    `unknown_traffic_count` of those that may move anything.
    `products` are those of `total_flops` that products in other types than bfloat16 take.
    `is_lower_bound`: the text leaves a size or a trip count open; `is_upper_bound`: something
    counted might not happen.
    """

    flops: int = 0
    transcendentals: int = 0
    matrix_flops: int = 0
    bytes_accessed: int = 0
    custom_call_flops: int = 0
    traffic_bytes: int = 0
    padded_bytes: int = 0
    vmem_bytes: int = 0
    unknown_custom_call_count: int = 0
    unknown_traffic_count: int = 0
    is_lower_bound: bool = False
    is_upper_bound: bool = False
    products: TypedFlops = ()

    @property
    def total_flops(self) -> int:
        """All the arithmetic that is known, that of custom calls too."""
        return self.flops + self.custom_call_flops

    @property
    def vector_flops(self) -> int:
        """The arithmetic that is no product of matrices, nor in custom calls."""
        return self.flops - self.matrix_flops

    @property
    def is_total_lower_bound(self) -> bool:
        """Whether `total_flops` leaves something out."""
        return self.is_lower_bound or self.unknown_custom_call_count > 0

    @property
    def is_flops_lower_bound(self) -> bool:
        """Whether `flops` leave out arithmetic that is done, that of custom calls too."""
        return self.is_total_lower_bound or self.custom_call_flops > 0

    @property
    def is_traffic_lower_bound(self) -> bool:
        """Whether `traffic_bytes` leaves something out."""
        return self.is_lower_bound or self.unknown_traffic_count > 0

    def times(self, count: int, *, is_exact: bool = True) -> Cost:
        """Return the cost of `count` executions; of at least so many if not `is_exact`."""
        return replace(
            self,
            **{name: getattr(self, name) * count for name in _FIGURES},
            is_lower_bound=self.is_lower_bound or not is_exact,
            products=repeat_typed_flops(self.products, count),
        )


NOTHING: Final = Cost()
_FIGURES: Final = Cost.__struct_fields__[: Cost.__struct_fields__.index("is_lower_bound")]


def add_costs(costs: Iterable[Cost]) -> Cost:
    """Add costs up."""
    parts = list(costs)
    if len(parts) < 2:  # noqa: PLR2004
        return parts[0] if parts else NOTHING
    return _join(parts, sum, is_upper_bound=any(one.is_upper_bound for one in parts))


def largest_cost(costs: Iterable[Cost]) -> Cost:
    """Return the largest of each figure, as XLA does with the branches of a conditional."""
    parts = list(costs)
    return _join(parts, max, is_upper_bound=True) if parts else NOTHING


def _join(parts: list[Cost], join: Join, *, is_upper_bound: bool) -> Cost:
    """Join costs figure by figure."""
    *figures, lower, _, products = zip(*map(astuple, parts), strict=True)
    return replace(
        NOTHING,
        **dict(zip(_FIGURES, map(join, figures), strict=True)),
        is_lower_bound=any(lower),
        is_upper_bound=is_upper_bound,
        products=add_typed_flops(products, join),
    )


def add_typed_flops(parts: Iterable[TypedFlops], join: Join = sum) -> TypedFlops:
    """Add flops up type by type, or take the most of each."""
    found = group_pairs(pair for one in parts for pair in one)
    return tuple((name, join(found[name])) for name in sorted(found))


def repeat_typed_flops(flops: TypedFlops, count: int) -> TypedFlops:
    """Return so many times the flops."""
    return tuple((name, one * count) for name, one in flops)


def list_types(flops: TypedFlops) -> tuple[str, ...]:
    """List the types, without the flops."""
    return tuple(name for name, _ in flops)


def list_flops(flops: TypedFlops) -> tuple[int, ...]:
    """List the flops of each type."""
    return tuple(count for _, count in flops)


def pair_types(types: Iterable[str], flops: Iterable[int]) -> TypedFlops:
    """Return what `list_types` and `list_flops` took apart."""
    return tuple(zip(types, flops, strict=True))


# The types that a chip may have a peak for. `f32` is full float32; what stands for `f32_default`
# and `f32_high`, the lower precisions of XLA's PrecisionConfig, is the backend's choice.
PRODUCT_TYPES: Final = ("f4", "f8", "s8", "bf16", "tf32", "f32_default", "f32_high", "f32", "f64")
ELEMENTARY: Final = "exponentials, logarithms and the like, one per element"
ACCESSED: Final = "bytes read and written, as in XLA's cost analysis"
TYPES: Final = "types other than bfloat16 in which these products compute"
OF_TYPES: Final = "flops of products in each of product_types"
_USUAL: Final = frozenset(("bf16", "f16"))
# From the lowest to the highest.
_BY_PRECISION: Final = {"default": "f32_default", "high": "f32_high", "highest": "f32"}


def find_product_type(product: Instruction) -> str | None:
    """Return the type that a product computes in; None for bfloat16 and float16.

    That is the wider of its operands' types, all 8-bit floats one, and so all 4-bit ones. Of
    float32 the algorithm decides (`tf32`, or three products in bfloat16: `bf16_x3`), else the
    highest precision that is asked of an operand (`f32_default`, `f32_high`, `f32`), as in
    `PrecisionConfig` of xla_data.proto. A complex type goes by its own name. None too where the
    text of the product is malformed.
    """
    try:
        types = [operand_shape(product, number).dtype for number in (0, 1)]
        widest = max(types, key=lambda one: DTYPE_BITS.get(one, 0))
        if widest == "f32":
            return _find_precision(product)
    except MALFORMED:
        return None
    family = {"f8": "f8", "f4": "f4", "u8": "s8"}.get(widest[:2], widest)
    return None if family in _USUAL else family


def _find_precision(product: Instruction) -> str | None:
    """Say how a product of float32 is to compute.

    A library call says it in its backend_config, where it says it:

        operand_precision={DEFAULT,HIGHEST}, algorithm=dot_bf16_bf16_f32_x3
        "precision_config":{"operand_precision":["DEFAULT","HIGHEST"],"algorithm":"ALG_UNSET"}
    """
    asked = product.attributes.get("operand_precision", "").lower()
    algorithm = product.attributes.get("algorithm", "")
    text = product.attributes.get("backend_config", "")
    if product.opcode == "custom-call" and "precision_config" in text:
        stated = product.find_config("gemm_backend_config", "precision_config")
        if isinstance(stated, Mapping):
            asked = str(stated.get("operand_precision", "")).lower()
            algorithm = str(stated.get("algorithm", "")).lower().removeprefix("alg_")
    if named := re.match(r"dot_(?:any_)?([a-z]+\d+)_.*?(_x\d+)?$", algorithm):
        found = named[1] + (named[2] or "")
        return None if found in _USUAL else found
    levels = [one for one in _BY_PRECISION if one in re.findall(r"\w+", asked)]
    return _BY_PRECISION[levels[-1] if levels else "default"]


_POINTER_BYTES: Final = 8
_DYNAMIC_SIZE_BYTES: Final = 4


class UnknownCostError(Exception):
    """The text does not say what is needed, for a reason; the caller counts nothing and says so."""


# What a malformed instruction raises: an attribute that breaks off or does not fit, a missing
# operand, a division by zero. Its cost is unknown, which is no reason not to count all others.
MALFORMED: Final = (UnknownCostError, ParseError, LookupError, ValueError, ArithmeticError)


def explain(error: Exception) -> str:
    """Say why a cost is unknown, with the place in the text where that is known."""
    if isinstance(error, UnknownCostError):
        return str(error)
    if isinstance(error, ParseError):
        return f"{error.message} (line {error.source.location(error.start)[0]})"
    return "shapes, operands and attributes contradict each other"


class TouchedBody(Struct, frozen=True):
    """Bytes that a fused body reads of each parameter and writes of each result, and constants."""

    read: tuple[int, ...]
    written: tuple[int, ...]
    constants: tuple[tuple[ArrayShape, int], ...]


class Sizes:
    """Sizes of the shapes of one module, worked out once for each spelling.

    What is read of fused parameters (`reads`), what takes tuples apart (`elements`) and what
    bodies touch (`touched`, by what is read of their result) is kept here for `fused_traffic`, as
    bodies are shared. `repeated` has the parameters that hold what an earlier
    one of the same computation holds, and which one.
    """

    def __init__(self, repeated: Mapping[Instruction, Instruction] | None = None) -> None:
        self.reads: dict[Instruction, int] = {}
        self.elements: dict[Instruction, dict[int, Instruction]] = {}
        self.touched: dict[Computation, dict[int | None, TouchedBody]] = {}
        self._repeated = repeated or {}
        self._leaves: dict[int, int] = {}  # by id: the parser makes one object a spelling

    def distinct(self, operands: Iterable[Instruction]) -> list[Instruction]:
        """Return each value once, in the order of the operands."""
        return list(dict.fromkeys(map(self.find_first, operands)))

    def find_first(self, operand: Instruction) -> Instruction:
        """Return the first name that a value has where it is an operand."""
        return self._repeated.get(operand, operand)

    def content_bytes(self, shape: Shape) -> int:
        """Return the bytes of all arrays of a shape; raises UnknownCostError."""
        size = self._leaves.get(id(shape))
        return _sum_arrays(shape, _array_bytes, self._leaves) if size is None else size

    def pointer_bytes(self, shape: Shape) -> int:
        """Return the bytes of an array, or of a tuple's own table; raises UnknownCostError."""
        if isinstance(shape, ArrayShape):
            return self.content_bytes(shape)
        return _POINTER_BYTES * len(shape.elements)


def _sum_arrays(shape: Shape, measure: Callable[[ArrayShape], int], known: dict[int, int]) -> int:
    """Add up a figure of all arrays in a shape; `known` keeps it by id of each part."""

    def make(part: Shape) -> int:
        if isinstance(part, ArrayShape):
            return measure(part)
        return sum(known[id(one)] for one in part.elements)

    return fold_up(
        shape, lambda one: one.elements if isinstance(one, TupleShape) else (), make, known
    )


def _array_bytes(shape: ArrayShape) -> int:
    """Return the bytes of one array; a token has none, an opaque value is a pointer."""
    if shape.dtype in {"token", "opaque"}:
        return _POINTER_BYTES if shape.dtype == "opaque" else 0
    if (size := shape.unpadded_bytes) is None:
        raise UnknownCostError(f"the size of {shape} is unknown")
    return size + _DYNAMIC_SIZE_BYTES * len(shape.dims) if shape.dynamic else size


def expect_array(shape: Shape) -> ArrayShape:
    """Return the shape if it is an array; raises UnknownCostError for a tuple."""
    if not isinstance(shape, ArrayShape):
        raise UnknownCostError("a tuple where an array is expected")
    return shape


def first_array(shape: Shape) -> ArrayShape:
    """Return the array, or a tuple's first element: what variadic operations go by."""
    if isinstance(shape, ArrayShape):
        return shape
    if not shape.elements:
        raise UnknownCostError("an empty tuple where an array is expected")
    return expect_array(shape.elements[0])


def count_elements(shape: Shape) -> int:
    """Return the elements of an array; raises UnknownCostError for `?` and for a tuple."""
    dims = expect_array(shape).dims
    if UNBOUNDED in dims:
        raise UnknownCostError(f"the size of {shape} is unknown")
    return prod(dims)


def count_all_elements(shape: Shape) -> int:
    """Return the elements of all arrays in a shape; raises UnknownCostError for `?`."""
    return _sum_arrays(shape, count_elements, {})


def operand_shape(instruction: Instruction, number: int) -> ArrayShape:
    """Return the array an operand is; raises UnknownCostError where there is none."""
    if number >= len(instruction.operands):
        raise UnknownCostError(f"{instruction.opcode} has no operand {number}")
    return expect_array(instruction.operands[number].shape)
