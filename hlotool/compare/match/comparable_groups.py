"""In which form are replica groups compared, so that equal ones are equal in any notation?"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from hlotool.ir.device_order import arrange, find_order, order_iota, order_mesh
from hlotool.ir.groups import ReplicaGroups


def comparable_groups(printed: ReplicaGroups) -> Hashable:
    """Return what is equal for equal groups, without listing their devices.

    Groups that follow no steps are compared as listed; a mesh whose axes cut the steps of its
    own device_ids unevenly is compared as printed.
    """
    if printed.iota is not None:
        return printed.iota.dims[1], order_iota(printed.iota)
    if printed.mesh is None:
        return _comparable_lists(printed.listed or ())
    order = order_mesh(printed.mesh)
    if order is None:  # the text lists its devices, so these are no longer than it
        return _comparable_lists(printed.expand())
    dims, perm, width = printed.arrange(printed.mesh)
    arranged = arrange(order, dims, perm)
    return printed if arranged is None else (width, arranged)


def _comparable_lists(groups: Sequence[tuple[int, ...]]) -> Hashable:
    widths = {len(group) for group in groups}
    order = find_order([one for group in groups for one in group]) if len(widths) == 1 else None
    return groups if order is None else (widths.pop(), order)
