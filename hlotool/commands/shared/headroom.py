"""Does the program fit, and into how much of what? The sentences of `summary` and `buffers`."""

from __future__ import annotations

from typing import Final

from hlotool.analysis.graph.backend import Backend
from hlotool.analysis.memory.figures import HEADROOM, Headroom
from hlotool.analysis.memory.report import MemoryReport
from hlotool.commands.shared.messages import write_promised
from hlotool.table import Line

# What becomes of the rest of a chip's memory; docs.jax.dev/en/latest/gpu_memory_allocation.html.
_RESERVED: Final[dict[Backend | None, str]] = {
    "gpu": "JAX takes 75 % of a GPU's by default, or XLA_CLIENT_MEM_FRACTION of it",
    "tpu": "the runtime keeps a part, and an out-of-memory message says what is left",
}


def say_headroom(headroom: Headroom) -> Line:
    """Say in a line whether it fits, and what is left."""
    if headroom.allocated_bytes is None:
        return Line("{limit_bytes}: nothing tells how much is allocated", HEADROOM, headroom)
    said = {None: "may fit in", True: "fits in", False: "does not fit in"}[headroom.fits]
    by = ", by estimate" if headroom.is_estimate else ""
    whole = ", all of {chip} (programs get less)" if headroom.chip else ""
    text = f"{said} {{limit_bytes}}{by}{whole}: headroom {{headroom_bytes}}"
    tone = "error" if headroom.fits is False else ""
    return Line(f"{text}, code aside", HEADROOM, headroom, tone=tone)


def tell_headroom(report: MemoryReport, headroom: Headroom) -> tuple[Line, ...]:
    """Say the same with what is compared, and what becomes of the rest of a chip's memory."""
    lines = [_compare(report, headroom)]
    if headroom.chip is not None:
        backend = report.figures.backend
        why = f": {_RESERVED[backend]}" if backend in _RESERVED else ""
        text = f"{{limit_bytes}} is all the memory of {{chip}}; programs get less{why}."
        lines.append(Line(f"{text} --hbm takes what yours get.", HEADROOM, headroom))
    return tuple(lines)


def _compare(report: MemoryReport, headroom: Headroom) -> Line:
    if headroom.allocated_bytes is None:
        text = (
            "{limit_bytes}: there is no estimate of the allocated size on an unknown backend; "
            "compare the peak instead."
        )
        return Line(text, HEADROOM, headroom)
    size = ", tens of MiB," if report.figures.backend == "tpu" else ""
    rest = f"the program's code{size} is not in the dump and comes on top"
    tone = "error" if headroom.fits is False else ""
    estimated = report.figures.estimated
    if estimated is None:
        verdict = "fits" if headroom.fits else "does not fit"
        text = f"{verdict} in {{limit_bytes}}: headroom {{headroom_bytes}}"
        return Line(f"{text}, allocated {{allocated_bytes}}; {rest}", HEADROOM, headroom, tone=tone)
    verdict = {
        None: "an estimate cannot tell whether it fits",
        True: "fits, by estimate,",
        False: "does not fit, by estimate,",
    }[headroom.fits]
    allocated = write_promised("allocated", estimated, report.figures.backend)
    unknown = "; some sizes are unknown" if estimated.is_lower_bound else ""
    text = f"{verdict} in {{limit_bytes}}: headroom {{headroom_bytes}}"
    return Line(f"{text}, allocated {allocated}{unknown}; {rest}", HEADROOM, headroom, tone=tone)
