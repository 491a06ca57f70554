"""How far a figure is from its limits: pure arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

Number: TypeAlias = int | float


class Limits(Struct, frozen=True):
    """The bounds of a figure; an increase is of the baseline, as a part of it or absolute.

    Where both kinds of increase are given, the looser counts: a part of little is noise,
    and a fixed amount of much is nothing.
    """

    max: Number | None = None
    min: Number | None = None
    max_increase: Fraction | None = None
    max_increase_abs: Number | None = None

    @property
    def needs_baseline(self) -> bool:
        """Whether an increase is limited."""
        return self.max_increase is not None or self.max_increase_abs is not None

    def upper(self, baseline: Number | None) -> Number | None:
        """Return the largest figure that passes, None for any."""
        bounds = [] if self.max is None else [self.max]
        if self.needs_baseline and baseline is not None:
            bounds.append(baseline + self._allowance(baseline))
        return min(bounds, default=None)

    def list_broken(self, actual: Number, baseline: Number | None) -> tuple[str, ...]:
        """Name the limits that a figure breaks; both increases, as the looser of them counts."""
        increases = ("max_increase", "max_increase_abs")
        grown = replace(self, max=None).upper(baseline)
        broken = (
            (("max",), self.max is not None and actual > self.max),
            (("min",), self.min is not None and actual < self.min),
            (increases, grown is not None and actual > grown),
        )
        named = (name for names, is_broken in broken if is_broken for name in names)
        return tuple(name for name in named if getattr(self, name) is not None)

    def _allowance(self, baseline: Number) -> Number:
        part = Fraction(baseline) * (self.max_increase or 0)
        share = part.numerator // part.denominator if isinstance(baseline, int) else float(part)
        return max(share, self.max_increase_abs or 0)


class Margin(Struct, frozen=True):
    """What is left until the nearest limit, negative beyond it; None where there is no limit."""

    limit: Number | None
    left: Number | None

    @property
    def holds(self) -> bool:
        """Whether the figure keeps its limits."""
        return self.left is None or self.left >= 0


def find_margin(actual: Number, limits: Limits, baseline: Number | None) -> Margin:
    """Hold a figure against its limits; the tightest of them is the one reported."""
    upper = limits.upper(baseline)
    found = []
    if upper is not None:
        found.append((upper - actual, upper))
    if limits.min is not None:
        found.append((actual - limits.min, limits.min))
    if not found:
        return Margin(limit=None, left=None)
    left, limit = min(found)
    return Margin(limit, left)


def compare_margin(operator: str, actual: Number | None, limit: Number | None) -> Number | None:
    """Return what is left until a comparison turns; None for one that has no such measure."""
    if actual is None or limit is None:
        return None
    if operator in {"<", "<="}:
        return limit - actual
    if operator in {">", ">="}:
        return actual - limit
    return -abs(actual - limit) if operator == "==" else None


def tidy(value: Number | None) -> Number | None:
    """Return a whole number as an integer: 300e6 bytes are 300000000."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
