"""From the text of `--where` to a function of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hlotool.errors import UsageError
from hlotool.fields import Field


def compile_where(text: str, fields: Sequence[Field]) -> Callable[[object], bool]:
    """Return the function that says whether an expression holds for a row."""
    raise UsageError(f"--where is not built yet ({text!r} over {len(fields)} fields).")
