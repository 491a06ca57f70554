"""How an array lies on the devices of a program: which part of it each device holds.

A `Sharding` is a notation; a `Spec` is what it means for an array, however it was written: for each
dimension the steps between the devices that hold its parts, the outermost first, and the steps
between those that hold the same part. `{devices=[4,1,2]<=[8] last_tile_dim_replicate}` of an array
of two dimensions has four parts of the first, on devices 2 apart, and each part on 2 devices 1
apart. On a mesh `data=4, model=2` that is `P('data')`, replicated over `model`.

Follows xla/hlo/ir/hlo_sharding.cc, tile_assignment.h and named_sharding.cc.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from operator import itemgetter

from msgspec import Struct
from msgspec.structs import replace

from hlotool.hlo import groups

Names = tuple[str, ...]


class Spec(Struct, frozen=True):
    """Where the parts of one array lie, on so many devices.

    `parts` are the parts of each dimension, `copies` the devices that hold each part. `dims` are
    the steps of each dimension, None where the devices follow none; `replicated` those between
    copies. `axes` and `replicated_axes` name the same by a mesh, None where nobody names them.
    `device` is the only one that holds the array. Of `manual` devices each holds what is its own,
    of `unreduced` ones each holds what has yet to be added up.
    """

    device_count: int
    parts: tuple[int, ...]
    copies: int
    dims: tuple[groups.Order, ...] | None = None
    replicated: groups.Order | None = None
    axes: tuple[Names, ...] | None = None
    replicated_axes: Names | None = None
    device: int | None = None
    manual: int = 1
    unreduced: int = 1

    def is_equivalent_to(self, other: Spec) -> bool:
        """Whether each device holds the same part by both; no where one of them is unknown."""
        told = (self.device_count, self.device, self.manual, self.unreduced)
        if told != (other.device_count, other.device, other.manual, other.unreduced):
            return False
        if self.dims is None or other.dims is None:
            return self.axes is not None and self.axes == other.axes
        return self.dims == other.dims

    def local_dims(self, dims: Sequence[int]) -> tuple[int, ...]:
        """Return the sizes of a device's part; where parts are uneven, of the largest."""
        return tuple(-(-size // parts) for size, parts in zip(dims, self.parts, strict=True))

    def global_dims(self, dims: Sequence[int]) -> tuple[int, ...]:
        """Return the sizes of an array whose parts, all equal, are so large."""
        return tuple(size * parts for size, parts in zip(dims, self.parts, strict=True))

    def __str__(self) -> str:
        """Write it as users of JAX do, `P('fsdp', None, 'tp')`; without names `[8@1, _, 2@8]`."""
        if self.device is not None:
            return f"on device {self.device}"
        if self.manual == self.device_count > 1:
            return "manual"
        if self.axes is None and prod(self.parts) > 1:
            if self.dims is None:
                return f"[{', '.join(str(parts) if parts > 1 else '_' for parts in self.parts)}]"
            written = ["·".join(write_steps(steps)) or "_" for steps in self.dims]
            return f"[{', '.join(written)}]"
        names = [_write_names(axes) for axes in self.axes or ()]
        while names and names[-1] == "None":
            names.pop()
        return f"P({', '.join(names)})"


def write_steps(steps: Iterable[groups.Step]) -> Names:
    """Write steps as `8@1`: 8 devices 1 apart."""
    return tuple(f"{size}@{stride}" for size, stride in steps)


def _write_names(axes: Names) -> str:
    if not axes:
        return "None"
    written = [f"'{name}'" for name in axes]
    return written[0] if len(axes) == 1 else f"({', '.join(written)})"


def find_spec(sharding: groups.Sharding, rank: int, device_count: int) -> Spec | None:
    """Return what a sharding means for an array of so many dimensions; None if it means nothing.

    Raises ValueError where it fits neither the array nor the devices, or contradicts itself.
    """
    whole = ((),) * rank
    spec = Spec(device_count, (1,) * rank, 1, whole, ())
    everybody: groups.Order = ((device_count, 1),) if device_count > 1 else ()
    if sharding.kind == "replicated":
        return replace(spec, copies=device_count, replicated=everybody)
    if sharding.kind == "manual":
        return replace(spec, manual=device_count)
    if sharding.kind == "unreduced":
        return replace(spec, unreduced=device_count)
    if sharding.kind == "maximal":
        device = sharding.device or 0
        if device >= device_count:
            raise ValueError(f"device {device:,} is outside the {device_count:,}")
        return replace(spec, device=device)
    if sharding.kind == "tiled":
        return _read_tiles(sharding, rank, device_count)
    return _read_named(sharding, rank, device_count) if sharding.kind == "named" else None


def _read_tiles(sharding: groups.Sharding, rank: int, device_count: int) -> Spec:
    """Read tiles: behind those that cut dimensions there are some for other purposes."""
    tiles, last = sharding.tile_dims, sharding.last_tile_dims
    _check_rank(len(tiles) - len(last), rank)
    _check_count(prod(tiles), device_count)
    devices = sharding.devices
    _check_list(devices, device_count)
    order = (
        groups.order_iota(devices)
        if isinstance(devices, groups.Iota)
        else groups.find_order(devices or ())
    )
    steps = None if order is None else groups.cut(order, tiles)

    def count(kind: str) -> int:
        return prod(size for size, what in zip(tiles[rank:], last, strict=True) if what == kind)

    return Spec(
        device_count,
        tiles[:rank],
        count("replicated"),
        None if steps is None else tuple(groups.join(each) for each in steps[:rank]),
        None
        if steps is None
        else _sort_steps(
            step
            for each, what in zip(steps[rank:], last, strict=True)
            if what == "replicated"
            for step in each
        ),
        manual=count("manual"),
        unreduced=count("unreduced"),
    )


def _read_named(sharding: groups.Sharding, rank: int, device_count: int) -> Spec:
    """Read axes of a mesh; those that nothing names are replicated over."""
    mesh = sharding.mesh or groups.Mesh(())
    if not mesh.axes and isinstance(mesh.device_ids, tuple) and len(mesh.device_ids) == 1:
        (device,) = mesh.device_ids
        return Spec(device_count, (1,) * rank, 1, ((),) * rank, (), device=device)
    _check_rank(len(sharding.dim_axes), rank)
    _check_count(prod(mesh.dims), device_count)
    _check_list(mesh.device_ids, device_count)
    segments = _Segments(mesh)
    dims = [segments.take(axes) for axes in sharding.dim_axes]
    manual, unreduced = segments.take(sharding.manual_axes), segments.take(sharding.unreduced_axes)
    replicated = segments.rest()
    is_strided = segments.is_strided
    return Spec(
        device_count,
        tuple(_count(each) for each in dims),
        _count(replicated),
        tuple(groups.join(one.step for one in each) for each in dims) if is_strided else None,
        _sort_steps(one.step for one in replicated) if is_strided else None,
        tuple(tuple(str(axis) for axis in axes) for axes in sharding.dim_axes),
        _name(replicated, mesh),
        manual=_count(manual),
        unreduced=_count(unreduced),
    )


def _check_rank(said: int, rank: int) -> None:
    if said != rank:
        raise ValueError(f"it is for {said:,} dimensions, and the array has {rank:,}")


def _check_count(said: int, device_count: int) -> None:
    if said != device_count:
        raise ValueError(f"it is for {said:,} devices, and the program runs on {device_count:,}")


def _check_list(devices: groups.Iota | tuple[int, ...] | None, device_count: int) -> None:
    if isinstance(devices, tuple) and sorted(devices) != list(range(device_count)):
        raise ValueError("its list does not name each device once")


def _sort_steps(steps: Iterable[groups.Step]) -> groups.Order:
    return groups.join(sorted(steps, key=itemgetter(1), reverse=True))


def name_axes(spec: Spec, mesh: groups.Mesh) -> Spec:
    """Name the axes of a spec by a mesh, as far as its parts are parts of axes."""
    if spec.dims is None or spec.replicated is None or prod(mesh.dims) != spec.device_count:
        return spec
    named = [name_steps(steps, mesh) for steps in spec.dims]
    axes = tuple(each for each in named if each is not None)
    if len(axes) < len(named):
        return spec
    return replace(spec, axes=axes, replicated_axes=name_steps(spec.replicated, mesh))


def name_steps(steps: groups.Order, mesh: groups.Mesh) -> Names | None:
    """Return the axes of a mesh that make some steps, in their order; None where none do."""
    segments = _Segments(mesh)
    pieces = segments.cover(steps) if segments.is_strided else None
    return None if pieces is None else _name(pieces, mesh)


class _Segment(Struct, frozen=True):
    """A part of an axis: `size` devices, `stride` apart, behind `pre_size` larger steps."""

    axis: str
    pre_size: int
    size: int
    stride: int

    @property
    def step(self) -> groups.Step:
        return self.size, self.stride


class _Segments:
    """The axes of a mesh as segments that each are one step, and which of them are not taken yet.

    Where the mesh lists devices that follow no steps, every axis is one segment, of no stride.
    """

    def __init__(self, mesh: groups.Mesh) -> None:
        order = groups.order_mesh(mesh)
        steps = None if order is None else groups.cut(order, mesh.dims)
        self.is_strided = steps is not None
        self.sizes = {axis.name: axis.size for axis in mesh.axes}
        self._free: list[_Segment] = []
        for axis, parts in zip(
            mesh.axes, steps or [[(size, 0)] for size in mesh.dims], strict=True
        ):
            pre_size = 1
            for size, stride in parts:
                self._free.append(_Segment(axis.name, pre_size, size, stride))
                pre_size *= size

    def rest(self) -> list[_Segment]:
        """Return what is not taken."""
        return [one for one in self._free if one.size > 1]

    def take(self, axes: Iterable[groups.AxisRef]) -> list[_Segment]:
        """Return the segments of some axes or of parts of them, which nobody else can take."""
        found: list[_Segment] = []
        for ref in axes:
            if ref.name not in self.sizes:
                raise ValueError(f"the mesh has no axis {ref.name!r}")
            begin, end = ref.pre_size, ref.pre_size * (ref.size or self.sizes[ref.name])
            taken = [one for each in self._free for one in self._cut(each, ref.name, begin, end)]
            if prod(one.size for one in taken) * begin != end:
                raise ValueError(f"axis {ref} is used twice, or is not a part of its axis")
            found += taken
        return found

    def _cut(self, one: _Segment, name: str, begin: int, end: int) -> Iterator[_Segment]:
        """Take what of a segment lies between two numbers of larger steps."""
        low = max(begin, one.pre_size)
        high = min(end, one.pre_size * one.size)
        if one.axis != name or low >= high:
            return
        last = one.pre_size * one.size
        if low % one.pre_size or high % low or last % high:
            raise ValueError(f"a sub-axis does not divide axis {name!r}")
        before, taken, after = low // one.pre_size, high // low, last // high
        at = self._free.index(one)
        self._free = [
            *self._free[:at],
            _Segment(name, one.pre_size, before, one.stride * taken * after),
            _Segment(name, high, after, one.stride),
            *self._free[at + 1 :],
        ]
        yield _Segment(name, low, taken, one.stride * after)

    def cover(self, steps: groups.Order) -> list[_Segment] | None:
        """Return the segments that make some steps, in their order; None where none do."""
        found: list[_Segment] = []
        rest = list(steps)
        while rest:
            size, stride = rest.pop()
            pieces = (_share(each, size, stride) for each in self._free)
            if (piece := next(filter(None, pieces), None)) is None:
                return None
            found.insert(0, piece)
            if piece.size < size:
                rest.append((size // piece.size, stride * piece.size))
        return found


def _share(one: _Segment, size: int, stride: int) -> _Segment | None:
    """Return the innermost part of a step that lies in a segment, if that divides both."""
    end = one.stride * one.size
    if not one.stride <= stride < end:
        return None
    high = min(end, stride * size)
    taken = high // stride
    if stride % one.stride or high % stride or end % high or size % taken:
        return None
    return _Segment(one.axis, one.pre_size * (end // high), taken, stride)


def _count(pieces: Iterable[_Segment]) -> int:
    return prod(one.size for one in pieces)


def _name(pieces: Sequence[_Segment], mesh: groups.Mesh) -> Names:
    """Write segments as axes: parts of one that follow each other are one."""
    sizes = {axis.name: axis.size for axis in mesh.axes}
    refs: list[groups.AxisRef] = []
    for one in pieces:
        last = refs[-1] if refs else None
        if last and last.name == one.axis and last.pre_size * last.size == one.pre_size:
            refs[-1] = replace(last, size=last.size * one.size)
        else:
            refs.append(groups.AxisRef(one.axis, one.pre_size, one.size))
    return tuple(one.name if one.size == sizes[one.name] else str(one) for one in refs)
