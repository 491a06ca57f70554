"""Where in the machine does a collective run: along which mesh axes, inside which nodes?"""

from __future__ import annotations

from math import prod

from msgspec import Struct

from hlotool.analysis.collectives.device_groups import DeviceGroups
from hlotool.analysis.collectives.mesh_axes import (
    AxisFinder,
    Span,
    find_program_mesh,
    find_span,
    name_printed_axes,
)
from hlotool.errors import UsageError
from hlotool.ir import Mesh, Module


class Extent(Struct, frozen=True):
    """Mesh axes and span of one collective; None where they are not known."""

    axes: tuple[str, ...] | None
    span: Span | None


class ExtentFinder:
    """Finds the extent of a module's collectives; equal groups are looked at once.

    Axes are those of `mesh`, which the user gave; else those that the notation names; else
    those of the mesh in the module's header. Raises UsageError where the user's mesh has
    not as many devices as the module.
    """

    def __init__(self, module: Module, mesh: Mesh | None, devices_per_node: int | None) -> None:
        devices = module.header.replica_count * module.header.num_partitions
        if mesh is not None and prod(mesh.dims) != devices:
            raise UsageError(
                f"The mesh has {prod(mesh.dims):,} devices, but the module runs on {devices:,} "
                f"(num_partitions {module.header.num_partitions:,} × replica_count "
                f"{module.header.replica_count:,})."
            )
        self._is_given = mesh is not None
        known = mesh or find_program_mesh(module)
        self._finder = AxisFinder(known) if known else None
        self._devices_per_node = devices_per_node
        self._known: dict[int, tuple[DeviceGroups, Extent]] = {}  # by id: groups can be long

    def find(self, groups: DeviceGroups) -> Extent:
        """Return the axes and the span of a collective's groups or pairs."""
        known = self._known.get(id(groups))
        if known is None:
            extent = Extent(self._find_axes(groups), self._find_span(groups))
            self._known[id(groups)] = known = groups, extent
        return known[1]

    def _find_axes(self, groups: DeviceGroups) -> tuple[str, ...] | None:
        printed = None if self._is_given else name_printed_axes(groups.printed)
        if printed is not None or self._finder is None:
            return printed
        if groups.has_pairs:
            pairs = groups.expand_pairs()
            return None if pairs is None else self._finder.find_pair_axes(pairs)
        expanded = groups.expand()
        return None if expanded is None else self._finder.find_axes(expanded)

    def _find_span(self, groups: DeviceGroups) -> Span | None:
        if self._devices_per_node is None:
            return None
        if groups.mode == "cross_slice":  # no node has devices of two
            return "cross"
        if groups.has_pairs:
            pairs = groups.expand_pairs()
            return None if pairs is None else find_span(pairs, self._devices_per_node)
        expanded = groups.expand()
        return None if expanded is None else find_span(expanded, self._devices_per_node)
