"""`--stack`: which calls led to the source line of each row."""

from __future__ import annotations

from typing import Final

import click
from msgspec.structs import replace

from hlotool.fields import DocumentSpec, Line
from hlotool.ir import Module

_STACK: Final = "stack"

stack_option: Final = click.option(
    "--stack",
    "has_stacks",
    is_flag=True,
    help="Print below each row the calls that led to its source line.",
)


def show_stacks(spec: DocumentSpec) -> DocumentSpec:
    """Return a declaration whose tables print the stacks, where their rows have any."""
    lists = (
        rows.showing(rows.shown() | {_STACK})
        if any(field.name == _STACK for field in rows.fields)
        else rows
        for rows in spec.row_lists
    )
    return replace(spec, row_lists=tuple(lists))


def explain_missing_stacks(module: Module | None) -> tuple[Line, ...]:
    """Say why there are no stacks, where the text of the module has none."""
    if module is None:
        return (Line("No stacks: they stand in the text of the module (--module-text)."),)
    if not module.debug_info.frames:
        return (
            Line(
                "No stacks: this text has no StackFrames table; older XLA prints the innermost "
                "line alone."
            ),
        )
    return ()
