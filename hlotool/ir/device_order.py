"""In what order do a mesh and an iota name devices, without listing a million of them?

It is an order of few nested steps: `[2,4]<=[4,2]T(1,0)`, which is 0, 2, 4, 6, 1, 3, 5, 7, has 2
devices 1 apart, and behind each of them 4 devices 2 apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import TypeAlias

from hlotool.ir.groups import Iota, Mesh

Step: TypeAlias = tuple[int, int]  # how many devices, and how far apart
Order: TypeAlias = tuple[Step, ...]  # the outermost first; no two could be one


def order_iota(iota: Iota) -> Order | None:
    """Return the order of an iota; None only where it contradicts itself."""
    dims = iota.reshape
    return arrange(((prod(dims), 1),), dims, iota.perm or range(len(dims)))


def order_mesh(mesh: Mesh) -> Order | None:
    """Return the order of a mesh, None where its text lists devices that follow no steps."""
    ids = mesh.device_ids
    if ids is None:
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
