"""Uses of values: counted as XLA counts them."""

from __future__ import annotations

from buffer_dumps import Dump, find_dumps
from each import for_each

from hlotool.analysis.dataflow.schedule import flatten_schedule
from hlotool.analysis.dataflow.values import trace_values
from hlotool.analysis.memory.value_origins import UseCounter, ValueOrigins, index_definers
from hlotool.hlo.buffers import BufferAssignment

DUMPS = [dump for dump in find_dumps() if not dump.path.is_file()]


@for_each(DUMPS)
def test_uses_are_those_xla_lists(dump: Dump) -> None:
    counter = UseCounter()
    flow = trace_values(flatten_schedule(dump.module))
    counted = {
        (one.instruction, one.index): counter.of([(one.instruction, one.index), *one.positions])
        for one in flow.values
    }
    definers = index_definers(dump.module, dump.assignment)
    listed = dump.assignment.used
    assert listed is not None
    compared = 0
    for allocation in dump.assignment.allocations:
        for value in allocation.values:
            key = definers[value.instruction], value.index or ()
            if key in counted and not allocation.is_thread_local:
                assert counted[key] == listed[value.number].use_count, value.name
                compared += 1
    assert compared


def test_without_a_module_or_a_list_nothing_is_known() -> None:
    dump = DUMPS[0]
    bare = BufferAssignment(dump.assignment.source, dump.assignment.allocations)
    value = dump.assignment.allocations[0].values[0]
    assert ValueOrigins(None, bare).count_uses(value) is None
    listed = ValueOrigins(None, dump.assignment).count_uses(value)
    assert ValueOrigins(dump.module, bare).count_uses(value) == listed
