"""Profiles: the programs in them, and the times of their instructions, on every backend."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest
from dump_files import TESTDATA
from profile_builder import GPU, TPU, Event, Plane, Stat, metadata

import hlotool
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.fusions.rows import FusionRow
from hlotool.dump.find import resolve_inputs
from hlotool.errors import HlotoolError
from hlotool.hlo.values import Measurement
from hlotool.profile.spans import Timeline
from hlotool.proto.kind import is_profile

FOLDER = TESTDATA / "profiles/cpu"
FILE = next(FOLDER.rglob("*.xplane.pb.gz"))
US = 1e-6


def write(path: Path, *planes: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(planes))
    return path


def measured(path: Path, module: str | None = None) -> Measurement:
    found = hlotool.load(path, module=module).program.measured
    assert found is not None
    return found


def fusion(dump: hlotool.api.Dump, name: str) -> FusionRow:
    return next(row for row in dump.fusions().rows if row.name == name)


def collective(dump: hlotool.api.Dump, name: str) -> CollectiveRow:
    return next(row for row in dump.collectives().rows if row.name == name)


def test_a_profile_of_jax_on_cpu() -> None:
    for path in (FOLDER, FILE.parent, FILE):
        dump = hlotool.load(path, module="jit_step")
        found = dump.program.measured
        assert found is not None
        assert (found.device_count, found.step_count) == (4, 8)
        assert dump.assignment is not None
        row = fusion(dump, "ynn_fusion")
        assert row.measured_count == 3 * 8  # thrice in each of two runs on four devices
        assert row.measured_count == (row.executions or 0) * 8
        total = found.times["ynn_fusion"].seconds
        assert row.measured_seconds == pytest.approx(total / 8)
        one = collective(dump, "all-reduce.2")
        assert one.measured_count == 8
        # One thread computes on each device, so nothing hides it.
        assert one.measured_exposed_seconds == one.measured_seconds
        assert found.step_seconds is not None
        assert found.step_seconds / 8 > (one.measured_seconds or 0)


def test_the_summary_has_the_runs() -> None:
    summary = hlotool.load(FILE, module="jit_step").summary()
    assert summary.measured is not None
    assert summary.measured.step_count == 8
    opcodes = {row.opcode: row for row in summary.opcodes}
    assert opcodes["fusion"].measured_count == 120
    assert opcodes["tuple"].measured_count is None
    assert summary.collectives.measured_seconds is not None
    row = next(row for row in hlotool.summarize(FOLDER) if row.module == "jit_step")
    assert (row.measured_count, row.measured_seconds) == (8, summary.measured.step_seconds)


def test_without_a_profile_all_is_null() -> None:
    dump = hlotool.load(TESTDATA / "protos/train_step.txt")
    assert dump.program.measured is None
    assert dump.summary().measured is None
    assert {row.measured_seconds for row in dump.fusions().rows} == {None}
    assert dump.collectives().totals.measured_seconds is None


def stream(ordinal: int, *, with_ids: bool = True) -> Plane:
    """Return a GPU as its profiler writes it: kernels on streams, each of an instruction."""

    def mark(op: str) -> dict[str, Stat]:
        ids: dict[str, Stat] = {"program_id": 7} if with_ids else {}
        return {"hlo_op": op, "hlo_module": "jit_loop", "correlation_id": 5, **ids}

    compute, transfers = [], []
    for run in range(2):
        at = 1000 * run
        compute += [
            Event("loop_broadcast_fusion", at, 5, mark("loop_broadcast_fusion")),
            Event("gemm_kernel", at + 10, 40, mark("gemm_fusion_dot.3")),
            Event("gemm_kernel", at + 50, 50, mark("gemm_fusion_dot.3")),
            Event("sort_kernel", at + 220, 30, mark("fusion.2")),
            Event("MemcpyD2D", at + 300, 9),
        ]
        # 20 µs beside a product, then 100 µs alone.
        transfers.append(Event("ncclDevKernel", at + 80, 120, mark("all-reduce-start")))
        transfers.append(Event("ncclDevKernel", at + 260, 7, mark("all-reduce-start.1")))
    lines = {"Stream #13(Compute)": compute, "Stream #24(Nccl)": transfers}
    return Plane(f"/device:GPU:{ordinal}", {**lines, "Steps": [Event("0", 0, 2000)]})


@pytest.mark.parametrize("with_ids", [False, True])
def test_streams_of_a_gpu(with_ids: bool, tmp_path: Path) -> None:
    planes = [stream(ordinal, with_ids=with_ids).to_bytes() for ordinal in range(2)]
    path = write(tmp_path / "h.xplane.pb", metadata(("jit_loop(7)", GPU)), *planes)
    dump = hlotool.load(path)
    found = measured(path)
    # Most instructions of the entry occur twice on each device, the first kernel among them.
    assert (found.device_count, found.step_count) == (2, 4)
    assert found.step_seconds == pytest.approx(4 * 267 * US)
    assert fusion(dump, "gemm_fusion_dot.3").measured_count == 8  # kernels
    assert fusion(dump, "gemm_fusion_dot.3").measured_seconds == pytest.approx(90 * US)
    one = collective(dump, "all-reduce-start")
    assert one.measured_seconds == pytest.approx(120 * US)
    assert one.measured_exposed_seconds == pytest.approx(100 * US)
    totals = dump.collectives().totals
    assert totals.measured_seconds == pytest.approx(127 * US)
    assert totals.measured_exposed_seconds == pytest.approx(107 * US)
    assert not totals.is_measured_lower_bound


def test_a_start_and_its_done_are_one_collective(tmp_path: Path) -> None:
    events = [
        Event(op, at, 5, {"hlo_op": op, "hlo_module": "jit_loop", "program_id": 7})
        for run in range(3)
        for op, at in (("all-reduce-start", 1000 * run), ("all-reduce-done", 1000 * run + 100))
    ]
    plane = Plane("/device:GPU:0", {"Stream #24(Nccl)": events})
    path = write(tmp_path / "h.xplane.pb", metadata(("jit_loop(7)", GPU)), plane.to_bytes())
    assert measured(path).times["all-reduce-start"].count == 3


def test_events_of_the_host_count_only_without_a_device(tmp_path: Path) -> None:
    mark: dict[str, Stat] = {"hlo_op": "fusion.2", "hlo_module": "jit_loop", "program_id": 7}
    host = Plane("/host:CPU", {"python": [Event("launch", 0, 3, {**mark, "run_id": -4})]})
    alone = write(tmp_path / "a.xplane.pb", metadata(("jit_loop(7)", GPU)), host.to_bytes())
    assert measured(alone).times["fusion.2"].seconds == pytest.approx(3 * US)
    both = write(tmp_path / "b.xplane.pb", alone.read_bytes(), stream(0).to_bytes())
    assert measured(both).times["fusion.2"].seconds == pytest.approx(60 * US)


def test_derived_lines_of_a_gpu(tmp_path: Path) -> None:
    """XProf's own lines stand beside the streams: each instruction once, and each run."""
    plane = stream(0)
    plane.lines["XLA Ops"] = [
        Event("gemm_fusion_dot.3", 10, 90),
        Event("fusion.2", 220, 30),
        Event("gemm_fusion_dot.3", 2010, 90),  # in no run
    ]
    plane.lines["XLA Modules"] = [Event("jit_loop(7)", 0, 400)]
    path = write(tmp_path / "h.xplane.pb", metadata(("jit_loop(7)", GPU)), plane.to_bytes())
    found = measured(path)
    assert found.step_count == 1
    assert found.step_seconds == pytest.approx(400 * US)
    assert found.times["gemm_fusion_dot.3"].count == 1
    assert "all-reduce-start" not in found.times
    dump = hlotool.load(path)
    assert collective(dump, "all-reduce-start").measured_seconds is None
    assert dump.collectives().totals.measured_seconds is None


