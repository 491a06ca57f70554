"""Which calls led to the source line of a row?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Annotated, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from hlotool.fields import NUMBER, figure
from hlotool.ir.module import Module

Stack: TypeAlias = Annotated[
    tuple[str, ...] | None,
    figure(
        "with --stack: the line and those that called it, innermost first, as `file:line "
        "function`; null where the text does not say",
        null_text="",
        is_below=True,
    ),
]


StackFrame: TypeAlias = Annotated[
    int | None,
    figure("row of the text's StackFrames that the line comes from", NUMBER, null_text=""),
]

Row = TypeVar("Row", bound=Struct)

_frame_of: Callable[[Struct], int | None] = attrgetter("stack_frame")


def add_stacks(rows: Sequence[Row], module: Module | None) -> tuple[Row, ...]:
    """Return rows with the stack of each `stack_frame`, from the tables of the module's text."""
    if module is None:
        return tuple(rows)
    return tuple(replace(row, stack=_write_stack(_frame_of(row), module)) for row in rows)


def _write_stack(frame: int | None, module: Module) -> tuple[str, ...] | None:
    found = module.debug_info.find_stack(frame) if frame else ()
    return tuple(f"{one.file}:{one.line} {one.function}".rstrip() for one in found) or None
