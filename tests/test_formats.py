"""Answers in other tools' formats hold what the tables hold, and the tools read them."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from dump_files import TESTDATA
from parsed import load

from hlotool.cli import run
from hlotool.export.profilers import Slice, Track, render_perfetto
from hlotool.proto.messages import Profile

STEP = TESTDATA / "dumps" / "gpu_h100" / "transformer_train"
GO = shutil.which("go")


def write(tmp_path: Path, *args: str) -> bytes:
    path = tmp_path / "out"
    assert run([*args, "--output", str(path)]) == 0
    return path.read_bytes()


def read_folded(tmp_path: Path, *args: str) -> list[tuple[str, int]]:
    text = write(tmp_path, *args, "--format", "folded").decode()
    return [(line.rpartition(" ")[0], int(line.rpartition(" ")[2])) for line in text.splitlines()]


def test_folded_adds_up_to_the_peak(tmp_path: Path) -> None:
    stacks = read_folded(tmp_path, "buffers", str(STEP))
    assert sum(size for _, size in stacks) == load(STEP).buffers().memory.peak.bytes
    assert all(stack.count(";") >= 1 for stack, _ in stacks)


def test_folded_adds_up_to_the_traffic(tmp_path: Path) -> None:
    stacks = read_folded(tmp_path, "fusions", str(STEP))
    totals = load(STEP).fusions().totals
    assert sum(size for _, size in stacks) == totals.traffic_bytes_per_step


def test_folded_steps_add_up_to_the_work(tmp_path: Path) -> None:
    """A loop holds other steps: it has of a figure what they do not."""
    stacks = read_folded(tmp_path, "outline", str(STEP))
    steps = load(STEP).program.outline()
    outermost = sum(one.flops_per_step or 0 for one in steps if one.depth == 0)
    assert sum(size for _, size in stacks) == outermost
    assert all(stack.rpartition(";")[2] for stack, _ in stacks)


def read_profile(data: bytes) -> Profile:
    return Profile.FromString(gzip.decompress(data))


def test_pprof_holds_every_weight(tmp_path: Path) -> None:
    profile = read_profile(write(tmp_path, "fusions", str(STEP), "--format", "pprof"))
    texts = list(profile.string_table)
    assert texts[0] == ""
    types = [texts[one.type] for one in profile.sample_type]
    assert types[0] == texts[profile.default_sample_type] == "traffic_bytes_per_step"
    sums: Counter[str] = Counter()
    for sample in profile.sample:
        sums.update(dict(zip(types, sample.value, strict=True)))
    totals = load(STEP).fusions().totals
    assert sums["traffic_bytes_per_step"] == totals.traffic_bytes_per_step
    assert sums["flops_per_step"] == totals.flops_per_step
    assert sums["count"] == totals.fusion_count
    known = {one.id for one in profile.location}
    assert all(set(sample.location_id) <= known for sample in profile.sample)


@pytest.mark.skipif(GO is None, reason="needs go")
def test_pprof_itself_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "out"
    write(tmp_path, "buffers", str(STEP), "--format", "pprof")
    done = subprocess.run(
        [GO or "go", "tool", "pprof", "-top", "-unit=b", str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "GOFLAGS": "-mod=mod"},
    )
    assert done.returncode == 0, done.stderr
    peak = load(STEP).buffers().memory.peak.bytes
    assert f"of {peak}B total" in done.stdout


def read_trace(data: bytes) -> Any:
    """Decode a trace by the definitions that Perfetto publishes."""
    published = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    return published.Trace.FromString(data)


def test_slices_nest() -> None:
    outer, inner = Slice("outer", 0.0, 2.0), Slice("inner", 0.0, 1.0)
    after = Slice("after", 2.0, 2.0)
    trace = read_trace(render_perfetto("x", [Track("t", (outer, inner, after))]))
    events = [one.track_event for one in trace.packet if one.HasField("track_event")]
    assert [(one.type, one.name) for one in events] == [
        (1, "outer"),
        (1, "inner"),
        (2, "inner"),
        (2, "outer"),
        (3, "after"),
    ]


def read_slices(trace: Any) -> dict[str, list[tuple[str, int, int]]]:
    """Return what a reader finds that keeps a stack for each track: name, begin and end."""
    names = {
        packet.track_descriptor.uuid: packet.track_descriptor.name
        for packet in trace.packet
        if packet.HasField("track_descriptor")
    }
    stacks: dict[str, list[tuple[str, int]]] = {name: [] for name in names.values()}
    assert len(stacks) == len(names)
    found: dict[str, list[tuple[str, int, int]]] = {name: [] for name in stacks}
    times = dict.fromkeys(stacks, 0)
    for packet in trace.packet:
        if not packet.HasField("track_event"):
            continue
        event, now = packet.track_event, packet.timestamp
        track = names[event.track_uuid]
        assert now >= times[track]
        times[track] = now
        if event.type == 1:
            stacks[track].append((event.name, now))
        elif event.type == 2:
            name, begun = stacks[track].pop()
            assert name == event.name
            found[track].append((name, begun, now))
    assert not any(stacks.values())
    return found


def test_slices_that_cross_have_lanes() -> None:
    crossing = Slice("a", 0.0, 2.0), Slice("b", 1.0, 3.0), Slice("c", 2.0, 4.0)
    found = read_slices(read_trace(render_perfetto("x", [Track("t", crossing)])))
    assert [[name for name, *_ in found[track]] for track in ("t", "t (2)")] == [["a", "c"], ["b"]]


@pytest.mark.parametrize(
    "name",
    [
        "gpu_h100/transformer_train",
        "gpu_h100/nested_loops",
        "tpu_v5e/scan_train",
        "tpu_v5e/pipeline",
    ],
)
def test_a_trace_is_true(name: str, tmp_path: Path) -> None:
    """Work never overlaps, takes as long as it does on the clock, and memory reaches its peak."""
    path = STEP.parent.parent / name
    chip = ("--chip", "v5e" if "tpu" in name else "h100")
    trace = read_trace(write(tmp_path, "outline", str(path), "--format", "perfetto", *chip))
    found = read_slices(trace)
    assert "work (2)" not in found
    document = json.loads(write(tmp_path, "outline", str(path), "--format", "json", *chip))
    end = max(row["end_seconds"] for row in document["steps"])
    assert 0 < sum(stop - start for _, start, stop in found["work"]) <= end * 1e9 + 1
    levels = [
        packet.track_event.counter_value
        for packet in trace.packet
        if packet.HasField("track_event") and packet.track_event.type == 4
    ]
    assert max(levels) == load(path).buffers().memory.peak.bytes


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("buffers", "--by", "allocation_type", "--format", "folded"), "groups are not stacks"),
        (("summary", "--rows", "dtypes", "--format", "folded"), "have no path"),
        (("outline", "--format", "perfetto"), "needs --chip"),
    ],
)
def test_refused(
    args: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(TESTDATA / "hlo" / "gpu_train_step.txt")
    code = run([args[0], path, *args[1:], "--output", str(tmp_path / "out")])
    assert code == 2
    assert said in capsys.readouterr().err
