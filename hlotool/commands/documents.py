"""Which documents there are: the declarations of all commands, for schemas and docs."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from hlotool.commands import COMMANDS
from hlotool.fields import DocumentSpec


def all_documents() -> tuple[DocumentSpec, ...]:
    """Return every document that any command can print, in the order of the commands."""
    found: list[DocumentSpec] = []
    for name in COMMANDS:
        module = f"hlotool.commands.{name}"
        if find_spec(module) is not None:
            found += import_module(module).DOCUMENTS
    return tuple(found)
