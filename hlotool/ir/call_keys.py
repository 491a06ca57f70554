"""Which attributes name computations?"""

from __future__ import annotations

from typing import Final

# In the order an execution meets them.
CALL_KEYS: Final = (
    "condition",
    "body",
    "calls",
    "to_apply",
    "true_computation",
    "false_computation",
    "branch_computations",
    "called_computations",
    "select",
    "scatter",
)
LISTS_OF_CALLEES: Final = frozenset(("branch_computations", "called_computations"))
