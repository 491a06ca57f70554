"""How much of a value is padding: what tiles and the allocator's minima add to its elements?

How much memory does a backend give a value, where no buffer assignment says so?
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hlotool.analysis.graph.backend import Backend
from hlotool.hlo import Shape, TupleShape
from hlotool.hlo.buffers import BufferValue


def padding_bytes_of(value: BufferValue) -> int | None:
    """Return what tiles and allocator minima add to a value; None where that is unknown.

    So it is where the value is said to be smaller than its elements.
    """
    unpadded = unpadded_bytes_of(value)
    if unpadded is None or unpadded > value.size_bytes:
        return None
    return value.size_bytes - unpadded


def unpadded_bytes_of(value: BufferValue) -> int | None:
    """Return the bytes of a value's elements; a tuple's table has no tiles to leave out."""
    if isinstance(value.shape, TupleShape):
        return value.size_bytes
    return value.shape.unpadded_bytes


HOST_ARRAY_BYTES: Final = 4096  # the TPU's allocator gives host arrays, `S(4)`, a page
_TPU_TABLE_BYTES: Final = 512
_POINTER_BYTES: Final = 8
_TPU_HOST_SPACE: Final = 4
_FIRST_SPARSE_CORE_SPACE: Final = 8  # S(8) to S(12) are those of sparse cores


def estimate_size(shape: Shape, backend: Backend | None, *, has_sparse_cores: bool = False) -> int:
    """Return the bytes a backend gives a value; 0 where the shape has an unknown dimension.

    Tuples cost their own table: a pointer an element; on TPU v5e, which has no sparse cores,
    512 bytes; on TPUs that have some (v5p, v6e, 7x) 4 bytes an element, in steps of 32.
    """
    if isinstance(shape, TupleShape):
        if backend != "tpu":
            return _POINTER_BYTES * len(shape.elements)
        return -(-len(shape.elements) // 8) * 32 if has_sparse_cores else _TPU_TABLE_BYTES
    if backend == "tpu" and shape.memory_space == _TPU_HOST_SPACE:
        return HOST_ARRAY_BYTES
    return shape.size_bytes or 0


def uses_sparse_cores(shapes: Iterable[Shape]) -> bool:
    """Say whether any of a TPU program's values lies in the memory of a sparse core."""
    return any(shape.memory_space >= _FIRST_SPARSE_CORE_SPACE for shape in shapes)
