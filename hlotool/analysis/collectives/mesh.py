"""Along which axes of the device mesh does a collective run, and does it leave its node?

Which mesh do the names of a program's axes belong to?

JAX writes its meshes into the header of a module, `xla.sdy.meshes`, before the module is
partitioned. Groups may name a mesh of their own.

Which network does a collective run over, as far as the text tells?

Where in the machine does a collective run: along which mesh axes, inside which nodes?
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from operator import itemgetter
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.collectives.groups import (
    DeviceGroups,
    Stride,
    Strides,
    find_strides,
    join_pairs,
)
from hlotool.analysis.graph.backend import find_backend, is_between_slices
from hlotool.errors import UsageError
from hlotool.hlo import AxisRef, Instruction, Mesh, MeshAxis, Module, ReplicaGroups
from hlotool.hlo.groups import Groups, count_devices, cut, join, order_mesh

Span: TypeAlias = Literal["node", "cross"]

_AXIS: Final = r"\s*([A-Za-z_][\w.\-]*)\s*=\s*([1-9]\d{0,8})\s*"


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

    def find_strided_axes(self, strides: Sequence[Stride]) -> tuple[str, ...] | None:
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

    def _name(self, strides: Sequence[Stride]) -> tuple[str, ...] | None:
        """Cut strides where axes end; None where an axis is not cut evenly."""
        names: list[str] = []
        for axis, step in self._steps():
            end = step * axis.size
            for stride in strides:
                low, high = max(step, stride.step), min(end, stride.step * stride.size)
                if low >= high:
                    continue
                if low % step or high % low or end % high:
                    return None
                is_whole = (low, high) == (step, end)
                part = (1, 0) if is_whole else (end // high, high // low)
                names.append(str(AxisRef(axis.name, *part)))
        return tuple(names)

    def _steps(self) -> Iterator[tuple[MeshAxis, int]]:
        """Yield the axes, each with how far apart the places along it are."""
        step = prod(self.mesh.dims)
        for axis in self.mesh.axes:
            step //= axis.size
            yield axis, step


def parse_mesh_axes(text: str, option: str = "--mesh") -> Mesh:
    """Read what a user types, `data=4,model=2`: row-major, the last axis varies fastest.

    mesh = axis { "," axis }    axis = name "=" size
    """
    axes: list[MeshAxis] = []
    for part in text.split(","):
        match = re.fullmatch(_AXIS, part)
        if match is None:
            raise UsageError(f"{option} {text}: expected NAME=SIZE, as in data=4,model=2.")
        axes.append(MeshAxis(match[1], int(match[2])))
    if len({axis.name for axis in axes}) < len(axes):
        raise UsageError(f"{option} {text}: an axis is named twice.")
    try:
        count_devices(axis.size for axis in axes)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}.") from error
    return Mesh(tuple(axes))


def find_strided_span(strides: Sequence[Stride], device_count: int, devices_per_node: int) -> Span:
    """Say whether every group stays inside one node, where all together are 0, 1, 2, ….

    They lie in blocks of as many devices as the largest step spans. Where a node ends inside a
    block, it ends inside a group: every group is longer than half a block.
    """
    block = strides[0].size * strides[0].step if strides else 1
    is_inside = devices_per_node >= device_count or devices_per_node % block == 0
    return "node" if is_inside else "cross"


def find_span(groups: Groups, devices_per_node: int) -> Span:
    """Say whether every group stays inside one node; nodes hold consecutive devices."""
    for group in groups:
        if len({device // devices_per_node for device in group}) > 1:
            return "cross"
    return "node"


MeshSource: TypeAlias = Callable[[], Mesh | None]  # where to ask for a mesh, if it is needed

_ATTRIBUTE: Final = "xla.sdy.meshes"
_MESHES: Final = r"#sdy\.mesh<\[([^\]]*)\](?:,\s*device_ids\s*=\s*\[([\d,\s]*)\])?"
_MESH_AXIS: Final = r'"([^"]*)"\s*=\s*([1-9]\d{0,8})'
_MADE_UP: Final = re.compile(r"axis_\d+")  # what XLA calls axes whose names it has lost
_MOST_DIGITS: Final = 9


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

    mesh = '#sdy.mesh<[' axis { ',' axis } ']' [ ', device_ids=[' id { ',' id } ']' ] '>'
    axis = '"' name '"' '=' size
    """
    found = {
        Mesh(axes, _read_ids(ids))
        for inner, ids in re.findall(_MESHES, text)
        if (
            axes := tuple(MeshAxis(name, int(size)) for name, size in re.findall(_MESH_AXIS, inner))
        )
        and device_count in {None, prod(axis.size for axis in axes)}
    }
    mesh = found.pop() if len(found) == 1 else None
    if mesh is None or mesh.device_ids is None:
        return mesh
    return mesh if sorted(mesh.devices()) == list(range(prod(mesh.dims))) else None


