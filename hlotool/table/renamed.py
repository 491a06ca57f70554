"""What names of before 1.0 are called now: `hlotool/data/renamed.toml`, the one table of them.

A name is a key of JSON, and what `--where`, `--columns`, `--sort`, `--by` and budgets take; a word
is what a field can be. What older versions wrote is brought up to date key by key (`update_keys`),
and what a user still calls by an old name is found, if it is here under a new one (`find_new`).
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from msgspec import Struct, convert

_SINCE: Final = "since 1.0"


class Renamed(Struct, frozen=True):
    """The table: names everywhere, of one document, words by their field, terms, headings.

    `options` are called so elsewhere, `meant` are words that people type for fields.
    """

    names: Mapping[str, str]
    names_of: Mapping[str, Mapping[str, str]]
    words: Mapping[str, Mapping[str, str]]
    terms: Mapping[str, str]
    headings: Mapping[str, Sequence[str]]
    options: Mapping[str, str]
    meant: Mapping[str, Sequence[str]]


@cache
def read_table() -> Renamed:
    """Read the table; only older words need it."""
    path = os.path.normpath(os.path.join(__file__, "../../data/renamed.toml"))  # noqa: PTH118
    with open(path, "rb") as file:  # noqa: PTH123  pathlib takes longer to import than all else here
        return convert(tomllib.load(file), Renamed)


def find_new(old: str, known: Container[str]) -> str | None:
    """Find what is known under a new name, `run_time.run_count` part by part; None for nothing.

    The heading of a column, `holds`, was a name too.
    """
    table = read_table()
    for names in (table.names, *table.names_of.values()):
        new = _rename(old, names)
        if new != old and new in known:
            return new
    return next((new for new in table.headings.get(old, ()) if new in known), None)


def find_new_word(field: str, old: str) -> str | None:
    """Find what a word that a field could be is called now; None if it was never another."""
    return read_table().words.get(field, {}).get(old)


def say_renamed(old: str, new: str) -> str:
    """Say what an old name is called."""
    return f"{old} is called {new} {_SINCE}"


def list_renamed() -> Iterator[tuple[str, str, str]]:
    """Yield every name and word: old, new, and where it is renamed, '' for everywhere."""
    table = read_table()
    yield from ((old, new, "") for old, new in table.names.items())
    for place, names in table.names_of.items():
        yield from ((old, new, place) for old, new in names.items())
    for field, words in table.words.items():
        yield from ((old, new, f"values of {field}") for old, new in words.items())
    yield from ((old, new, "sentences") for old, new in table.terms.items())


def update_names(table: Mapping[str, object], document: str) -> dict[str, object]:
    """Return a table with the names of today; what stands under them stays as it is."""
    names = {**read_table().names, **read_table().names_of.get(document, {})}
    return {_rename(old, names): value for old, value in table.items()}


def update_keys(value: object, document: str) -> object:
    """Return JSON of an older document with the names and words of today.

    Names of metrics are keys, `collectives.wire_bytes_per_run` too, and items of the lists of
    bounds. Keys that hold the names of others, as those of modules do, are the caller's.
    """
    if isinstance(value, list):
        return [update_keys(each, document) for each in value]
    if not isinstance(value, dict):
        return value
    table = read_table()
    names = {**table.names, **table.names_of.get(document, {})}
    made: dict[str, object] = {}
    for old, held in value.items():
        new = _rename(old, names)
        if isinstance(held, str):
            made[new] = find_new_word(new, held) or held
        elif old in {"lower_bounds", "upper_bounds"} and isinstance(held, list):
            made[new] = [_rename(one, names) if isinstance(one, str) else one for one in held]
        else:
            made[new] = update_keys(held, document)
    return made


def _rename(path: str, names: Mapping[str, str]) -> str:
    return ".".join(names.get(part, part) for part in path.split("."))
