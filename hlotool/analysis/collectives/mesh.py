"""Where in the machine a collective runs: along which mesh axes, inside which nodes.

A group along axes of a row-major mesh holds numbers that are a step apart, and blocks of such that
are a larger step apart: `4@2`. These strides are known where no mesh is. JAX writes its meshes
into the header of a module, `xla.sdy.meshes`, before the module is partitioned; groups may name a
mesh of their own. Groups that follow strides are never listed device by device: they can be far
longer than the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from operator import itemgetter
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.collectives.groups import DeviceGroups, Pairs
from hlotool.analysis.graph.backend import find_backend
from hlotool.analysis.graph.calls import reach
from hlotool.errors import UsageError
from hlotool.hlo import AxisRef, Mesh, MeshAxis, Module, ReplicaGroups
from hlotool.hlo.groups import Groups, Order, count_devices, cut, find_order, join, order_mesh
from hlotool.hlo.sharding import Names, name_steps, write_steps
from hlotool.hlo.shardy import find_meshes
from hlotool.table.sums import group_pairs

Span: TypeAlias = Literal["intra-node", "inter-node"]
Interconnect: TypeAlias = Literal["dcn", "ici", "nvlink"]
MeshSource: TypeAlias = Callable[[], Mesh | None]  # where to ask for a mesh, if it is needed

_AXIS: Final = r"\s*([A-Za-z_][\w.\-]*)\s*=\s*([1-9]\d{0,8})\s*"
_ATTRIBUTE: Final = "xla.sdy.meshes"
_MADE_UP: Final = re.compile(r"axis_\d+")  # what XLA calls axes whose names it has lost


def find_own_interconnect(module: Module) -> Interconnect | None:
    """Return the interconnect of everything that a module does not send between slices.

    A compiled TPU module is that of one slice, whose chips the inter-chip interconnect joins:
    libtpu has made transfers by host of what leaves it. Of GPU and CPU the text says nothing.
    """
    return "ici" if module.header.is_scheduled and find_backend(module) == "tpu" else None


class Extent(Struct, frozen=True):
    """Mesh axes, strides and span of one collective; None where they are not known."""

    axes: tuple[str, ...] | None
    strides: tuple[str, ...] | None
    span: Span | None


class ExtentFinder:
    """Finds the extent of a module's collectives; equal groups are looked at once.

    Axes are those of `mesh`, which the user gave. Without it they are those that the notation
    names; else those of the mesh in the module's header, or of the one that `sibling_mesh`
    knows, which is asked only then; else the strides. Names that lie differently in two meshes
    are told apart. Raises UsageError where the user's mesh has not as many devices as the
    module.
    """

    def __init__(
        self,
        module: Module,
        found: Sequence[DeviceGroups],
        mesh: Mesh | None,
        sibling_mesh: MeshSource,
        devices_per_node: int | None,
    ) -> None:
        self._device_count = module.header.device_count
        self._is_given = mesh is not None
        self._devices_per_node = devices_per_node
        self._known: dict[int, tuple[DeviceGroups, Extent]] = {}  # by id: groups can be long
        self._renamed: dict[Mesh, Mesh] = {}
        if mesh is None:
            named = {one for groups in found if (one := find_named_mesh(groups.printed))}
            is_needed = any(
                find_named_mesh(groups.printed) is None and groups.is_known for groups in found
            )
            mesh = (find_header_mesh(module) or sibling_mesh()) if is_needed else None
            self._renamed = tell_apart(named | {mesh} if mesh else named)
        else:
            check_given_mesh(mesh, module)
        self._finder = AxisFinder(self._renamed.get(mesh, mesh)) if mesh else None

    def find(self, groups: DeviceGroups) -> Extent:
        """Return the axes and the span of a collective's groups or pairs."""
        if (known := self._known.get(id(groups))) is None:
            steps = groups.find_steps() if groups.problem is None else None
            extent = self._look_at(groups) if steps is None else self._follow(groups, steps)
            self._known[id(groups)] = known = groups, extent
        return known[1]

    def _follow(self, groups: DeviceGroups, steps: Order) -> Extent:
        """Return the extent of groups that follow strides, without listing their devices."""
        if (axes := self._name_printed(groups)) is None and self._finder is not None:
            axes = self._finder.find_strided_axes(steps)
            if axes is None and (expanded := groups.expand()) is not None:
                axes = self._finder.find_axes(expanded)
        span: Span | None = None
        per_node, devices = self._devices_per_node, self._device_count
        if per_node is not None and devices is not None:
            # All groups together are 0, 1, 2, …, in blocks of as many devices as the largest step
            # spans. A node that ends inside a block ends inside a group: each is longer than half.
            block = prod(steps[0]) if steps else 1
            span = "intra-node" if per_node >= devices or per_node % block == 0 else "inter-node"
        return self._make(axes, steps, span)

    def _look_at(self, groups: DeviceGroups) -> Extent:
        """Return the extent of groups or pairs from the list of their devices."""
        per_node = self._devices_per_node
        pairs = groups.expand_pairs() if groups.has_pairs else None
        expanded = join_pairs(pairs) if pairs else groups.expand()
        if expanded is None or self._device_count is None:
            # No node holds devices of two slices.
            never_stays = per_node is not None and groups.mode == "cross_slice"
            return Extent(None, None, "inter-node" if never_stays else None)
        if (axes := self._name_printed(groups)) is None and self._finder is not None:
            find = self._finder.find_pair_axes
            axes = find(pairs) if pairs else self._finder.find_axes(expanded)
        span = None if per_node is None else measure_span(pairs or expanded, per_node)
        return self._make(axes, find_strides(expanded, self._device_count), span)

    def _name_printed(self, groups: DeviceGroups) -> tuple[str, ...] | None:
        """Return the axes that a notation groups, in mesh order, as the mesh calls them."""
        printed = groups.printed
        mesh = None if self._is_given else find_named_mesh(printed)
        if mesh is None or printed is None:
            return None
        order = {axis.name: at for at, axis in enumerate(mesh.axes)}
        names = [axis.name for axis in self._renamed[mesh].axes]
        axes = sorted(printed.grouped_axes, key=lambda ref: (order[ref.name], ref.pre_size))
        return tuple(str(replace(ref, name=names[order[ref.name]])) for ref in axes)

    def _make(self, axes: Names | None, strides: Order | None, span: Span | None) -> Extent:
        """Return an extent; strides stand for axes that have no name."""
        written = None if strides is None else write_steps(strides)
        return Extent(written if axes is None and not self._is_given else axes, written, span)


