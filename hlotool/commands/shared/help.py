"""What does `--help` of a command show? One screen: options by purpose, and three examples.

A command's own options have a line each. Those that many share stand together, as what they mean
is the same everywhere: `hlotool explain --where` says it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import click

from hlotool.errors import UsageError

NO_NAMES: Final[Mapping[str, str]] = {}

# The options that many commands share, by purpose and by the names of their parameters.
PURPOSES: Final[Mapping[str, tuple[str, ...]]] = {
    "Input": (
        *("stage", "module", "buffers", "live_range", "module_text", "config", "cache", "dask"),
    ),
    "Model": (
        *("chip", "bandwidth", "node_bandwidth", "devices_per_node", "latency", "chip_file"),
    ),
    "Rows": ("where", "sort", "limit", "rows", "by", "keeps_numbers", "columns", "is_wide"),
    "Output": ("is_json", "format", "units", "output", "color", "budget"),
}
_EXPLAINED: Final = "hlotool explain OPTION tells of one"
_MOST_WORDS: Final = 40  # characters of a choice; more are told by `hlotool explain`
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
        """List the command's own options, then those that many share."""
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        own = [
            record
            for one in options
            if one.name not in _SHARED and (record := one.get_help_record(ctx))
        ]
        with formatter.section("Options"):
            formatter.write_dl(own)
        if any(one.name in _SHARED for one in options):
            with formatter.section(f"Options of many commands ({_EXPLAINED})"):
                for purpose, names in PURPOSES.items():
                    _write_purpose(formatter, purpose, list(_write_names(options, names, ctx)))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the examples as they are typed."""
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{line}\n")
        super().format_epilog(ctx, formatter)


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
    """Yield the options of some names as they are typed, `--where EXPR`, in that order."""
    known = {one.name: one for one in options}
    for name in names:
        if name in known:
            one = known[name]
            value = "" if one.is_flag else f" {_name_value(one, ctx)}"
            yield f"{'/'.join(one.opts)}{value}"


def _name_value(option: click.Option, ctx: click.Context) -> str:
    """Return what stands for an option's value: its words, if they find room, else its name."""
    words = option.make_metavar(ctx)
    is_long = isinstance(option.type, click.Choice) and len(words) > _MOST_WORDS
    return (option.name or "").upper() if is_long else words