LABEL = "jit_loop(9876543210987654321)"
LONG = "%fusion.13 = (f32[64,256]{1,0:T(8,128)S(1)}, f32[]{:T(128)}) fusion(%a, %b), kind=kOutput"


def tpu(ordinal: int, first_ns: int = 0) -> Plane:
    """Return a TPU as its profiler writes it: lines of modules and of operations."""
    ops, runs, beside = [], [], []
    for run in range(3):
        at = 500 * run
        runs.append(Event(LABEL, at, 300))
        ops += [Event("while.11", at, 200)]
        for trip in range(5):
            ops += [Event(LONG, at + 40 * trip, 20), Event("all-reduce.4", at + 40 * trip + 20, 15)]
        beside += [Event("slice-start", at + 30, 3)]
    lines = {"Steps": [Event("1", 0, 9)], "XLA Modules": runs, "XLA Ops": ops}
    shown = {LONG: "fusion.13"} if ordinal else {}
    plane = Plane(f"/device:TPU:{ordinal}", {**lines, "Async XLA Ops": beside}, shown=shown)
    plane.starts_ns = first_ns or plane.starts_ns
    return plane


@pytest.mark.parametrize("first_ns", [0, 1, 1 << 62])
def test_planes_of_tpus(first_ns: int, tmp_path: Path) -> None:
    planes = [tpu(ordinal, first_ns).to_bytes() for ordinal in range(2)]
    path = write(tmp_path / "h.xplane.pb", metadata((LABEL, TPU)), *planes)
    dump, found = hlotool.load(path), measured(path)
    assert (found.device_count, found.step_count) == (2, 6)
    assert found.step_seconds == pytest.approx(6 * 300 * US)
    row = fusion(dump, "fusion.13")
    assert (row.executions, row.measured_count) == (5, 5 * 6)
    assert row.measured_seconds == pytest.approx(5 * 20 * US)
    one = collective(dump, "all-reduce.4")
    assert one.measured_seconds == pytest.approx(5 * 15 * US)
    # What goes on beside it from 30 to 33 hides that much; the loop around it hides nothing.
    assert one.measured_exposed_seconds == pytest.approx((5 * 15 - 3) * US)


