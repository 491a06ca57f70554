"""The heap simulator's traces against the live ranges that follow from the schedule.

A trace lists when buffers of one allocation are allocated, shared and freed, in order; it names no
position. So its peak is what can be held against ours, and between which allocations a buffer is
freed. Values that no trace names, as the tables of tuples, count in ours alone.
"""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest
from dump_files import TESTDATA

import hlotool
from hlotool.analysis.dataflow.live_ranges import derive_ranges
from hlotool.analysis.dataflow.schedule import require_schedule
from hlotool.analysis.dataflow.values import trace_values
from hlotool.analysis.memory.report import analyze_memory
from hlotool.proto.messages import HeapSimulatorTrace, HloProto

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


def read(path: Path) -> HloProto:
    data = path.read_bytes()
    return HloProto.FromString(gzip.decompress(data) if path.suffix == ".gz" else data)


@pytest.mark.parametrize("path", PROTOS, ids=lambda path: path.name[:24])
def test_buffers_are_freed_where_ours_end(path: Path) -> None:
    """Each between the allocations that a trace lists before and behind it, which are exact."""
    proto = read(path)
    names = {
        each.id: each.name for one in proto.hlo_module.computations for each in one.instructions
    }
    ranges = derive_ranges(trace_values(require_schedule(hlotool.load(path).module)))
    live_ranges = {}
    for buffer in proto.buffer_assignment.logical_buffers:
        defined = buffer.defined_at
        found = ranges.get((names[defined.instruction_id], tuple(defined.shape_index)))
        if found is not None:  # else it is of a fusion's body, and no trace names it
            live_ranges[buffer.id] = found
    freed = 0
    for trace in proto.buffer_assignment.heap_simulator_traces:
        # A value that TPU holds in pieces is allocated several times.
        last = {event.buffer_id: place for place, event in enumerate(trace.events)}
        for number, place in last.items():
            end = live_ranges[number].end
            others = [
                (at, live_ranges[event.buffer_id].start)
                for at, event in enumerate(trace.events)
                if event.kind != FREED and event.buffer_id != number
            ]
            assert all(start <= end for at, start in others if at < place)
            assert all(start >= end for at, start in others if at > place)
            freed += 1
    assert freed


@pytest.mark.parametrize("path", PROTOS, ids=lambda path: path.name[:24])
def test_the_peak_of_temporary_buffers(path: Path) -> None:
    assignment = read(path).buffer_assignment
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
