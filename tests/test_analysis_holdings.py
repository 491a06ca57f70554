"""Holdings: each byte has one owner, and what the owners hold adds up to what is in use."""

from __future__ import annotations

from buffer_dumps import Dump, find_dumps
from each import for_each
from hypothesis import given
from hypothesis import strategies as st

from hlotool.analysis.dataflow.live_ranges import LiveRanges, add_live_ranges
from hlotool.analysis.memory.memory_map import MOST_ALIASES, MemoryMap, list_holdings
from hlotool.hlo import ArrayShape
from hlotool.hlo.buffers import Allocation, BufferAssignment, BufferValue, LiveRange
from hlotool.text import Source

LAST = 6
BLOCKS = st.lists(
    st.tuples(
        st.integers(0, 10), st.integers(0, 6), st.integers(0, LAST), st.integers(0, 4)
    ),  # first byte, size, born, further positions
    max_size=10,
)


def make_memory(blocks: list[tuple[int, int, int, int]]) -> MemoryMap:
    """Put blocks into one temp allocation, as values v0, v1, …."""
    values = [
        BufferValue(
            *(number, f"v{number}", None, False, 0, size, low, ArrayShape("u8", (size,))),
            live=LiveRange(live_from, min(live_from + more, LAST)),
        )
        for number, (low, size, live_from, more) in enumerate(blocks)
    ]
    assignment = BufferAssignment(Source(""), (Allocation(0, 16, values=values),))
    return MemoryMap(assignment, LiveRanges("derived", ("i",) * LAST))


def owners(memory: MemoryMap, position: int) -> dict[int, BufferValue]:
    """Ask every byte for the live value born last."""
    found: dict[int, BufferValue] = {}
    live = [(found.start, -value.number, value) for _, value, found in memory.live_at(position, 0)]
    for _, _, value in sorted(live, key=lambda one: one[:2]):
        for byte in range(value.offset, value.offset + value.size_bytes):
            found[byte] = value
    return found


@given(BLOCKS, st.integers(0, LAST))
def test_each_byte_origin_the_value_born_last(
    blocks: list[tuple[int, int, int, int]], position: int
) -> None:
    memory = make_memory(blocks)
    expected = list(owners(memory, position).values())
    for holding in list_holdings(memory, position, 0):
        assert holding.live_bytes == expected.count(holding.value) > 0
        expected = [value for value in expected if value is not holding.value]
    assert not expected


@given(BLOCKS, st.integers(0, LAST))
def test_aliases_are_the_live_values_in_the_same_bytes(
    blocks: list[tuple[int, int, int, int]], position: int
) -> None:
    memory = make_memory(blocks)
    live = [value for _, value, _ in memory.live_at(position, 0)]
    for holding in list_holdings(memory, position, 0):
        low, high = holding.value.offset, holding.value.offset + holding.value.size_bytes
        expected = {
            one.number
            for one in live
            if one is not holding.value and one.offset < high and one.offset + one.size_bytes > low
        }
        assert {one.number for one in holding.aliases} == expected


@for_each(find_dumps())
def test_holdings_add_up_to_what_is_in_use(dump: Dump) -> None:
    memory = MemoryMap(*add_live_ranges(dump.assignment, None))
    assert memory.live_ranges is not None
    for color in memory.colors():
        curve = memory.curve(color)
        assert curve is not None
        positions = {curve.peak()[1], 0, memory.live_ranges.end, memory.live_ranges.end // 3}
        for position in positions:
            found = list_holdings(memory, position, color)
            assert sum(one.live_bytes for one in found) == curve.at(position)


def test_many_values_in_the_same_bytes_end_in_time() -> None:
    blocks = [(number % 7, 8, 0, LAST) for number in range(20_000)]
    memory = make_memory(blocks)
    found = list_holdings(memory, 1, 0)
    assert sum(one.live_bytes for one in found) == 14
    assert all(len(one.aliases) == MOST_ALIASES for one in found)
