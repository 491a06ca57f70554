"""Shape sizes: computed from type, layout and tiles, they are what XLA's allocator used."""

from __future__ import annotations

from buffer_dumps import Dump, find_dumps
from each import for_each

from hlotool.hlo import ArrayShape, Shape

# What the TPU's allocator rounds up beyond the tiles: (shape, memory space, thread-local) and
# the size it gives. Host arrays take a page; scalars without a tile have their own minimum.
ALLOCATOR_MINIMA = {
    ("s32[2]", 4, False): 4096,
    ("s32[]", 0, True): 4096,
    ("u32[]", 0, False): 4096,  # a constant
    ("u32[]", 6, False): 4096,
    ("pred[]", 0, True): 1024,
    ("pred[]", 6, True): 1024,
}


def is_split(shape: Shape) -> bool:
    """Whether an array lies in the vmem of two TensorCores, `SC(0:64)` on v5p: half in each.

    A shape's own size is that of both halves.
    """
    return (
        isinstance(shape, ArrayShape)
        and shape.layout is not None
        and shape.layout.rest.startswith("SC(")
    )


@for_each(find_dumps())
def test_sizes_are_those_of_the_assignment(dump: Dump) -> None:
    compared = 0
    for allocation in dump.assignment.allocations:
        for value in allocation.values:
            shape = value.shape
            if shape.is_tuple:  # the size of a tuple's own table is not its shape's
                continue
            compared += 1
            key = (str(shape), shape.memory_space, allocation.is_thread_local)
            is_exception = dump.backend in {"tpu", ""} and key in ALLOCATOR_MINIMA
            whole = shape.size_bytes
            if is_split(shape):
                assert whole is not None
                whole //= 2
            expected = ALLOCATOR_MINIMA[key] if is_exception else whole
            if is_exception and value.size_bytes == shape.size_bytes:
                continue  # the older compiler has fewer minima
            assert value.size_bytes == expected, value.name
    assert compared
