"""Bytes and elements of shapes, as XLA's cost analysis counts them.

The host rule of xla/shape_util.cc (`ByteSizeOf`) and of the CPU and GPU backends
(`ShapeSizeBytes`): no tile padding, whole bytes for sub-byte types unless the layout packs
them, eight bytes a pointer, four bytes a dimension behind an array of dynamic size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod
from typing import Final

from msgspec import Struct

from hlotool.analysis.graph.calls import fold_up
from hlotool.errors import ParseError
from hlotool.hlo import ArrayShape, Computation, Instruction, Shape, TupleShape
from hlotool.hlo.shape import UNBOUNDED

_POINTER_BYTES: Final = 8
_DYNAMIC_SIZE_BYTES: Final = 4
_OPAQUE: Final = frozenset(("token", "opaque"))


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
    return "the shapes, operands and attributes do not fit each other"


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
    if shape.dtype in _OPAQUE:
        return _POINTER_BYTES if shape.dtype == "opaque" else 0
    size = shape.unpadded_bytes
    if size is None:
        raise UnknownCostError(f"the text does not say how large {shape} is")
    return size + _DYNAMIC_SIZE_BYTES * len(shape.dims) if shape.dynamic else size


def expect_array(shape: Shape) -> ArrayShape:
    """Return the shape if it is an array; raises UnknownCostError for a tuple."""
    if not isinstance(shape, ArrayShape):
        raise UnknownCostError("a tuple stands where an array should")
    return shape


def first_array(shape: Shape) -> ArrayShape:
    """Return the array, or a tuple's first element: what variadic operations go by."""
    if isinstance(shape, ArrayShape):
        return shape
    if not shape.elements:
        raise UnknownCostError("an empty tuple stands where an array should")
    return expect_array(shape.elements[0])


def count_elements(shape: Shape) -> int:
    """Return the elements of an array; raises UnknownCostError for `?` and for a tuple."""
    dims = expect_array(shape).dims
    if UNBOUNDED in dims:
        raise UnknownCostError(f"the text does not say how large {shape} is")
    return prod(dims)


def count_all_elements(shape: Shape) -> int:
    """Return the elements of all arrays in a shape; raises UnknownCostError for `?`."""
    return _sum_arrays(shape, count_elements, {})


def operand_shape(instruction: Instruction, number: int) -> ArrayShape:
    """Return the array an operand is; raises UnknownCostError where there is none."""
    if number >= len(instruction.operands):
        raise UnknownCostError(f"{instruction.opcode} has no operand {number}")
    return expect_array(instruction.operands[number].shape)
