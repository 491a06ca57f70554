"""What keeps the memory of a module from being estimated?"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from hlotool.analysis.dataflow.schedule import find_problem
from hlotool.analysis.graph.backend import find_backend
from hlotool.ir.module import Module


class Obstacle(Struct, frozen=True):
    """Why there is no estimate: in half a sentence, and with what to do about it."""

    reason: str
    advice: str


_UNTILED: Final = Obstacle(
    "the text has no layouts, and on TPU their tiles decide how large values are",
    "this text was printed without layouts, and on TPU the tiles in them decide how large values "
    "are, so nothing says how much memory it takes. Use the text that XLA dumps, or "
    "compiled.as_text() in JAX, or give its buffer assignment (--buffers).",
)


def find_obstacle(module: Module) -> Obstacle | None:
    """Say why a module's memory cannot be estimated, None if it can."""
    problem = find_problem(module)
    if problem:
        is_scheduled = module.header.is_scheduled
        lost = "the text does not keep the order of the schedule"
        return Obstacle(lost if is_scheduled else "the module is not scheduled", problem)
    if not _has_layouts(module) and find_backend(module) == "tpu":
        return _UNTILED
    return None


def _has_layouts(module: Module) -> bool:
    """Say whether any shape has one; all but scalars do where layouts are printed."""
    return any(leaf.layout for one in module.instructions() for leaf in one.shape.leaves())
