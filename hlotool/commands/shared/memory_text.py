"""What several commands say of memory: how good an estimate is, what fits, and a memory report.

The sentences of `summary`, `buffers` and `report`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final

from hlotool.analysis.graph.backend import Backend
from hlotool.analysis.memory.estimate import EstimatedFigure, find_accuracy
from hlotool.analysis.memory.figures import FIT, Fit, MemoryEstimate
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.memory_text import USAGE_FIGURES, USAGE_REPORT, compare_totals, list_usage
from hlotool.commands.shared.messages import say, say_all
from hlotool.commands.shared.request import Request
from hlotool.dump.budget import ByteBudget
from hlotool.dump.files import DumpFile
from hlotool.dump.siblings import find_sibling
from hlotool.dump.text_kind import TextKind
from hlotool.errors import HlotoolError
from hlotool.program.program import Program
from hlotool.table import Document, InputPaths, Line, Unit, quote_braces
from hlotool.table.units import format_value

_FIELDS: Final[dict[EstimatedFigure, str]] = {
    "peak": "peak_bytes",
    "temp_peak": "temp_peak_bytes",
    "allocated": "allocated_bytes",
}

# What becomes of the rest of a chip's memory; docs.jax.dev/en/latest/gpu_memory_allocation.html.
_RESERVED: Final[dict[Backend | None, str]] = {
    "gpu": "JAX takes 75 % of a GPU's memory by default; XLA_CLIENT_MEM_FRACTION changes it",
    "tpu": "The runtime keeps a part; an out-of-memory message prints how much is left",
}


def write_accuracy(
    figure: EstimatedFigure, estimated: MemoryEstimate, backend: Backend | None, color: int = 0
) -> str:
    """Return the template of a figure, `{peak_bytes} (typically within 1 %)`.

    The temp peak of space 0 is an upper bound on TPU.
    """
    name = _FIELDS[figure]
    size: int | None = getattr(estimated, name)
    accuracy = find_accuracy(figure, backend, color)
    if accuracy is not None and size is not None:
        return f"{{{name}}} (typically {accuracy.render(size)})"
    is_most = figure == "temp_peak" and backend == "tpu" and not color
    return f"at most {{{name}}}" if is_most else f"{{{name}}}"


def say_fit(fit: Fit) -> Line:
    """Say in a line whether it fits, and what is left."""
    if fit.allocated_bytes is None:
        return Line("{limit_bytes}: the allocated size is unknown", FIT, fit)
    said = {None: "may fit in", True: "fits in", False: "does not fit in"}[fit.fits]
    by = ", by estimate" if fit.is_estimate else ""
    whole = ", the whole memory of {chip} (programs get less)" if fit.chip else ""
    text = f"{said} {{limit_bytes}}{by}{whole}: free {{free_bytes}}"
    tone = "error" if fit.fits is False else ""
    return Line(f"{text} before program code", FIT, fit, tone=tone)


def explain_fit(report: MemoryReport, fit: Fit, *, is_typed: bool = False) -> Iterator[Line]:
    """Say the same with what is compared, and what becomes of the rest of a chip's memory.

    A limit that was typed may be all that the device has; one of a message is what was there.
    """
    backend, estimated = report.figures.backend, report.figures.estimated
    tone = "error" if fit.fits is False else ""
    size = ", tens of MiB," if backend == "tpu" else ""
    rest = f"; program code{size} is not included"
    allocated = "{allocated_bytes}"
    verdict = "fits" if fit.fits else "does not fit"
    if estimated is not None:
        allocated = write_accuracy("allocated", estimated, backend)
        rest = "; some sizes are unknown" * estimated.is_lower_bound + rest
        verdict += ", by estimate,"
        if fit.fits is None:
            verdict = "an estimate cannot decide whether it fits"
    text = f"{verdict} in {{limit_bytes}}: free {{free_bytes}}, allocated {allocated}{rest}"
    if fit.allocated_bytes is None:
        text = (
            "{limit_bytes}: hlotool cannot estimate the allocated size for an unknown "
            "backend; compare the peak instead."
        )
        tone = ""
    yield Line(text, FIT, fit, tone=tone)
    why = f"{_RESERVED[backend]}. " if backend in _RESERVED else ""
    if fit.chip is not None:
        why = f"{{limit_bytes}} is the whole memory of {{chip}}; programs get less. {why}"
    if fit.chip is not None or (backend == "gpu" and is_typed):
        yield Line(f"{why}Pass --hbm with the memory that your program gets.", FIT, fit)


# XLA's memory-usage report: as PATH, and beside a dump as a check of it.

_NO_LIVE_RANGES: Final = "A report has no live ranges, so the peak is unknown. Sizes are rounded."


def describe_usage(file: DumpFile, request: Request, *shown: str) -> Document:
    """Return the answer about a report without a dump."""
    from hlotool.analysis.memory.told_twice import contradict_report  # noqa: PLC0415  most have none
    from hlotool.oom.usage_report import parse_usage_report  # noqa: PLC0415  the same

    report = parse_usage_report(file.read())
    request.tell(tuple(warn_of_each(file, contradict_report(report))))
    found = list_usage(report)
    name = quote_braces(os.path.basename(request.path))  # noqa: PTH119  paths stay strings
    text = f"{name}: {{total_bytes}} in all; {{allocation_count}} allocations are listed"
    return Document(
        USAGE_REPORT,
        InputPaths(request.path),
        rows={"rows": found.slots, "allocations": found.allocations, "spaces": found.spaces},
        scalars=found.figures,
        lines=(Line(text, USAGE_FIGURES, found.figures),),
        notes=(Line(_NO_LIVE_RANGES),),
        shown=shown,
    )


def warn_of_each(file: DumpFile, contradictions: Iterable[str]) -> Iterator[str]:
    """Say of each contradiction of a text what follows from it."""
    for each in contradictions:
        yield f"{file.path}: {each}; figures that depend on it may be wrong."


def check_usage(program: Program, budget: ByteBudget) -> None:
    """Say on stderr where the report beside a dump contradicts its allocations, or itself."""
    path, assignment = program.paths.buffers_path, program.assignment
    file = find_sibling(path, TextKind.MEMORY_REPORT, budget) if path else None
    if file is None or assignment is None:
        return
    from hlotool.analysis.memory.told_twice import contradict_report  # noqa: PLC0415  the same
    from hlotool.oom.usage_report import parse_usage_report  # noqa: PLC0415  the same

    try:
        report = parse_usage_report(file.read())
        found = compare_totals(report, assignment)
    except HlotoolError as error:
        say(*str(error).split("\n"))
        return
    say_all(warn_of_each(file, contradict_report(report)))
    for each in found:
        space = "in all" if each.space is None else f"in space {each.space}"
        reported = format_value(each.reported_bytes, Unit.BYTES)
        assigned = format_value(each.assigned_bytes, Unit.BYTES)
        say(
            f"{file.path}: {each.reported_bytes:,} bytes ({reported}) {space}, but the "
            f"allocations of {path} are {each.assigned_bytes:,} ({assigned}); they come "
            "from different compilations."
        )
