"""Several names as one text."""

from __future__ import annotations

from collections.abc import Sequence


def list_names(names: Sequence[str], most: int = 3) -> str:
    """Write the first names, and how many more there are.

    >>> list_names(["a", "b"]), list_names(["a", "b", "c"], 2)
    ('a, b', 'a, b and 1 more')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
