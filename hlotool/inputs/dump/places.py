"""Which of a directory's programs of one name is this? The one at its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from hlotool.inputs.dump.files import Input
from hlotool.inputs.dump.short_path import short_path


def tell_apart(directory: str, inputs: Sequence[Input]) -> tuple[Input, ...]:
    """Give inputs that share a name their places; of two texts of a program, with the stage."""
    names = Counter(one.name for one in inputs)
    placed = [
        replace(one, place=short_path(one.path, directory)) if names[one.name] > 1 else one
        for one in inputs
    ]
    places = Counter((one.name, one.place) for one in placed)
    return tuple(
        replace(one, place=f"{one.place} {one.stage.value}")
        if one.stage and places[one.name, one.place] > 1
        else one
        for one in placed
    )
