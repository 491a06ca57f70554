"""Is what a key of a configuration says a regular expression?"""

from __future__ import annotations

import re

from hlotool.errors import UsageError


def compile_pattern(text: str, key: str, place: str) -> re.Pattern[str]:
    """Compile the pattern of a key; raise UsageError, which names both, if it is none."""
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(
            f"{place}: {key} {text!r} is not a regular expression: {error}."
        ) from error
