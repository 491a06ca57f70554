"""The options that name a dump, and the one program a command is about."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from hlotool.fields import Unit
from hlotool.inputs import Inputs, NamedFiles, StageChoice, find_inputs
from hlotool.loading import Loaded, find_largest, load
from hlotool.records import default, record
from hlotool.render.units import format_value

__all__ = ["Loaded", "Request", "dump_options", "load_one", "say"]


@record
class Request:
    """Which dump the user means: PATH and the options that choose in it.

    `budgets` are those of --budget. `found` remembers what PATH led to: standard input can
    be read only once.
    """

    path: str
    stage: StageChoice = "after"
    module: str | None = None
    named: NamedFiles = default(NamedFiles)
    budgets: tuple[str, ...] = ()
    found: list[Inputs] = default(list)

    def find(self) -> Inputs:
        """Return the inputs that PATH leads to, and tell the user what was passed over."""
        if not self.found:
            self.found.append(find_inputs(self.path, self.stage, self.module, self.named))
            for note in self.found[0].notes:
                say(note)
        return self.found[0]


def dump_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command PATH and the options that choose a dump, as `request: Request`.

    Budgets given with --budget are held against the dump after the answer is printed,
    unless the command is the one that does nothing else.
    """

    @wraps(function)
    def call(path: str, stage: StageChoice, module: str | None, **values: Any) -> None:
        named = NamedFiles(
            values.pop("buffers"), values.pop("live_range"), values.pop("module_text")
        )
        request = Request(path, stage, module, named, values.pop("budget"))
        if not request.budgets or function.__name__ == _CHECK:
            function(request=request, **values)
            return
        from hlotool.commands.budgets import check_budgets, enforce_budgets  # noqa: PLC0415

        check_budgets(request)
        function(request=request, **values)
        enforce_budgets(request)

    decorated: Callable[..., None] = call
    for decorate in reversed(_DUMP_PARAMETERS):
        decorated = decorate(decorated)
    return decorated


_CHECK = "check"
_DUMP_PARAMETERS: tuple[Callable[..., Any], ...] = (
    click.argument("path", metavar="PATH"),
    click.option(
        "--stage",
        type=click.Choice(["before", "after", "all"]),
        default="after",
        help="In a directory: the text before or after optimizations.",
    ),
    click.option("--module", metavar="REGEX", help="In a directory: only modules so named."),
    click.option("--buffers", metavar="FILE", help="The buffer assignment, if not beside PATH."),
    click.option("--live-range", metavar="FILE", help="The live ranges, if not beside PATH."),
    click.option("--module-text", metavar="FILE", help="The HLO text, if not beside PATH."),
    click.option(
        "--budget",
        metavar="EXPR",
        multiple=True,
        help="Exit with 1 unless it holds, as of buffers.temp_bytes <= 8GiB.",
    ),
)


def load_one(request: Request, *, with_buffers: bool = False) -> Loaded:
    """Read the one program a command is about.

    Where several match, the one with the most allocated memory, and stderr says so. The
    buffer assignment is read only on request.
    """
    return load_chosen(request.find(), request.path, with_buffers=with_buffers)


def load_chosen(found: Inputs, path: str, *, with_buffers: bool = False) -> Loaded:
    """Read the largest of the inputs found; say on stderr that a choice was made."""
    if len(found.inputs) == 1:
        return load(found.inputs[0], path, with_buffers=with_buffers)
    chosen, size_bytes = find_largest(found)
    why = (
        f"the one with the most allocated memory ({format_value(size_bytes, Unit.BYTES)})"
        if size_bytes is not None
        else "the first, as none has a readable buffer assignment"
    )
    say(
        f"{len(found.inputs)} modules match in {path}; this is about {chosen.path}, {why}. "
        "Choose with --module."
    )
    return load(chosen, path, with_buffers=with_buffers)


def say(message: str) -> None:
    """Print a diagnostic on stderr."""
    click.echo(f"hlotool: {message}", err=True)