def test_sparse_cores(tmp_path: Path) -> None:
    """What runs on a SparseCore is of the device, by its own clock, and no run more."""
    core = Plane(
        "/device:TPU:0 SparseCore 1",
        {
            "Sparse Core Steps": [Event("0", 0, 900)],
            "Sparse Core Modules": [Event(LABEL, 0, 40)],
            "Sparse Core Ops": [Event("all-reduce.4", 3, 9, {"device_duration_ps": 8_000_000})],
        },
    )
    planes = [tpu(0).to_bytes(), core.to_bytes()]
    found = measured(write(tmp_path / "h.xplane.pb", metadata((LABEL, TPU)), *planes))
    assert (found.device_count, found.step_count) == (1, 3)
    alone = measured(write(tmp_path / "s.xplane.pb", metadata((LABEL, TPU)), planes[1]))
    assert alone.times["all-reduce.4"].seconds == pytest.approx(8 * US)


def test_lines_that_are_derived_for_a_stream(tmp_path: Path) -> None:
    """XProf says from which stream it derived a line; programs are told by such lines too."""
    plane = stream(0)
    plane.lines["XLA Ops - from #13"] = [Event("fusion.2", 220, 30)]
    plane.lines["XLA Modules - from #13"] = [Event("jit_loop(7)", 0, 400)]
    found = measured(
        write(tmp_path / "h.xplane.pb", metadata(("jit_loop(7)", GPU)), plane.to_bytes())
    )
    assert found.times["fusion.2"].count == 1
    assert found.step_seconds is None


def test_custom_calls_are_measured(tmp_path: Path) -> None:
    plane = tpu(0)
    plane.lines["XLA Ops"].append(Event("custom-call", 210, 4))
    path = write(tmp_path / "h.xplane.pb", metadata((LABEL, TPU)), plane.to_bytes())
    row = next(row for row in hlotool.load(path).custom_calls() if row.name == "custom-call")
    assert row.measured_count == 1
    assert row.measured_seconds == pytest.approx(4 * US / 3)


def test_two_hosts_are_one_run(tmp_path: Path) -> None:
    folder = tmp_path / "plugins/profile/now"
    for host in "ab":
        write(folder / f"{host}.xplane.pb", metadata((LABEL, TPU)), tpu(0).to_bytes())
    for path in (folder, tmp_path):
        assert len(resolve_inputs(str(path)).inputs) == 1
    found = measured(tmp_path)
    assert found.device_count == 2
    assert measured(folder / "a.xplane.pb").device_count == 1


def test_runs_of_two_profilers_are_told_apart(tmp_path: Path) -> None:
    for name in ("first", "second"):
        folder = tmp_path / "plugins/profile" / name
        write(folder / "h.xplane.pb", metadata(("jit_loop(7)", GPU)), stream(0).to_bytes())
    dumps = hlotool.load_all(tmp_path)
    assert [dump.program.measured is not None for dump in dumps] == [True, True]
    assert len({dump.paths.module_path for dump in dumps}) == 2


