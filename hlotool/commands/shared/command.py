"""What a command module needs: its decorator, the shared options, and how to print.

See docs/adding-a-command.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Final

import click

from hlotool.commands import COMMANDS
from hlotool.commands.shared.output import check_options, print_document, write_text
from hlotool.commands.shared.progress import progress, track
from hlotool.commands.shared.row_options import (
    FORMATS,
    RowOptions,
    make_row_options,
    row_parameters,
)
from hlotool.errors import UsageError
from hlotool.fields import DocumentSpec, Field, Unit

__all__ = [
    "RowOptions",
    "document_command",
    "print_document",
    "progress",
    "track",
    "write_text",
]

_NOTHING: Final[Mapping[str, str]] = {}


class DocumentCommand(click.Command):
    """A command that prints documents; its help ends with the fields of their rows."""

    def __init__(
        self,
        *args: Any,
        specs: tuple[DocumentSpec, ...] = (),
        example: str = "",
        formats: Sequence[str] = FORMATS,
        renamed: Mapping[str, str] = _NOTHING,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.renamed = renamed
        self.specs = specs
        self.example = example
        self.shared = row_parameters(formats)
        self.params += self.shared

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options; of one that has another name now, say which."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            new = self.renamed.get(error.option_name)
            if new is None:
                raise
            raise UsageError(f"{error.option_name} is called {new} now.") from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the command's own options apart from the shared ones."""
        own: list[tuple[str, str]] = []
        shared: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and not isinstance(parameter, click.Argument):
                (shared if parameter in self.shared else own).append(record)
        with formatter.section("Options"):
            formatter.write_dl(own)
        with formatter.section("Rows and output"):
            formatter.write_dl(shared)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the example and every field that --where, --sort, --by and --columns take."""
        if self.example:
            with formatter.section("Example"):
                for line in self.example.splitlines():
                    formatter.write(f"{'':>{formatter.current_indent}}{line}\n")
        for spec in self.specs:
            for row_list in spec.row_lists:
                where = f"{spec.name}: fields" if len(self.specs) > 1 else "Fields"
                with formatter.section(f"{where} of --rows {row_list.name} ({row_list.meaning})"):
                    formatter.write_dl([(each.name, _explain(each)) for each in row_list.fields])
        super().format_epilog(ctx, formatter)


def document_command(
    name: str,
    *specs: DocumentSpec,
    example: str,
    formats: Sequence[str] = FORMATS,
    renamed: Mapping[str, str] = _NOTHING,
) -> Callable[[Callable[..., int | None]], DocumentCommand]:
    """Make a function the command `name`, with the shared options as `options: RowOptions`.

    `specs` are the documents it can print. Row options that fit none of them are refused
    before the function is called; what it returns, if anything, is the exit code. `renamed` are
    options that had other names once, with those of today.
    """

    def decorate(function: Callable[..., int | None]) -> DocumentCommand:
        shared = {each.name for each in row_parameters(formats)}

        @wraps(function)
        def call(**values: Any) -> int | None:
            options = make_row_options({key: values.pop(key) for key in shared if key in values})
            check_options(specs, options)
            return function(**values, options=options)

        return click.command(
            name,
            cls=DocumentCommand,
            specs=specs,
            example=example,
            formats=formats,
            renamed=renamed,
            short_help=COMMANDS.get(name),
        )(call)

    return decorate


def _explain(field: Field) -> str:
    """Return a field's meaning with its unit."""
    unit = "" if field.unit in {Unit.TEXT, Unit.LIST} else f" [{field.unit.value}]"
    return f"{field.meaning}{unit}"
