"""The answer of `hlotool summary`: what is read, and what works beside what.

Knows nothing of click, so that the plain command line can do without it.
"""

from __future__ import annotations

from functools import partial

from hlotool.analysis.memory_records import MemoryFigures, pack_figures, unpack_figures
from hlotool.commands.output import print_document
from hlotool.commands.request import Request, load_chosen
from hlotool.commands.row_options import RowOptions
from hlotool.inputs import Input
from hlotool.inputs.beside import start_beside
from hlotool.ir import Module
from hlotool.loading import input_paths, read_assignment


def answer_summary(request: Request, options: RowOptions, *, with_findings: bool = True) -> int:
    """Print the summary of one module, or the modules of a directory; return the exit code."""
    found = request.find()
    if found.is_directory:
        from hlotool.commands.modules import print_modules  # noqa: PLC0415  start-up time

        return print_modules(found, options)
    loaded = load_chosen(found, request.path)
    module, chosen = loaded.expect_module(), loaded.input
    with start_beside(partial(_find_memory, module, chosen), chosen.size_bytes) as memory:
        # Imported only now: the other process need not wait for them.
        from hlotool.analysis.summary import summarize  # noqa: PLC0415
        from hlotool.commands.summary_prose import describe_summary  # noqa: PLC0415

        def find_memory() -> MemoryFigures | None:
            packed = memory.result()
            return None if packed is None else unpack_figures(packed)

        answer = summarize(module, with_findings=with_findings, find_memory=find_memory)
        paths = input_paths(request.path, chosen, with_buffers=True)
        print_document(describe_summary(answer, paths, has_findings=with_findings), options)
    return 0


def _find_memory(module: Module, chosen: Input) -> list[object] | None:
    """Return the memory figures, packed, from the buffer assignment where there is one."""
    from hlotool.analysis.memory import find_memory_figures  # noqa: PLC0415  start-up time

    figures = find_memory_figures(module, read_assignment(chosen))
    return None if figures is None else pack_figures(figures)
