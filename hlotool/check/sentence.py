"""What a budget came to, in a sentence."""

from __future__ import annotations

from collections.abc import Callable

from hlotool.check.results import RULES, RuleResult
from hlotool.fields import Field, Unit

Write = Callable[[Field, RuleResult], str]


def write_sentence(result: RuleResult, write: Write) -> str:
    """Write actual, limit and margin of a result; `write` writes a figure in its unit."""

    def tell(name: str) -> str:
        return write(RULES.field(name), result)

    parts = []
    if result.actual is not None:
        verb = "found" if result.unit is Unit.COUNT else "is"
        mark = "at least " * result.is_lower_bound + "at most " * result.is_upper_bound
        parts.append(f"{verb} {mark}{tell('actual')}")
        if result.is_required and result.limit is not None:
            parts.append(f"at least {tell('limit')} is needed")
        elif result.limit is not None and result.margin is not None:
            side = f"{tell('margin')[1:]} {'beyond' if result.margin < 0 else 'within'}"
            parts.append(f"{side if result.margin else 'at'} the limit of {tell('limit')}")
        if result.baseline is not None:
            parts.append(f"it was {tell('baseline')}")
    if result.reason:
        parts.append(result.reason)
    return f"{result.expression}: {', '.join(parts)}." if parts else f"{result.expression}."
