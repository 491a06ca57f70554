"""Parts of a program's memory, and what can be done so that it fits."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from pathlib import Path
from typing import get_args

import pytest
from accuracy.advice import ADVICE
from dump_files import TESTDATA
from msgspec.structs import replace

from hlotool.analysis.memory.donated import add_savings, find_donations
from hlotool.analysis.memory.memory_map import Tenures
from hlotool.analysis.memory.parts import Part, divide_memory
from hlotool.analysis.memory.reduction_plan import (
    MOST_TOGETHER,
    REMEDIES,
    SAVES_CAVEAT,
    ReliefRow,
    Remedy,
    RemedyKind,
    Reserved,
    plan_relief,
    simulate_remedies,
)
from hlotool.analysis.memory.report import MemoryReport, measure_fit
from hlotool.dump.find import resolve_inputs
from hlotool.hlo.parser import parse_module
from hlotool.program.load import load_program
from hlotool.program.program import Program
from hlotool.text import Source

MIB = 1 << 20
SCANNED = ADVICE / "gpu_h100.scanned"
UNROLLED = ADVICE / "cpu.unrolled"
TRANSFORMER = TESTDATA / "dumps/gpu_h100/transformer_train"


@cache
def load(folder: Path) -> Program:
    path = str(folder)
    return load_program(resolve_inputs(path, "after", None).inputs[0], path, with_buffers=True)


def report_of(folder: Path) -> MemoryReport:
    return load(folder).expect_memory()


def divide(folder: Path) -> list[Part]:
    report = report_of(folder)
    return divide_memory(report, load(folder).module, find_donations(report))


def find_part(folder: Path, kind: str, of: str) -> Part:
    return next(part for part in divide(folder) if (part.kind, part.of) == (kind, of))


def simulate(folder: Path) -> tuple[Reserved, dict[str, Remedy]]:
    reserved, found = simulate_remedies(report_of(folder), load(folder).module)
    return reserved, {one.title: one for one in found}


def relieve(folder: Path, limit_bytes: int) -> list[ReliefRow]:
    report = report_of(folder)
    return list(plan_relief(report, load(folder).module, measure_fit(report, limit_bytes)).rows)


def allocated(folder: Path) -> int:
    return report_of(folder).figures.totals.allocated_bytes or 0


def sets_of(rows: list[ReliefRow]) -> dict[int, list[str]]:
    return {row.option: [one.what for one in rows if one.option == row.option] for row in rows}


def test_remedies_are_simulated() -> None:
    reserved, remedies = simulate(SCANNED)
    savings = {title: reserved.saving([one]) for title, one in remedies.items()}
    largest = sorted(savings, key=lambda title: (-savings[title], title))[:4]
    assert largest == [
        "saved activations of mlp",
        "activations",
        "logits in head",
        "outputs beside state",
    ]
    # Six layers of 8 × 256 rows stack six arrays of 1,024 columns. What is computed again is not
    # at the peak; what enters a layer, six arrays of 256 columns and the one that is read, is kept.
    assert round(savings["saved activations of mlp"] / MIB) == 6 * 6 * 8
    assert find_part(SCANNED, "layer-inputs", "mlp").temp_curve.peak()[0] == 7 * 2 * MIB


def test_without_scopes_the_same_is_said() -> None:
    """Without a scope, saved activations were called temporaries once, and logits too."""
    report, program = report_of(SCANNED), load(SCANNED)
    text = program.expect_module().source.text.replace("/mlp/", "/").replace("(head)", "()")
    assert text != program.expect_module().source.text
    module = parse_module(Source(text))
    parts = divide_memory(replace(report, module=module), module, None)
    told = {part.kind: part.temp_curve.peak()[0] for part in parts}
    assert told["saved-activations"] >= 288 * MIB
    assert told["logits"] == 64 * MIB


def test_what_xla_undoes_is_not_offered() -> None:
    """XLA:CPU merges what unrolled layers compute again with the first time; the plan says so."""
    _, remedies = simulate(UNROLLED)
    assert "checkpoint" not in {one.kind for one in remedies.values()}
    for folder in (UNROLLED, SCANNED, TRANSFORMER):
        fit = measure_fit(report_of(folder), allocated(folder) // 2)
        plan = plan_relief(report_of(folder), load(folder).module, fit)
        assert plan.is_checkpoint_undone is (folder is UNROLLED)


def test_what_is_on_is_not_offered() -> None:
    """A stack that a loop computes again from is what checkpoint keeps."""
    _, remedies = simulate(TRANSFORMER)
    names = [one.metadata().op_name for one in load(TRANSFORMER).expect_module().instructions()]
    assert any("rematted_computation" in name for name in names)
    assert "checkpoint" not in {one.kind for one in remedies.values()}


@pytest.mark.parametrize("folder", [SCANNED, TRANSFORMER, UNROLLED])
def test_the_curve_of_an_option_has_its_figure(folder: Path) -> None:
    report = report_of(folder)
    size = allocated(folder)
    plan = plan_relief(report, load(folder).module, measure_fit(report, size * 3 // 4))
    saved = {row.option: row.option_saves_bytes for row in plan.rows if row.saves_bytes is not None}
    assert saved
    assert [curve.peak()[0] for curve in plan.curves] == [
        size,
        *(size - (one or 0) for one in saved.values()),
    ]
    for curve in plan.curves:
        assert curve.positions[0] == 0
        assert min(curve.levels) > 0


@pytest.mark.parametrize("folder", [SCANNED, TRANSFORMER, UNROLLED])
def test_each_byte_in_use_is_in_one_part(folder: Path) -> None:
    report = report_of(folder)
    curve = report.map.curve(0)
    assert curve is not None
    parts = [one for part in divide(folder) for one in part.tenures]
    for position in (*curve.positions, 0, curve.positions[-1] + 1):
        assert sum(one.curve().at(position) for one in parts) == curve.at(position)


def test_what_fits_needs_no_relief() -> None:
    assert relieve(SCANNED, 1 << 40) == []


def test_one_change_is_enough_where_it_saves_as_much_as_is_missing() -> None:
    rows = relieve(SCANNED, allocated(SCANNED) - 200 * MIB)
    assert sets_of(rows)[1] == ["outputs beside state", "saved activations of mlp"]
    saved = rows[0].option_saves_bytes or 0
    assert saved == rows[1].option_saves_bytes
    assert saved >= (rows[1].saves_bytes or 0)
    assert rows[0].free_bytes == saved - 200 * MIB
    assert [row.how for row in rows[:2]] == ["donate", "checkpoint each layer"]


@pytest.mark.parametrize("missing", [30, 200, 310])
def test_sets_are_as_small_as_can_be_and_a_smaller_batch_comes_late(missing: int) -> None:
    """What leaves the batch as it is comes first; more devices come last, without a number."""
    rows = relieve(SCANNED, allocated(SCANNED) - missing * MIB)
    assert (rows[-1].kind, rows[-1].verdict, rows[-1].saves_bytes) == ("shard", "unsure", None)
    sets = {number: [row.kind for row in rows if row.option == number] for number in sets_of(rows)}
    del sets[rows[-1].option]
    assert len({len(kinds) for kinds in sets.values()}) == 1
    smaller = ["smaller-batch" in kinds for kinds in sets.values()]
    assert smaller == sorted(smaller)
    for row in rows[:-1]:
        assert (row.verdict == "fits") == ((row.option_least_bytes or 0) >= missing * MIB)
        assert (row.saves_least_bytes or 0) <= (row.saves_bytes or 0) <= (row.saves_most_bytes or 0)


def test_it_may_fit_where_it_does_not_with_the_least() -> None:
    rows = relieve(SCANNED, allocated(SCANNED) - 200 * MIB)
    limit = allocated(SCANNED) - (rows[0].option_saves_bytes or 0)
    assert relieve(SCANNED, limit)[0].verdict == "may fit"


def test_the_finding_has_what_donation_saves_here() -> None:
    (finding,) = (one for one in load(SCANNED).findings if one.id == "donation-missed")
    row = relieve(SCANNED, allocated(SCANNED) - 30 * MIB)[0]
    assert finding.bytes == row.saves_bytes
    assert (finding.bytes or 0) < 40 * MIB
    assert finding.message.endswith(
        f"donation reduces the allocated size by at most this. {SAVES_CAVEAT}"
    )


def test_donations_have_a_share_in_what_they_save_together() -> None:
    """Shares add up to what the finding tells, which is less than the sizes."""
    rows = load(SCANNED).donation_savings
    (finding,) = (one for one in load(SCANNED).findings if one.id == "donation-missed")
    assert sum(row.saves_bytes or 0 for row in rows) == finding.bytes
    assert finding.bytes is not None
    assert finding.bytes < sum(row.size_bytes for row in rows)
    for row in rows:
        assert bool(row.saves_bytes) == row.is_missed


def test_where_nothing_tells_of_live_ranges_savings_of_donation_are_unknown() -> None:
    report = report_of(SCANNED)
    unknown = replace(report, map=replace(report.map, live_ranges=None))
    rows = add_savings(load(SCANNED).donations, unknown)
    assert rows
    assert all(row.saves_bytes is None for row in rows)


def test_savings_of_a_set_are_not_added_up() -> None:
    rows = relieve(SCANNED, allocated(SCANNED) - 310 * MIB)
    sums = [sum(one.saves_bytes or 0 for one in rows if one.option == row.option) for row in rows]
    assert any(row.option_saves_bytes != one for row, one in zip(rows, sums, strict=True))


def test_where_nothing_suffices_the_best_set_is_told() -> None:
    rows = relieve(SCANNED, 1)
    assert len([row for row in rows if row.option == 1 and row.kind != "donate"]) <= MOST_TOGETHER
    assert {row.verdict for row in rows if row.option == 1} == {"does not fit"}


def test_a_donation_saves_what_the_output_takes() -> None:
    part = find_part(TESTDATA / "dumps/tpu_v5e/too_large", "missed-donation", "x")
    assert [one.allocation.allocation_type for one in part.tenures] == ["output"]


def test_copies_of_parameters_are_a_part() -> None:
    assert find_part(TRANSFORMER, "parameter-layout", "state[0]").tenures


def test_every_remedy_has_words() -> None:
    assert tuple(REMEDIES) == get_args(RemedyKind)


def test_thread_local_memory_has_no_tenure() -> None:
    report = report_of(SCANNED)
    local = [one for one in report.map.assignment.allocations if one.is_thread_local]
    tenures = Tenures(report.map, {value for one in local for value in one.values})
    assert all(not tenures.of(one) for one in local)


def test_what_is_done_twice_is_done_once() -> None:
    """Half of what is computed again, or cut in chunks, is less than half of all."""
    reserved, remedies = simulate(SCANNED)
    for one, other in combinations(remedies.values(), 2):
        both = reserved.saving([one, other])
        assert both <= reserved.saving([one]) + reserved.saving([other]) + 64 * MIB
