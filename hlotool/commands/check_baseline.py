"""`hlotool check --update-baseline`: the figures that later checks compare with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from hlotool import __version__
from hlotool.commands.shared.command import track
from hlotool.commands.shared.request import Request
from hlotool.commands.shared.say import say
from hlotool.diff.blocks.metrics import DIFFED
from hlotool.diff.saved import PLACES
from hlotool.errors import UsageError
from hlotool.inputs.saved import BASELINE_SCHEMA
from hlotool.program.loading import load
from hlotool.program.program import Program

Json = dict[str, object]
_KINDS = ("kind", "count", "executions", "payload_bytes_per_run", "wire_bytes_per_run")


def write_baseline(request: Request, path: str) -> None:
    """Write the figures of every module of a dump: sorted, integer bytes, fit for review.

    Of modules with one name the first counts; stderr says so. Raises UsageError where the
    baseline is something else than a file hlotool wrote.
    """
    _refuse_to_overwrite(path)
    modules: Json = {}
    inputs = request.find().inputs
    for one in track(inputs, "measuring", len(inputs)):
        program = load(one, request.path, with_buffers=True)
        name = program.name
        if name in modules:
            say(f"{one.path}: there is another module {name!r}; the baseline keeps the first.")
            continue
        modules[name] = _figures(program)
    document = {"schema": BASELINE_SCHEMA, "hlotool_version": __version__, "modules": modules}
    text = json.dumps(document, indent=2, sort_keys=True) + "\n"
    try:
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"--baseline {path}: {error.strerror}.") from error
    count = "1 module" if len(modules) == 1 else f"{len(modules)} modules"
    say(f"wrote the figures of {count} to {path}")


def _figures(program: Program) -> Json:
    """Return the figures that diffs compare, in the places where a summary holds them."""
    made: Json = {}
    for path in DIFFED:
        value = program.metric(path)
        if value is None:
            continue
        block, _, name = path.rpartition(".")
        inner = made
        for key in PLACES[block]:
            following = inner.setdefault(key, {})
            if not isinstance(following, dict):
                raise TypeError(f"{key} is no record")
            inner = following
        inner[name] = value
    totals = program.collectives.totals if program.module else None
    collectives = made.get("collectives")
    if totals is not None and isinstance(collectives, dict):
        collectives["by_kind"] = [
            {name: getattr(row, name) for name in _KINDS} for row in totals.by_kind
        ]
    return made


def _refuse_to_overwrite(path: str) -> None:
    """Raise UsageError unless there is nothing at the path yet, or a baseline."""
    place = Path(path)
    if not place.exists():
        return
    try:
        document = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        document = None
    if not isinstance(document, Mapping) or document.get("schema") != BASELINE_SCHEMA:
        raise UsageError(f"--update-baseline: {path} is no baseline; it is left as it was.")
