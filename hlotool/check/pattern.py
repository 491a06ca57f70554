"""Is what a key of a configuration says a regular expression?"""

from __future__ import annotations

from hlotool.errors import UsageError
from hlotool.pattern import Pattern, PatternError, parse_pattern


def expect_pattern(text: str, key: str, place: str) -> Pattern:
    """Read the pattern of a key; raise UsageError, which names both, if it is none."""
    try:
        return parse_pattern(text)
    except PatternError as error:
        raise UsageError(
            f"{place}: {key} {text!r} is not a regular expression: {error}."
        ) from error
