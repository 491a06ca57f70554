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
    "summary": "Summarize a module, or list those of a directory.",
    "buffers": "List the values that hold memory at the peak.",
    "fusions": "List fusions with their costs.",
    "collectives": "List collectives and the bytes they send.",
    "shardings": "List shardings: specs, copies, global shapes.",
    "outline": "Show a program in the order it runs.",
    "show": "Show one instruction, parameter or source line.",
    "diff": "Show what changed between two dumps.",
    "passes": "Rank the passes of a compilation by time and growth.",
    "fit": "Predict other sizes from two or three compilations.",
    "report": "Write a program as one page of HTML.",
    "text": "Print the HLO text of a module or a protobuf.",
    "check": "Check budgets from hlotool.toml, for CI.",
    "fields": "List the fields of a command: names, units, meanings.",
    "explain": "Explain a number, a word or an option.",
    "schema": "Print the JSON Schema of a command's answer.",
    "mcp": "Serve these commands to an agent, over MCP.",
}


@cache
def load_command(name: str) -> click.Command:
    """Return a command by its name, which is one of COMMANDS."""
    command = getattr(import_module(f"hlotool.commands.{name}"), name)
    if not isinstance(command, click.Command):
        raise TypeError(name)
    return command
