"""Shapes: frozen values, one object per spelling (the parser caches them).

Sizes follow XLA: `ShapeUtil::ByteSizeOf` (xla/shape_util.cc) for untiled layouts, and the
padding of the first tile (xla/layout.h) for tiled ones. Allocators may round further;
where a buffer assignment states a size, that size wins (docs/numbers.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from typing import Final, TypeAlias, TypeVar

from msgspec import Struct

# Bits of one element. Source: xla/primitive_util.h `BitWidth`. `pred` is stored in a byte.
DTYPE_BITS: Final[dict[str, int]] = {
    "pred": 8, "s1": 1, "u1": 1, "s2": 2, "u2": 2, "s4": 4, "u4": 4, "s8": 8, "u8": 8,
    "s16": 16, "u16": 16, "s32": 32, "u32": 32, "s64": 64, "u64": 64,
    "f4e2m1fn": 4, "f6e3m2fn": 6, "f6e2m3fn": 6,
    "f8e5m2": 8, "f8e4m3": 8, "f8e4m3fn": 8, "f8e4m3b11fnuz": 8, "f8e3m4": 8,
    "f8e5m2fnuz": 8, "f8e4m3fnuz": 8, "f8e8m0fnu": 8,
    "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "c64": 64, "c128": 128,
    "token": 0, "opaque": 64,
}  # fmt: skip

DTYPES: Final = frozenset(DTYPE_BITS)
UNBOUNDED: Final = -1  # a dimension printed `?`
COMBINED: Final = -1  # a tile dimension printed `*`


class Layout(Struct, frozen=True):
    """How an array lies in memory, `{1,0:T(8,128)(2,1)S(1)}`.

    `minor_to_major[0]` is the dimension that varies fastest. `tiles` are outermost first;
    a tile entry may be COMBINED. `element_bits` is `E(n)`, 0 when not given. `rest` keeps
    the parts that no size depends on (`D()`, `#()`, `*()`, `SC()`, `P()`) as printed.
    """

    minor_to_major: tuple[int, ...] = ()
    tiles: tuple[tuple[int, ...], ...] = ()
    memory_space: int = 0
    element_bits: int = 0
    tail_padding: int = 1  # `L(n)`, in elements
    prefix_bytes: int = 0  # `M(n)`, dynamic-shape metadata
    rest: str = ""

    def __str__(self) -> str:
        """Write the order of dimensions and the tiles as XLA does; the memory space is left out."""
        tiles = "".join(f"({','.join(map(str, tile))})" for tile in self.tiles)
        bits = f"E({self.element_bits})" if self.element_bits else ""
        more = f"T{tiles}{bits}" if tiles else bits
        return f"{{{','.join(map(str, self.minor_to_major))}{':' if more else ''}{more}}}"


class ArrayShape(Struct, frozen=True):
    """A dense array `bf16[128,<=1024]{1,0:T(8,128)}`, or `token[]`, `opaque[]`.

    `dims` holds bounds for dynamic dimensions and UNBOUNDED for `?`; `dynamic` lists the
    dynamic dimensions' numbers. `layout` is None where the text prints none.
    """

    dtype: str
    dims: tuple[int, ...]
    layout: Layout | None = None
    dynamic: tuple[int, ...] = ()

    @property
    def is_tuple(self) -> bool:
        """False."""
        return False

    @property
    def memory_space(self) -> int:
        """The `S(n)` of the layout; 0 without one."""
        return self.layout.memory_space if self.layout else 0

    @property
    def element_count(self) -> int | None:
        """Elements at the bound of each dimension; 1 for a scalar; None if unbounded."""
        return None if UNBOUNDED in self.dims else prod(self.dims)

    @property
    def size_bytes(self) -> int | None:
        """Bytes with tile padding; None when a dimension or the type is unknown."""
        is_tiled = self.layout is not None and self.layout.tiles
        return self._bytes(self._padded_count() if is_tiled else self.element_count)

    @property
    def unpadded_bytes(self) -> int | None:
        """Bytes of the elements alone, tiles left out; None when unknown."""
        return self._bytes(self.element_count)

    def leaves(self) -> Iterator[ArrayShape]:
        """Yield the arrays of the shape, left to right: itself."""
        yield self

    def leaves_with_index(self) -> Iterator[tuple[tuple[int, ...], ArrayShape]]:
        """Yield `((), self)`."""
        yield (), self

    def without_layout(self) -> ArrayShape:
        """Return the same array with no layout, as signatures print it."""
        return ArrayShape(self.dtype, self.dims, None, self.dynamic) if self.layout else self

    def _bytes(self, count: int | None) -> int | None:
        bits = DTYPE_BITS.get(self.dtype)
        if count is None or bits is None:
            return None
        if (layout := self.layout) is not None and layout.element_bits:
            return (count * layout.element_bits + 7) // 8
        return count * ((bits + 7) // 8)

    def _padded_count(self) -> int | None:
        """Element count after rounding the minor dimensions up to the first tile.

        The tile's last entry pairs with the minor-most dimension, going outwards; a tile
        longer than the array pads imaginary dimensions of 1; a COMBINED entry merges its
        dimension with the next more minor one; inner tiles pad nothing.
        """
        count = self.element_count
        if count is None or not self.layout or not self.layout.tiles:
            return count
        tile = self.layout.tiles[0]
        sizes = [self.dims[number] for number in reversed(self.layout.minor_to_major)]
        sizes = [1] * (len(tile) - len(sizes)) + sizes
        untiled = len(sizes) - len(tile)
        padded, pending = prod(sizes[:untiled]), 1
        for size, entry in zip(sizes[untiled:], tile, strict=True):
            pending *= size
            if entry != COMBINED:
                padded *= -(-pending // entry) * entry
                pending = 1
        return padded * pending

    def __str__(self) -> str:
        dims = ",".join(
            "?" if size == UNBOUNDED else f"<={size}" if number in self.dynamic else str(size)
            for number, size in enumerate(self.dims)
        )
        return f"{self.dtype}[{dims}]"


class TupleShape(Struct, frozen=True):
    """A tuple of shapes, `(f32[8], (s32[], pred[]))`."""

    elements: tuple[Shape, ...]

    @property
    def is_tuple(self) -> bool:
        """True."""
        return True

    @property
    def memory_space(self) -> int:
        """0: a tuple's own table lies in the default space."""
        return 0

    @property
    def size_bytes(self) -> int | None:
        """Padded bytes of all leaves, the tuple's own table left out; None when unknown."""
        return sum_known(leaf.size_bytes for leaf in self.leaves())

    @property
    def unpadded_bytes(self) -> int | None:
        """Bytes of all leaves without tile padding; None when unknown."""
        return sum_known(leaf.unpadded_bytes for leaf in self.leaves())

    def leaves(self) -> Iterator[ArrayShape]:
        """Yield the arrays of the shape, left to right, at any depth."""
        pending = list(reversed(self.elements))
        while pending:
            shape = pending.pop()
            if isinstance(shape, ArrayShape):
                yield shape
            else:
                pending.extend(reversed(shape.elements))

    def leaves_with_index(self) -> Iterator[tuple[tuple[int, ...], ArrayShape]]:
        """Yield (index, array) for every leaf, left to right; no recursion in Python's stack."""
        pending: list[tuple[tuple[int, ...], Shape]] = [((), self)]
        while pending:
            index, shape = pending.pop()
            if isinstance(shape, ArrayShape):
                yield index, shape
            else:
                numbered = [((*index, n), part) for n, part in enumerate(shape.elements)]
                pending.extend(reversed(numbered))

    def without_layout(self) -> TupleShape:
        """Return the same tuple with no layouts."""
        return TupleShape(tuple(element.without_layout() for element in self.elements))

    def __str__(self) -> str:
        return f"({', '.join(str(element) for element in self.elements)})"


Shape: TypeAlias = ArrayShape | TupleShape


def find_part(shape: Shape, index: Iterable[int]) -> Shape | None:
    """Return the part of a tuple at an index, () for all of it; None where there is none."""
    for number in index:
        if not isinstance(shape, TupleShape) or number >= len(shape.elements):
            return None
        shape = shape.elements[number]
    return shape


_Number = TypeVar("_Number", int, float)


def sum_known(values: Iterable[_Number | None]) -> _Number | None:
    """Add values up; None where one of them is unknown."""
    total: _Number = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total
