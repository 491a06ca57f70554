"""How many bytes does a backend reserve for temporary values?

What may move lies in a heap; tables of tuples lie beside it, each on its own, as
BufferAssignment::CombineTempAllocations puts them (xla/service/buffer_assignment.cc): everything
begins at a multiple of the alignment, and only what comes last needs no more than its bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from hlotool.analysis.dataflow.dataflow import Dataflow
from hlotool.analysis.dataflow.schedule import Schedule
from hlotool.analysis.dataflow.values import Value
from hlotool.analysis.graph.backend import Backend
from hlotool.analysis.memory.estimate.heap_blocks import list_blocks
from hlotool.analysis.memory.estimate.heap_size import pack_best, pack_in_time, round_up
from hlotool.analysis.memory.estimate.hlo_buffers import HloBuffer
from hlotool.ir.buffers import LiveRange

# Where values may begin; on TPU in the main memory alone, as dumps show.
_ALIGNMENT: Final[Mapping[Backend, int]] = {"cpu": 64, "gpu": 256, "tpu": 16 * 1024}


def measure_temp(
    flow: Dataflow,
    ranges: Mapping[Value, LiveRange],
    groups: Iterable[list[HloBuffer]],
    backend: Backend | None,
) -> dict[int, int | None]:
    """Return the bytes of temporary values in each space that has some, None where unknown.

    That is so on an unknown backend, and on TPU in all spaces but 0, of which it disposes
    before it assigns buffers. Each group holds buffers that lie together.
    """
    by_color: dict[int, list[list[HloBuffer]]] = {}
    for group in groups:
        by_color.setdefault(group[0].color, []).append(group)
    is_table_last = _has_thread_local(flow.schedule)
    sizes: dict[int, int | None] = {}
    for color, found in by_color.items():
        if backend is None or (backend == "tpu" and color):
            sizes[color] = None
            continue
        tables = [group[0].size_bytes for group in found if group[0].role == "fixed"]
        moving = [group for group in found if group[0].role != "fixed"]
        pack = pack_in_time if backend == "tpu" else pack_best
        heap = pack(list_blocks(moving, ranges), _ALIGNMENT[backend])
        last = max(tables) if tables and (is_table_last or not heap) else heap
        rounded = sum(round_up(size, _ALIGNMENT[backend]) for size in (heap, *tables))
        sizes[color] = rounded - round_up(last, _ALIGNMENT[backend]) + last
    return sizes


def _has_thread_local(schedule: Schedule) -> bool:
    """Say whether there are computations in threads: neither in the schedule nor in fusions.

    Their memory is put behind the heap, and then changes places with the largest table.
    """
    computations = schedule.module.computations.values()
    fused = {
        body
        for computation in computations
        for one in computation.instructions
        if one.opcode == "fusion"
        for body in one.callees("calls")
    }
    return any(one not in schedule.spans and one not in fused for one in computations)
