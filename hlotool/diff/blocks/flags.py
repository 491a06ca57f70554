"""Which compiler flags differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

_IGNORED: Final = "xla_dump_"  # where and how the dump was written is no part of the program


class FlagChange(Struct, frozen=True):
    """A flag with its values on each side, as printed; null where it is at its default."""

    flag: str
    left: str | None
    right: str | None


def compare_flags(
    left: Mapping[str, tuple[str, ...]], right: Mapping[str, tuple[str, ...]]
) -> tuple[FlagChange, ...]:
    """List the flags that differ, by name; those about dumping are left out.

    XLA prints flags that are not at their default, and what is the default differs between
    releases.
    """
    return tuple(
        FlagChange(flag, _text(left.get(flag)), _text(right.get(flag)))
        for flag in sorted(left.keys() | right.keys())
        if left.get(flag) != right.get(flag) and not flag.startswith(_IGNORED)
    )


def _text(values: tuple[str, ...] | None) -> str | None:
    return None if values is None else ", ".join(values)