def measure_span(groups: Groups, devices_per_node: int) -> Span:
    """Say whether every group stays inside one node; nodes hold consecutive devices."""
    stay = all(len({device // devices_per_node for device in group}) <= 1 for group in groups)
    return "intra-node" if stay else "inter-node"


class AxisFinder:
    """Names the axes of one mesh along which groups of devices lie."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self._places = {device: place for place, device in enumerate(mesh.devices())}

    def find_axes(self, groups: Iterable[Sequence[int]]) -> tuple[str, ...] | None:
        """Return the axes that every group spans, in mesh order; () where nobody has company.

        A part of an axis is written as XLA writes it, `data:(2)2`: behind 2 larger steps, 2
        devices. None where no set of axes makes these groups.
        """
        places = [[self._places.get(device, -1) for device in group] for group in groups]
        if any(-1 in group for group in places):
            return None
        strides = find_strides(places, len(self._places))
        return None if strides is None else self._name(strides)

    def find_strided_axes(self, strides: Order) -> tuple[str, ...] | None:
        """Return the axes of groups that cover a mesh and follow strides.

        None, too, where the mesh has its devices in an order of its own.
        """
        return self._name(strides) if self.mesh.device_ids is None else None

    def find_pair_axes(self, pairs: Iterable[tuple[int, int]]) -> tuple[str, ...] | None:
        """Return the axes along which any pair moves, in mesh order."""
        moved: set[str] = set()
        for source, target in pairs:
            before, after = self._places.get(source), self._places.get(target)
            if before is None or after is None:
                return None
            moved.update(
                axis.name
                for axis, step in self._steps()
                if before // step % axis.size != after // step % axis.size
            )
        return tuple(axis.name for axis in self.mesh.axes if axis.name in moved)

    def _name(self, strides: Order) -> tuple[str, ...] | None:
        """Cut strides where axes end; None where an axis is not cut evenly."""
        return name_steps(strides, Mesh(self.mesh.axes))  # of places in the mesh, not of devices

    def _steps(self) -> Iterator[tuple[MeshAxis, int]]:
        """Yield the axes, each with how far apart the places along it are."""
        step = prod(self.mesh.dims)
        for axis in self.mesh.axes:
            step //= axis.size
            yield axis, step


def parse_mesh_axes(text: str) -> Mesh:
    """Read what a user types, `data=4,model=2`: row-major, the last axis varies fastest.

    mesh = axis { "," axis }    axis = name "=" size
    """
    axes: list[MeshAxis] = []
    for part in text.split(","):
        if (match := re.fullmatch(_AXIS, part)) is None:
            raise UsageError(f"--mesh {text}: expected NAME=SIZE, as in data=4,model=2.")
        axes.append(MeshAxis(match[1], int(match[2])))
    if len({axis.name for axis in axes}) < len(axes):
        raise UsageError(f"--mesh {text}: an axis is named twice.")
    try:
        count_devices(axis.size for axis in axes)
    except ValueError as error:
        raise UsageError(f"--mesh {text}: {error}.") from error
    return Mesh(tuple(axes))


def check_given_mesh(mesh: Mesh, module: Module) -> None:
    """Raise UsageError where the user's mesh has not as many devices as the module."""
    header = module.header
    if header.device_count not in {None, prod(mesh.dims)}:
        raise UsageError(
            f"The mesh has {prod(mesh.dims):,} devices, but the module runs on "
            f"{header.device_count:,} (num_partitions {header.num_partitions:,} × replica_count "
            f"{header.replica_count:,})."
        )


def find_header_mesh(module: Module) -> Mesh | None:
    """Return the mesh in a module's own header, if there is exactly one of all its devices."""
    text = module.header.frontend_attributes.get(_ATTRIBUTE, "")
    return read_mesh(text, module.header.device_count)


def find_printed_mesh(header: str, device_count: int | None) -> Mesh | None:
    """Return the mesh that a header line names, if exactly one is of so many devices."""
    _, _, rest = header.partition(f"{_ATTRIBUTE}=")
    return read_mesh(rest.replace('\\"', '"'), device_count)


def read_mesh(text: str, device_count: int | None) -> Mesh | None:
    """Return the one mesh of so many devices in a text; None if there are several, or none.

    Where nobody knows how many devices there are, the one mesh of any size.
    """
    meshes = {
        mesh
        for mesh in find_meshes(text).values()
        if mesh.axes and device_count in {None, prod(mesh.dims)}
    }
    mesh = meshes.pop() if len(meshes) == 1 else None
    if mesh is None or mesh.device_ids is None:
        return mesh
    return mesh if sorted(mesh.devices()) == list(range(prod(mesh.dims))) else None


def find_named_mesh(printed: ReplicaGroups | None) -> Mesh | None:
    """Return the mesh of a notation that names axes; None for the names that XLA makes up."""
    mesh = printed.mesh if printed else None
    if mesh is None or all(_MADE_UP.fullmatch(axis.name) for axis in mesh.axes):
        return None
    return mesh


def tell_apart(meshes: Iterable[Mesh]) -> dict[Mesh, Mesh]:
    """Return each mesh with axes whose names no other axis has.

    Where an axis of that name lies otherwise in another mesh, `data` becomes `data(4@2)`.
    """
    places = {mesh: _name_places(mesh) for mesh in meshes}
    meant: dict[str, set[str]] = {}
    for mesh, found in places.items():
        for axis, place in zip(mesh.axes, found, strict=True):
            if axis.size > 1:
                meant.setdefault(axis.name, set()).add(place)
    return {
        mesh: replace(
            mesh,
            axes=tuple(
                replace(axis, name=f"{axis.name}({place})")
                if len(meant.get(axis.name, ())) > 1
                else axis
                for axis, place in zip(mesh.axes, found, strict=True)
            ),
        )
        for mesh, found in places.items()
    }


def _name_places(mesh: Mesh) -> list[str]:
    """Say which devices each axis is: its strides, or else the mesh as a whole."""
    order = order_mesh(mesh)
    strides: list[Order | None] = [None] * len(mesh.axes)
    if order is None:  # the text lists its devices
        for at, axis in enumerate(mesh.axes):
            groups = ReplicaGroups(mesh=mesh, grouped_axes=(AxisRef(axis.name),)).expand()
            strides[at] = find_strides(groups, prod(mesh.dims)) if axis.size > 1 else ()
    elif parts := cut(order, mesh.dims):
        largest_first = (sorted(part, key=itemgetter(1), reverse=True) for part in parts)
        strides = list(map(join, largest_first))
    whole = ",".join(f"{one.name}={one.size}" for one in mesh.axes)
    return [whole if one is None else ", ".join(write_steps(one)) for one in strides]


def find_strides(groups: Iterable[Sequence[int]], device_count: int) -> Order | None:
    """Return the strides of groups, the largest step first; () where nobody has company.

    None where the groups differ in them, or lie as along no axes of any row-major mesh of
    `device_count` devices.
    """
    found: Order | None = None
    for group in groups:
        first, *others = sorted(group) or [0]
        strides = find_order([0, *(device - first for device in others)])
        if strides is None or found not in {None, strides}:
            return None
        block = 1  # what the strides looked at so far span
        for size, step in reversed(strides):
            if step % block or first // step % size:
                return None
            block = step * size
        if device_count % block:
            return None
        found = strides
    return found


def join_pairs(pairs: Pairs) -> Groups:
    """Return the devices that pairs connect, as groups; those alone only if all are alone."""
    beside = group_pairs((*pairs, *((target, source) for source, target in pairs)))
    joined: dict[int, tuple[int, ...]] = {}
    for device in sorted(beside):
        if device not in joined:
            group = tuple(sorted(reach([device], beside.__getitem__)))
            joined.update(dict.fromkeys(group, group))
    groups = tuple(dict.fromkeys(joined.values()))
    return tuple(group for group in groups if len(group) > 1) or groups
