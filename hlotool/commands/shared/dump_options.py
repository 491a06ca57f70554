"""The options that name a dump, for click."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from hlotool.commands.shared.assumptions import read_assumptions
from hlotool.commands.shared.complete import complete_module
from hlotool.commands.shared.config_option import config_option, take_config
from hlotool.commands.shared.request import Request
from hlotool.inputs import NamedFiles, StageChoice


def dump_options(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Give a command PATH and the options that choose a dump, as `request: Request`.

    What the command returns, if anything, is the exit code.

    The options of `machine_options`, and what hlotool.toml says, become its assumptions.

    Budgets given with --budget are held against the dump after the answer is printed,
    unless the command is the one that does nothing else.
    """

    @wraps(function)
    def call(path: str | None, stage: StageChoice, module: str | None, **values: Any) -> int | None:
        named = NamedFiles(
            values.pop("buffers"), values.pop("live_range"), values.pop("module_text")
        )
        config = take_config(values)
        assumptions = read_assumptions(values, config)
        request = Request(
            path or "", stage, module, named, values.pop("budget"), config, assumptions
        )
        if not request.budgets or function.__name__ == _CHECK:
            return function(request=request, **values)
        from hlotool.commands.shared.budgets import compile_budgets, enforce_budgets  # noqa: PLC0415

        # A mistake is told before anything is read.
        rules = compile_budgets(request.budgets, assumptions.machine)
        return function(request=request, **values) or enforce_budgets(request, rules)

    decorated: Callable[..., int | None] = call
    # What a check recorded is read without a dump.
    argument = click.argument("path", metavar="PATH", required=function.__name__ != _CHECK)
    for decorate in reversed((argument, *_DUMP_PARAMETERS)):
        decorated = decorate(decorated)
    return decorated


_CHECK = "check"
_DUMP_PARAMETERS: tuple[Callable[..., Any], ...] = (
    click.option(
        "--stage",
        type=click.Choice(["before", "after", "all"]),
        default="after",
        help="In a directory: the text before or after optimizations.",
    ),
    click.option(
        "--module",
        metavar="REGEX",
        help="Of several modules: only those whose name, or name#number, matches.",
        shell_complete=complete_module,
    ),
    click.option("--buffers", metavar="FILE", help="The buffer assignment, if not beside PATH."),
    click.option("--live-range", metavar="FILE", help="The live ranges, if not beside PATH."),
    click.option("--module-text", metavar="FILE", help="The HLO text, if not beside PATH."),
    click.option(
        "--budget",
        metavar="EXPR",
        multiple=True,
        help="Exit with 1 unless EXPR holds, such as 'buffers.temp_bytes <= 8GiB'.",
    ),
    config_option,
)
