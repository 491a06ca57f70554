"""Steps add up to the run: in time to no less than its floor, in figures to those of summary."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

import pytest
from dump_files import SHARED, TESTDATA
from each import for_each
from parsed import load

import hlotool
from hlotool.analysis.outline.clock import MemoryLane, OutlineEvidence, StepKind, find_kind
from hlotool.analysis.outline.report import STEPS
from hlotool.cli import run
from hlotool.hlo.opcodes import CONTROL_FLOW
from hlotool.program.program import Program
from hlotool.table.select import Query, select_rows


def list_dumps(side: Path) -> list[Path]:
    """List the dumps of a folder, one for each program of a backend."""
    found = [path for path in sorted(side.glob("*/*")) if path.is_dir()]
    return [path for path in found if path.parent.name not in {"folders", "odd"}]


DUMPS, MORE = list_dumps(TESTDATA / "dumps"), list_dumps(SHARED / "dumps")
CHIPS = {"tpu": "v5e", "gpu": "h100"}
GPU = TESTDATA / "dumps" / "gpu_h100"
TPU = GPU.parent / "tpu_v5e"


def find_chip(path: Path) -> str | None:
    """Return the chip that stands for the programs of a dump, by its name; None for CPU."""
    named = (f"{path.parent.name}.{path.name}".partition("pairs.")[2], path.parent.name)
    return next((chip for name in named for key, chip in CHIPS.items() if name[:3] == key), None)


@for_each(DUMPS)
def test_no_run_is_shorter_than_its_floor(path: Path) -> None:
    expect_no_shorter_run(path)


@pytest.mark.hard
@for_each(MORE)
def test_no_run_of_a_large_program_is_shorter(path: Path) -> None:
    expect_no_shorter_run(path)


def expect_no_shorter_run(path: Path) -> None:
    """All arithmetic, and all traffic, take at least as long by themselves."""
    chip = find_chip(path)
    if chip is None:
        return
    for dump in hlotool.load_all(path, chip=chip):
        if dump.program.module is None:
            continue
        found = dump.summary()
        assert found.roofline is not None
        if found.step_time is not None:
            floor = found.roofline.roofline_seconds
            assert found.step_time.estimated_seconds >= floor * (1 - 1e-9)
            assert found.step_time.memory_seconds <= found.step_time.estimated_seconds


@for_each(DUMPS)
def test_groups_come_to_the_figures_of_the_program(path: Path) -> None:
    expect_figures_of_groups(path)


@pytest.mark.hard
@for_each(MORE)
def test_groups_come_to_the_figures_of_a_large_program(path: Path) -> None:
    expect_figures_of_groups(path)


def expect_figures_of_groups(path: Path) -> None:
    """But for what is no work: reductions and traffic of collectives, copies beside the work."""
    for dump in hlotool.load_all(path):
        program = dump.program
        if program.module is None:
            continue
        rows = dump.outline()
        sent = sum(row.known_sent_bytes_per_step for row in program.collectives.rows)
        flops, memory = measure_beside(program)
        flops = program.cost.total_flops_per_step - flops
        memory = program.cost.traffic_bytes_per_step - memory
        for by in ("kind", "scope", "depth", "kind,scope"):
            grouping = select_rows(STEPS, rows, Query(by=by)).grouping
            assert grouping is not None
            names = [field.name for field in grouping.summed]
            sums = [
                sum(group.sums[place].value or 0 for group in grouping.groups)
                for place in range(len(names))
            ]
            found = dict(zip(names, sums, strict=True))
            if any(row.kind == "conditional" for row in rows):  # all branches are counted
                assert found["flops_per_step"] >= flops
                assert found["traffic_bytes_per_step"] >= memory
            else:
                assert found["flops_per_step"] == flops
                assert found["traffic_bytes_per_step"] == memory
            assert found["sent_bytes_per_step"] == sent
            if program.pricing.is_rated and any(row.time_share for row in rows):
                assert sum(group.share or 0 for group in grouping.groups) == pytest.approx(1)


def measure_beside(program: Program) -> tuple[int, int]:
    """Return the flops and bytes of what is no work: transfers, and copies beside the work."""
    evidence = OutlineEvidence(
        program.expect_module(),
        program.costs,
        program.collectives.rows,
        program.pricing,
    )
    flops = memory = 0
    for computation in program.executions.executed:
        known = program.executions.lower_bound(computation)
        for one in computation.instructions:
            is_whole = one.opcode == "async-start" or one.opcode not in CONTROL_FLOW
            if is_whole and find_kind(one, evidence) in {None, "collective", "wait"}:
                flops += known * program.costs.of(one).total_flops
                memory += known * program.costs.of(one).traffic_bytes
    return flops, memory


def test_what_is_not_listed_counts_for_what_holds_it() -> None:
    program = load(GPU / "transformer_train").program
    whole = sum_all(program)
    assert sum_all(program, nesting=0) == pytest.approx(whole)
    wanted = sum_all(program, ["collective"])
    assert wanted[0] < whole[0]  # work that stands alone is not listed
    assert wanted[1] == whole[1]  # what is sent is
    top = select_rows(STEPS, program.outline((), 0), Query(by="kind")).grouping
    assert top is not None
    assert {group.label for group in top.groups} >= {"loop", "compute"}
    loop = next(group for group in top.groups if group.label == "loop")
    assert (loop.share or 0) > 0.5


def sum_all(
    program: Program, only: Collection[StepKind] = (), nesting: int | None = None
) -> list[float]:
    """Return the TOTAL of an outline, but for how many steps there are."""
    (total,) = select_rows(STEPS, program.outline(only, nesting), Query()).totals
    return [one.value or 0 for one in total.sums if one is not None and one.value is not None][1:]


def test_shares_of_groups_are_of_the_work(capsys: pytest.CaptureFixture[str]) -> None:
    """Not of the number of steps; sums of what sends nothing are 0, and no lower bound."""
    assert run(["outline", str(GPU / "transformer_train"), "--by", "scope", "--json"]) == 0
    groups = json.loads(capsys.readouterr().out)["groups"]
    for group in groups:
        assert group["share"] == pytest.approx(group["time_share"])
        assert group["sent_bytes_per_step"] is not None
        assert not group["is_lower_bound"]
    assert run(["outline", str(GPU / "transformer_train"), "--by", "kind"]) == 0
    told = capsys.readouterr().out
    assert "≥" not in told
    assert "share" not in told.splitlines()[2]
    assert "of work" in told.splitlines()[2]


def test_no_shares_of_time_on_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    dump = str(GPU.parent / "cpu" / "scan_train")
    assert run(["outline", dump]) == 0
    told = capsys.readouterr().out
    assert "shares of time are unknown" in told
    assert "h100" not in told
    assert "of work" not in told.splitlines()[2]
    assert run(["outline", dump, "--by", "kind", "--json"]) == 0
    groups = json.loads(capsys.readouterr().out)["groups"]
    traffic = sum(group["traffic_bytes_per_step"] for group in groups)
    for group in groups:
        assert group["time_share"] is None
        assert group["share"] == pytest.approx(group["traffic_bytes_per_step"] / traffic)


def test_what_started_first_is_moved_first() -> None:
    program = load(TPU / "mlp_train").program
    first, second = program.expect_module().entry.instructions[:2]
    lane = MemoryLane()
    lane.begin(first, 3.0)
    lane.begin(second, 2.0)
    lane.give(4.0)
    assert lane.end(first) == 0
    assert lane.end(second) == 1
    assert lane.end(second) == 0


def test_a_copy_to_the_host_takes_at_least_as_long_as_memory() -> None:
    """The speed of the link to the host is unknown."""
    found = hlotool.load(TPU / "offload", chip="v5e").summary().step_time
    assert found is not None
    assert found.is_lower_bound
    assert found.largest_part is None
    steps = hlotool.load(TPU / "offload", chip="v5e").outline()
    assert [row.kind for row in steps] == ["wait", "compute", "wait"]
    assert sum(row.estimated_seconds or 0 for row in steps) == pytest.approx(
        found.estimated_seconds
    )
