"""Which attributes does XLA write for each opcode, but those between devices and custom calls?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hlotool.inputs.proto.attributes.arithmetic import ARITHMETIC
from hlotool.inputs.proto.attributes.elements import ELEMENTS
from hlotool.inputs.proto.attributes.passing import PASSING
from hlotool.inputs.proto.nodes import Node
from hlotool.inputs.proto.values.shapes import ShapeTexts

ATTRIBUTES: Final[dict[str, Callable[[Node, ShapeTexts], list[str]]]] = {
    **ARITHMETIC,
    **ELEMENTS,
    **PASSING,
}
