"""Asynchronous operations: with sugar or without, all analyses see what runs beside the others."""

from __future__ import annotations

import re

import pytest
from dump_files import TESTDATA
from tables import TableCase, find_cases, read_case

import hlotool
from hlotool.analysis.fusions.report import expand_fusion
from hlotool.compare.match.structure import compare_structure
from hlotool.program.program import Program

TABLE = TESTDATA / "async/pairs.cases"
PAIRS = [case for case in find_cases(TABLE) if case.name.endswith(".sugared")]
MEBIBYTE = 1 << 20


def load(name: str) -> hlotool.Dump:
    return hlotool.load(read_case(TABLE / name).text)


@pytest.mark.parametrize("sugared", PAIRS, ids=lambda case: case.name)
def test_sugar_changes_no_answer(sugared: TableCase) -> None:
    """The wrapped computations of the plain text have the names that sugar is undone with."""
    ours, expected = load(sugared.name), load(sugared.name.removesuffix(".sugared"))
    assert "async-start" not in sugared.text
    assert ours.summary() == expected.summary()
    assert ours.fusions() == expected.fusions()
    assert ours.program.find_missed(0) == expected.program.find_missed(0)
    assert ours.collectives() == expected.collectives()
    assert ours.buffers() == expected.buffers()
    assert ours.buffers().rows
    assert compare_structure(ours.program, expected.program).is_equal


def test_every_sugar_is_there() -> None:
    words = set()
    for case in PAIRS:
        words |= set(re.findall(r" ([a-z\-]+)-start\(", case.text))
    assert words >= {
        "all-gather", "all-reduce", "all-to-all", "call", "collective-permute", "copy",
        "custom-call", "dot", "dynamic-slice", "dynamic-update-slice", "fusion",
        "reduce-scatter", "slice", "tanh",
    }  # fmt: skip


FUSION = """HloModule m, is_scheduled=true

f {
  p = f32[1048576] parameter(0)
  a = f32[1048576] add(p, p)
  b = f32[1048576] multiply(a, p)
  c = f32[1048576] multiply(b, a)
  ROOT d = f32[1048576] add(c, b)
}

ENTRY main {
  x = f32[1048576] parameter(0)
  s = ((f32[1048576]), f32[1048576], s32[]) fusion-start(x), kind=kLoop, calls=f
  ROOT r = f32[1048576] fusion-done(s)
}
"""


def test_an_asynchronous_fusion_is_one_fusion() -> None:
    """Of 4 MiB arrays: one read and one written; the done counts three pointers and the result."""
    dump = hlotool.load(FUSION)
    (row,) = dump.fusions().rows
    assert (row.kind, row.count, row.fused_computation) == ("kLoop", 1, "f")
    assert row.bytes_accessed == 8 * MEBIBYTE
    assert row.on_chip_bytes == 12 * MEBIBYTE  # a, b and c
    assert row.flops == 4 * MEBIBYTE
    cost = dump.summary().cost
    assert cost.bytes_accessed_per_step == 8 * MEBIBYTE + 3 * 8 + 4 * MEBIBYTE == 12_582_936
    assert cost.flops_per_step == 4 * MEBIBYTE
    executed = {row.opcode: row.executed_count for row in dump.summary().opcodes}
    assert {one for one, count in executed.items() if count} == {
        "async-done", "async-start", "fusion", "parameter"
    }  # fmt: skip


def test_what_an_asynchronous_fusion_makes_inside_is_no_memory() -> None:
    """Live at the peak: x, the result, and tables of three and one pointers with the context."""
    memory = hlotool.load(FUSION).buffers()
    assert sum(row.live_bytes or 0 for row in memory.rows) == 8 * MEBIBYTE + 3 * 8 + 8 + 4
    assert {row.value for row in memory.rows} == {"s.async_wrapped", "s{}", "s{0}", "s{2}", "x"}


def test_an_asynchronous_fusion_hides_a_collective() -> None:
    collectives = load("collectives.sugared").collectives()
    rows = {row.name: row for row in collectives.rows}
    beside = rows["scatter.begin"]  # the fusion begins there: 64 x 64 multiplications
    assert (beside.overlapped_instructions, beside.overlapped_flops) == (1, 4096)
    assert beside.overlapped_bytes == 2 * 64 * 64 * 4
    assert rows["inside.begin"].is_async  # of a collective inside an asynchronous fusion
    assert rows["inside.begin"].overlapped_flops == 4096


@pytest.mark.parametrize("name", ["s", "%s", "s.async_wrapped", "f"])
def test_a_fusion_is_found_by_its_start(name: str) -> None:
    program = Program("m", hlotool.load(FUSION).module)
    rows = expand_fusion(name, program.expect_module(), program.costs)
    assert [row.name for row in rows] == ["p", "a", "b", "c", "d"]


def test_operands_bound_late_reach_the_operation() -> None:
    """What an update brings is live until the done."""
    dump = load("late.sugared")
    (row,) = dump.collectives().rows
    assert row.message_bytes == 128 * 64 * 4
    rows = {row.value: row for row in dump.buffers().rows}
    order = ["doubled", "fusion.begin.async_wrapped", "fusion.second{}", "called.result"]
    live_from = [rows[name].live_from or 0 for name in order]
    assert live_from == sorted(
        live_from
    )  # XLA puts a computation before the step that binds the last of it
    assert rows["negated"].live_until == rows["custom.update{}"].live_until  # where it is done
