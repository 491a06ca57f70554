"""The heap of an estimate: who lies where, and how large it gets."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from each import for_each

from hlotool.analysis.memory import buffer_assigner as heap_size
from hlotool.analysis.memory.buffer_assigner import (
    FreeBytes,
    HeapBlock,
    pack_best,
    pack_in_time,
    round_up,
)
from hlotool.analysis.memory.estimate import estimate_assignment
from hlotool.hlo.parser import parse_module
from hlotool.text import Source


def blocks(*found: tuple[int, int, int]) -> list[HeapBlock]:
    """Make blocks of (size, begin, end)."""
    return [
        HeapBlock(size, number, end - begin, [(begin, end)])
        for number, (size, begin, end) in enumerate(found)
    ]


@pytest.mark.parametrize(
    ("found", "alignment", "expected"),
    [
        ([], 64, 0),
        ([(10, 0, 4)], 64, 10),
        ([(10, 0, 4), (10, 2, 6)], 64, 74),  # the second begins at 64
        ([(10, 0, 4), (10, 4, 6)], 64, 10),
        ([(100, 0, 4), (60, 4, 8), (40, 4, 8), (40, 8, 9)], 1, 100),
        # 50 goes into the gap of 50 at 160, and leaves that of 60 at 0 to 60.
        ([(100, 2, 9), (60, 0, 3), (60, 1, 9), (50, 4, 9)], 1, 220),
    ],
)
def test_the_smallest_gap_is_taken(
    found: list[tuple[int, int, int]], alignment: int, expected: int
) -> None:
    assert pack_best(blocks(*found), alignment) == expected


def test_the_longest_lived_may_better_come_first() -> None:
    """Some heaps are smaller so, others if the largest come first."""
    differences = set()
    for seed in range(60):
        found = some_blocks(seed)
        differences.add(naive(found, 1, by_size) > naive(found, 1, by_time))
    assert differences == {True, False}


def test_a_block_has_gaps_in_time() -> None:
    loop = HeapBlock(64, 0, 2, [(0, 2), (6, 8)])
    guest = HeapBlock(64, 1, 2, [(3, 5)])
    assert pack_best([loop, guest], 64) == 64
    assert pack_in_time([loop, guest], 64) == 128


def by_size(block: HeapBlock) -> tuple[int, int, int]:
    return -block.size_bytes, -block.first_duration, block.number


def by_time(block: HeapBlock) -> tuple[int, int, int]:
    return block.begin - block.end, -block.size_bytes, block.number


def naive(
    found: list[HeapBlock], alignment: int, key: Callable[[HeapBlock], tuple[int, int, int]]
) -> int:
    """Place blocks by looking at each other one."""
    placed: list[tuple[int, HeapBlock]] = []
    for block in sorted(found, key=key):
        used = sorted((low, low + one.size_bytes) for low, one in placed if _meet(one, block))
        gaps, start = [], 0
        for low, high in used:
            if low - start >= block.size_bytes:
                gaps.append((low - start, start))
            start = max(start, round_up(high, alignment))
        placed.append((min(gaps)[1] if gaps else start, block))
    return max((low + block.size_bytes for low, block in placed), default=0)


def _meet(one: HeapBlock, other: HeapBlock) -> bool:
    return any(a < d and c < b for a, b in one.spans for c, d in other.spans)


def some_blocks(seed: int) -> list[HeapBlock]:
    rng = random.Random(seed)  # noqa: S311  repeatable
    found = []
    for number in range(rng.randrange(40)):
        borders = sorted(rng.sample(range(100), 2 * rng.randrange(1, 4)))
        spans = list(zip(borders[::2], borders[1::2], strict=True))
        size = rng.choice((1, 64, 100, 128, rng.randrange(1, 1000)))
        found.append(HeapBlock(size, number, spans[0][1] - spans[0][0], spans))
    return found


@for_each(range(60))
def test_no_gap_is_missed(seed: int) -> None:
    found, alignment = some_blocks(seed), (1, 64)[seed % 2]
    expected = min(naive(found, alignment, by_size), naive(found, alignment, by_time))
    assert pack_best(found, alignment) == expected


@for_each(range(60))
def test_in_time_each_lives_from_first_to_last(seed: int) -> None:
    found = [
        HeapBlock(one.size_bytes, one.number, one.end - one.begin, [(one.begin, one.end)])
        for one in some_blocks(seed)
    ]
    expected = naive(found, 64, lambda one: (one.begin, -one.size_bytes, one.number))
    assert pack_in_time(found, 64) == expected


def test_of_too_many_the_small_ones_lie_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    found = blocks((128, 0, 4), (64, 5, 6), (64, 6, 7))
    assert pack_best(found, 64) == 128
    monkeypatch.setattr(heap_size, "MOST_PLACED", 1)
    assert pack_best(found, 64) == 128 + 64


def test_gaps_that_touch_become_one() -> None:
    free = FreeBytes()
    assert [free.take(size) for size in (2, 3, 4, 5)] == [0, 2, 5, 9]
    free.give_back(2, 5)
    free.give_back(5, 9)
    assert free.borders == [2, 9]
    assert free.take(6) == 2
    free.give_back(9, 14)
    assert (free.top, free.borders, free.by_size) == (8, [], [])


def temp_bytes(entry: str, before: str = "") -> dict[int, int | None]:
    body = "\n".join(f"  {line.strip()}" for line in entry.strip().splitlines())
    text = f"HloModule m, is_scheduled=true\n\n{before}\nENTRY main {{\n{body}\n}}\n"
    return dict(estimate_assignment(parse_module(Source(text))).temp_bytes)


TABLE = """
    p = f32[8]{{0}} parameter(0)
    t = (f32[8]{{0}}, f32[8]{{0}}) custom-call(p), custom_call_target="{target}"
    g = f32[8]{{0}} get-tuple-element(t), index=0
    a = f32[4]{{0}} slice(g), slice={{[0:4]}}
    ROOT o = f32[2]{{0}} {last}
"""
SLICE = "slice(a), slice={[0:2]}"
REDUCER = """add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
"""


def test_tables_lie_beside_the_heap() -> None:
    """The heap: two arrays of 32 bytes, and 16 in the place of the second; it comes last."""
    found = temp_bytes(TABLE.format(target="__cublas$gemm", last=SLICE))
    assert found == {0: 256 + 256 + 32}
    found = temp_bytes(TABLE.format(target="__onednn$matmul", last=SLICE))
    assert found == {0: 64 + 64 + 32}


def test_memory_of_threads_puts_a_table_last() -> None:
    last = 'custom-call(a), custom_call_target="x", called_computations={add}'
    found = temp_bytes(TABLE.format(target="__cublas$gemm", last=last), REDUCER)
    assert found == {0: 2 * 256 + 16}


def test_of_an_unknown_backend_nothing_is_known() -> None:
    assert temp_bytes(TABLE.format(target="x", last=SLICE)) == {0: None}


def test_on_tpu_only_main_memory_is_known() -> None:
    found = temp_bytes("""
        p = f32[128]{0:T(128)} parameter(0)
        a = f32[128]{0:T(128)} negate(p)
        b = f32[128]{0:T(128)S(1)} negate(a)
        c = f32[128]{0:T(128)} negate(b)
        d = f32[128]{0:T(128)} negate(c)
        ROOT o = f32[128]{0:T(128)} negate(d)
    """)
    assert found == {0: 16384 + 512, 1: None}
