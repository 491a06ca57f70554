"""Which compiler flags differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import Struct

from hlotool.diff.blocks.columns import LEFT, RIGHT
from hlotool.fields import column

_IGNORED: Final = "xla_dump_"  # where and how the dump was written is no part of the program
_VALUE: Final = "its value"
_DEFAULT: Final = "; null at its default"


class FlagChange(Struct, frozen=True):
    """A flag with its values on each side, as printed; null where it is at its default."""

    flag: Annotated[str, column("the debug option")]
    left: Annotated[
        str | None, column(_VALUE + LEFT + _DEFAULT, heading="old", null_text="default")
    ]
    right: Annotated[
        str | None, column(_VALUE + RIGHT + _DEFAULT, heading="new", null_text="default")
    ]


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
