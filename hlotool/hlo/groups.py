"""Device groups and shardings: meshes, iota lists, and their expansion to device numbers.

Follows xla/hlo/ir/replica_group.cc, mesh_and_axis.cc and tile_assignment.h.

`Order` says in what order a mesh or an iota names devices, without listing a million of them: by
few nested steps. `[2,4]<=[4,2]T(1,0)`, which is 0, 2, 4, 6, 1, 3, 5, 7, has 2 devices 1 apart, and
behind each of them 4 devices 2 apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import prod
from typing import Final, TypeAlias

from msgspec import Struct

from hlotool.table.sums import group_pairs

Groups = tuple[tuple[int, ...], ...]

MOST_DEVICES: Final = 1 << 20  # beyond this a group notation is taken for a mistake
MOST_LISTED: Final = 1 << 18  # devices of all groups of a module that no closed form describes


class Iota(Struct, frozen=True):
    """`[dims]<=[reshape]T(perm)`: arange, reshaped, transposed, then reshaped to `dims`.

    `perm` is () for the identity.
    """

    dims: tuple[int, ...]
    reshape: tuple[int, ...]
    perm: tuple[int, ...] = ()

    def expand(self) -> tuple[int, ...]:
        """Return the device numbers in row-major order of `dims`."""
        return transposed(range(count_devices(self.reshape)), self.reshape, self.perm)

    def check(self) -> None:
        """Raise ValueError where the notation contradicts itself."""
        count = count_devices(self.dims)
        _check_transpose(count_devices(self.reshape), self.reshape, self.perm)
        if count != count_devices(self.reshape):
            raise ValueError("both sides of '<=' must hold the same devices")


class MeshAxis(Struct, frozen=True):
    """One axis of a mesh: name and number of devices along it."""

    name: str
    size: int


class AxisRef(Struct, frozen=True):
    """A mesh axis, or the part `(pre_size)size` of it; `size` 0 means the whole axis."""

    name: str
    pre_size: int = 1
    size: int = 0

    def __str__(self) -> str:
        return f"{self.name}:({self.pre_size}){self.size}" if self.size else self.name


class Mesh(Struct, frozen=True):
    """`mesh['a'=2,'b'=4], device_ids=...`; `device_ids` is None for 0, 1, 2, …."""

    axes: tuple[MeshAxis, ...]
    device_ids: Iota | tuple[int, ...] | None = None

    @property
    def dims(self) -> tuple[int, ...]:
        """Size of each axis, outermost first."""
        return tuple(axis.size for axis in self.axes)

    def devices(self) -> tuple[int, ...]:
        """Return the device numbers in row-major order of the axes."""
        count = count_devices(self.dims)
        if self.device_ids is None:
            return tuple(range(count))
        return self.device_ids.expand() if isinstance(self.device_ids, Iota) else self.device_ids

    def check(self) -> None:
        """Raise ValueError where sizes are none, or the permutation of the devices is none."""
        count_devices(self.dims)
        if isinstance(self.device_ids, Iota):
            self.device_ids.check()


class ReplicaGroups(Struct, frozen=True):
    """`replica_groups=` in any notation; exactly one of the three forms is set.

    `listed` (V1; empty means one group of everybody), `iota` (V2, two-dimensional) or
    `mesh` with `grouped_axes` (V3).
    """

    listed: Groups | None = None
    iota: Iota | None = None
    mesh: Mesh | None = None
    grouped_axes: tuple[AxisRef, ...] = ()

    @property
    def is_everybody(self) -> bool:
        """Whether the text is `{}`: all participants in one group."""
        return self.listed == ()

    def count(self) -> int:
        """Return how many device numbers `expand` lists."""
        if self.listed is not None:
            return sum(map(len, self.listed))
        if self.iota is not None:
            return prod(self.iota.dims)
        return prod(self.mesh.dims) if self.mesh is not None else 0

    def expand(self) -> Groups:
        """Return the groups as device numbers; () when `is_everybody`.

        Raises ValueError when the notation contradicts itself (an axis that the mesh does
        not have, a permutation that is none).
        """
        if self.listed is not None:
            return self.listed
        if self.iota is not None:
            return _rows(self.iota.expand(), self.iota.dims[1])
        if self.mesh is None:
            return ()
        dims, perm, width = self.arrange(self.mesh)
        return _rows(transposed(self.mesh.devices(), dims, perm), width)

    def check_mesh(self) -> None:
        """Raise ValueError where axes and the devices of a mesh contradict each other."""
        if self.mesh is None:
            return
        self.mesh.check()
        dims, perm, _ = self.arrange(self.mesh)
        ids = self.mesh.device_ids
        listed = ids.dims if isinstance(ids, Iota) else dims if ids is None else (len(ids),)
        _check_transpose(prod(listed), dims, perm)

    def arrange(self, mesh: Mesh) -> tuple[list[int], list[int], int]:
        """Split axes at sub-axis borders, and move the grouped parts last.

        Return the sizes of the parts, their new order, and how many devices make a group.
        """
        pieces = _split_axes(mesh.axes, self.grouped_axes)
        dims = [piece.size for piece in pieces]
        grouped = _list_grouped(pieces, self.grouped_axes)
        kept = set(range(len(dims))).difference(grouped)
        if len(kept) + len(grouped) != len(dims):
            raise ValueError("an axis is grouped twice")
        return dims, [*sorted(kept), *grouped], prod(dims[place] for place in grouped)


class Sharding(Struct, frozen=True):
    """`sharding=` in any version; `kind` says which fields count.

    `kind`: replicated, manual, unknown, unreduced, maximal, tiled, named, tuple.
    `tile_dims` and `devices` for tiled (`last_tile_dims` name the extra dimensions);
    `mesh` and `dim_axes` (one tuple of axes a dimension, `?` marking an open one) for
    named; `elements` for tuple. `text` is the printed form without its outer braces.
    """

    kind: str
    text: str
    device: int | None = None
    tile_dims: tuple[int, ...] = ()
    devices: Iota | tuple[int, ...] | None = None
    last_tile_dims: tuple[str, ...] = ()
    mesh: Mesh | None = None
    dim_axes: tuple[tuple[AxisRef, ...], ...] = ()
    open_dims: tuple[int, ...] = ()
    replicated_axes: tuple[AxisRef, ...] = ()
    unreduced_axes: tuple[AxisRef, ...] = ()
    manual_axes: tuple[AxisRef, ...] = ()
    elements: tuple[Sharding, ...] = ()


def count_devices(dims: Iterable[int]) -> int:
    """Multiply sizes; raise ValueError for one below 1, or for more than MOST_DEVICES."""
    count = 1
    for size in dims:
        if size < 1:
            raise ValueError("expected sizes of at least 1")
        count *= size
        if count > MOST_DEVICES:
            raise ValueError(f"more than {MOST_DEVICES:,} devices must be a mistake")
    return count


def transposed(values: Sequence[int], dims: Sequence[int], perm: Sequence[int]) -> tuple[int, ...]:
    """Return row-major `values` of shape `dims` with its dimensions reordered by `perm`.

    Raises ValueError when `perm` is no permutation or the sizes do not match.
    """
    _check_transpose(len(values), dims, perm)
    if not perm:
        return tuple(values)
    stride = len(values)
    strides = []
    for size in dims:
        stride //= size
        strides.append(stride)
    places = [0]
    for number in perm:
        if dims[number] > 1:  # so that a list of ones costs nothing
            steps = [k * strides[number] for k in range(dims[number])]
            places = [place + step for place in places for step in steps]
    return tuple(values[place] for place in places)


def _check_transpose(count: int, dims: Sequence[int], perm: Sequence[int]) -> None:
    """Raise ValueError unless so many devices fill `dims`, and `perm` reorders these."""
    size = count_devices(dims)
    if count != size:
        raise ValueError(f"{count:,} devices do not fill a mesh of {size:,}")
    if perm and sorted(perm) != list(range(len(dims))):
        raise ValueError("T(…) must name every dimension once")


def _rows(devices: tuple[int, ...], width: int) -> Groups:
    return tuple(devices[at : at + width] for at in range(0, len(devices), width)) if width else ()


class _Piece(Struct, frozen=True):
    """A part of a mesh axis between two sub-axis borders; `start` is its pre_size."""

    axis: str
    start: int
    size: int


def _split_axes(axes: Sequence[MeshAxis], refs: Sequence[AxisRef]) -> list[_Piece]:
    """Cut every axis at the borders of the sub-axes that name it."""
    borders = {axis.name: {1, axis.size} for axis in axes}
    for ref in refs:
        if ref.name not in borders:
            raise ValueError(f"the mesh has no axis {ref.name!r}")
        if ref.size:
            borders[ref.name] |= {ref.pre_size, ref.pre_size * ref.size}
    pieces: list[_Piece] = []
    for axis in axes:
        ordered = sorted(borders[axis.name])
        for low, high in pairwise(ordered):
            if high % low:
                raise ValueError(f"a sub-axis does not divide axis {axis.name!r}")
            pieces.append(_Piece(axis.name, low, high // low))
        if ordered[-1] != axis.size:
            raise ValueError(f"a sub-axis is larger than axis {axis.name!r}")
    return pieces


def _list_grouped(pieces: Sequence[_Piece], refs: Sequence[AxisRef]) -> list[int]:
    """Return the numbers of the pieces that `refs` cover, in their order."""
    places = group_pairs((piece.axis, place) for place, piece in enumerate(pieces))
    grouped: list[int] = []
    for ref in refs:
        end = ref.pre_size * ref.size
        grouped += [
            place
            for place in places.get(ref.name, ())
            if not ref.size or ref.pre_size <= pieces[place].start < end
        ]
        if len(grouped) > len(pieces):
            raise ValueError("an axis is grouped twice")
    return grouped


Step: TypeAlias = tuple[int, int]  # how many devices, and how far apart
Order: TypeAlias = tuple[Step, ...]  # the outermost first; no two could be one


def order_iota(iota: Iota) -> Order | None:
    """Return the order of an iota; None only where it contradicts itself."""
    dims = iota.reshape
    return arrange(((prod(dims), 1),), dims, iota.perm or range(len(dims)))


def order_mesh(mesh: Mesh) -> Order | None:
    """Return the order of a mesh, None where its text lists devices that follow no steps."""
    if (ids := mesh.device_ids) is None:
        return order_iota(Iota(mesh.dims, mesh.dims))
    return order_iota(ids) if isinstance(ids, Iota) else find_order(ids)


def find_order(devices: Sequence[int]) -> Order | None:
    """Return the order of a list, None where it follows no steps from 0."""
    order: list[Step] = []
    while len(devices) > 1:
        step = devices[1] - devices[0]
        size = 2
        while size < len(devices) and devices[size] - devices[size - 1] == step:
            size += 1
        begins = devices[::size]
        if step < 1 or list(devices) != [one + at * step for one in begins for at in range(size)]:
            return None
        order.insert(0, (size, step))
        devices = begins
    return tuple(order) if list(devices) == [0] else None


def arrange(order: Order, dims: Sequence[int], perm: Iterable[int]) -> Order | None:
    """Cut an order into dimensions and permute these; None where a step is cut unevenly."""
    parts = cut(order, dims)
    return None if parts is None else join(one for number in perm for one in parts[number])


def cut(order: Order, dims: Sequence[int]) -> list[list[Step]] | None:
    """Return the steps of each dimension; None where a step is cut unevenly."""
    rest = list(order)
    parts: list[list[Step]] = []
    for dim in reversed(dims):
        part: list[Step] = []
        left = dim
        while left > 1 and rest:
            size, step = rest.pop()
            taken = min(size, left)
            if left % taken or size % taken:
                return None
            if taken < size:
                rest.append((size // taken, step * taken))
            part.insert(0, (taken, step))
            left //= taken
        parts.append(part)
    return parts[::-1]


def join(steps: Iterable[Step]) -> Order:
    """Write as one step what follows each other in equal steps."""
    joined: list[Step] = []
    for size, step in steps:
        if joined and joined[-1][1] == size * step:
            joined[-1] = (joined[-1][0] * size, step)
        else:
            joined.append((size, step))
    return tuple(joined)
