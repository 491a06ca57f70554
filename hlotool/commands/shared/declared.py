"""What have all commands declared? Their options, and the documents they can print."""

from __future__ import annotations

from functools import cache
from importlib import import_module

import click

from hlotool.commands import COMMANDS
from hlotool.errors import UsageError
from hlotool.fields import DocumentSpec
from hlotool.query.names import suggest


@cache
def load_command(name: str) -> click.Command:
    """Return a command by its name, which is one of COMMANDS."""
    command = getattr(import_module(f"hlotool.commands.{name}"), name)
    if not isinstance(command, click.Command):
        raise TypeError(name)
    return command


def documents_of(name: str) -> tuple[DocumentSpec, ...]:
    """Return the documents that a command can print."""
    documents: tuple[DocumentSpec, ...] = import_module(f"hlotool.commands.{name}").DOCUMENTS
    return documents


def expect_command(name: str) -> str:
    """Return the name of a command that prints documents, or raise UsageError."""
    if name not in COMMANDS or not documents_of(name):
        known = [one for one in COMMANDS if documents_of(one)]
        raise UsageError(f"no command {name!r} has fields; {suggest(name, known)}")
    return name


def all_documents() -> tuple[DocumentSpec, ...]:
    """Return every document that any command can print, in the order of the commands."""
    return tuple(spec for name in COMMANDS for spec in documents_of(name))
