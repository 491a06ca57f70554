"""The figures that later checks compare with: how they are written, and found again.

`hlotool check --update-baseline` writes the figures of every module, sorted and without those that
are unknown, so that the file is fit for review. A check finds a module again by its name, and by
its place in the dump where several have that name.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from hlotool import __version__
from hlotool.compare.changes.figures import DIFFED
from hlotool.compare.inputs import Candidate
from hlotool.dump.files import Input
from hlotool.dump.read import display_name, read_source
from hlotool.dump.saved import (
    BASELINE_SCHEMA,
    PLACE_MARK,
    BaselineDocument,
    SavedSummary,
    make_summary,
    pack_program,
    read_saved,
    read_schema,
    update_document,
)
from hlotool.errors import UsageError
from hlotool.hlo.attribute_values import drop_tables
from hlotool.program.program import Program
from hlotool.table.words import list_some

NO_BASELINE: Final = "there is no baseline; give --baseline, or write one with --update-baseline"
_LISTED: Final = 3  # modules named where none is the one asked for


class Earlier(Struct, frozen=True):
    """The modules of a baseline, or why there are none."""

    modules: tuple[Candidate, ...] = ()
    missing: str = NO_BASELINE


def choose_entry(module: Candidate, baseline: Earlier, *, is_alone: bool) -> Candidate | str:
    """Return a module's own in a baseline, or say why there is none.

    Where a name stands for several on either side, the places tell them apart. The only module
    of a dump is compared with the only one of another dump, or summary, whatever their names.
    """
    earlier = baseline.modules
    if not earlier:
        return baseline.missing
    if is_alone and len(earlier) == 1 and earlier[0].schema != BASELINE_SCHEMA:
        return earlier[0]
    same = [one for one in earlier if one.name == module.name]
    found = [one for one in same if one.place == module.place]
    if len(found) == 1:
        return found[0]
    listed = list_some([one.key for one in same or earlier], _LISTED, "" if same else ", …")
    if not same:
        return f"the baseline does not hold {module.key!r}; it holds {listed}"
    return f"which of the baseline's modules is {module.key!r} is not clear; it holds {listed}"


def expect_keys(modules: Sequence[Candidate], option: str) -> None:
    """Raise UsageError unless a check can find every module again by its key."""
    keys = Counter(one.key for one in modules)
    for one in modules:
        if not one.name:
            why = "a module has no name"
        elif PLACE_MARK in one.name:
            why = f"the name {one.name!r} holds {PLACE_MARK!r}, which begins a place"
        elif keys[one.key] > 1:
            why = f"there are {keys[one.key]} modules {one.key!r}"
        else:
            continue
        path = display_name(one.path)
        raise UsageError(f"{option}: {path}: {why}; a check could not find it again.")


_KINDS: Final = ("kind", "count", "executions", "message_bytes_per_step", "sent_bytes_per_step")


def known_metrics(program: Program) -> dict[str, object]:
    """Return the figures that diffs compare, as far as they are known, by their names."""
    figures = {path: program.metric(path) for path in DIFFED}
    return {path: value for path, value in figures.items() if value is not None}


def measure_baseline(program: Program, chosen: Input) -> SavedSummary:
    """Return the figures that diffs compare, as far as they are known, and the input program.

    That is the text before optimizations, packed: of it a diff reads what was changed.
    """
    figures = known_metrics(program)
    if program.step_estimate is not None:
        figures["step_time.machine"] = program.step_estimate.machine
    if program.module:
        totals = program.collectives.totals
        if totals.machine is not None:
            figures["collectives.machine"] = totals.machine
        figures["collectives.by_kind"] = [
            {name: getattr(row, name) for name in _KINDS} for row in totals.by_kind
        ]
    saved = make_summary(figures)
    if chosen.before is None or program.module is None:
        return saved
    before = drop_tables(chosen.before.read().text)
    length = len(before) + len(program.module.source.text)
    return replace(saved, input_program=pack_program(before, length))


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
        schema = read_schema(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        schema = ""
    if schema != BASELINE_SCHEMA:
        name = display_name(path)
        raise UsageError(f"--update-baseline: {name} is not a baseline; it was not overwritten.")
    source = read_source(path)
    read_saved(source)  # raises for one that is damaged, before any of it is written again
    document: Any = update_document(json.loads(source.text))
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
