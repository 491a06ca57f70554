"""What a command module needs: its decorator, the shared options, and how to print.

See docs/adding-a-command.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Final

import click

from hlotool.commands import COMMANDS
from hlotool.commands.shared.help import NO_NAMES, HelpfulCommand
from hlotool.commands.shared.output import check_options, print_document, write_text
from hlotool.commands.shared.progress import progress, track
from hlotool.commands.shared.row_options import (
    FORMATS,
    RowOptions,
    make_row_options,
    row_parameters,
)
from hlotool.fields import DocumentSpec

__all__ = [
    "RowOptions",
    "document_command",
    "print_document",
    "progress",
    "track",
    "write_text",
]

NO_DOCUMENTS: Final[Mapping[str, DocumentSpec]] = {}


class DocumentCommand(HelpfulCommand):
    """A command that prints documents, and has the options about rows."""

    def __init__(
        self,
        *args: Any,
        specs: tuple[DocumentSpec, ...] = (),
        formats: Sequence[str] = FORMATS,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.specs = specs
        self.params += row_parameters(formats)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the examples, and say where the fields are."""
        super().format_epilog(ctx, formatter)
        formatter.write(f"\nhlotool fields {self.name} lists the fields of rows.\n")


def document_command(
    name: str,
    *specs: DocumentSpec,
    example: str,
    formats: Sequence[str] = FORMATS,
    renamed: Mapping[str, str] = NO_NAMES,
    chosen_by: Mapping[str, DocumentSpec] = NO_DOCUMENTS,
) -> Callable[[Callable[..., int | None]], DocumentCommand]:
    """Make a function the command `name`, with the shared options as `options: RowOptions`.

    `specs` are the documents it can print; of `chosen_by`, the first parameter that is given, if
    any is, chooses one alone. Row options that do not fit what can be printed are refused before
    the function is called; what it returns, if anything, is the exit code. `renamed` are options
    that had other names once, with those of today.
    """

    def decorate(function: Callable[..., int | None]) -> DocumentCommand:
        shared = {each.name for each in row_parameters(formats)}

        @wraps(function)
        def call(**values: Any) -> int | None:
            options = make_row_options({key: values.pop(key) for key in shared if key in values})
            chosen = [spec for parameter, spec in chosen_by.items() if values.get(parameter)]
            check_options(chosen[:1] or specs, options)
            return function(**values, options=options)

        return click.command(
            name,
            cls=DocumentCommand,
            specs=(*specs, *chosen_by.values()),
            examples=example.splitlines(),
            formats=formats,
            renamed=renamed,
            short_help=COMMANDS.get(name),
        )(call)

    return decorate