def _read_ids(text: str) -> tuple[int, ...] | None:
    ids = [one for one in text.replace(" ", "").split(",") if one]
    return tuple(int(one) for one in ids if len(one) <= _MOST_DIGITS) if ids else None


def find_named_mesh(printed: ReplicaGroups | None) -> Mesh | None:
    """Return the mesh of a notation that names axes; None for the names that XLA makes up."""
    mesh = printed.mesh if printed else None
    if mesh is None or all(_MADE_UP.fullmatch(axis.name) for axis in mesh.axes):
        return None
    return mesh


def name_printed_axes(printed: ReplicaGroups, mesh: Mesh) -> tuple[str, ...]:
    """Return the axes that a notation groups, in mesh order, as `mesh` calls them."""
    order = {axis.name: at for at, axis in enumerate(printed.mesh.axes if printed.mesh else ())}
    axes = sorted(printed.grouped_axes, key=lambda ref: (order[ref.name], ref.pre_size))
    return tuple(str(replace(ref, name=mesh.axes[order[ref.name]].name)) for ref in axes)


def tell_apart(meshes: Iterable[Mesh]) -> dict[Mesh, Mesh]:
    """Return each mesh with axes whose names no other axis has.

    Where an axis of that name lies otherwise in another mesh, `data` becomes `data(4@2)`.
    """
    places = {mesh: _find_places(mesh) for mesh in meshes}
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


def _find_places(mesh: Mesh) -> list[str]:
    """Say which devices each axis is: its strides, or else the mesh as a whole."""
    order = order_mesh(mesh)
    if order is None:  # the text lists its devices
        strides = [_find_strides(mesh, axis) for axis in mesh.axes]
    elif (parts := cut(order, mesh.dims)) is None:
        strides = [None] * len(mesh.axes)
    else:
        largest_first = (sorted(part, key=itemgetter(1), reverse=True) for part in parts)
        strides = [tuple(Stride(*one) for one in join(part)) for part in largest_first]
    whole = ",".join(f"{one.name}={one.size}" for one in mesh.axes)
    return [whole if one is None else ", ".join(map(str, one)) for one in strides]


def _find_strides(mesh: Mesh, axis: MeshAxis) -> tuple[Stride, ...] | None:
    if axis.size == 1:
        return ()
    groups = ReplicaGroups(mesh=mesh, grouped_axes=(AxisRef(axis.name),)).expand()
    return find_strides(groups, prod(mesh.dims))


Network: TypeAlias = Literal["dcn", "ici", "nvlink"]


def find_own_network(module: Module) -> Network | None:
    """Return the network of everything that a module does not send between slices.

    A compiled TPU module is that of one slice, whose chips the inter-chip interconnect joins:
    libtpu has made transfers by host of what leaves it. Of GPU and CPU the text says nothing.
    """
    is_compiled = module.header.is_scheduled
    return "ici" if is_compiled and find_backend(module) == "tpu" else None


def find_network(operation: Instruction, own: Network | None) -> Network | None:
    """Return `dcn` for a transfer between slices, the module's own network for all others."""
    return "dcn" if is_between_slices(operation) else own


class Extent(Struct, frozen=True):
    """Mesh axes, strides and span of one collective; None where they are not known."""

    axes: tuple[str, ...] | None
    strides: tuple[str, ...] | None
    span: Span | None


