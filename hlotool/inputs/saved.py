"""JSON documents that hlotool wrote, read again: figures to compare with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from hlotool.errors import InputError
from hlotool.source import Source

SUMMARY_SCHEMA: Final = "hlotool/summary/v1"
DIRECTORY_SCHEMA: Final = "hlotool/summary-directory/v1"
BASELINE_SCHEMA: Final = "hlotool/baseline/v1"

# Where a row of a directory's summary belongs in the summary of its module.
_ROW_PLACES: Final = {
    "instruction_count": ("module", "instruction_count"),
    "allocated_bytes": ("memory", "totals", "allocated_bytes"),
    "temp_bytes": ("memory", "totals", "temp_bytes"),
    "peak_bytes": ("memory", "totals", "peak_bytes"),
    "collective_count": ("collectives", "count"),
    "wire_bytes_per_run": ("collectives", "wire_bytes_per_run"),
    "flops_per_run": ("cost", "flops_per_run"),
}


class SavedModule(Struct, frozen=True):
    """The figures of one module, in the shape of a summary."""

    name: str
    figures: Mapping[str, object]


class SavedDocument(Struct, frozen=True):
    """A document, and the modules it tells of."""

    path: str
    schema: str
    modules: tuple[SavedModule, ...]


def read_saved(source: Source) -> SavedDocument:
    """Read a summary, the summary of a directory, or a baseline.

    Raises InputError for any other document.
    """
    try:
        document = json.loads(source.text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source.name}: this JSON does not parse: {error}.") from error
    schema = document.get("schema") if isinstance(document, Mapping) else None
    modules = _MODULES.get(str(schema))
    if modules is None:
        raise InputError(
            f"{source.name}: a {schema} document is nothing to compare with; "
            "hlotool summary --json writes one, and hlotool check --update-baseline."
        )
    return SavedDocument(source.name, str(schema), modules(document))


def _of_summary(document: Mapping[str, object]) -> tuple[SavedModule, ...]:
    facts = _mapping(document.get("module"))
    return (SavedModule(str(facts.get("name", "")), document),)


def _of_directory(document: Mapping[str, object]) -> tuple[SavedModule, ...]:
    """Read the rows in the order of their paths, which is that of the directory itself."""
    rows = document.get("modules")
    found = []
    ordered = sorted(rows, key=_path_of) if isinstance(rows, list) else []
    for row in ordered:
        figures: dict[str, object] = {}
        for name, place in _ROW_PLACES.items():
            inner = figures
            for key in place[:-1]:
                inner = inner.setdefault(key, {})  # type: ignore[assignment]
            inner[place[-1]] = _mapping(row).get(name)
        found.append(SavedModule(str(_mapping(row).get("module", "")), figures))
    return tuple(found)


def _path_of(row: object) -> str:
    return str(_mapping(row).get("path", ""))


def _of_baseline(document: Mapping[str, object]) -> tuple[SavedModule, ...]:
    modules = _mapping(document.get("modules"))
    return tuple(SavedModule(name, _mapping(figures)) for name, figures in modules.items())


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


_MODULES: Final = {
    SUMMARY_SCHEMA: _of_summary,
    DIRECTORY_SCHEMA: _of_directory,
    BASELINE_SCHEMA: _of_baseline,
}
