"""How much have two programs in common, before either is parsed?"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from msgspec import Struct

from hlotool.errors import HlotoolError
from hlotool.inputs import Input
from hlotool.parse.attributes.metadata import drop_metadata

_FIRST_COMPUTATION: Final = re.compile(r"^(?:ENTRY\s|%)", re.MULTILINE)
# What an instruction makes and how: `f32[8,128]{1,0} add(`; of a tuple the last element.
_RESULT: Final = re.compile(r"([a-z0-9]+\[[0-9,<=]*\])(?:\{[^{}]*\})?\)? ([a-z][a-z0-9\-]*)\(")

EQUAL: Final = 2.0  # the likeness of equal texts


class Content(Struct, frozen=True, eq=False):
    """What is compared of a program: its text without notes, and how often it does what.

    `words` count opcodes with the shapes they make.
    """

    text: str
    words: Counter[str]

    def likeness(self, other: Content) -> float:
        """Return what both do, as a share of what either does; `EQUAL` where the texts are."""
        if self.text == other.text:
            return EQUAL
        either = (self.words | other.words).total()
        return (self.words & other.words).total() / either if either else 0.0


def read_content(one: Input) -> Content | None:
    """Read what is compared of a program; None where it has no text, or none that can be read."""
    if one.module is None:
        return None
    try:
        text = one.module.read().text
    except HlotoolError:  # who reads it to compare it says what is wrong
        return None
    begin = _FIRST_COMPUTATION.search(text)
    body = drop_metadata(text[begin.start() :] if begin else text)
    return Content(body, Counter(" ".join(found) for found in _RESULT.findall(body)))
