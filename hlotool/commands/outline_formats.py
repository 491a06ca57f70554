"""`hlotool outline` for other tools: a trace for Perfetto, a graph for Model Explorer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hlotool.analysis.outline.rows import OutlineRow
from hlotool.errors import UsageError
from hlotool.program.page.clock import list_levels
from hlotool.program.page.graph import list_boxes
from hlotool.program.program import Program
from hlotool.render.exchange.model_explorer import ExplorerNode, render_model_explorer
from hlotool.render.exchange.perfetto import Level, Slice, Track, render_perfetto


def write_trace(program: Program, rows: Sequence[OutlineRow]) -> bytes:
    """Return the modelled clock as tracks: loops, work, transfers, and memory in use."""
    if not program.pricing.is_timed:
        raise UsageError("--format perfetto needs --chip: without one there are no times.")
    holding = {row.parent for row in rows}
    parts = {
        "loops": [row for row in rows if row.kind in {"loop", "call", "repeat"}],
        "work": [
            row for row in rows if row.kind in {"compute", "memory"} and row.number not in holding
        ],
        "transfers": [row for row in rows if row.kind == "collective"],
    }
    tracks = [Track(name, tuple(map(_slice, found))) for name, found in parts.items() if found]
    levels = tuple(Level(seconds, size) for seconds, size in list_levels(program, rows))
    memory = [Track("memory in use", levels=levels)] if levels else []
    return render_perfetto(program.expect_module().name, [*tracks, *memory])


def write_graph(program: Program) -> str:
    """Return the instructions that run as a graph, by scope."""
    return render_model_explorer(program.expect_module().name, _nodes(program))


def _slice(row: OutlineRow) -> Slice:
    notes = {
        "scope": row.scope or "",
        "instructions": ", ".join(row.names[:8]),
        "flops in one run": str(row.flops_per_run or ""),
        "bytes of memory in one run": str(row.memory_bytes_per_run or ""),
        "bytes sent in one run": str(row.wire_bytes_per_run or ""),
    }
    return Slice(
        row.step,
        row.begins_seconds or 0.0,
        row.ends_seconds or 0.0,
        tuple((name, said) for name, said in notes.items() if said),
    )


def _nodes(program: Program) -> Iterator[ExplorerNode]:
    for box in list_boxes(program):
        told = {
            "name": box.name,
            "shape": box.shape,
            "source": box.source,
            "flops": str(box.flops),
            "memory_bytes": str(box.memory_bytes),
        }
        attributes = tuple((key, said) for key, said in told.items() if said)
        yield ExplorerNode(box.name, box.opcode, box.scope, box.operands, attributes)
