"""The sentence about memory leaves out the other spaces that hardly moved."""

from __future__ import annotations

import pytest

from hlotool.compare.changes.memory import SpaceChange, pick_telling

GIB, MIB = 2**30, 2**20


def space(number: int, change: int) -> SpaceChange:
    """Return a space whose peak changed by so many bytes."""
    return SpaceChange(number, None, MIB, MIB + change, change, 0, 0, 0)


@pytest.mark.parametrize(
    ("changes", "peak", "told"),
    [
        ({0: GIB, 1: 2 * MIB, 4: 12}, 30 * GIB, [1]),  # bytes beside GiB
        ({0: GIB, 1: MIB}, 30 * GIB, []),  # less than a thousandth of the largest change
        ({0: -GIB, 1: -2 * MIB}, 30 * GIB, [1]),
        ({1: 12}, 30 * GIB, []),  # nothing else moved, but less than a millionth of the peak
        ({1: 64 * 1024}, 30 * GIB, [1]),
        ({0: 100, 1: 12, 5: 8}, 200, [1, 5]),  # a small program
        ({1: 8}, None, [1]),
    ],
)
def test_a_change_is_told_if_it_is_large_beside_the_others(
    changes: dict[int, int], peak: int | None, told: list[int]
) -> None:
    rows = [space(number, change) for number, change in changes.items()]
    assert [row.space for row in pick_telling(rows, (peak, None))] == told
