"""Which numbered parts does a program have: `layer_0` … `layer_11`?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from hlotool.fields.paths import fold_numbers

Families: TypeAlias = Mapping[str, frozenset[str]]


def find_families(scopes: Iterable[str]) -> Families:
    """Return the members of each family, the scopes that differ in one number, by its name.

    >>> find_families(["layer_0/mlp", "layer_1/mlp"])["layer_*"] == {"layer_0", "layer_1"}
    True
    """
    found: dict[str, set[str]] = {}
    for scope in scopes:
        parts = scope.split("/")
        for index, part in enumerate(parts):
            if fold_numbers(part) != part:
                member = "/".join(parts[: index + 1])
                found.setdefault(fold_numbers(member), set()).add(member)
    return {family: frozenset(members) for family, members in found.items()}


def list_members(members: Iterable[str]) -> list[str]:
    """Return members in the order of their numbers.

    >>> list_members({"layer_10", "layer_9"})
    ['layer_9', 'layer_10']
    """
    return sorted(members, key=lambda name: (len(name), name))
