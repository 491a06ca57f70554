"""Work in vain: what is told is what came of it; and what was said wrongly once is not said."""

from __future__ import annotations

from pathlib import Path

import pytest
from accuracy.advice import TABLE, is_near
from accuracy.work import list_spoken, measure_work
from click.testing import CliRunner
from dump_files import TESTDATA

from hlotool.analysis.collectives.machine import Torus, find_machine
from hlotool.analysis.cost.chips import find_chip, find_peak, match_chip
from hlotool.analysis.memory.parts import divide_memory
from hlotool.analysis.memory.rows import all_rows
from hlotool.analysis.origin import find_scope, write_short_source
from hlotool.cli import run
from hlotool.commands.buffers.command import buffers
from hlotool.commands.fusions import fusions
from hlotool.commands.outline import outline
from hlotool.commands.show import show
from hlotool.dump.find import resolve_inputs
from hlotool.hlo.parser import parse_module
from hlotool.hlo.values import Target
from hlotool.program.load import load_program
from hlotool.program.program import Assumptions, Program
from hlotool.program.siblings import parse_target
from hlotool.text import Source

TRIALS = list(measure_work())
FOLDERS = TESTDATA / "folders"


@pytest.mark.parametrize("one", TRIALS, ids=lambda one: f"{one.program}-{one.backend}")
def test_what_is_told_of_work_is_what_came_of_it(one: object) -> None:
    trial = next(each for each in TRIALS if each is one)
    assert trial.told <= trial.real * 1.01
    assert is_near(trial) or trial.reason
    assert str(trial) in TABLE.read_text("utf-8").splitlines()


def test_nothing_is_told_of_programs_without_the_flaw() -> None:
    assert not list(list_spoken())


def load(text: str, chip: str | None = None, flags: tuple[str, ...] = ()) -> Program:
    machine = find_machine(chip, needs_link=False) if chip else None
    program = Program("", parse_module(Source(text, "t")), assumptions=Assumptions((), machine))
    if flags:
        program.compilation = type(program.compilation)(flags=flags)
    return program


