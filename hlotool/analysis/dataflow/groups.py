"""Which things are one, directly or through others?"""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Groups(Generic[T]):
    """Things joined in groups of two and more, the smaller into the larger."""

    def __init__(self) -> None:
        self.group_of: dict[T, list[T]] = {}

    def join(self, one: T, other: T) -> None:
        """Say that two things are one."""
        if one is other:
            return
        first = self.group_of.setdefault(one, [one])
        second = self.group_of.setdefault(other, [other])
        if first is second:
            return
        small, large = sorted((first, second), key=len)
        large += small
        for each in small:
            self.group_of[each] = large

    def all(self) -> list[list[T]]:
        """Return the groups, each once."""
        return list({id(group): group for group in self.group_of.values()}.values())
