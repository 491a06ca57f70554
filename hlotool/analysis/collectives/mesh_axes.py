"""Along which axes of the device mesh does a collective run, and does it leave its node?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import prod
from typing import Final, Literal, TypeAlias

from hlotool.errors import UsageError
from hlotool.ir import Mesh, MeshAxis, Module, ReplicaGroups
from hlotool.ir.groups import Groups, count_devices

Span: TypeAlias = Literal["node", "cross"]

_AXIS: Final = r"\s*([A-Za-z_][\w.\-]*)\s*=\s*([1-9]\d{0,8})\s*"
_MESHES: Final = r"#sdy\.mesh<\[([^\]]*)\](,?)"
_MESH_AXIS: Final = r'"([^"]*)"\s*=\s*([1-9]\d{0,8})'


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
        found: tuple[str, ...] | None = None
        for group in groups:
            axes = self._axes_of(group)
            if axes is None or (found is not None and axes != found):
                return None
            found = axes
        return found

    def find_pair_axes(self, pairs: Iterable[tuple[int, int]]) -> tuple[str, ...] | None:
        """Return the axes along which any pair moves, in mesh order."""
        moved: set[int] = set()
        for source, target in pairs:
            if source not in self._places or target not in self._places:
                return None
            before, after = self._coordinates(source), self._coordinates(target)
            moved.update(at for at, one in enumerate(before) if one != after[at])
        return tuple(axis.name for at, axis in enumerate(self.mesh.axes) if at in moved)

    def _axes_of(self, group: Sequence[int]) -> tuple[str, ...] | None:
        """Return the axes of one group: along each, the places of a whole axis or sub-axis."""
        if any(device not in self._places for device in group):
            return None
        coordinates = [self._coordinates(device) for device in group]
        names: list[str] = []
        count = 1
        for at, axis in enumerate(self.mesh.axes):
            steps = sorted({one[at] for one in coordinates})
            if len(steps) > 1:
                name = _name_axis(axis, steps)
                if name is None:
                    return None
                names.append(name)
                count *= len(steps)
        return tuple(names) if count == len(set(coordinates)) == len(group) else None

    def _coordinates(self, device: int) -> tuple[int, ...]:
        place = self._places[device]
        reversed_coordinates = []
        for size in reversed(self.mesh.dims):
            place, along = divmod(place, size)
            reversed_coordinates.append(along)
        return tuple(reversed(reversed_coordinates))


def _name_axis(axis: MeshAxis, steps: Sequence[int]) -> str | None:
    """Name the axis, or the sub-axis, that has exactly these steps; None if there is none."""
    if len(steps) == axis.size:
        return axis.name
    stride = steps[1] - steps[0]
    block = stride * len(steps)
    is_regular = list(steps) == list(range(steps[0], steps[0] + block, stride))
    if not is_regular or axis.size % block or steps[0] % block >= stride:
        return None
    return f"{axis.name}:({axis.size // block}){len(steps)}"


def name_printed_axes(printed: ReplicaGroups | None) -> tuple[str, ...] | None:
    """Return the axes that the notation itself names, in mesh order; None if it names none."""
    if printed is None or printed.mesh is None:
        return None
    order = {axis.name: at for at, axis in enumerate(printed.mesh.axes)}
    axes = sorted(printed.grouped_axes, key=lambda ref: (order[ref.name], ref.pre_size))
    return tuple(str(axis) for axis in axes)


def find_program_mesh(module: Module) -> Mesh | None:
    """Return the mesh that the module's header names, if it names exactly one.

    JAX writes `xla.sdy.meshes={mesh = #sdy.mesh<["data"=4, "model"=2]>}` before partitioning.
    A mesh with device ids in another order is passed over.
    """
    text = module.header.frontend_attributes.get("xla.sdy.meshes")
    if not text:
        return None
    meshes = [
        None if comma else tuple(MeshAxis(name, int(size)) for name, size in axes)
        for inner, comma in re.findall(_MESHES, text)
        if (axes := re.findall(_MESH_AXIS, inner))
    ]
    if len(meshes) != 1 or meshes[0] is None:
        return None
    devices = module.header.replica_count * module.header.num_partitions
    return Mesh(meshes[0]) if prod(axis.size for axis in meshes[0]) == devices else None


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


def find_span(groups: Groups, devices_per_node: int) -> Span:
    """Say whether every group stays inside one node; nodes hold consecutive devices."""
    for group in groups:
        if len({device // devices_per_node for device in group}) > 1:
            return "cross"
    return "node"
