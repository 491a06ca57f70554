"""The heap simulator's traces against the lifetimes that follow from the schedule.

A trace lists when buffers of one allocation are allocated, shared and freed, in order; it names no
position. So its peak is what can be held against ours. Values that no trace names, as the tables
of tuples, count in ours alone.
"""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest
from dump_files import TESTDATA

import hlotool
from hlotool.analysis.memory.report import analyze_memory
from hlotool.inputs.proto.messages import HeapSimulatorTrace, HloProto

ALLOCATED, FREED, SHARED = range(3)
PROTOS = [
    *sorted((TESTDATA / "protos/assignments").glob("*.hlo.pb.gz")),
    *sorted((TESTDATA / "folders/cpu.several").glob("*train_step*after_opt*.hlo.pb")),
]


def find_peak(trace: HeapSimulatorTrace, sizes: dict[int, int]) -> int:
    """Return the most bytes that are allocated at a time; those that share count once."""
    owners: dict[int, int] = {}
    users: Counter[int] = Counter()
    held = peak = 0
    for event in trace.events:
        if event.kind == FREED:
            owner = owners[event.buffer_id]
            users[owner] -= 1
            held -= 0 if users[owner] else sizes[owner]
            continue
        shared = event.share_with_canonical_id
        owner = owners[shared] if event.kind == SHARED else event.buffer_id
        owners[event.buffer_id] = owner
        held += 0 if users[owner] else sizes[owner]
        users[owner] += 1
        peak = max(peak, held)
    assert held == 0
    return peak


@pytest.mark.parametrize("path", PROTOS, ids=lambda path: path.name[:24])
def test_the_peak_of_temporary_buffers(path: Path) -> None:
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    assignment = HloProto.FromString(data).buffer_assignment
    sizes = {each.id: each.size for each in assignment.logical_buffers}
    dump = hlotool.load(path)
    assert dump.assignment is not None
    peak = analyze_memory(dump.module, dump.assignment).figures.peak
    ours = peak.temp_peak_bytes
    assert ours is not None
    temps = {
        each.index: each
        for each in assignment.buffer_allocations
        if not (each.is_entry_computation_parameter or each.is_constant or each.is_thread_local)
        and not each.maybe_live_out
    }
    traces = list(assignment.heap_simulator_traces)
    has_one = len(temps) == 1  # then the number that the trace has for it may be stale
    if not has_one:
        temps = {index: each for index, each in temps.items() if each.color == 0}
        traces = [each for each in traces if each.buffer_allocation_index in temps]
    peaks = [find_peak(each, sizes) for each in traces]
    named = {event.buffer_id for each in traces for event in each.events}
    unnamed = sum(
        value.size
        for each in temps.values()
        for value in each.assigned
        if value.logical_buffer_id not in named
    )
    assert peaks
    assert max(peaks) <= ours <= sum(peaks) + unnamed
    assert not has_one or ours - peaks[0] < ours / 1000
