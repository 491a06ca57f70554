"""How is an estimated figure written: with what it promises behind it?"""

from __future__ import annotations

from typing import Final

from hlotool.analysis.graph.backend import Backend
from hlotool.analysis.memory.estimate.promise import Promised, find_promise
from hlotool.analysis.memory.figures import MemoryEstimate

_NAMES: Final[dict[Promised, str]] = {
    "peak": "peak_bytes",
    "temp_peak": "temp_peak_bytes",
    "allocated": "allocated_bytes",
}


def write_promised(
    figure: Promised, estimated: MemoryEstimate, backend: Backend | None, color: int = 0
) -> str:
    """Return the template of a figure, `{peak_bytes} (typically within 1 %)`.

    The temp peak of space 0 is an upper bound on TPU.
    """
    name = _NAMES[figure]
    size: int | None = getattr(estimated, name)
    promise = find_promise(figure, backend, color)
    if promise is not None and size is not None:
        return f"{{{name}}} (typically {promise.words(size)})"
    is_most = figure == "temp_peak" and backend == "tpu" and not color
    return f"at most {{{name}}}" if is_most else f"{{{name}}}"
