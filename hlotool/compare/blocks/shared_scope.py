"""Where does what was folded into one row come from?"""

from __future__ import annotations

from collections.abc import Iterable

from hlotool.fields.paths import ANY, share_path


def share_scope(scopes: Iterable[str | None]) -> str | None:
    """Return what scopes have in common, a star where they have nothing; None if none is known.

    An unknown one shares nothing with others: a blank says unknown, never several.

    >>> share_scope(["layer_0/mlp", "layer_1/mlp"]), share_scope(["mlp", None])
    ('layer_*/mlp', '*')
    """
    found = list(scopes)
    return share_path([scope or ANY for scope in found]) if any(found) else None
