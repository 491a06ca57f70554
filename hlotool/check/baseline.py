"""The figures that later checks compare with: what `hlotool check --update-baseline` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import to_builtins

from hlotool import __version__
from hlotool.diff.blocks.metrics import DIFFED
from hlotool.errors import UsageError
from hlotool.inputs.saved import (
    BASELINE_SCHEMA,
    BaselineDocument,
    SavedSummary,
    find_schema,
    make_summary,
)
from hlotool.program.program import Program

_KINDS: Final = ("kind", "count", "executions", "payload_bytes_per_run", "wire_bytes_per_run")


def measure_baseline(program: Program) -> SavedSummary:
    """Return the figures that diffs compare, as far as they are known."""
    figures: dict[str, object] = {path: program.metric(path) for path in DIFFED}
    if program.module:
        figures["collectives.machine"] = program.collectives.totals.machine
        kinds = program.collectives.totals.by_kind
        figures["collectives.by_kind"] = [
            {name: getattr(row, name) for name in _KINDS} for row in kinds
        ]
    return make_summary({path: value for path, value in figures.items() if value is not None})


def write_baseline(modules: Mapping[str, SavedSummary], path: str) -> None:
    """Write a baseline: sorted, integer bytes, fit for review."""
    document = to_builtins(BaselineDocument(__version__, dict(modules)))
    text = json.dumps(document, indent=2, sort_keys=True) + "\n"
    try:
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"--baseline {path}: {error.strerror}.") from error


def expect_no_other_file(path: str) -> None:
    """Raise UsageError unless there is nothing at the path yet, or a baseline."""
    place = Path(path)
    if not place.exists():
        return
    try:
        schema = find_schema(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        schema = ""
    if schema != BASELINE_SCHEMA:
        raise UsageError(f"--update-baseline: {path} is not a baseline; it was not overwritten.")
