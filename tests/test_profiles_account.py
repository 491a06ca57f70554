"""All time of devices is accounted for: what is known of each event, and that nothing is lost."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import pytest
from dump_files import TESTDATA
from msgspec.structs import astuple, replace
from profile_builder import GPU, MICROSECOND, TPU, Event, Plane, Stat, metadata
from test_profiles import FOLDER, measured, write

import hlotool
from hlotool import cli
from hlotool.hlo.values import DeviceTime, Measurement, Target

BUILT = TESTDATA / "profiles/built"
US = 1e-6


def account(found: Measurement) -> DeviceTime:
    assert found.device_time is not None
    return found.device_time


def load_built(name: str) -> Measurement:
    return measured(BUILT / f"{name}.xplane.pb.gz")


# In microseconds, counted by hand in testdata/make/planes.py.
BY_HAND = {
    "cuda_graph": (4 * 44, 8 * 73, 4 * 9, 0, 4 * 4),
    "amd": (90, 0, 6, 0, 0),
    "tpu": (3 * 260, 0, 0, 0, 30),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_planes_that_were_built(name: str) -> None:
    assert {one.name.partition(".")[0] for one in BUILT.iterdir()} == set(BY_HAND)
    parts = [round(each / US, 3) for each in astuple(account(load_built(name)))]
    assert tuple(parts) == BY_HAND[name]


def test_the_cpu_profile() -> None:
    """Every event that names an instruction is joined; the sum is that of all of them."""
    found = measured(FOLDER, "jit_step")
    assert account(found).all == account(found).joined
    inner = sum(one.seconds for one in found.times.values())
    assert account(found).all == pytest.approx(inner, rel=0.05)  # a loop and a call hold others


def test_a_graph_is_told_by_names_and_by_order() -> None:
    times = load_built("cuda_graph").times
    assert times["gemm_fusion_dot.3"].seconds == pytest.approx(8 * 30 * US)
    assert times["input_reduce_fusion.1"].seconds == pytest.approx(8 * 4 * US)  # by order
    assert times["copy.7"].count == times["all-reduce-start"].count == 8
    assert load_built("cuda_graph").step_seconds == pytest.approx(4 * 330 * US)


def graph(kernels: list[str], *, marks: dict[str, Stat], tmp_path: Path) -> Measurement:
    anchor = Event("k", 0, 1, {"hlo_op": "fusion.2", "hlo_module": "jit_loop", "program_id": 7})
    launched = [
        Event(name, 10 + 5 * at, 4, {"correlation_id": 3, **marks})
        for at, name in enumerate(kernels)
    ]
    plane = Plane("/device:GPU:0", {"Stream #1": [anchor, *launched]})
    path = write(tmp_path / "h.xplane.pb", metadata(("jit_loop(7)", GPU)), plane.to_bytes())
    return measured(path)


MARKS: dict[str, Stat] = {"hlo_module": "jit_loop", "program_id": 7}
ADD, REDUCE, DOT = "loop_add_fusion", "input_reduce_fusion", "gemm_fusion_dot_3"


@pytest.mark.parametrize(
    ("kernels", "marks", "named", "unknown"),
    [
        ([ADD, "x", "loop_dynamic_update_slice_fusion"], MARKS, 3, 0),
        ([ADD, "x", "y", "loop_dynamic_update_slice_fusion"], MARKS, 2, 2),  # one too many
        ([ADD, "MemcpyD2D", "loop_dynamic_update_slice_fusion"], MARKS, 2, 0),  # no copy there
        ([REDUCE, "x", ADD], MARKS, 2, 1),  # not in the order of the schedule
        (["x", "y"], MARKS, 0, 2),
        ([ADD, REDUCE, DOT], {}, 3, 0),
        ([ADD], {}, 0, 1),  # other programs have such a kernel as well
        ([ADD, "x", "y"], {}, 0, 3),
        ([DOT], {**MARKS, "program_id": 8}, 0, 1),
    ],
)
def test_what_order_proves(
    kernels: list[str], marks: dict[str, Stat], named: int, unknown: int, tmp_path: Path
) -> None:
    found = account(graph(kernels, marks=marks, tmp_path=tmp_path))
    assert round(found.named / US) == 4 * named
    assert round(found.unknown / US) == 4 * unknown


@pytest.mark.parametrize(
    ("name", "target", "chip", "called"),
    [
        (
            "cuda_graph",
            Target("NVIDIA H100 80GB HBM3", "9.0", 84_942_979_072, 3_352_320_000_000.0),
            "h100",
            "NVIDIA H100 SXM, 80 GB",
        ),
        (
            "amd",
            Target("", "gfx942", 274_877_906_944, 6e12),
            "mi325x",
            "gfx942 with 256.0 GiB, else as AMD Instinct MI325X",  # the plane does not name it
        ),
        ("tpu", Target("TPU v5 lite"), "v5e", "TPU v5e"),
    ],
)
def test_planes_state_the_chip(name: str, target: Target, chip: str, called: str) -> None:
    program = hlotool.load(BUILT / f"{name}.xplane.pb.gz").program
    assert program.measured is not None
    assert program.measured.target == target
    assert program.target_chip is not None
    assert (program.target_chip.name, program.target_chip.description) == (chip, called)


def test_what_tpu_states_stands_beside_what_is_counted() -> None:
    program = hlotool.load(BUILT / "tpu.xplane.pb.gz").program
    rows = {row.name: row for row in program.measured_instructions}
    row = rows["fusion.13"]
    assert (row.category, row.stated_flops) == ("convolution fusion", 8_388_608)
    assert row.counted_flops is not None
    assert row.counted_flops == pytest.approx(row.stated_flops, rel=0.01)
    assert (row.stated_bytes, row.counted_bytes) == (163_840, 262_148)


def test_an_outline_has_measured_times() -> None:
    program = hlotool.load(BUILT / "cuda_graph.xplane.pb.gz").program
    rows = program.outline()
    top = [row.measured_seconds or 0 for row in rows if row.parent is None]
    listed = [row.measured_seconds or 0 for row in program.measured_instructions]
    assert sum(top) == pytest.approx(sum(listed))
    loop = next(row for row in rows if row.kind == "loop")
    assert loop.measured_seconds == pytest.approx(146 * US)


def test_which_instruction_lost_the_time(tmp_path: Path) -> None:
    """Two profiles of one program, whose bytes are the same, are two measurements."""
    sides = []
    for name, lasts in (("old", 4.0), ("new", 9.0)):
        events = [
            Event("k", at, lasted, {"hlo_op": op, **MARKS})
            for op, at, lasted in (("fusion.2", 0, lasts), ("loop_broadcast_fusion", 20, 3))
        ]
        plane = Plane("/device:GPU:0", {"Stream #1": events}).to_bytes()
        path = write(tmp_path / f"{name}.xplane.pb", metadata(("jit_loop(7)", GPU)), plane)
        sides.append(hlotool.load(path))
    (row,) = hlotool.diff(*sides).measured
    assert (row.name, round(row.delta_seconds / US)) == ("fusion.2", 5)
    assert cli.run(["diff", str(tmp_path / "old.xplane.pb"), str(path)]) == 0


def unite(spans: list[tuple[int, int]]) -> int:
    """Return how long spans take together, moment by moment."""
    return len({at for begin, end in spans for at in range(begin, end)})


@pytest.mark.parametrize("seed", range(40))
def test_the_sums_are_the_union_of_each_line(seed: int, tmp_path: Path) -> None:
    """Random planes: nested, overlapping, in any order, of known and unknown instructions."""
    choose = random.Random(seed)  # noqa: S311
    is_tpu = bool(seed % 2)
    ops = ["fusion.13", "sort.10", "while.11", "stranger"] if is_tpu else ["fusion.2", "stranger"]
    names = ["MemcpyD2D", "ncclKernel", "k", "loop_add_fusion"]
    planes, spans = [], defaultdict[str, list[tuple[int, int]]](list)
    for device in range(choose.randint(1, 3)):
        lines: dict[str, list[Event]] = {"XLA Ops": [], "Async XLA Ops": []} if is_tpu else {}
        for line in list(lines) or [f"Stream #{number}" for number in range(choose.randint(1, 3))]:
            events = lines.setdefault(line, [])
            for _ in range(choose.randint(1, 25)):
                begin, lasts = choose.randint(0, 60), choose.choice([0, 1, 2, 5, 20])
                marks: dict[str, Stat] = {"program_id": choose.choice([7, 8])}
                op = choose.choice(ops)
                if choose.random() < 0.5 and not is_tpu:
                    marks |= {"hlo_op": op, "hlo_module": "jit_loop"}
                elif not is_tpu:
                    marks["correlation_id"] = choose.randint(1, 3)
                events.append(Event(op if is_tpu else choose.choice(names), begin, lasts, marks))
                spans[f"{device} {line}"].append((begin, begin + lasts))
            if choose.random() < 0.5:
                events.sort(key=lambda one: one.begin)
        kind = "TPU" if is_tpu else "GPU"
        planes.append(Plane(f"/device:{kind}:{device}", lines).to_bytes())
    proto = metadata(("jit_loop(7)", TPU if is_tpu else GPU))
    path = write(tmp_path / "h.xplane.pb", proto, *planes)
    found = hlotool.load(path).program.measured
    if found is not None:
        total = sum(map(unite, spans.values()))
        assert account(found).all * 1e12 == pytest.approx(total * MICROSECOND)
        assert all(part >= 0 for part in astuple(account(found)))
        assert replace(account(found), unknown=0.0).all <= account(found).all
