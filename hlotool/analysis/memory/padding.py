"""How much of a value is padding: what tiles and the allocator's minima add to its elements?"""

from __future__ import annotations

from hlotool.ir.buffers import BufferValue
from hlotool.ir.shape import TupleShape


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
