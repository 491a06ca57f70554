"""`hlotool buffers` as a user types it: options, what is refused, and figures that add up."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from dump_files import ROOT, SEEDS, needs_shared

from hlotool.commands.buffers.command import buffers
from hlotool.errors import HlotoolError

DUMPS = ROOT / "testdata" / "dumps"
GPU = DUMPS / "gpu_h100" / "transformer_train"
TPU = DUMPS / "tpu_v5e" / "scan_train"
OLD = ROOT / "testdata" / "buffers" / "tuple_fusion.txt"


def run(*arguments: str | Path) -> Result:
    done = CliRunner().invoke(buffers, [str(one) for one in arguments])
    if done.exception and not isinstance(done.exception, SystemExit | HlotoolError):
        raise done.exception
    return done


def answer(*arguments: str | Path) -> dict[str, Any]:
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    return document


def refusal(*arguments: str | Path) -> str:
    done = run(*arguments)
    assert done.exception is not None, done.output
    return str(done.exception)


@pytest.mark.parametrize("path", [GPU, TPU, OLD], ids=["gpu", "tpu", "old"])
@pytest.mark.parametrize("place", ["peak", "0", "5"])
def test_rows_add_up_to_what_is_in_use(path: Path, place: str) -> None:
    found = answer(path, "--at", place)
    assert sum(row["live_bytes"] for row in found["rows"]) == found["at"]["bytes"]
    if place == "peak":
        assert found["at"]["bytes"] == found["peak"]["bytes"] == found["totals"]["peak_bytes"]


def test_all_spaces_together() -> None:
    found = answer(TPU, "--space", "all")
    assert {row["space"] for row in found["rows"]} >= {0, 1}
    assert sum(row["live_bytes"] for row in found["rows"]) == found["at"]["bytes"]
    assert found["peak"]["space"] == 0


def test_spaces_are_never_added_up() -> None:
    rows = answer(TPU, "--space", "all")["rows"]
    held = Counter[int]()
    for row in rows:
        held[row["space"]] += row["live_bytes"]
    lines = run(TPU, "--space", "all", "-n", "1", "--units", "B").stdout.splitlines()
    totals = [line.split("TOTAL space ") for line in lines if "TOTAL" in line]
    found = [(int(of.split()[0]), held_there.split()[0]) for held_there, of in totals]
    assert found == [(space, f"{held[space]:,}") for space in sorted(held)]
    groups = answer(TPU, "--space", "all", "--by", "space")["groups"]
    assert {one["space"]: one["live_bytes"] for one in groups} == held
    nested = answer(TPU, "--space", "all", "--by", "allocation_type")
    assert nested["grouped_by"] == ["space", "allocation_type"]
    assert answer(TPU, "--by", "allocation_type")["grouped_by"] == ["allocation_type"]
    assert "space" not in run(TPU, "-n", "1", "--rows", "rows").stdout.splitlines()[4].split()
    assert "bytes are in use" not in run(TPU, "--space", "all", "--at", "5").stdout


def test_a_space_by_name_and_by_number() -> None:
    by_name, by_number = answer(TPU, "--space", "vmem"), answer(TPU, "--space", "1")
    assert by_name == by_number
    assert by_name["peak"]["space"] == 1
    assert by_name["totals"] == answer(TPU)["totals"]
    assert "this program has spaces 0 (hbm), 1 (vmem)" in refusal(TPU, "--space", "3")


def test_an_instruction_is_a_place() -> None:
    peak = answer(GPU)["peak"]
    assert answer(GPU, "--at", peak["instruction"])["at"]["position"] == peak["position"]
    assert answer(GPU, "--at", "%" + peak["instruction"])["at"]["position"] == peak["position"]


def test_places_that_are_not_there() -> None:
    assert "positions go from 0 to 402" in refusal(GPU, "--at", "403")
    assert "positions go from 0 to 402" in refusal(GPU, "--at", "9" * 5000)
    assert "did you mean" in refusal(GPU, "--at", "gemm_fusion_dot.6444")
    assert "give only one" in refusal(GPU, "--all", "--at", "3")


def test_everything() -> None:
    found = answer(GPU, "--all")
    assert found["at"] is None
    sizes = sum(
        one["size_bytes"]
        for one in found["allocations"]
        if one["allocation_type"] != "thread-local"
    )
    assert sizes == found["totals"]["allocated_bytes"]
    assert sum(one["value_count"] for one in found["allocations"]) == len(found["rows"])
    fragments = sum(one["fragmentation_bytes"] or 0 for one in found["allocations"])
    assert fragments == found["totals"]["fragmentation_bytes"]
    assert all(row["live_bytes"] is None for row in found["rows"])


def test_the_timeline_is_a_curve_and_a_list() -> None:
    found = answer(GPU, "--timeline")
    levels = [row["bytes"] for row in found["timeline"]]
    peak = found["peak"]
    assert len(levels) == peak["sequence_length"] + 1
    assert max(levels) == peak["bytes"] == levels[peak["position"]]
    assert levels.index(max(levels)) == peak["position"]
    rows = list(csv.DictReader(io.StringIO(run(GPU, "--timeline", "--format", "csv").stdout)))
    assert [int(row["bytes"]) for row in rows] == levels
    drawn = run(GPU, "--timeline").stdout.splitlines()
    assert any(f"peak at {peak['position']}" in line for line in drawn)
    assert all(len(line) <= 100 for line in drawn if "│" in line or "┤" in line)


def test_peaks() -> None:
    found = answer(GPU, "--peaks", "3")["peaks"]
    assert [row["bytes"] for row in found] == sorted((row["bytes"] for row in found), reverse=True)
    rows = list(csv.DictReader(io.StringIO(run(GPU, "--peaks", "3", "--format", "csv").stdout)))
    assert [int(row["position"]) for row in rows] == [row["position"] for row in found]


def test_donation() -> None:
    found = answer(DUMPS / "cpu" / "mlp_train", "--donation")
    assert {row["status"] for row in found["donation"]} <= {"donated", "copied", "not-donated"}
    assert found["donation"]
    table = run(DUMPS / "cpu" / "mlp_train", "--donation", "--where", 'status == "copied"').stdout
    assert "copied by" in table


@pytest.mark.parametrize(
    ("limit", "fits"), [("80GiB", True), ("1 GB", False), ("2G", True), ("1.5e9B", False)]
)
def test_fit(limit: str, fits: bool) -> None:
    found = answer(GPU, "--hbm", limit)
    fit = found["fit"]
    assert fit["fits"] is fits
    left = fit["limit_bytes"] - found["totals"]["allocated_bytes"]
    assert fit["free_bytes"] == left
    assert ("fits in" in run(GPU, "--hbm", limit).stdout) or not fits


@pytest.mark.parametrize("size", ["big", "", "-3GiB", "3 parsecs", "1e999", "1" * 99])
def test_sizes_that_are_none(size: str) -> None:
    assert "is not a size" in refusal(GPU, "--hbm", size)


def test_a_bare_number_is_asked_for_its_unit() -> None:
    said = refusal(GPU, "--hbm", "80")
    assert "--hbm 80 has no unit; write 80GiB, 80GB or 80B." in said
    assert answer(GPU, "--hbm", "80B")["fit"]["limit_bytes"] == 80


def test_groups() -> None:
    for field in ("allocation_type", "scope", "dtype", "opcode", "source", "shape", "parameter"):
        done = run(GPU, "--by", field)
        assert done.exit_code == 0
        assert "TOTAL" in done.stdout


def test_equal_values_fold_in_tables_alone(tmp_path: Path) -> None:
    text = tmp_path / "folds.txt"
    text.write_text(
        "HloModule m, is_scheduled=true\n\nENTRY e {\n"
        "  p = f32[64] parameter(0)\n"
        "  a.1 = f32[64] negate(p)\n"
        "  a.2 = f32[64] negate(p)\n"
        "  a.3 = f32[64] negate(p)\n"
        "  ROOT c = f32[192] concatenate(a.1, a.2, a.3), dimensions={0}\n}\n",
        "utf-8",
    )
    lines = run(text, "--units", "B").stdout.splitlines()
    (folded,) = [line for line in lines if "×3" in line]  # what all three save together
    assert folded.split()[:5] == [
        "768",
        "768",
        "×3",
        "f32[64]",
        "a.*",
    ]  # what all three save together
    (total,) = [line for line in lines if "TOTAL" in line]
    assert total.split() == ["1,792", "1,792", "5", "TOTAL"]
    assert len(answer(text)["rows"]) == 5


def test_parts_of_a_dump(tmp_path: Path) -> None:
    """Without live ranges live ranges are derived; without the module nothing can derive them."""
    (allocations,) = GPU.glob("*buffer-assignment.txt")
    (text,) = GPU.glob("*after_optimizations.txt")
    whole = answer(GPU)
    assert answer(text)["peak"] == whole["peak"]
    assert answer(allocations)["peak"] == whole["peak"]
    alone = Path(shutil.copy(allocations, tmp_path))
    found = answer(alone)
    assert (found["sizes_from"], found["live_ranges_from"]) == ("buffer-assignment", None)
    assert found["peak"]["bytes"] is None
    assert found["totals"]["allocated_bytes"] == whole["totals"]["allocated_bytes"]
    assert "peak unknown" in run(alone).stdout
    assert "need live ranges" in refusal(alone, "--timeline")
    assert "--module-text" in refusal(alone, "--donation")
    derived = answer(alone, "--module-text", text)
    assert derived["live_ranges_from"] == "derived"
    assert derived["peak"]["bytes"] == whole["peak"]["bytes"]
    assert [row["value"] for row in derived["rows"]] == [row["value"] for row in whole["rows"]]
    estimate = answer(Path(shutil.copy(text, tmp_path / "text.txt")))
    assert (estimate["sizes_from"], estimate["live_ranges_from"]) == ("estimate", "derived")
    assert estimate["totals"]["allocated_bytes"] is None
    assert estimate["spaces"] == []
    assert all(row["allocation"] is None for row in estimate["rows"])
    held = sum(row["live_bytes"] for row in estimate["rows"])
    assert held == estimate["estimated"]["peak_bytes"]


def test_an_unscheduled_module_says_which_file_to_use() -> None:
    (text,) = GPU.parent.joinpath("mlp_train").glob("*before_optimizations.txt")
    done = run(text)
    assert isinstance(done.exception, HlotoolError)
    assert done.exception.exit_code == 3
    assert "after_optimizations" in str(done.exception)


def test_a_total_that_does_not_match_is_refused(tmp_path: Path) -> None:
    """An allocation was lost on the way, or a figure injured: nothing in it can be trusted."""
    text = OLD.read_text("utf-8").replace("Total bytes used: 33824", "Total bytes used: 33825")
    edited = tmp_path / "edited.txt"
    edited.write_text(text, "utf-8")
    assert "the allocations hold 33824 bytes, not 33825" in refusal(edited)


def test_an_assignment_of_another_size_is_refused(tmp_path: Path) -> None:
    folder = DUMPS / "gpu_h100" / "mlp_train"
    (text,) = folder.glob("*after_optimizations.txt")
    (assignment,) = folder.glob("*after_optimizations-buffer-assignment.txt")
    half = tmp_path / "half.txt"
    half.write_text(text.read_text("utf-8").replace("f32[512,10]", "f32[256,10]"), "utf-8")
    message = refusal(half, "--buffers", assignment)
    assert "is f32[512,10] here, but f32[256,10] in the module" in message


@needs_shared
def test_siblings_of_another_size_are_refused() -> None:
    (text,) = SEEDS.glob("000*")
    (assignment,) = SEEDS.glob("001*")
    message = refusal(text, "--buffers", assignment)
    assert "is bf16[128,6144] here, but bf16[32,6144] in the module" in message


def savings_of(*arguments: str | Path) -> dict[str, int]:
    done = run(*arguments, "--format", "csv")
    assert done.exit_code == 0, done.output
    rows = csv.DictReader(io.StringIO(done.stdout))
    return {row["value"]: int(row["saves_bytes"]) for row in rows}


@pytest.mark.parametrize("path", [GPU, TPU], ids=["gpu", "tpu"])
def test_saving_is_what_without_takes_off_the_peak(path: Path) -> None:
    for value, saving in list(savings_of(path).items())[:4]:
        without = answer(path, "--without", f'value == "{value}"')["without"]
        assert without["saves_bytes"] == saving
        assert without["removed_bytes"] >= saving


def test_saving_of_a_group_is_that_of_its_rows_together() -> None:
    groups = answer(GPU, "--by", "allocation_type")["groups"]
    rows = answer(GPU)["rows"]
    (temp,) = (one for one in groups if one["allocation_type"] == "temp")
    alone = [row["saves_bytes"] for row in rows if row["allocation_type"] == "temp"]
    assert max(alone) <= temp["saves_bytes"] < sum(alone)


def test_without_shows_the_program_without_those_values() -> None:
    whole = answer(GPU)
    found = answer(GPU, "--without", 'allocation_type == "temp"')
    assert not [row for row in found["rows"] if row["allocation_type"] == "temp"]
    assert found["peak"] == whole["peak"]
    assert found["without"]["peak_bytes"] == found["at"]["bytes"]
    assert found["at"]["position"] == found["without"]["position"]
    assert sum(row["live_bytes"] for row in found["rows"]) == found["at"]["bytes"]
    lost = found["peak"]["bytes"] - found["without"]["peak_bytes"]
    assert lost == found["without"]["saves_bytes"] > 0


def test_without_asks_what_is_held_at_the_peak() -> None:
    found = answer(GPU, "--without", "live_bytes > 100MiB")["without"]
    assert found["value_count"] >= 1
    assert found["removed_bytes"] > 100 << 20


def test_without_what_is_not_there_nothing_changes() -> None:
    found = answer(GPU, "--without", 'value == "none"')
    assert found["without"]["value_count"] == found["without"]["saves_bytes"] == 0
    assert found["at"]["bytes"] == found["peak"]["bytes"]


def test_timeline_is_that_without_the_values() -> None:
    found = answer(GPU, "--without", 'allocation_type == "temp"', "--timeline")
    assert max(row["bytes"] for row in found["timeline"]) == found["without"]["peak_bytes"]


@pytest.mark.parametrize("limit", [("--hbm", "8GiB"), ("--chip", "h100")])
def test_without_is_not_about_a_limit(limit: tuple[str, str]) -> None:
    said = refusal(GPU, "--without", 'allocation_type == "temp"', *limit)
    assert "--without excludes --hbm and --chip" in said


def test_a_chip_is_a_limit() -> None:
    fit = answer(GPU, "--chip", "h100")["fit"]
    assert (fit["fits"], fit["chip"]) == (True, "h100")
    assert "JAX takes 75 % of a GPU's memory" in run(GPU, "--chip", "h100").stdout
    assert answer(GPU, "--hbm", "80GiB")["fit"]["chip"] is None
    assert "give only one" in refusal(GPU, "--chip", "h100", "--hbm", "8GiB")
    assert "v5e" in refusal(GPU, "--chip", "v5e")


def test_what_does_not_fit_is_told_what_would_have_to_go() -> None:
    found = answer(GPU, "--hbm", "1500MiB")
    sets = {row["option"] for row in found["relief"]}
    assert sets
    told = [row for row in found["relief"] if row["verdict"] != "unsure"]
    assert all(row["free_bytes"] >= 0 for row in told)
    said = run(GPU, "--hbm", "1500MiB").stdout
    assert 0 < said.index("does not fit in") < said.index("Apply all changes of an option")
    assert answer(GPU, "--hbm", "80GiB")["relief"] == []


def test_where_three_parts_are_not_enough_a_note_says_so() -> None:
    assert (
        "No set of up to 3 changes is certain to make it fit 1.0 MiB"
        in run(GPU, "--hbm", "1MiB").stdout
    )


def test_without_live_ranges_no_saving_is_known(tmp_path: Path) -> None:
    (source,) = GPU.glob("*-buffer-assignment.txt")
    copy = tmp_path / "buffer-assignment.txt"
    shutil.copy(source, copy)
    assert {row["saves_bytes"] for row in answer(copy)["rows"]} == {None}
    assert "--without needs live ranges" in refusal(copy, "--without", 'allocation_type == "temp"')
    assert answer(copy, "--hbm", "1MiB")["relief"] == []
