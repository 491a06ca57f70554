"""Device groups and shardings: meshes, iota lists, and their expansion to device numbers.

Follows xla/hlo/ir/replica_group.cc, mesh_and_axis.cc and tile_assignment.h.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Final

Groups = tuple[tuple[int, ...], ...]

MOST_DEVICES: Final = 1 << 22  # beyond this a group notation is taken for a mistake


@dataclass(frozen=True, slots=True)
class Iota:
    """`[dims]<=[reshape]T(perm)`: arange, reshaped, transposed, then reshaped to `dims`.

    `perm` is () for the identity.
    """

    dims: tuple[int, ...]
    reshape: tuple[int, ...]
    perm: tuple[int, ...] = ()

    def expand(self) -> tuple[int, ...]:
        """Return the device numbers in row-major order of `dims`."""
        return transposed(range(prod(self.reshape)), self.reshape, self.perm)


@dataclass(frozen=True, slots=True)
class MeshAxis:
    """One axis of a mesh: name and number of devices along it."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class AxisRef:
    """A mesh axis, or the part `(pre_size)size` of it; `size` 0 means the whole axis."""

    name: str
    pre_size: int = 1
    size: int = 0

    def __str__(self) -> str:
        return f"{self.name}:({self.pre_size}){self.size}" if self.size else self.name


@dataclass(frozen=True, slots=True)
class Mesh:
    """`mesh['a'=2,'b'=4], device_ids=...`; `device_ids` is None for 0, 1, 2, …."""

    axes: tuple[MeshAxis, ...]
    device_ids: Iota | tuple[int, ...] | None = None

    @property
    def dims(self) -> tuple[int, ...]:
        """Size of each axis, outermost first."""
        return tuple(axis.size for axis in self.axes)

    def devices(self) -> tuple[int, ...]:
        """Return the device numbers in row-major order of the axes."""
        if self.device_ids is None:
            return tuple(range(prod(self.dims)))
        return self.device_ids.expand() if isinstance(self.device_ids, Iota) else self.device_ids


@dataclass(frozen=True, slots=True)
class ReplicaGroups:
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

    def expand(self) -> Groups:
        """Return the groups as device numbers; () when `is_everybody`.

        Raises ValueError when the notation contradicts itself (an axis that the mesh does
        not have, a permutation that is none).
        """
        if self.listed is not None:
            return self.listed
        if self.iota is not None:
            return _rows(self.iota.expand(), self.iota.dims[1])
        return self._expand_mesh() if self.mesh is not None else ()

    def _expand_mesh(self) -> Groups:
        """Split axes at sub-axis borders, move the grouped parts last, cut into rows."""
        mesh = self.mesh or Mesh(())
        dims: list[int] = []
        place_of: dict[tuple[str, int], int] = {}
        for axis in mesh.axes:
            position = 1
            for size in _split_axis(axis, self.grouped_axes):
                place_of[axis.name, position] = len(dims)
                dims.append(size)
                position *= size
        sizes = {axis.name: axis.size for axis in mesh.axes}
        grouped: list[int] = []
        for ref in self.grouped_axes:
            if ref.name not in sizes:
                raise ValueError(f"the mesh has no axis {ref.name!r}")
            end = ref.pre_size * (ref.size or sizes[ref.name])
            position = ref.pre_size
            while position < end:
                place = place_of.get((ref.name, position))
                if place is None:
                    raise ValueError(f"sub-axis {ref} does not divide axis {ref.name!r}")
                grouped.append(place)
                position *= dims[place]
        if len(set(grouped)) != len(grouped):
            raise ValueError("an axis is grouped twice")
        perm = [place for place in range(len(dims)) if place not in grouped] + grouped
        width = prod(dims[place] for place in grouped)
        return _rows(transposed(mesh.devices(), dims, perm), width)


@dataclass(frozen=True, slots=True)
class Sharding:
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
    elements: tuple[Sharding, ...] = field(default=())


def transposed(
    values: Sequence[int], dims: Sequence[int], perm: Sequence[int]
) -> tuple[int, ...]:
    """Return row-major `values` of shape `dims` with its dimensions reordered by `perm`.

    Raises ValueError when `perm` is no permutation or the sizes do not match.
    """
    if prod(dims) > MOST_DEVICES:
        raise ValueError(f"{prod(dims):,} devices are more than any machine has")
    if len(values) != prod(dims):
        raise ValueError(f"{len(values)} devices do not fill {'x'.join(map(str, dims))}")
    if not perm:
        return tuple(values)
    if sorted(perm) != list(range(len(dims))):
        raise ValueError(f"T({','.join(map(str, perm))}) is no permutation of the dimensions")
    strides = [prod(dims[number + 1 :]) for number in range(len(dims))]
    places = [0]
    for number in perm:
        places = [place + k * strides[number] for place in places for k in range(dims[number])]
    return tuple(values[place] for place in places)


def _rows(devices: tuple[int, ...], width: int) -> Groups:
    return tuple(devices[at : at + width] for at in range(0, len(devices), width)) if width else ()


def _split_axis(axis: MeshAxis, refs: Sequence[AxisRef]) -> list[int]:
    """Sizes of the pieces an axis falls into at the borders of its grouped sub-axes."""
    borders = {1, axis.size}
    for ref in refs:
        if ref.name == axis.name and ref.size:
            borders |= {ref.pre_size, ref.pre_size * ref.size}
    ordered = sorted(borders)
    if len(ordered) == 1:
        return [1]
    pieces = []
    for low, high in zip(ordered, ordered[1:], strict=False):
        if high % low:
            raise ValueError(f"a sub-axis does not divide axis {axis.name!r} of size {axis.size}")
        pieces.append(high // low)
    return pieces