class ExtentFinder:
    """Finds the extent of a module's collectives; equal groups are looked at once.

    Axes are those of `mesh`, which the user gave. Without it they are those that the notation
    names; else those of the mesh in the module's header, or of the one that `mesh_beside`
    knows, which is asked only then; else the strides. Names that lie differently in two meshes
    are told apart. Raises UsageError where the user's mesh has not as many devices as the
    module.
    """

    def __init__(
        self,
        module: Module,
        found: Iterable[DeviceGroups],
        mesh: Mesh | None,
        mesh_beside: MeshSource,
        devices_per_node: int | None,
    ) -> None:
        _check_size(module, mesh)
        self._device_count = module.header.device_count
        self._is_given = mesh is not None
        self._devices_per_node = devices_per_node
        self._known: dict[int, tuple[DeviceGroups, Extent]] = {}  # by id: groups can be long
        self._renamed: dict[Mesh, Mesh] = {}
        if mesh is None:
            mesh = self._find_meshes(module, found, mesh_beside)
        self._finder = AxisFinder(self._renamed.get(mesh, mesh)) if mesh else None

    def find(self, groups: DeviceGroups) -> Extent:
        """Return the axes and the span of a collective's groups or pairs."""
        known = self._known.get(id(groups))
        if known is None:
            self._known[id(groups)] = known = groups, self._look_at(groups)
        return known[1]

    def _find_meshes(
        self, module: Module, found: Iterable[DeviceGroups], mesh_beside: MeshSource
    ) -> Mesh | None:
        """Return the mesh of what names none itself, and tell all meshes apart."""
        chosen = list(found)
        named = {mesh for one in chosen if (mesh := find_named_mesh(one.printed))}
        is_needed = any(find_named_mesh(one.printed) is None and one.is_known for one in chosen)
        mesh = (find_header_mesh(module) or mesh_beside()) if is_needed else None
        self._renamed = tell_apart(named | {mesh} if mesh else named)
        return mesh

    def _look_at(self, groups: DeviceGroups) -> Extent:
        steps = groups.find_steps()
        if steps is not None and groups.problem is None:
            return self._follow(groups, tuple(Stride(*one) for one in steps))
        pairs = groups.expand_pairs() if groups.has_pairs else None
        expanded = join_pairs(pairs) if pairs else groups.expand()
        if expanded is None or self._device_count is None:
            return Extent(None, None, "cross" if self._never_stays(groups) else None)
        strides = find_strides(expanded, self._device_count)
        axes = self._name_printed(groups)
        if axes is None and self._finder is not None:
            find = self._finder.find_pair_axes
            axes = find(pairs) if pairs else self._finder.find_axes(expanded)
        span = None
        if self._devices_per_node is not None:
            span = find_span(pairs or expanded, self._devices_per_node)
        return self._make(axes, strides, span)

    def _follow(self, groups: DeviceGroups, strides: Strides) -> Extent:
        """Return the extent of groups that follow strides, without listing their devices."""
        axes = self._name_printed(groups)
        if axes is None and self._finder is not None:
            axes = self._finder.find_strided_axes(strides)
            if axes is None and (expanded := groups.expand()) is not None:
                axes = self._finder.find_axes(expanded)
        span = None
        if self._devices_per_node is not None and self._device_count is not None:
            span = find_strided_span(strides, self._device_count, self._devices_per_node)
        return self._make(axes, strides, span)

    def _make(
        self, axes: tuple[str, ...] | None, strides: Strides | None, span: Span | None
    ) -> Extent:
        """Return an extent; strides stand for axes that have no name."""
        written = None if strides is None else tuple(map(str, strides))
        return Extent(written if axes is None and not self._is_given else axes, written, span)

    def _never_stays(self, groups: DeviceGroups) -> bool:
        """Whether no node can hold it: none has devices of two slices."""
        return self._devices_per_node is not None and groups.mode == "cross_slice"

    def _name_printed(self, groups: DeviceGroups) -> tuple[str, ...] | None:
        mesh = None if self._is_given else find_named_mesh(groups.printed)
        if mesh is None or groups.printed is None:
            return None
        return name_printed_axes(groups.printed, self._renamed[mesh])


def _check_size(module: Module, mesh: Mesh | None) -> None:
    devices = module.header.device_count
    if mesh is not None and devices not in {None, prod(mesh.dims)}:
        raise UsageError(
            f"The mesh has {prod(mesh.dims):,} devices, but the module runs on {devices:,} "
            f"(num_partitions {module.header.num_partitions:,} × replica_count "
            f"{module.header.replica_count:,})."
        )