def test_protos_beside_a_profile(tmp_path: Path) -> None:
    path = write(tmp_path / "h.xplane.pb", stream(0).to_bytes())
    (tmp_path / "jit_loop(7).hlo_proto.pb").write_bytes(GPU)
    for given in (path, tmp_path):
        dump = hlotool.load(given)
        assert str(dump.paths.module_path).endswith("jit_loop(7).hlo_proto.pb")
        assert measured(given).step_count == 2
    write(path, metadata(("jit_loop(7)", GPU)), stream(0).to_bytes())
    assert str(hlotool.load(tmp_path).paths.module_path).endswith("h.xplane.pb")


def test_another_program_of_the_name_is_another(tmp_path: Path) -> None:
    """Events that name program 7 are not of program 8, though both are called alike."""
    path = write(tmp_path / "h.xplane.pb", metadata(("jit_loop(8)", GPU)), stream(0).to_bytes())
    assert hlotool.load(path).program.measured is None


def test_programs_are_chosen_by_number(tmp_path: Path) -> None:
    both = metadata(("jit_loop(7)", GPU), ("jit_loop(8)", TPU))
    path = write(tmp_path / "h.xplane.pb", both, stream(0).to_bytes())
    assert measured(path, "jit_loop#7").step_count == 2
    assert hlotool.load(path, module="jit_loop#8").program.measured is None
    with pytest.raises(HlotoolError, match="several modules"):
        hlotool.load(path)


def test_what_takes_far_longer_is_a_finding(tmp_path: Path) -> None:
    config = tmp_path / "hlotool.toml"
    config.write_text('chip = "h100"\n', encoding="utf-8")
    plane = stream(0)
    path = write(tmp_path / "h.xplane.pb", metadata(("jit_loop(7)", GPU)), plane.to_bytes())
    assert not {"slow-fusion", "slow-collective"} & codes(path)
    assert {"slow-fusion", "slow-collective"} <= codes(path, config)
    dump = hlotool.load(path, config=config)
    slow = next(one for one in dump.summary().findings if one.id == "slow-fusion")
    assert slow.instruction == "gemm_fusion_dot.3"
    assert "took 120 µs per step" in slow.message
    lost = slow.estimated_seconds
    assert lost is not None
    assert 110e-6 < lost < 120e-6
    assert slow.weighted_bytes == pytest.approx(lost * 3.35e12, rel=0.01)
    for events in plane.lines.values():
        for each in events:
            each.lasts = 0.001
    write(path, metadata(("jit_loop(7)", GPU)), plane.to_bytes())
    assert not {"slow-fusion", "slow-collective"} & codes(path, config)


def codes(path: Path, config: Path | None = None) -> set[str]:
    return {one.id for one in hlotool.load(path, config=config).summary().findings}


def test_compressed_profiles(tmp_path: Path) -> None:
    data = gzip.decompress(FILE.read_bytes())
    for path in (tmp_path / "run.xplane.pb", tmp_path / "any.gz"):
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        assert measured(path, "jit_step").step_count == 8
    assert is_profile(data)


def test_a_dump_beside_a_profile(tmp_path: Path) -> None:
    shutil.copy(FILE, tmp_path)
    source = next((TESTDATA / "folders/cpu.several").glob("*evaluate*after_optimizations.txt"))
    shutil.copy(source, tmp_path)
    names = [dump.module.name for dump in hlotool.load_all(tmp_path)]
    assert {"jit_evaluate", "jit_step"} <= set(names)


@pytest.mark.parametrize(
    ("spans", "others", "lasts", "alone"),
    [
        ([(0, 10)], [], 10, 10),
        ([(0, 10)], [(0, 10)], 10, 0),
        ([(0, 10), (5, 20)], [(8, 12)], 20, 16),
        ([(0, 10)], [(-5, 2), (4, 6), (9, 30)], 10, 5),
        ([(20, 30), (0, 10)], [(5, 25)], 20, 10),
        ([(0, 4), (6, 8)], [(2, 7), (1, 3)], 6, 2),
        ([(3, 3), (9, 2)], [(0, 1)], 0, 0),
        ([(0, 1), (1 << 90, 1 << 91)], [], 1, 1),
    ],
)
def test_time_alone(
    spans: list[tuple[int, int]], others: list[tuple[int, int]], lasts: int, alone: int
) -> None:
    filled = Timeline(), Timeline()
    for target, source in zip(filled, (spans, others), strict=True):
        for begin, end in source:
            target.add(begin, end)
    assert filled[0].measure(filled[1]) == (lasts, alone)
