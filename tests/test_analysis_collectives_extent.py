"""Axes: what names them in real dumps, and what they are where nothing does."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from math import prod
from pathlib import Path

import pytest
from click.testing import CliRunner
from collective_cases import ROOT, analyze
from dump_files import SHARED, needs_shared, read_text
from hypothesis import given
from hypothesis import strategies as st

import hlotool
from hlotool.analysis.collectives.mesh import (
    find_printed_mesh,
    find_strides,
    join_pairs,
    read_mesh,
    tell_apart,
)
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.cli import cli
from hlotool.hlo import Mesh, MeshAxis
from hlotool.program import siblings

V5P = ROOT / "testdata/packed/tpu_v5p/fsdp_train.auto"
SENDS = ROOT / "testdata/packed/gpu_h100/pipeline.p2p"


def rows_of(path: Path) -> tuple[CollectiveRow, ...]:
    return hlotool.load(str(path)).collectives().rows


def sum_axes(rows: Iterable[CollectiveRow]) -> dict[str, tuple[int, int]]:
    """Return how many collectives run along each set of axes, and what they send."""
    counts: Counter[str] = Counter()
    sent: Counter[str] = Counter()
    for row in rows:
        name = "?" if row.axes is None else ", ".join(row.axes)
        counts[name] += 1
        sent[name] += row.known_sent_bytes_per_step
    return {name: (counts[name], sent[name]) for name in counts}


def copy_after(folder: Path, to: Path) -> Path:
    """Copy the text after optimization alone."""
    (path,) = folder.glob("*after_optimizations.txt*")
    return Path(shutil.copy(path, to / path.name))


def test_several_operands_are_scattered() -> None:
    """The gradients of four matrices are summed in one fusion, and each sliced at its shard.

    bf16 of 512 × 1024, 1024 × 768, 768 × 1536 and 1280 × 512 are S; 4 devices send 3/4 of it,
    not the 6/4 of an all-reduce. The fifth has a fusion of its own.
    """
    size = 2 * (512 * 1024 + 1024 * 768 + 768 * 1536 + 1280 * 512)
    found = {row.operand_count: row for row in rows_of(V5P) if row.kind != row.opcode}
    assert {row.kind for row in found.values()} == {"reduce-scatter"}
    assert (found[4].message_bytes, found[4].sent_bytes) == (size, size * 3 // 4)
    fifth = 2 * 1536 * 1280
    assert (found[1].message_bytes, found[1].sent_bytes) == (fifth, fifth * 3 // 4)


def test_the_text_before_names_the_axes() -> None:
    """The groups are printed as lists, or along axis_0 of mesh[4,2] and axis_0 of mesh[8]."""
    assert hlotool.load(str(V5P)).paths.mesh_path is None
    dump = hlotool.load(str(V5P))
    found = sum_axes(dump.collectives().rows)
    assert set(found) == {"data", "model", "data, model"}
    assert (dump.paths.mesh_path or "").endswith("before_optimizations.txt.gz")


def test_a_file_finds_the_text_beside_it() -> None:
    """Plain or compressed, and also from its buffer assignment; `before` needs no other."""
    (after,) = V5P.glob("*after_optimizations.txt.gz")
    (buffers,) = V5P.glob("*-buffer-assignment.txt.gz")
    (before,) = V5P.glob("*before_optimizations.txt.gz")
    expected = sum_axes(rows_of(V5P))
    for path in (after, buffers):
        dump = hlotool.load(str(path))
        assert sum_axes(dump.collectives().rows) == expected
        assert dump.paths.mesh_path == str(before)
    dump = hlotool.load(str(before))
    dump.collectives()
    assert dump.paths.mesh_path is None


def test_axes_are_strides_where_nothing_names_them(tmp_path: Path) -> None:
    """The same collectives by strides: data=4,model=2 is 4@2 and 2@1, and both are 8@1.

    Four permutes connect devices 0, 2, 4, 1, … of which no row-major mesh has an axis.
    """
    named = sum_axes(rows_of(V5P))
    dump = hlotool.load(str(copy_after(V5P, tmp_path)))
    found = sum_axes(dump.collectives().rows)
    assert dump.paths.mesh_path is None
    assert found["4@2"] == named["data"]
    assert found["2@1"] == named["model"]
    both = found["8@1"][0] + found["?"][0], found["8@1"][1] + found["?"][1]
    assert both == named["data, model"]


def test_another_program_names_nothing(tmp_path: Path) -> None:
    """The text beside has to have the name, the devices and the entry of the module."""
    copy_after(V5P, tmp_path)
    (before,) = V5P.glob("*before_optimizations.txt.gz")
    target = tmp_path / before.name.removesuffix(".gz")
    text = read_text(before)
    for old, new in (
        ("HloModule jit_train_step", "HloModule jit_other"),
        ("num_partitions=8", "num_partitions=4"),
        ("f32[512,1024]", "f32[512,1000]"),
        ('"data"=4', '"data"=2'),
        ("#sdy.mesh<", "#sdy.mash<"),
    ):
        assert old in text
        target.write_text(text.replace(old, new), encoding="utf-8")
        assert "4@2" in sum_axes(rows_of(next(tmp_path.glob("*after_optimizations.txt.gz"))))
    target.write_bytes(b"\x00\x01")
    assert "4@2" in sum_axes(rows_of(next(tmp_path.glob("*after_optimizations.txt.gz"))))


def test_a_diff_takes_axes_to_be_the_same(tmp_path: Path) -> None:
    """A side whose axes have no names has the same collectives, and each names its files."""
    alone = copy_after(V5P, tmp_path)
    result = CliRunner().invoke(cli, ["diff", str(V5P), str(alone), "--json"])
    document = json.loads(result.stdout)
    assert document["collectives"] == []
    assert document["old"]["input"]["mesh_path"].endswith("before_optimizations.txt.gz")
    assert document["new"]["input"]["mesh_path"] is None


def test_a_budget_names_the_axes() -> None:
    """Five gathers of matrices run along `data`, four of activations along both axes."""
    budget = 'collectives.count("data" in axes and kind == "all-gather") == 9'
    result = CliRunner().invoke(cli, ["check", str(V5P), "--budget", budget, "--json"])
    document = json.loads(result.stdout)
    assert [one["status"] for one in document["rules"]] == ["pass"]
    assert document["input"]["mesh_path"].endswith("before_optimizations.txt.gz")


def test_only_axes_read_the_text_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """No command that shows no axes opens it."""

    def refuse(*_: object) -> str:
        raise AssertionError("this reads the text before optimization")

    monkeypatch.setattr(siblings, "read_header_line", refuse)
    (after,) = V5P.glob("*after_optimizations.txt.gz")
    assert CliRunner().invoke(cli, ["fusions", str(after)], catch_exceptions=False).exit_code == 0
    for command in ("buffers", "collectives"):
        with pytest.raises(AssertionError):
            CliRunner().invoke(cli, [command, str(after)], catch_exceptions=False)


def test_sends_count_as_permutes_do() -> None:
    """XLA splits the permute of a loop into sends: f32[128,512] from stage to stage, and back.

    Six of eight devices send forward, and two of the four that the way back names.
    """
    size = 128 * 512 * 4
    found = {row.pair_count: row for row in rows_of(SENDS) if row.kind == "send"}
    assert found[6].sent_bytes == size * 6 // 8
    assert found[2].sent_bytes == size * 2 // 4
    assert {row.axes for row in found.values()} == {("stage",)}
    assert found[6].sent_bytes_per_step == found[6].sent_bytes * 7


@pytest.mark.hard
@needs_shared
def test_a_mesh_beside_names_every_axis() -> None:
    """In dumps with a text before optimization, all groups lie along axes of its mesh."""
    named = 0
    for path in sorted((SHARED / "dumps").rglob("*after_optimizations.txt*")):
        dump = hlotool.load(str(path))
        rows = dump.collectives().rows
        if dump.paths.mesh_path is None:
            continue
        named += 1
        assert not [row.name for row in rows if row.axes is None or "@" in "".join(row.axes)]
    assert named > 15


MESHES = st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=4)


@given(MESHES, st.data())
def test_strides_make_the_group(sizes: list[int], data: st.DataObject) -> None:
    """What lies along axes of a row-major mesh is found, and strides make the same devices."""
    chosen = data.draw(st.sets(st.sampled_from(range(len(sizes)))))
    count = prod(sizes)
    steps = [prod(sizes[at + 1 :]) for at in range(len(sizes))]
    groups: dict[int, list[int]] = {}
    for device in range(count):
        along = sum(device // steps[at] % sizes[at] * steps[at] for at in chosen)
        groups.setdefault(device - along, []).append(device)
    found = find_strides([data.draw(st.permutations(one)) for one in groups.values()], count)
    assert found is not None
    for first, group in groups.items():
        made = [first]
        for size, step in found:
            made = [one + at * step for one in made for at in range(size)]
        assert made == group
    assert all(left[1] > prod(right) for left, right in pairwise(found))


@pytest.mark.parametrize(
    "groups",
    [
        [[1, 2], [3, 4], [5, 6], [7, 0]],  # shifted
        [[0, 3], [1, 2], [4, 7], [5, 6]],  # diagonal
        [[0, 1, 2], [3, 4, 5], [6, 7]],  # uneven
        [[0, 1, 2]],  # 3 do not divide 8
        [[0, 0]],
        [[0, 2, 6]],
    ],
)
def test_what_has_no_strides(groups: list[list[int]]) -> None:
    assert find_strides(groups, 8) is None


def test_strides_of_nobody() -> None:
    assert find_strides([], 8) is None
    assert find_strides([[3], [5]], 8) == ()
    assert find_strides([[6, 4, 2, 0]], 8) == ((4, 2),)


def test_pairs_join_devices() -> None:
    """Those that a chain of pairs connects are a group; one alone only if all are."""
    assert join_pairs(((4, 2), (2, 0), (1, 3), (7, 7))) == ((0, 2, 4), (1, 3))
    assert join_pairs(((1, 1), (0, 0))) == ((0,), (1,))
    ring = tuple((at, (at + 1) % 5000) for at in range(5000))
    assert join_pairs(ring) == (tuple(range(5000)),)


def make_mesh(**sizes: int) -> Mesh:
    return Mesh(tuple(MeshAxis(name, size) for name, size in sizes.items()))


HEADER = 'HloModule jit_f, frontend_attributes={xla.sdy.meshes={m = #sdy.mesh<["a"=4, "b"=2]>}}'


def test_meshes_of_a_header() -> None:
    assert find_printed_mesh(HEADER, 8) == make_mesh(a=4, b=2)
    assert find_printed_mesh(HEADER, 4) is None
    assert find_printed_mesh(HEADER.replace('"', '\\"'), 8) == make_mesh(a=4, b=2)
    assert find_printed_mesh("HloModule jit_f", 1) is None
    two = '{m = #sdy.mesh<["a"=4, "b"=2]>, n = #sdy.mesh<["a"=2, "b"=4]>}'
    assert read_mesh(two, 8) is None
    assert read_mesh(two.replace('"a"=2, "b"=4', '"a"=4, "b"=2'), 8) == make_mesh(a=4, b=2)
    assert read_mesh('m = #sdy.mesh<["a"=2], device_ids=[1, 0]>', 2) == Mesh(
        (MeshAxis("a", 2),), (1, 0)
    )
    assert read_mesh('m = #sdy.mesh<["a"=2], device_ids=[1, 1]>', 2) is None


def test_names_are_told_apart() -> None:
    """`a` is 4@2 here and 2@4 there; `b` is 2@1 in both, and a size of 1 is nowhere."""
    here, there, third = make_mesh(a=4, b=2), make_mesh(a=2, c=2, b=2), make_mesh(b=1, d=8)
    found = tell_apart([here, there, third])
    assert [axis.name for axis in found[here].axes] == ["a(4@2)", "b"]
    assert [axis.name for axis in found[there].axes] == ["a(2@4)", "c", "b"]
    assert [axis.name for axis in found[third].axes] == ["b", "d"]


def test_printed_names_and_a_mesh_share_none() -> None:
    """`data` of the groups' own mesh is all devices, that of the header four of them."""
    header = HEADER.replace('"a"', '"data"').replace("jit_f,", "jit_f, num_partitions=8,")
    module = f"""{header}

ENTRY main {{
  x = f32[64] parameter(0)
  own = f32[64] all-to-all(x), channel_id=1, replica_groups=mesh['data'=8] {{'data'}}
  ROOT listed = f32[64] all-to-all(own), channel_id=2, replica_groups={{{{0,2,4,6}},{{1,3,5,7}}}}
}}
"""
    rows = {row.name: row.axes for row in analyze(module).rows}
    assert rows == {"own": ("data(8@1)",), "listed": ("data(4@2)",)}
