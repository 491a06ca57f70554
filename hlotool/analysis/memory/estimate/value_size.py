"""How much memory does a backend give a value, where no buffer assignment says so?"""

from __future__ import annotations

from typing import Final

from hlotool.analysis.graph.backend import Backend
from hlotool.ir.shape import Shape, TupleShape

HOST_ARRAY_BYTES: Final = 4096  # the TPU's allocator gives host arrays, `S(4)`, a page
_TPU_TUPLE_BYTES: Final = 512
_POINTER_BYTES: Final = 8
_TPU_HOST_SPACE: Final = 4


def estimate_size(shape: Shape, backend: Backend | None) -> int:
    """Return the bytes a backend gives a value; 0 where the shape has an unknown dimension.

    Tuples cost their own table: a pointer an element, on TPU 512 bytes.
    """
    if isinstance(shape, TupleShape):
        return _TPU_TUPLE_BYTES if backend == "tpu" else _POINTER_BYTES * len(shape.elements)
    if backend == "tpu" and shape.memory_space == _TPU_HOST_SPACE:
        return HOST_ARRAY_BYTES
    return shape.size_bytes or 0
