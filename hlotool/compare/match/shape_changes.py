"""In which respects do two shapes differ: dtype, dimensions, layout, memory space?"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from hlotool.ir import ArrayShape, Layout, Shape, TupleShape


def shape_changes(left: Shape, right: Shape) -> Iterator[tuple[str, str, str]]:
    """Yield (kind, left, right) for each respect; of a tuple, the first array that differs.

    A tuple of other length or nesting has changed its shape, whatever its arrays do.
    """
    here, there = list(left.leaves_with_index()), list(right.leaves_with_index())
    if [index for index, _ in here] != [index for index, _ in there]:
        yield "shape", describe_shape(left), describe_shape(right)
        return
    told: set[str] = set()
    for (index, one), (_, other) in zip(here, there, strict=True):
        place = "{" + ",".join(map(str, index)) + "} " if index else ""
        for kind, before, after in _array_changes(one, other):
            if kind not in told:
                told.add(kind)
                yield kind, place + before, after


def describe_shape(shape: Shape) -> str:
    """Write an array as XLA does; of a tuple only how many arrays it holds."""
    if isinstance(shape, TupleShape):
        return f"a tuple of {sum(1 for _ in shape.leaves())}"
    return str(shape)


def scaling(left: Shape, right: Shape) -> str:
    """Say by which factor shapes differ, if they do in no other way; '' if in another way.

    Of every array at most one dimension may have changed, and by the same factor in all.
    """
    here, there = list(left.leaves_with_index()), list(right.leaves_with_index())
    if [index for index, _ in here] != [index for index, _ in there]:
        return ""
    factors: set[Fraction] = set()
    for (_, one), (_, other) in zip(here, there, strict=True):
        if len(one.dims) != len(other.dims) or one.dynamic != other.dynamic:
            return ""
        changed = [(a, b) for a, b in zip(one.dims, other.dims, strict=True) if a != b]
        if len(changed) > 1 or any(a <= 0 or b <= 0 for a, b in changed):
            return ""
        factors.update(Fraction(b, a) for a, b in changed)
    return f"×{factors.pop()}" if len(factors) == 1 else ""


def _array_changes(left: ArrayShape, right: ArrayShape) -> Iterator[tuple[str, str, str]]:
    if left.dtype != right.dtype:
        yield "dtype", left.dtype, right.dtype
    if (left.dims, left.dynamic) != (right.dims, right.dynamic):
        yield "shape", str(left), str(right)
    here, there = left.layout or Layout(), right.layout or Layout()
    if here.memory_space != there.memory_space:
        yield "memory space", str(here.memory_space), str(there.memory_space)
    is_comparable = len(left.dims) == len(right.dims) or here.tiles != there.tiles
    if is_comparable and _arrangement(here) != _arrangement(there):
        yield "layout", format_layout(here), format_layout(there)


def _arrangement(layout: Layout) -> tuple[object, ...]:
    return (
        layout.minor_to_major,
        layout.tiles,
        layout.element_bits,
        layout.tail_padding,
        layout.prefix_bytes,
        layout.rest,
    )


def format_layout(layout: Layout) -> str:
    """Write the order of dimensions and the tiles as XLA does; the memory space is left out."""
    order = ",".join(map(str, layout.minor_to_major))
    tiles = "".join(f"({','.join(map(str, tile))})" for tile in layout.tiles)
    extra = f"E({layout.element_bits})" if layout.element_bits else ""
    behind = f"T{tiles}" * bool(tiles) + extra
    return "{" + order + (f":{behind}" if behind else "") + "}"


def format_shape(shape: Shape, *, with_layout: bool = True) -> str:
    """Write a shape as XLA does, tuples in full."""
    if isinstance(shape, TupleShape):
        parts = (format_shape(each, with_layout=with_layout) for each in shape.elements)
        return f"({', '.join(parts)})"
    if not with_layout or shape.layout is None or not shape.dims:
        return str(shape)
    space = shape.layout.memory_space
    text = format_layout(shape.layout)
    return f"{shape}{text[:-1]}{':' * (':' not in text)}S({space})}}" if space else f"{shape}{text}"
