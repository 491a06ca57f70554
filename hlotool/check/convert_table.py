"""What does a table of a configuration say, and what is wrong with it?"""

from __future__ import annotations

import re
from typing import Final, TypeVar, get_args

from msgspec import Struct, ValidationError, convert
from msgspec.structs import fields

from hlotool.check.budget import BudgetTable
from hlotool.check.custom_call import CustomCallTable
from hlotool.check.key_lines import TableLines
from hlotool.errors import UsageError
from hlotool.fields.near_names import either
from hlotool.query.names import suggest

TABLES: Final = {"budget": "budgets", "custom_call": "custom calls"}  # of which there are many
_OF: Final = {BudgetTable: " of a budget", CustomCallTable: " of a custom_call"}
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_NO_CHOICE: Final = "Invalid enum value "

Record = TypeVar("Record", bound=Struct)


def convert_table(
    table: dict[str, object], record: type[Record], name: str, lines: TableLines
) -> Record:
    """Read a table; raise UsageError with its place, where it does not fit."""
    try:
        return convert(table, record)
    except ValidationError as error:
        key, message = _explain(str(error), record)
        place = lines.place(name, key)
        raise UsageError(f"{place}: {message}{'' if message.endswith('?') else '.'}") from error


def _explain(error: str, record: type[Struct]) -> tuple[str, str]:
    """Put what msgspec found into the words of a configuration; name the key, '' for none."""
    keys = {each.name: each.type for each in fields(record)}
    unknown = _UNKNOWN.match(error)
    if unknown:
        of = _OF.get(record, "")
        return unknown[1], f"there is no key {unknown[1]!r}{of}; {suggest(unknown[1], keys)}"
    what, _, place = error.replace(" | null`", "`").partition(" - at `$.")
    key = place.rstrip("`").partition("[")[0]
    if key in TABLES:
        return "", f"{TABLES[key]} are written as [[{key}]], each a table of its own"
    if what.startswith(_NO_CHOICE):
        choices = [word for part in (keys[key], *get_args(keys[key])) for word in get_args(part)]
        words = [word for word in choices if isinstance(word, str)]
        return key, f"{key} is {either(words)}, not {what.removeprefix(_NO_CHOICE)}"
    return key, f"{key}: {what[:1].lower()}{what[1:]}" if key else what
