"""The figures that later checks compare with: what `hlotool check --update-baseline` writes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import to_builtins

from hlotool import __version__
from hlotool.compare.blocks.metrics import DIFFED
from hlotool.compare.sides import Candidate
from hlotool.errors import UsageError
from hlotool.inputs.read.text import display_name, read_source
from hlotool.inputs.saved import (
    BASELINE_SCHEMA,
    PLACE_MARK,
    BaselineDocument,
    SavedSummary,
    find_schema,
    make_summary,
    read_saved,
)
from hlotool.program.program import Program

_KINDS: Final = ("kind", "count", "executions", "payload_bytes_per_run", "wire_bytes_per_run")


def known_metrics(program: Program) -> dict[str, object]:
    """Return the figures that diffs compare, as far as they are known, by their names."""
    figures = {path: program.metric(path) for path in DIFFED}
    return {path: value for path, value in figures.items() if value is not None}


def measure_baseline(program: Program) -> SavedSummary:
    """Return the figures that diffs compare, as far as they are known."""
    figures = known_metrics(program)
    if program.run_estimate is not None:
        figures["run_time.machine"] = program.run_estimate.machine
    if program.module:
        totals = program.collectives.totals
        if totals.machine is not None:
            figures["collectives.machine"] = totals.machine
        figures["collectives.by_kind"] = [
            {name: getattr(row, name) for name in _KINDS} for row in totals.by_kind
        ]
    return make_summary(figures)


def write_baseline(modules: Mapping[str, SavedSummary], kept: Mapping[str, object]) -> str:
    """Return the text of a baseline: sorted, integer bytes, fit for review.

    `kept` are modules as an older text has them; those measured take the place of their own.
    """
    document = to_builtins(BaselineDocument(__version__, dict(modules)))
    document["modules"] = {**kept, **document["modules"]}
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def read_modules(path: str) -> dict[str, object]:
    """Return the modules of a baseline as they stand in it, none where nothing is there yet.

    Raises UsageError for any other file, and InputError for a baseline that is damaged.
    """
    place = Path(path)
    if not place.is_dir() and not (place.is_file() and place.stat().st_size):
        return {}
    try:
        schema = find_schema(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        schema = ""
    if schema != BASELINE_SCHEMA:
        name = display_name(path)
        raise UsageError(f"--update-baseline: {name} is not a baseline; it was not overwritten.")
    source = read_source(path)
    read_saved(source)
    document: dict[str, Any] = json.loads(source.text)
    modules: dict[str, object] = document.get("modules", {})
    return modules


def expect_apart(modules: Iterable[Candidate], kept: Iterable[str], path: str) -> None:
    """Raise UsageError where a name alone and one with a place would stand in one baseline."""
    for one in modules:
        for key in kept:
            name, _, place = key.partition(PLACE_MARK)
            if name == one.name and bool(place) != bool(one.place):
                raise UsageError(
                    f"--update-baseline: {display_name(path)} holds {key!r}, and this dump has "
                    f"{one.key!r}; a check could not tell which is meant. Write the whole "
                    "baseline again, without --module."
                )
