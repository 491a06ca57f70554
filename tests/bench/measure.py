"""What a benchmark compares, and how a line of its report reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

UNITS = {"s": 1.0, "ms": 1e-3, "MiB": 1 << 20}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One measured pair; `limit` is the largest ratio ours / theirs that is good enough.

    With `is_difference`, `limit` is the largest difference ours - theirs, in seconds.
    """

    name: str
    ours: float
    theirs: float
    unit: str
    limit: float
    is_difference: bool = False

    @property
    def is_good(self) -> bool:
        """Whether the limit is kept."""
        measured = self.ours - self.theirs if self.is_difference else self.ours / self.theirs
        return measured <= self.limit

    def __str__(self) -> str:
        scale = UNITS[self.unit]
        ours, theirs = (f"{value / scale:9.1f} {self.unit}" for value in (self.ours, self.theirs))
        if self.is_difference:
            found = f"{(self.ours - self.theirs) / scale:+.1f} {self.unit}"
            limit = f"{self.limit / scale:+.0f} {self.unit}"
        else:
            found, limit = f"{self.ours / self.theirs:.2f}", f"{self.limit:.2f}"
        verdict = "" if self.is_good else "  MISSED"
        return f"{self.name:<40} {ours:>14} {theirs:>14} {found:>10} ≤ {limit:<8}{verdict}"


def best_of(values: Sequence[float]) -> float:
    """Return the least: what the machine can do when nobody else wants it."""
    return min(values)
