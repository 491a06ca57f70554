"""Which module of a baseline is a module's own? The one of its name, and of its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from hlotool.check.judge import NO_BASELINE
from hlotool.compare.sides import Candidate
from hlotool.errors import UsageError
from hlotool.inputs.read.text import display_name
from hlotool.inputs.saved import BASELINE_SCHEMA, PLACE_MARK

_LISTED: Final = 3  # modules named where none is the one asked for


class Earlier(Struct, frozen=True):
    """The modules of a baseline, or why there are none."""

    modules: tuple[Candidate, ...] = ()
    missing: str = NO_BASELINE


def find_entry(
    module: Candidate, earlier: Sequence[Candidate], *, is_alone: bool
) -> Candidate | str:
    """Return a module's own in a baseline, or say why there is none.

    Where a name stands for several on either side, the places tell them apart. The only module
    of a dump is compared with the only one of another dump, or summary, whatever their names.
    """
    if is_alone and len(earlier) == 1 and earlier[0].schema != BASELINE_SCHEMA:
        return earlier[0]
    same = [one for one in earlier if one.name == module.name]
    found = [one for one in same if one.place == module.place]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(one.key for one in (same or earlier)[:_LISTED])
    if not same:
        more = ", …" * (len(earlier) > _LISTED)
        return f"the baseline does not hold {module.key!r}; it holds {listed}{more}"
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
