"""All reasons for which two programs differ, those of most bytes first."""

from __future__ import annotations

from typing import Final

from hlotool.diff.causes.cause import Cause
from hlotool.diff.causes.communication import find_communication, find_sharding
from hlotool.diff.causes.donation import find_donation
from hlotool.diff.causes.dtypes import find_dtypes
from hlotool.diff.causes.evidence import Evidence
from hlotool.diff.causes.fusing import find_fusing
from hlotool.diff.causes.layers import find_layers
from hlotool.diff.causes.loops import find_loops
from hlotool.diff.causes.operations import find_operations
from hlotool.diff.causes.overlap import find_overlap
from hlotool.diff.causes.products import find_products
from hlotool.diff.causes.rematerialization import find_rematerialization
from hlotool.diff.causes.rest import find_rest
from hlotool.diff.causes.values import find_values

_FINDERS: Final = (
    find_rematerialization,
    find_donation,
    find_layers,
    find_loops,
    find_operations,
    find_dtypes,
    find_products,
    find_overlap,
    find_communication,
    find_sharding,
    find_fusing,
)
_ABOUT_MEMORY: Final = frozenset(("peak", "donated", "results"))
# What somebody changed. Others follow from these, or are the compiler's.
_FIRST: Final = frozenset(
    (
        *("rematerialization lost", "rematerialization gained"),
        *("donation lost", "donation gained", "layers added", "layers removed", "trip count"),
        *("operations", "dtype widened", "dtype narrowed", "axes", "sharding"),
    )
)


def find_causes(evidence: Evidence) -> tuple[Cause, ...]:
    """Ask all finders: first what somebody changed in the program, then what came of it.

    In both, most bytes come first. What else is held at the peak, and what else differs, is told
    only where no other cause is.
    """
    found = [cause for find in _FINDERS for cause in find(evidence)]
    if not any(cause.measure in _ABOUT_MEMORY for cause in found):
        found += find_values(evidence)
    found.sort(key=lambda one: (one.kind not in _FIRST, -abs(one.delta_bytes or 0)))
    return tuple(found or find_rest(evidence))
