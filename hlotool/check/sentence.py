"""What a budget came to, in a sentence."""

from __future__ import annotations

from collections.abc import Callable

from hlotool.check.limits import Number
from hlotool.check.results import RuleResult
from hlotool.fields import Unit

Write = Callable[[Number, Unit], str]


def write_sentence(result: RuleResult, write: Write) -> str:
    """Write actual, limit and margin of a result; `write` writes a figure in its unit."""
    parts = []
    if result.actual is not None:
        verb = "found" if result.unit is Unit.COUNT else "is"
        mark = "at least " * result.is_lower_bound + "at most " * result.is_upper_bound
        parts.append(f"{verb} {mark}{write(result.actual, result.unit)}")
        if result.is_required and result.limit is not None:
            parts.append(f"at least {write(result.limit, result.unit)} is needed")
        elif result.limit is not None and result.margin is not None:
            margin, limit = (write(one, result.unit) for one in (abs(result.margin), result.limit))
            side = f"{margin} beyond" if result.margin < 0 else f"{margin} within"
            parts.append(f"{side if result.margin else 'at'} the limit of {limit}")
        if result.baseline is not None:
            parts.append(f"it was {write(result.baseline, result.unit)}")
    if result.reason:
        parts.append(result.reason)
    return f"{result.expression}: {', '.join(parts)}." if parts else f"{result.expression}."
