"""Along which axes of the device mesh does a collective run, and does it leave its node?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Final, Literal, TypeAlias

from hlotool.analysis.collectives.groups.strides import Stride, find_strides
from hlotool.errors import UsageError
from hlotool.ir import AxisRef, Mesh, MeshAxis
from hlotool.ir.groups import Groups, count_devices

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
