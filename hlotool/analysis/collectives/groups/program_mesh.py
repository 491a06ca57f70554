"""Which mesh do the names of a program's axes belong to?

JAX writes its meshes into the header of a module, `xla.sdy.meshes`, before the module is
partitioned. Groups may name a mesh of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from math import prod
from operator import itemgetter
from typing import Final, TypeAlias

from msgspec.structs import replace

from hlotool.analysis.collectives.groups.strides import Stride, find_strides
from hlotool.ir import AxisRef, Mesh, MeshAxis, Module, ReplicaGroups
from hlotool.ir.device_order import cut, join, order_mesh

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
