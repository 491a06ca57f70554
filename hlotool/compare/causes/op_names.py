"""Which parts of the user's program does a text name? Read off its op_names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from hlotool.analysis.origin.scope import find_scope
from hlotool.fields.paths import fold_numbers

_OP_NAME: Final = re.compile(r'op_name="([^"\\]*+(?:\\.[^"\\]*+)*+)"')


def list_op_names(text: str) -> frozenset[str]:
    """Return the different op_names of a module's text."""
    return frozenset(found[1] for found in _OP_NAME.finditer(text))


def list_scopes(op_names: Iterable[str]) -> frozenset[str]:
    """Return the different scopes of op_names."""
    return frozenset(scope for scope in map(find_scope, op_names) if scope)


def list_outermost(scopes: Iterable[str]) -> list[str]:
    """Return scopes that stand in no other of them, without numbers, by name.

    >>> list_outermost(["layer_0/mlp", "layer_1/mlp/norm", "layer_1/mlp"])
    ['layer_*/mlp']
    """
    found: list[str] = []
    for scope in sorted({fold_numbers(each) for each in scopes}):
        if not any(is_within(scope, outer) for outer in found):
            found.append(scope)
    return found


def is_within(scope: str, outer: str) -> bool:
    """Say whether a scope is another, or stands in it."""
    return scope == outer or scope.startswith(f"{outer}/")
