"""Which command line does the next thing, about the same dump?"""

from __future__ import annotations

import shlex
from collections.abc import Collection

import click
from click.core import ParameterSource


def repeat_command(kept: Collection[str], *added: str) -> str:
    """Return the command line as typed, of its parameters those that are `kept`, and `added`."""
    context = click.get_current_context()
    words = context.command_path.split()
    for each in context.command.params:
        name = each.name or ""
        typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if typed and name in kept:
            is_option = isinstance(each, click.Option)
            words += (
                [*each.opts[-1:], context.params[name]] if is_option else [context.params[name]]
            )
    return shlex.join([*words, *added])
