"""Collectives: hand-made cases, seeds counted by hand, and laws that hold for every dump."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from collective_cases import CASES, analyze, read_options, read_rows, read_totals, write
from dump_files import (
    PRINTED,
    SEEDS,
    SHARED,
    TESTDATA,
    as_parameters,
    needs_shared,
    read_text,
    split_modules,
)
from each import for_each
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from parsed import read_program
from tables import TableCase

from hlotool.analysis.collectives.rows import CollectiveRow, HostTransferRow
from hlotool.analysis.collectives.totals import CollectiveTotals
from hlotool.errors import HlotoolError, ParseError
from hlotool.hlo.opcodes import TRANSFERS


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: TableCase) -> None:
    report = analyze(case.text, read_options(case.text))
    expect_rows(report.rows, read_rows(case.text))
    expect_rows(report.host.rows, read_rows(case.text, "host"))
    for record, totals in (
        (report.totals, read_totals(case.text)),
        (report.host.totals, read_totals(case.text, "host_totals")),
    ):
        assert {field: write(getattr(record, field)) for field in totals} == totals


def expect_rows(
    rows: Sequence[CollectiveRow] | Sequence[HostTransferRow],
    expected: Mapping[str, Mapping[str, str]],
) -> None:
    """Compare rows with what a case says of each."""
    found = {row.name: row for row in rows}
    assert sorted(found) == sorted(expected)
    assert len(rows) == len(expected)
    for name, fields in expected.items():
        actual = {field: write(getattr(found[name], field)) for field in fields}
        assert (name, actual) == (name, fields)


DEFAULTS = [path for path in PRINTED if ".default." in path.name]
DUMPS = [
    path
    for path in split_modules(TESTDATA / "dumps", TESTDATA / "packed", SHARED / "dumps", SEEDS)
    # test_printing_style_changes_nothing has those printed; a pasted fragment may be no module
    if path.parent.name not in {"printed", "pasted"}
]


def test_there_are_dumps() -> None:
    assert len([path for path in DUMPS if path.is_relative_to(TESTDATA)]) > 50


def read_seed(start: str) -> str:
    (path,) = SEEDS.glob(f"{start}_*.txt")
    return path.read_text(encoding="utf-8")


@needs_shared
def test_seed_tpu_forward() -> None:
    """Seven textual all-gathers are three: channel 4 chain 0, channel 6 chain 1, and channel 2.

    Each gathers 14336 × 4096 bf16 over 4 devices: S = 117,440,512 bytes, of which a device
    sends 3/4. Two are hidden by one matrix product each: 2 × 32·512 × 4096 × 14336 flops.
    """
    report = analyze(read_seed("003"))
    assert (report.totals.count, report.totals.hlo_op_count) == (3, 7)
    assert {row.kind for row in report.rows} == {"all-gather"}
    assert [row.message_bytes for row in report.rows] == [14336 * 4096 * 2] * 3
    assert [row.sent_bytes_per_step for row in report.rows] == [14336 * 4096 * 2 * 3 // 4] * 3
    assert [(row.channel_id, row.exposed_share) for row in report.rows] == [
        (4, 0),
        (6, 0),
        (2, 1),
    ]
    product = 2 * 32 * 512 * 4096 * 14336
    for row in report.rows[:2]:
        assert row.overlapped_flops is not None
        assert product <= row.overlapped_flops < product * 1.01


def test_work_that_makes_the_operand_hides_nothing() -> None:
    """A dump of v6e, by its schedule:

        reduce-scatter-start, copy-done, fusion, reduce-scatter-update,
        all-gather-start, reduce-scatter-done, tanh, all-gather-update, all-gather-done, copy

    Both start without an operand. `fusion` makes that of the reduce-scatter (f32[128,512], S =
    262,144 B), `tanh` that of the all-gather (its result, as much): both stand before the
    updates, behind which nothing is left to hide 131,072 B sent each.
    """
    (path,) = (TESTDATA / "dumps/tpu_v6e/pipeline.gather").glob("*after_optimizations.txt")
    report = analyze(read_text(path))
    assert [(row.message_bytes, row.sent_bytes) for row in report.rows] == [(1 << 18, 1 << 17)] * 2
    assert [row.overlapped_instructions for row in report.rows] == [0, 0]
    assert [row.exposed_share for row in report.rows] == [1, 1]
    assert report.totals.exposed_bytes_per_step == 1 << 18


@needs_shared
def test_seed_gpu_train_step() -> None:
    """Counted by hand in the text, computation by computation.

    Two loop bodies run 9 times each (known_trip_count), the entry once.

        forward body (region_0.1585…)   1 all-gather, 4 all-to-all, 3 permutes           =  8
        backward body (region_30.3928)  1 all-gather, 8 all-to-all, 4 permutes, 1 r.-s.  = 14
        entry (main.5687_spmd)          2 all-gather, 4 all-to-all, 4 permutes, 1 r.-s.,
                                        11 all-reduce                                    = 22

    Executions: (8 + 14) × 9 + 22 = 220. All are started; the 16 all-to-alls and the
    2 reduce-scatters are async-starts of a computation that holds them.

    Bytes of one all-to-all in a loop: bf16[1,4,8,1,2048,6144] = 805,306,368; n = 8, so a
    device sends 7/8 of it: 704,643,072.
    """
    report = analyze(read_seed("002"))
    counts = {row.kind: (row.count, row.executions) for row in report.totals.by_kind}
    assert counts == {
        "all-gather": (1 + 1 + 2, 9 + 9 + 2),
        "all-reduce": (11, 11),
        "all-to-all": (4 + 8 + 4, 12 * 9 + 4),
        "collective-permute": (3 + 4 + 4, 7 * 9 + 4),
        "reduce-scatter": (1 + 1, 9 + 1),
    }
    assert report.totals.count == 8 + 14 + 22
    assert report.totals.executions == (8 + 14) * 9 + 22
    # start and done of 26; start, wrapped operation and done of 18
    assert report.totals.hlo_op_count == 26 * 2 + 18 * 3
    assert all(row.is_async for row in report.rows)
    in_loop = [row for row in report.rows if row.kind == "all-to-all" and row.executions == 9]
    assert [row.sent_bytes for row in in_loop] == [704_643_072] * 12
    assert not report.totals.is_lower_bound
    assert not report.totals.is_upper_bound


def without_exposure(totals: CollectiveTotals) -> CollectiveTotals:
    """Leave out what the quick sums do not measure."""
    nothing = {"exposed_bytes_per_step": None, "is_exposed_lower_bound": False}
    return replace(
        totals,
        **nothing,
        reference_chip=None,
        devices_per_node=None,
        is_node_assumed=False,
        by_kind=tuple(replace(row, **nothing) for row in totals.by_kind),
        by_network=tuple(replace(row, **nothing) for row in totals.by_network),
    )


@for_each(DUMPS)
def test_every_printed_collective_counts_once(path: Path) -> None:
    """No collective or done of an executed dump is lost, and none is in two rows."""
    program = read_program(path)
    module, report = program.expect_module(), program.collectives
    members = [name for row in report.rows for name in row.members]
    printed = {
        instruction.name
        for instruction in module.instructions()
        if instruction.opcode.removesuffix("-done") in TRANSFERS
        or instruction.opcode.replace("-done", "-start") in TRANSFERS
    }
    assert len(members) == len(set(members))
    assert printed <= set(members)
    totals = without_exposure(report.totals) if report.rows else report.totals
    assert totals == program.collective_totals
    assert report.totals.hlo_op_count == len(members)
    assert report.totals.count == len(report.rows)
    assert report.totals.sent_bytes_per_step == sum(
        row.known_sent_bytes_per_step for row in report.rows
    )
    assert not [row.problem for row in report.rows if row.problem]


@pytest.mark.parametrize("default", as_parameters(DEFAULTS))
def test_printing_style_changes_nothing(default: Path) -> None:
    """The same module in another print style has the same traffic, collective by collective."""
    expected = sorted(map(key, analyze(read_text(default)).rows))
    compared = 0
    for path in default.parent.glob(default.name.replace(".default.", ".*.")):
        try:
            report = analyze(read_text(path))
        except ParseError:  # styles that leave out names or attributes: nothing can be known
            continue
        compared += 1
        assert (path.name, sorted(map(key, report.rows))) == (path.name, expected)
    assert compared > 12


def key(row: CollectiveRow) -> tuple[object, ...]:
    return row.kind, row.dtype, row.message_bytes, row.sent_bytes_per_step or 0, row.group_size or 0


WORDS = re.compile(r"[A-Za-z_][\w.\-]*|\d+|\S")
FOREIGN = ("-1", "0", "99999999999999999999", "{}", "()", "f32[]", "token[]", "?", "fusion")


@settings(max_examples=300)
@given(st.sampled_from(CASES), st.randoms(use_true_random=False))
def test_damage_gives_an_answer_or_an_error(case: TableCase, chance: random.Random) -> None:
    """Words left out, exchanged or replaced: never anything but a report or an HlotoolError."""
    text = case.text
    options = read_options(text)
    for _ in range(chance.randint(1, 3)):
        words = list(WORDS.finditer(text))
        word, other = chance.choice(words), chance.choice(words)
        new = chance.choice(["", other.group(), chance.choice(FOREIGN)])
        text = text[: word.start()] + new + text[word.end() :]
    with suppress(HlotoolError):
        report = analyze(text, options)
        assert report.totals.count == len(report.rows)