INT8 = """HloModule m, is_scheduled=true
ENTRY e {
  x = s8[8192,4096]{1,0:T(8,128)(4,1)} parameter(0)
  w = s8[4096,160]{1,0:T(8,128)(4,1)} parameter(1)
  ROOT y = s32[8192,160]{1,0:T(8,128)} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""


@pytest.mark.parametrize(("chip", "peak"), [("v5e", 393e12), ("v5p", 918e12), ("v6e", 1_836e12)])
def test_int8_has_a_peak_of_its_own(chip: str, peak: float) -> None:
    """Twice that of bfloat16: what that took for bound by arithmetic memory limits."""
    assert find_peak("s8", find_chip(chip)) == peak
    roofline = load(INT8, chip).summarize().roofline
    assert roofline is not None
    assert roofline.bound == "memory"
    assert not roofline.assumed_bf16


NARROW = """HloModule m, is_scheduled=true
ENTRY e {
  x = f32[100000,8]{1,0:T(8,128)} parameter(0)
  ROOT y = f32[100000,8]{1,0:T(8,128)} copy(x)
}
"""


def test_padding_makes_a_range_of_traffic_and_time() -> None:
    program = load(NARROW, "v5e")
    cost, step = program.cost, program.step_estimate
    assert cost.padded_traffic_bytes_per_step == 16 * cost.traffic_bytes_per_step
    assert step is not None
    assert step.padded_seconds == pytest.approx(16 * step.estimated_seconds)


ALONE = """HloModule m, is_scheduled=true, num_partitions=4
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY e {
  x = f32[1048576]{0:T(1024)} parameter(0)
  z = f32[4096] parameter(1)
  OTHER
  ROOT y = f32[1048576]{0:T(1024)} all-reduce(x), replica_groups={{0,1,2,3}}, to_apply=add, IDS
}
""".replace("IDS", "channel_id=1, use_global_device_ids=true")
PAIR = """s = (f32[4096], f32[4096]) collective-permute-start(z), channel_id=2, PAIRS
  d = f32[4096] collective-permute-done(s)""".replace(
    "PAIRS", "source_target_pairs={{0,1},{1,2},{2,3},{3,0}}"
)
ON = ("xla_tpu_enable_latency_hiding_scheduler=true",)


@pytest.mark.parametrize(
    ("other", "flags", "is_advised"), [("", (), True), (PAIR, (), False), ("", ON, False)]
)
def test_what_is_on_is_not_to_be_turned_on(
    other: str, flags: tuple[str, ...], *, is_advised: bool
) -> None:
    found = load(ALONE.replace("OTHER", other), flags=flags).findings
    advice = next(one.advice for one in found if one.instruction == "y")
    assert advice.startswith("turn on") is is_advised


def test_a_time_with_exposed_transfers_is_no_lower_bound(tmp_path: Path) -> None:
    path = tmp_path / "alone.txt"
    path.write_text(ALONE.replace("OTHER", ""))
    said = CliRunner().invoke(outline, [str(path), "--chip", "v5p"]).stdout
    assert "takes an estimated" in said
    assert "lower bound" not in said
    path.write_text(NARROW)
    assert "a lower bound" in CliRunner().invoke(outline, [str(path), "--chip", "v5p"]).stdout


def test_a_whole_slice_sends_along_all_axes() -> None:
    torus = Torus(3, 64, 1)
    assert [torus.count_axes(size) for size in (4, 32, 64, None)] == [1, 2, 3, 1]
    assert Torus(3, 4, 1).count_axes(4) == 2  # 2 × 2 × 1
    assert [find_chip(one).link_bytes_per_second for one in ("v5e", "v4")] == [100e9, 100e9]


BACKENDS = [
    ("module_0001.jit_f.cpu_after_optimizations.txt", "add(x, x)", "cpu"),
    ("module_0001.jit_f.sm_9.0a_gpu_after_optimizations.txt", "add(x, x)", "gpu"),
    ("a.txt", 'custom-call(x), custom_call_target="lapack_sgeqrf_ffi"', "cpu"),
    ("a.txt", "add(x, x)", None),
]


@pytest.mark.parametrize(("name", "made", "backend"), BACKENDS)
def test_names_of_files_and_targets_tell_the_backend(
    name: str, made: str, backend: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    text = "HloModule jit_f, is_scheduled=true\nENTRY e {\n  x = f32[8]{0} parameter(0)\n"
    path.write_text(f"{text}  ROOT y = f32[8]{{0}} {made}\n}}\n")
    assert run(["summary", str(path)]) == 0
    said = capsys.readouterr().out.splitlines()[0]
    assert f"jit_f: {backend or 'backend unknown'}," in said


def test_the_chip_is_that_of_the_files_beside(capsys: pytest.CaptureFixture[str]) -> None:
    for folder, chip in (("gpu_h100.timestamp", "h100"), ("tpu_v5e.plain", "v5e")):
        assert run(["summary", str(FOLDERS / folder)]) == 0
        assert f"\n{chip}: " in capsys.readouterr().out
    assert run(["summary", str(FOLDERS / "gpu_h100.timestamp"), "--chip", "a100"]) == 0
    assert "\na100: " in capsys.readouterr().out


def test_a_chip_that_is_not_known_is_like_the_nearest() -> None:
    text = 'gpu_device_info {\n  device_memory_size: 7\n  memory_bandwidth: 5\n  name: "MI308X"\n'
    target = parse_target(
        f'{text}  rocm_compute_capability {{\n    gcn_arch_name: "gfx942:x"\n}}}}'
    )
    assert target == Target("MI308X", "gfx942", 7, 5.0)
    chip = match_chip(target)
    assert chip is not None
    assert (chip.name, chip.hbm_bytes, chip.hbm_bytes_per_second) == ("mi300x", 7, 5)
    assert chip.description == "MI308X, else as AMD Instinct MI300X"
    assert match_chip(Target(kind="PUFFERFISH", chip_count=4), 8) != find_chip("v4")


def test_show_has_traffic_with_tile_padding_too(tmp_path: Path) -> None:
    path = tmp_path / "narrow.txt"
    path.write_text(NARROW)
    said = CliRunner().invoke(show, ["y", str(path)]).stdout
    assert "6.1 MiB of memory traffic (100.0 % of all), 97.7 MiB with tile padding" in said


BRANCHES = (
    ALONE[: ALONE.index("ENTRY")]
    + """yes {
  x = f32[1024]{0} parameter(0)
  ROOT y = f32[1024]{0} all-reduce(x), replica_groups={{0,1,2,3}}, to_apply=add, channel_id=1
}
no {
  ROOT x = f32[1024]{0} parameter(0)
}
ENTRY e {
  p = pred[] parameter(0)
  x = f32[1024]{0} parameter(1)
  ROOT r = f32[1024]{0} conditional(p, x, x), true_computation=yes, false_computation=no
}
"""
)


def test_what_a_branch_may_send_is_at_most(tmp_path: Path) -> None:
    path = tmp_path / "branches.txt"
    path.write_text(BRANCHES)
    lines = CliRunner().invoke(outline, [str(path)]).stdout.splitlines()
    sizes = [line for line in lines if "KiB" in line]
    assert any(line.startswith("conditional") for line in sizes)
    assert all("≤ " in line for line in sizes)


def test_vector_memory_is_no_memory() -> None:
    """What a fusion reads and writes in vmem is accessed; nothing of it is memory traffic."""
    path = str(TESTDATA / "dumps/tpu_v5e/conv_quantized")
    program = load_program(resolve_inputs(path, "after", None).inputs[0], path, with_buffers=False)
    (row,) = (one for one in program.fusions.rows if one.name == "clamp_convert_fusion")
    assert (row.traffic_bytes, row.bytes_accessed) == (0, 5 * 1024)
    said = CliRunner().invoke(fusions, [path, "--body", row.name]).stdout
    assert " accessed " in said
    assert " memory " not in said


@pytest.mark.parametrize("target", ["cpu", "gpu_h100", "tpu_v5e"])
def test_scope_and_line_of_a_row_are_of_one_operation(target: str) -> None:
    for folder in (TESTDATA / "dumps" / target).glob("*/"):
        path = str(folder)
        chosen = resolve_inputs(path, "after", None).inputs[0]
        program = load_program(chosen, path, with_buffers=True)
        places = {
            (find_scope(one.metadata().op_name), write_short_source(place.file, place.line))
            for one in program.expect_module().instructions()
            if (place := one.source_location())
        }
        for row in all_rows(program.expect_memory(), None):
            if row.scope and row.source:
                assert (row.scope, row.source.removeprefix("for ")) in places


TURNED = """HloModule jit_decode, is_scheduled=true
ENTRY e {
  kc = f32[4,1024,512]{2,1,0} parameter(0), metadata={op_name="kc"}
  turned = f32[4,1024,512]{1,2,0} copy(kc), metadata={op_name="jit(decode)/kv_cache/transpose"}
  ROOT y = f32[4,8,512]{1,2,0} slice(turned), slice={[0:4], [0:8], [0:512]}
}
"""


def test_a_parameter_in_another_layout_is_no_temporary(tmp_path: Path) -> None:
    """So two copies of a cache were told of, and a smaller batch as the remedy."""
    path = tmp_path / "module_0001.jit_decode.sm_9.0a_gpu_after_optimizations.txt"
    path.write_text(TURNED)
    program = load_program(
        resolve_inputs(str(path), "after", None).inputs[0], str(path), with_buffers=True
    )
    report = program.expect_memory()
    parts = {one.kind: one.of for one in divide_memory(report, program.module, None)}
    assert parts == {"given": "", "parameter-layout": "kc"}
    said = CliRunner().invoke(buffers, [str(path), "--hbm", "15MiB"]).stdout
    assert "use one order of dimensions throughout" in said
