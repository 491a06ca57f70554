"""Names that a user typed: which fields they mean, and what was meant by a wrong one."""

from __future__ import annotations

from collections.abc import Iterable

from hlotool.errors import QueryError
from hlotool.fields import Field
from hlotool.fields.near_names import either, find_near
from hlotool.source import Source

_MOST_LISTED = 12  # names shown when none is near


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a hint that lists the names nearest to a wrong one."""
    names = list(known)
    near = find_near(name, names)
    if near:
        return f"did you mean {either(near)}?"
    if len(names) == 1:
        return f"there is only {names[0]}"
    more = len(names) - _MOST_LISTED
    listed = ", ".join(names[:_MOST_LISTED]) + (f" and {more} more" if more > 0 else "")
    return f"there are {listed}" if names else "there are none"


def suggest_field(name: str, fields: Iterable[Field]) -> str:
    """Return a hint about a name that is no field; perhaps it is what a table calls one."""
    known = list(fields)
    for field in known:
        if name.replace("_", " ") == field.title:
            return f"did you mean {field.name}? {field.title!r} is its heading"
    return suggest(name, (field.name for field in known))


def parse_names(
    text: str, option: str, fields: Iterable[Field], signs: str = ""
) -> tuple[tuple[str, Field], ...]:
    """Read `[sign]name{,[sign]name}` and return each sign ('' if none) with its field.

    Raises QueryError at the first name that is not among `fields`, or is empty.
    """
    known = {field.name: field for field in fields}
    source = Source(text, option)
    found: list[tuple[str, Field]] = []
    pos = 0
    for part in text.split(","):
        start = pos + len(part) - len(part.lstrip())
        pos += len(part) + 1
        name = part.strip()
        sign = name[:1] if name[:1] and name[:1] in signs else ""
        name = name.removeprefix(sign).strip()
        if name not in known:
            message = f"there is no field {name!r}" if name else "expected a field's name"
            end = start + max(1, len(part.strip()))
            raise QueryError(message, source, start, end, suggest_field(name, known.values()))
        found.append((sign, known[name]))
    return tuple(found)
