"""How are weighted stacks written for pprof? As profile.proto of github.com/google/pprof, gzipped.

Scopes and instructions are functions; the place of an instruction's function is its line in the
user's program.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from typing import Any, Final

from hlotool.render.exchange.messages import Tables, make_messages
from hlotool.render.exchange.stacks import Frame, Stack, Weight

_OPTION: Final = "--format pprof"
_TABLES: Final[Tables] = {
    "Profile": {
        "sample_type": (1, "*ValueType"),
        "sample": (2, "*Sample"),
        "location": (4, "*Location"),
        "function": (5, "*Function"),
        "string_table": (6, "*string"),
        "comment": (13, "*int64"),
        "default_sample_type": (14, "int64"),
    },
    "ValueType": {"type": (1, "int64"), "unit": (2, "int64")},
    "Sample": {"location_id": (1, "*uint64"), "value": (2, "*int64")},
    "Location": {"id": (1, "uint64"), "line": (4, "*Line")},
    "Line": {"function_id": (1, "uint64"), "line": (2, "int64")},
    "Function": {"id": (1, "uint64"), "name": (2, "int64"), "filename": (4, "int64")},
}
_MOST: Final = (1 << 63) - 1


def expect_pprof() -> None:
    """Raise UsageError where what pprof needs is not installed."""
    make_messages("hlotool.pprof", _TABLES, _OPTION)


def render_pprof(stacks: Iterable[Stack], weights: Sequence[Weight], made_by: str) -> bytes:
    """Return a profile with a sample for each stack, and a sample type for each weight."""
    messages = make_messages("hlotool.pprof", _TABLES, _OPTION)
    profile = messages["Profile"]()
    writer = _Writer(profile)
    for weight in weights:
        profile.sample_type.add(type=writer.text(weight.field.name), unit=writer.text(weight.unit))
    profile.default_sample_type = writer.text(weights[0].field.name)
    profile.comment.append(writer.text(made_by))
    for stack in stacks:
        sample = profile.sample.add()
        sample.location_id.extend(writer.location(frame) for frame in reversed(stack.frames))
        sample.value.extend(min(value, _MOST) for value in stack.values)
    profile.string_table.extend(writer.texts)
    return gzip.compress(profile.SerializeToString(), mtime=0)


class _Writer:
    """Gives numbers to texts and to places, each once."""

    def __init__(self, profile: Any) -> None:
        self.texts: dict[str, int] = {"": 0}
        self._profile = profile
        self._locations: dict[Frame, int] = {}

    def text(self, text: str) -> int:
        """Return the number of a text."""
        return self.texts.setdefault(text, len(self.texts))

    def location(self, frame: Frame) -> int:
        """Return the number of a frame's place, from 1."""
        number = self._locations.get(frame)
        if number is None:
            number = self._locations[frame] = len(self._locations) + 1
            self._profile.function.add(
                id=number, name=self.text(frame.name), filename=self.text(frame.file)
            )
            self._profile.location.add(id=number).line.add(function_id=number, line=frame.line)
        return number
