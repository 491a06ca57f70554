"""Occupancy: the union of live byte ranges, against a count of every byte."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hlotool.analysis.memory.intervals import (
    Curve,
    LiveBlock,
    add_curves,
    add_union,
    add_up_groups,
    join_blocks,
    make_curve,
)

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


def occupancy(blocks: list[LiveBlock]) -> Curve:
    """Return the bytes in use at every position."""
    return add_up_groups(blocks, join_blocks(blocks))


def count_bytes(blocks: list[LiveBlock]) -> list[int]:
    """Mark every byte of every live block, at every position."""
    counts = []
    for position in range(LAST + 1):
        live = [one for one in blocks if one.start <= position <= one.end]
        counts.append(len({byte for one in live for byte in range(one.low, one.high)}))
    return counts


@given(BLOCKS)
def test_union_is_the_number_of_bytes_in_use(blocks: list[LiveBlock]) -> None:
    curve = occupancy(blocks)
    assert [curve.at(position) for position in range(LAST + 1)] == count_bytes(blocks)


@given(BLOCKS)
def test_tree_alone_agrees_with_the_sweep(blocks: list[LiveBlock]) -> None:
    changes: dict[int, int] = {}
    add_union([one for one in blocks if one.low < one.high], changes)
    assert make_curve(changes) == occupancy(blocks)


@given(BLOCKS)
def test_peak_is_the_first_of_the_largest(blocks: list[LiveBlock]) -> None:
    counts = count_bytes(blocks)
    assert occupancy(blocks).peak() == (max(counts), counts.index(max(counts)))


@given(BLOCKS, BLOCKS)
def test_curves_add_up(one: list[LiveBlock], other: list[LiveBlock]) -> None:
    total = add_curves([occupancy(one), occupancy(other)])
    sums = [a + b for a, b in zip(count_bytes(one), count_bytes(other), strict=True)]
    assert [total.at(position) for position in range(LAST + 1)] == sums


@given(BLOCKS)
def test_a_block_twice_changes_nothing(blocks: list[LiveBlock]) -> None:
    assert occupancy([*blocks, *blocks]) == occupancy(blocks)


def test_ends_are_included() -> None:
    curve = occupancy([LiveBlock(0, 4, 1, 2), LiveBlock(4, 8, 2, 3)])
    assert [curve.at(position) for position in range(5)] == [0, 4, 8, 4, 0]


def test_nothing() -> None:
    assert occupancy([]) == Curve()
    assert Curve().peak() == (0, 0)
