"""What does a backend call its memory spaces?"""

from __future__ import annotations

from typing import Final

from hlotool.analysis.graph.backend import Backend

_NAMES: Final[dict[tuple[Backend | None, int], str]] = {
    ("tpu", 0): "hbm",
    ("tpu", 1): "vmem",
    ("tpu", 2): "smem",
    ("tpu", 4): "host",
    ("gpu", 0): "device",
    ("gpu", 1): "collective",
    ("gpu", 5): "host",
    ("cpu", 0): "host",
}


SPACE_NAMES: Final = frozenset(_NAMES.values())


def find_space_name(backend: Backend | None, number: int) -> str | None:
    """Return the name that the compiler gives a space; None for all of an unknown backend."""
    return _NAMES.get((backend, number))
