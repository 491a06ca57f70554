"""Savings: how far a peak falls without some bytes, against a count of every byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlotool.analysis.memory.intervals import (
    Curve,
    LiveBlock,
    add_curves,
    add_up_groups,
    join_blocks,
)
from hlotool.analysis.memory.memory_map import SpacePeak, Tenure
from hlotool.hlo.buffers import Allocation

LAST = 16
BLOCKS = st.lists(
    st.builds(
        lambda low, size, start, span: LiveBlock(low, low + size, start, start + span),
        st.integers(0, 10),
        st.integers(0, 6),
        st.integers(0, 9),
        st.integers(0, 6),
    ),
    max_size=12,
)


def block(size: int, start: int, end: int, low: int = 0) -> LiveBlock:
    return LiveBlock(low, low + size, start, end)


def occupancy(blocks: list[LiveBlock]) -> Curve:
    """Return the bytes in use at every position."""
    return add_up_groups(blocks, join_blocks(blocks))


def join_all(blocks: list[LiveBlock]) -> list[list[int]]:
    """Return the groups, and each block that shares nothing as one of its own."""
    groups = join_blocks(blocks)
    shared = {number for group in groups for number in group}
    alone = [number for number, one in enumerate(blocks) if one.high > one.low]
    return sorted([*groups, *([number] for number in alone if number not in shared)])


def tenures_of(blocks: list[LiveBlock]) -> list[Tenure]:
    memory = Allocation(0, 100)
    parts = join_all(blocks)
    return [Tenure(memory, [], [blocks[one] for one in part]) for part in parts]


def alone(*blocks: LiveBlock) -> list[Tenure]:
    """Give each block memory of its own."""
    return [Tenure(Allocation(number, 100), [], [one]) for number, one in enumerate(blocks)]


def peak_of(tenures: list[Tenure]) -> SpacePeak:
    return SpacePeak(add_curves([one.curve() for one in tenures]))


def are_met(one: LiveBlock, other: LiveBlock) -> bool:
    shared = max(one.low, other.low) < min(one.high, other.high)
    return shared and max(one.start, other.start) <= min(one.end, other.end)


def join_slowly(blocks: list[LiveBlock]) -> list[list[int]]:
    """Join what meets until nothing changes."""
    parts = [[number] for number, one in enumerate(blocks) if one.high > one.low]
    while True:
        pair = next(
            (
                (one, other)
                for place, one in enumerate(parts)
                for other in parts[place + 1 :]
                if any(are_met(blocks[a], blocks[b]) for a in one for b in other)
            ),
            None,
        )
        if pair is None:
            return sorted(sorted(part) for part in parts)
        pair[0].extend(pair[1])
        parts.remove(pair[1])


@given(BLOCKS)
def test_tenures_are_what_meets_in_bytes_and_time(blocks: list[LiveBlock]) -> None:
    assert join_all(blocks) == join_slowly(blocks)


@given(BLOCKS)
def test_tenures_add_up_to_what_is_in_use(blocks: list[LiveBlock]) -> None:
    assert add_curves([one.curve() for one in tenures_of(blocks)]) == add_curves(
        [occupancy(blocks)]
    )


@given(BLOCKS, st.sets(st.integers(0, 11)))
def test_saving_is_the_difference_of_two_peaks(blocks: list[LiveBlock], taken: set[int]) -> None:
    tenures = tenures_of(blocks)
    gone = [one for number, one in enumerate(tenures) if number in taken]
    left = {block for one in tenures if one not in gone for block in one.blocks}
    counts = [0] * (LAST + 1)
    for position in range(LAST + 1):
        live = [one for one in left if one.start <= position <= one.end]
        counts[position] = len({byte for one in live for byte in range(one.low, one.high)})
    peak = peak_of(tenures)
    assert peak.peak_bytes - peak.saving(gone) == max(counts)


def test_saving_stops_at_the_next_peak() -> None:
    large, late = alone(block(100, 0, 4), block(70, 6, 9))
    peak = peak_of([large, late])
    assert (peak.saving([large]), peak.saving([late]), peak.saving([large, late])) == (30, 0, 100)


def test_what_is_not_alive_at_every_peak_saves_nothing_alone() -> None:
    early, late, long = alone(block(40, 0, 2), block(40, 5, 6), block(60, 0, 9))
    peak = peak_of([early, late, long])
    assert [peak.saving([one]) for one in (early, late, long)] == [0, 0, 60]
    assert peak.saving([early, late]) == 40


def test_savings_are_not_added_up() -> None:
    one, other, rest = alone(block(50, 0, 4), block(50, 0, 4), block(60, 6, 7))
    peak = peak_of([one, other, rest])
    assert (peak.saving([one]), peak.saving([other]), peak.saving([one, other])) == (40, 40, 40)


def test_naming_a_tenure_twice_takes_it_once() -> None:
    one, rest = alone(block(10, 0, 4), block(20, 0, 4))
    assert peak_of([one, rest]).saving([one, one]) == 10


def test_bytes_are_handed_on_at_a_shared_position_only() -> None:
    blocks = [block(64, 0, 2), block(64, 2, 5), block(64, 6, 9), block(32, 4, 9, low=64)]
    assert join_all(blocks) == [[0, 1], [2], [3]]


def test_a_long_value_under_a_short_one_keeps_its_bytes() -> None:
    blocks = [block(64, 0, 9), block(16, 2, 3, low=16), block(16, 5, 6, low=24)]
    assert join_all(blocks) == [[0, 1, 2]]


@pytest.mark.parametrize("tenures", [[], alone(block(0, 0, 5))])
def test_nothing_saves_nothing(tenures: list[Tenure]) -> None:
    assert SpacePeak(Curve()).saving(tenures) == 0
