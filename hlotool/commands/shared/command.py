"""What a command module needs: its decorator, its help, and what all commands have declared.

`--help` of a command is one screen: a command's own options have a line each; those that many
share stand together by purpose, as `hlotool explain --where` tells of one. See
docs/adding-a-command.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, Final

import click
from msgspec.structs import replace

from hlotool.commands import COMMANDS, load_command
from hlotool.commands.shared.many import PROGRAMS, add_programs
from hlotool.commands.shared.messages import quote_word
from hlotool.commands.shared.options import (
    FORMATS,
    make_common_options,
    make_row_options,
    row_parameters,
    takes_several,
)
from hlotool.commands.shared.output import settle_options
from hlotool.errors import UsageError
from hlotool.table import DocumentSpec
from hlotool.table.renamed import read_table
from hlotool.table.units import find_units

NO_NAMES: Final[Mapping[str, str]] = {}
# The options that many commands share, by purpose and by the names of their parameters.
PURPOSES: Final[Mapping[str, tuple[str, ...]]] = {
    "Input": (
        *("stage", "module", "buffers", "live_range", "module_text"),
        *("config", "cache", "dask", "unpacking"),
    ),
    "Model": ("chip", "bandwidth", "node_bandwidth", "devices_per_node", "latency", "chip_file"),
    "Rows": ("where", "sort", "limit", "rows", "by", "keeps_numbers", "columns", "is_wide"),
    "Output": ("is_json", "format", "units", "output", "color", "no_pager", "max_chars", "budget"),
}
_EXPLAINED: Final = "hlotool explain OPTION describes one"
_MOST_WORDS: Final = 28  # characters of a choice; more are told by `hlotool explain`
_WIDEST: Final = max(map(len, PURPOSES))
_SHARED: Final = frozenset(name for names in PURPOSES.values() for name in names)


class HelpfulCommand(click.Command):
    """A command whose help fits one screen, and which knows what its options were called."""

    def __init__(
        self,
        *args: Any,
        examples: Sequence[str] = (),
        renamed: Mapping[str, str] = NO_NAMES,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.renamed = renamed
        self.params += make_common_options()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options; of one that has another name here, or now, say which."""
        typed = tuple(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            old = error.option_name
            if (new := self.renamed.get(old)) is not None:
                raise UsageError(f"{old} is called {new} now.") from None
            new = read_table().options.get(old, "").partition(" ")[0]
            if not any(new in each.opts for each in self.params):
                raise
            raise UsageError(f"There is no option {old}: type {_retype(old, typed)}.") from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the command's own options, then those that many share."""
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        own = [one.get_help_record(ctx) for one in options if one.name not in _SHARED]
        with formatter.section("Options"):
            formatter.write_dl([record for record in own if record])
        if any(one.name in _SHARED for one in options):
            with formatter.section(f"Common options ({_EXPLAINED})"):
                for purpose, names in PURPOSES.items():
                    _write_purpose(formatter, purpose, list(_write_names(options, names, ctx)))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the examples as they are typed."""
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{line}\n")
        super().format_epilog(ctx, formatter)


def _retype(old: str, typed: Sequence[str]) -> str:
    """Return an option that is called otherwise elsewhere as it is typed here, with its value."""
    new, spelled = read_table().options[old], f"{old}="
    at = next(at for at, word in enumerate(typed) if word == old or word.startswith(spelled))
    if " " in new or new == "--wide":
        return new
    value = typed[at].removeprefix(spelled) if typed[at] != old else "".join(typed[at + 1 : at + 2])
    return f"{new} {quote_word(value)}" if value else new


def _write_purpose(formatter: click.HelpFormatter, purpose: str, names: Sequence[str]) -> None:
    """Write options behind their purpose; a line ends between two of them."""
    start = f"{'':>{formatter.current_indent}}{purpose:<{_WIDEST}}  "
    line = start
    for number, name in enumerate(names):
        word = name if number == len(names) - 1 else f"{name},"
        if len(line) + len(word) > formatter.width and line.strip() != purpose:
            formatter.write(f"{line.rstrip()}\n")
            line = " " * len(start)
        line += f"{word} "
    if names:
        formatter.write(f"{line.rstrip()}\n")


def _write_names(
    options: Sequence[click.Option], names: Sequence[str], ctx: click.Context
) -> Iterator[str]:
    """Yield the options of some names as they are typed, `--where EXPR`, in that order.

    What an option can be stands for its value if it finds room, else its name does.
    """
    known = {one.name: one for one in options}
    for one in (known[name] for name in names if name in known):
        value = one.make_metavar(ctx)
        if isinstance(one.type, click.Choice) and len(value) > _MOST_WORDS:
            value = (one.name or "").upper()
        yield "/".join(one.opts) + ("" if one.is_flag else f" {value}")


class DocumentCommand(HelpfulCommand):
    """A command that prints documents, and has the options about rows."""

    def __init__(
        self,
        *args: Any,
        documents: tuple[DocumentSpec, ...] = (),
        others: tuple[DocumentSpec, ...] = (),
        formats: Sequence[str] = FORMATS,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.documents = documents
        self.specs = (*documents, *others)
        self.params += row_parameters(formats)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the examples, and say where the fields are."""
        super().format_epilog(ctx, formatter)
        formatter.write(f"\nhlotool fields {self.name} lists the fields of rows.\n")


def document_command(
    name: str,
    *documents: DocumentSpec,
    example: str,
    formats: Sequence[str] = FORMATS,
    renamed: Mapping[str, str] = NO_NAMES,
    others: tuple[DocumentSpec, ...] = (),
    choose_specs: Callable[[Mapping[str, Any]], Sequence[DocumentSpec]] | None = None,
) -> Callable[[Callable[..., int | None]], DocumentCommand]:
    """Make a function the command `name`, with the shared options as `options: RowOptions`.

    `documents` are those it can print, and `others` those of other commands that it can print, too.
    Row options that fit none of them are refused before the function is called; what it returns,
    if anything, is the exit code. `renamed` are options that had other names once, with those of
    today. `choose_specs` says which documents are left by the command's own options and arguments.
    """

    def decorate(function: Callable[..., int | None]) -> DocumentCommand:
        shared = {each.name for each in row_parameters(formats)}
        several = (add_programs(documents[0]),) if takes_several(function) else ()

        @wraps(function)
        def call(**values: Any) -> int | None:
            typed = {key: values.pop(key) for key in shared if key in values}
            options = make_row_options(typed, formats)
            if options.units == "auto":
                sizes = (values.get("hbm") or "", *values.get("budget", ()))
                options = replace(options, units=find_units(" ".join(sizes)))
            specs = choose_specs(values) if choose_specs else (*several, *documents, *others)
            return function(**values, options=settle_options(specs, options))

        return click.command(
            name,
            cls=DocumentCommand,
            documents=documents,
            others=(*others, *several),
            examples=example.splitlines(),
            formats=formats,
            renamed=renamed,
            short_help=COMMANDS.get(name),
        )(call)

    return decorate


def documents_of(name: str) -> tuple[DocumentSpec, ...]:
    """Return the documents that a command can print."""
    command = load_command(name)
    return command.documents if isinstance(command, DocumentCommand) else ()


def all_documents() -> tuple[DocumentSpec, ...]:
    """Return every document that any command can print, in the order of the commands."""
    return (*(spec for name in COMMANDS for spec in documents_of(name)), PROGRAMS)
