"""Which compiler flags differ, of `.debug_options` and of TPU's `tpu_comp_env.txt`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.compare.blocks.columns import LEFT, RIGHT
from hlotool.fields import WHOLE, column, figure

_IGNORED: Final = "xla_dump_"  # where and how the dump was written is no part of the program
_VALUE: Final = "its value"
_ABSENT: Final = "; null where it is not printed"

FlagFile: TypeAlias = Literal["debug_options", "tpu_comp_env"]


class FlagChange(Struct, frozen=True):
    """A flag with its values on each side, as printed; null where it is not printed.

    Of debug options that means its default, in `tpu_comp_env` that the release has none.
    """

    flag: Annotated[str, column("the flag", wants=WHOLE)]
    left: Annotated[
        str | None, column(_VALUE + LEFT + _ABSENT, heading="old", null_text="(not printed)")
    ]
    right: Annotated[
        str | None, column(_VALUE + RIGHT + _ABSENT, heading="new", null_text="(not printed)")
    ]
    file: Annotated[FlagFile, figure("the file that prints it")]

    @property
    def is_of_one_side(self) -> bool:
        """Whether one side alone prints it."""
        return self.left is None or self.right is None


def compare_flags(
    left: Mapping[str, tuple[str, ...]],
    right: Mapping[str, tuple[str, ...]],
    file: FlagFile = "debug_options",
) -> tuple[FlagChange, ...]:
    """List the flags that differ, by name; those about dumping are left out.

    XLA prints debug options that are not at their default, and what is the default differs
    between releases; of TPU's own environment all.
    """
    return tuple(
        FlagChange(flag, _text(left.get(flag)), _text(right.get(flag)), file)
        for flag in sorted(left.keys() | right.keys())
        if left.get(flag) != right.get(flag) and not flag.startswith(_IGNORED)
    )


def _text(values: tuple[str, ...] | None) -> str | None:
    return None if values is None else ", ".join(values)
