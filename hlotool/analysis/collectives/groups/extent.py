"""Where in the machine does a collective run: along which mesh axes, inside which nodes?"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from msgspec import Struct

from hlotool.analysis.collectives.groups.device_groups import DeviceGroups
from hlotool.analysis.collectives.groups.mesh_axes import (
    AxisFinder,
    Span,
    find_span,
    find_strided_span,
)
from hlotool.analysis.collectives.groups.program_mesh import (
    MeshSource,
    find_header_mesh,
    find_named_mesh,
    name_printed_axes,
    tell_apart,
)
from hlotool.analysis.collectives.groups.strides import (
    Stride,
    Strides,
    find_strides,
    join_pairs,
)
from hlotool.errors import UsageError
from hlotool.ir import Mesh, Module


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
