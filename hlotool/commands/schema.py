"""`hlotool schema`: the JSON Schema of a command's answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import cast

import click

from hlotool.check.history import HISTORY_SCHEMA, HistoryLine
from hlotool.commands.shared.command import HelpfulCommand, all_documents
from hlotool.commands.shared.messages import say
from hlotool.commands.shared.options import completing, find_max_chars, option
from hlotool.commands.shared.output import write_text
from hlotool.errors import ERROR_SCHEMA, ErrorAnswer, UsageError
from hlotool.table.schema import Json, make_line_schema, make_schema
from hlotool.table.words import suggest
from hlotool.text import encode_json

_EXAMPLES = (
    "hlotool schema collectives > collectives.schema.json",
    "hlotool schema summary-directory",
    "hlotool schema check-history",
)


@click.command("schema", cls=HelpfulCommand, examples=_EXAMPLES)
@click.argument("name", metavar="COMMAND", shell_complete=completing(lambda _: _list_documents()))
@option("-o, --output FILE", "Write to FILE instead of stdout.", default="")
def schema(name: str, output: str) -> None:
    """Print the JSON Schema of COMMAND --json.

    Commands with several kinds of answer have one schema for each, such as summary-directory.
    """
    schemas = all_schemas()
    if name not in schemas:
        raise UsageError(f"there is no schema {name!r}; {suggest(name, schemas)}")
    if others := [one for one in schemas if one.startswith(f"{name}-")]:
        say(f"{name} has other answers too: {', '.join(others)}.")
    write_text((f"{_shorten(schemas[name], find_max_chars())}\n",), output)


def _shorten(whole: Json, most: int | None) -> str:
    """Write a schema; one that is longer than asked for has its first properties alone."""
    if most is None:
        return json.dumps(whole, indent=2)
    head = {key: whole[key] for key in ("$id", "description", "type") if key in whole}
    properties = list(cast("Json", whole["properties"]).items())
    parts = (
        head
        | {"$comment": f"{count} of {len(properties)} keys", "properties": dict(properties[:count])}
        for count in range(len(properties), -1, -1)
    )
    texts = (encode_json(one, is_compact=True) for one in (whole, *parts))
    return next(text for text in texts if len(text) < most)


def all_schemas() -> dict[str, Json]:
    """Return every schema by the name of its document; a history's lines and errors have one."""
    line = make_line_schema(HistoryLine, HISTORY_SCHEMA, "a line of a history of checks")
    error = make_line_schema(ErrorAnswer, ERROR_SCHEMA, "an error, if JSON was requested")
    schemas = {spec.name: make_schema(spec) for spec in all_documents()}
    return schemas | {"check-history": line, "error": error}


def _list_documents() -> Iterator[tuple[str, str]]:
    yield from ((name, str(one["description"])) for name, one in all_schemas().items())
