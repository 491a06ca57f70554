"""One module a subcommand: its options, what it asks of a program, and what it says.

A command whose sentences need more room than a file has is a package: `command` has the options and
the answer, `text` the sentences, which stand nowhere else. No figure is computed here. What all
share is in `shared`.

`COMMANDS` is what `hlotool --help` shows without importing any of them; the module of a
command has its name and holds a click command of that name, and its documents.
"""

from functools import cache
from importlib import import_module
from typing import Final

import click

COMMANDS: Final = {
    "summary": "A module on one screen; a directory as a table of modules.",
    "buffers": "Who holds memory at the peak.",
    "fusions": "What each fusion costs.",
    "collectives": "What crosses the interconnect.",
    "shardings": "Where arrays lie: specs, copies, global shapes.",
    "outline": "A program as it runs, on a screen.",
    "show": "All about one instruction, parameter or source line.",
    "diff": "What changed between two dumps.",
    "passes": "Which pass took the time, or made a program large.",
    "fit": "What other sizes take, from two or three compilations.",
    "report": "A program as one page of HTML.",
    "text": "The HLO text of a module, also of a protobuf.",
    "check": "Budgets from hlotool.toml, for CI.",
    "fields": "The fields of a command: names, units, meanings.",
    "explain": "What a number, a word or an option means.",
    "schema": "The JSON Schema of a command's answer.",
}


@cache
def load_command(name: str) -> click.Command:
    """Return a command by its name, which is one of COMMANDS."""
    command = getattr(import_module(f"hlotool.commands.{name}"), name)
    if not isinstance(command, click.Command):
        raise TypeError(name)
    return command
