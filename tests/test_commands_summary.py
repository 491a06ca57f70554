"""`hlotool summary` as a user types it: one screen, of a file as of a directory of one program."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from shutil import copytree

import pytest
from click.testing import CliRunner, Result
from dump_files import ROOT
from msgspec.structs import replace

import hlotool
from hlotool.analysis.cost.chips import find_chip
from hlotool.analysis.findings.finding import Finding
from hlotool.analysis.summary.report import ProgramRow, check_fit, measure_roofline
from hlotool.cli import cli
from hlotool.commands.buffers.command import buffers
from hlotool.commands.summary import render_summary, say_findings, summary
from hlotool.dump.find import resolve_inputs
from hlotool.errors import HlotoolError, UsageError
from hlotool.program.load import load_program
from hlotool.table.cells import Look
from hlotool.table.terminal import count_rows
from hlotool.table.units import render_line

DUMPS = ROOT / "testdata" / "dumps"
MLP = DUMPS / "gpu_h100" / "mlp_train"
SCREEN = 24  # lines
SCREENS = (
    ("cpu/operations",),
    ("gpu_h100/library_calls", "--chip", "h100"),
    ("gpu_h100/transformer_train", "--hbm", "1GiB"),
    ("tpu_v5e/pipeline", "--chip", "v5e"),
    ("tpu_v5e/scan_train", "--chip", "v5e", "--hbm", "16GiB"),
)
SMALL = (
    "hlo_forms/async.cases",
    "hlo_forms/inferred.cases",
    "profiles/built/amd.xplane.pb.gz",
    "protos/async_forms.txt",
    "protos/attributes.txt",
    "reshards",
)
FOLDERS = sorted(
    {
        file.parent
        for root in (ROOT / "testdata", ROOT.parent / "shared/dumps", ROOT.parent / "shared/seeds")
        for file in root.rglob("*")
        if file.is_file() and not {"bad", "golden"} & {*file.parts}
    }
)


def run(*arguments: str | Path) -> Result:
    done = CliRunner().invoke(summary, [str(one) for one in arguments])
    if done.exception and not isinstance(done.exception, SystemExit | UsageError):
        raise done.exception
    return done


@pytest.mark.parametrize("arguments", SCREENS, ids=lambda one: one[0])
def test_a_module_is_one_screen(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hlotool.commands.shared.output.make_look", lambda _options: Look(width=80))
    text = run(DUMPS / arguments[0], *arguments[1:]).stdout
    assert count_rows(text, 80) <= SCREEN
    assert all(len(line) <= 80 or ": hlotool " in line for line in text.splitlines())


@pytest.mark.parametrize("path", SMALL)
def test_what_finds_no_room_is_left_out(path: str) -> None:
    _expect_screens(ROOT / "testdata" / path)


@pytest.mark.hard
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda one: str(one.relative_to(ROOT.parent)))
def test_every_program_is_one_screen(folder: Path) -> None:
    _expect_screens(folder)


def _expect_screens(path: Path) -> None:
    """Hold the screen of each program that can be read to its rows, broken lines as several."""
    try:
        found = resolve_inputs(os.path.relpath(path))
    except HlotoolError:  # a folder without dumps
        return
    for one in found.inputs:
        with suppress(HlotoolError):  # whose messages testdata/bad has
            text = render_summary(load_program(one, one.path), 80)
            assert count_rows(text, 80) <= SCREEN, one.path


def test_no_bound_is_claimed_that_unknown_work_could_overturn() -> None:
    """Two kernels of unknown cost: nobody knows whether the traffic that is known is the most."""
    arguments = DUMPS / "tpu_v5e" / "pallas_kernel", "--chip", "v5e"
    lines = run(*arguments).stdout.splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith("v5e: "))
    assert lines[at].startswith("v5e: ≥ ")
    assert lines[at].endswith(" per step (estimate), its largest part is unknown")
    said = lines[at + 1]
    assert "-bound" not in said
    assert ": arithmetic ≥ " in said
    assert said.endswith("its limit is unknown: 1 custom call is not costed")
    found = json.loads(run(*arguments, "--json").stdout)["roofline"]
    assert found["bound"] is None
    assert found["is_compute_lower_bound"]


def test_the_line_of_a_finding_names_what_it_is_about_and_how_many() -> None:
    """As the finding itself does: `and 1 like it`, or the first of several parameters."""
    for name in ("gpu_h100/transformer_train", "tpu_v5e/scan_train"):
        program = hlotool.load(DUMPS / name).program
        lines = run(DUMPS / name).stdout.splitlines()
        said = [line for line in lines if line.startswith("* ")]
        assert said
        for line, found in zip(said, program.findings, strict=False):
            subject = found.instruction or found.parameter
            assert subject is None or f": {subject}" in line
            assert (f" ×{found.count}" in line) == (
                found.count > 1 and found.instruction is not None
            )
            if found.instruction is not None and "like it" in found.message:
                assert f"and {found.count - 1} like it" in found.message


def test_a_finding_about_parameters_names_the_first() -> None:
    found = Finding(8, "info", "donation-missed", "…", count=4, parameter="state['{w}']")
    program = hlotool.load(MLP).program
    (line, _) = say_findings(replace(program.summarize(), findings=(found,)), 3, "hlotool")
    assert render_line(line) == "* 8 B donation-missed: state['{w}'] and 3 more"


def test_flops_of_custom_calls_are_no_part_of_matrix_products() -> None:
    lines = run(DUMPS / "gpu_h100" / "library_calls").stdout.splitlines()
    said = next(line for line in lines if line.startswith("work: "))
    assert "of them" not in said
    assert "in custom calls, such as those of a library)" in said


@pytest.mark.parametrize(
    ("flops", "is_total_lower", "is_traffic_lower", "limit"),
    [
        (10**15, False, False, "compute"),
        (10**15, True, False, "compute"),
        (10**15, False, True, None),
        (0, False, False, "memory"),
        (0, False, True, "memory"),
        (0, True, False, None),
    ],
)
def test_a_bound_holds_where_the_other_is_known(
    flops: int, *, is_total_lower: bool, is_traffic_lower: bool, limit: str | None
) -> None:
    cost = replace(
        hlotool.load(MLP).program.cost,
        total_flops_per_step=flops,
        traffic_bytes_per_step=10**9,
        is_total_lower_bound=is_total_lower,
        is_traffic_lower_bound=is_traffic_lower,
    )
    assert measure_roofline(cost, find_chip("h100")).bound == limit


def test_a_directory_of_one_program_is_shown_as_its_file() -> None:
    (text,) = MLP.glob("*gpu_after_optimizations.txt")
    expected = run(text).stdout.replace(str(text), "PATH")
    assert run(MLP).stdout.replace(str(MLP), "PATH") == expected
    chosen = run(DUMPS / "gpu_h100", "--module", "mlp_train #1").stdout
    assert chosen.replace(f"{DUMPS / 'gpu_h100'} --module 'mlp_train #1'", "PATH") == expected


def test_row_options_without_a_list_mean_the_programs_of_a_directory() -> None:
    tables = [run(MLP, *options).stdout for options in (("--rows", "modules"), ("--sort", "place"))]
    assert all(table.startswith("module") for table in tables)
    assert "fusion" in run(MLP, "--rows", "opcodes").stdout


def test_several_programs_that_module_leaves_are_listed() -> None:
    done = CliRunner().invoke(buffers, [str(DUMPS / "gpu_h100"), "--module", "^jit_train_step$"])
    assert isinstance(done.exception, UsageError)
    first, *others = done.exception.lines
    assert "choose one by its location" in first
    assert any(line.split()[:2] == ["mlp_train", "#1"] for line in others)


def test_what_is_estimated_is_marked_and_ranked(tmp_path: Path) -> None:
    for name in ("mlp_train", "transformer_train"):
        folder = copytree(DUMPS / "gpu_h100" / name, tmp_path / name)
        for path in folder.glob("*buffer-assignment*"):
            path.unlink()
    heading, _, *lines = run(tmp_path).stdout.splitlines()
    assert heading.split()[:2] == ["module", "place"]
    assert "transformer_train #1" in lines[0]
    assert "~ 1.8 GiB" in lines[0]
    rows = json.loads(run(tmp_path, "--json").stdout)["modules"]
    assert all(row["is_estimate"] for row in rows)


def test_memory_of_several_programs_is_not_added_up() -> None:
    by = run(DUMPS / "gpu_h100", "--by", "backend").stdout.splitlines()[0]
    assert "sent/step" in by
    assert "peak" not in by
    assert "allocated" not in by


def test_what_a_loop_moves_and_sends_is_part_of_all() -> None:
    answer = json.loads(run(DUMPS / "tpu_v5e" / "scan_train", "--json").stdout)
    moved = sum(loop["traffic_bytes_per_step"] for loop in answer["loops"])
    sent = sum(loop["sent_bytes_per_step"] for loop in answer["loops"])
    assert 0 < moved < answer["cost"]["traffic_bytes_per_step"]
    assert 0 < sent <= answer["collectives"]["sent_bytes_per_step"]


def test_which_programs_fit() -> None:
    """A lower bound below the limit tells as little as no figure; one above it does not fit."""

    def row(size: int | None, *, is_lower: bool = False) -> ProgramRow:
        fixed = ProgramRow("m", "m.txt", "m", None, None)
        return replace(fixed, allocated_bytes=size, is_memory_lower_bound=is_lower)

    rows = [row(9), row(11), row(9, is_lower=True), row(11, is_lower=True), row(None)]
    found = check_fit(rows, 10)
    assert found.too_large == (rows[1], rows[3])
    assert found.unknown_count == 2


def test_flags_of_which_no_default_is_known_are_counted(tmp_path: Path) -> None:
    folder = copytree(DUMPS / "tpu_v5e" / "mlp_train", tmp_path / "mlp_train")
    flags = folder / "module_0000.jit_train_step.cl_1003875606.tpu_comp_env.txt"
    flags.write_text('xla_a: AUTO\nxla_b: ""\nxla_c {\n  x: 1\n}\nxla_a: 2\n', encoding="utf-8")
    compilation = json.loads(run(folder, "--json").stdout)["compilation"]
    assert (compilation["tpu_flag_count"], compilation["tpu_flags_path"]) == (3, str(flags))
    assert compilation["flags"]
    assert "\ntpu_comp_env.txt has 3 flags, default or not;" in run(folder).stdout
    flags.unlink()
    compilation = json.loads(run(folder, "--json").stdout)["compilation"]
    assert (compilation["tpu_flag_count"], compilation["tpu_flags_path"]) == (None, None)


def test_many_alike_errors_are_one_line(tmp_path: Path) -> None:
    broken = "HloModule m, is_scheduled=true\n\nENTRY e {\n  ROOT a = f32[] negate(b)\n}\n"
    for number in range(5):
        text = broken.replace("(b)", f"(b{number})")
        (tmp_path / f"module_000{number}.jit_f.after_optimizations.txt").write_text(text, "utf-8")
    done = run(tmp_path)
    first, last = done.stderr.splitlines()
    assert first.startswith("hlotool: 5 files, first ")
    assert last.endswith("5 errors; --where 'error != null' --columns error -n 0 lists all")
    rows = json.loads(run(tmp_path, "--json").stdout)["modules"]
    assert len({row["error"] for row in rows}) == 5


def test_a_saved_answer_is_summarized(tmp_path: Path) -> None:
    """What an answer or a baseline holds of programs is told again, bounds too."""
    names, dumps = ("nested_loops", "mlp_train"), tmp_path / "dumps"
    for name in names:
        copytree(DUMPS / "cpu" / name, dumps / name)
    kept = (
        "module", "allocated_bytes", "peak_bytes", "total_flops_per_step", "is_total_upper_bound",
        "is_total_lower_bound", "sent_bytes_per_step",
    )  # fmt: skip

    def ask(path: Path) -> list[dict[str, object]]:
        done = CliRunner().invoke(cli, ["summary", str(path), "--format", "json"])
        assert done.exit_code == 0, done.output
        rows = json.loads(done.stdout)["modules"]
        return sorted(({key: row[key] for key in kept} for row in rows), key=str)

    told, saved = ask(dumps), tmp_path / "saved.json"
    assert any(row["is_total_upper_bound"] for row in told)
    written = [
        ["summary", str(dumps), "--json", "-o", str(saved)],
        ["check", str(dumps), "--update-baseline", "--baseline", str(saved)],
    ]
    for words in written:
        assert CliRunner().invoke(cli, words).exit_code == 0
        assert ask(saved) == told
        saved.unlink()
    one = ["summary", str(dumps / "nested_loops"), "--json", "-o", str(saved)]
    assert CliRunner().invoke(cli, one).exit_code == 0
    assert ask(saved) == [row for row in told if row["module"] == "jit_search"]
