"""Reasons for a difference, on real pairs; the figures are derived by hand beside each."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from diff_cases import BASE
from dump_files import ROOT, SHARED, needs_shared

from hlotool.commands.diff.cause_text import write_cause
from hlotool.commands.diff.text import write_triage
from hlotool.compare.causes.cause import Cause, InputPair
from hlotool.compare.inputs import Argument, DiffSide, find_candidates, read_side
from hlotool.compare.report import DiffReport, compare_programs
from hlotool.dump.budget import DEFAULT_BUDGET
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.text import Source

PAIRS = SHARED / "dumps" / "pairs"
MIB = 1 << 20
BATCHES = ("", ".batch2x")
unrolled = pytest.mark.hard  # 5 MB of text a side: seconds each


@cache
def compare(old: str, new: str) -> DiffReport:
    """Compare two folders of real dumps."""
    return compare_programs(load(old), load(new))


@cache
def load(name: str) -> DiffSide:
    """Read one folder of a real dump."""
    candidates, _ = find_candidates(
        Argument(name, str(PAIRS / name)), "after", None, DEFAULT_BUDGET
    )
    return read_side(candidates[0], name)[0]


def find(report: DiffReport, kind: str) -> Cause:
    """Return the one cause of a kind."""
    (found,) = [one for one in report.causes if one.id == kind]
    return found


def read_truth(name: str) -> dict[str, int]:
    """Return XLA's own memory figures."""
    truth: dict[str, dict[str, int]] = json.loads((PAIRS / name / "truth.json").read_text())
    return truth["memory"]


@needs_shared
def test_donation_lost() -> None:
    # All 37 outputs of the state: what XLA says is aliased.
    report = compare("gpu.base", "gpu.nodonate")
    cause = find(report, "donation-lost")
    assert report.causes == (cause,)
    assert cause.count == 37
    lost = read_truth("gpu.base")["alias_size_in_bytes"]
    assert cause.delta_bytes == -lost
    peak = next(row for row in report.metrics if row.metric == "buffers.reserved_peak_bytes")
    xla = [read_truth(name)["peak_memory_in_bytes"] for name in ("gpu.base", "gpu.nodonate")]
    # On the old XLA's own peak is 248 bytes less.
    assert peak.delta is not None
    assert abs(peak.delta - (xla[1] - xla[0])) < 1024
    assert report.triage is not None
    assert report.triage.is_input_identical is False


@needs_shared
def test_donation_gained() -> None:
    cause = find(compare("gpu.nodonate", "gpu.base"), "donation-gained")
    assert cause.delta_bytes == read_truth("gpu.base")["alias_size_in_bytes"]


RUNS = 4  # layers
# Bytes sent of each gather of weights, and flops of the products that run in its steps: 512 tokens
# a device, model 256, queries 128, keys 64, feed-forward 512.
STEPS = (
    *[(3 * 256 * 512 // 2, 2 * 512 * 256 * 128)] * 2,
    *[(3 * 256 * 512 // 2, 2 * 512 * 256 * 512)] * 3,
    *[(3 * 256 * 128 // 2, 2 * 512 * 256 * 64)] * 2,
    (3 * 256 * 128 // 2, 2 * 512 * 256 * 128),
    (3 * 256 * 128 // 2, 2 * 512 * 256 * (128 + 64)),
    (3 * 256 * 128 // 2, 2 * 512 * 256 * (128 + 256)),
    (3 * 256 * 64 // 2, 2 * 512 * 256 * 64),
    (3 * 256 * 64 // 2, 2 * 512 * 256 * 256),
    (3 * 256 * 64 // 2, 7 * 2 * 512 * 256 * 512),
)
# What a device sends per step: how often, of how many bytes, which part of them. A gather, a
# scatter or an all-to-all of n devices sends (n-1)/n of the whole, an all-reduce twice that; FSDP
# has four devices, TP two.
SENT = (
    *((RUNS * 6, 2 * 256 * 512, 3 / 4), (RUNS * 5, 2 * 256 * 128, 3 / 4)),  # weights, gathered
    (RUNS * 5, 2 * 256 * 64, 3 / 4),
    (RUNS, 2 * 256 * (3 * 512 + 2 * 128 + 2 * 64), 3 / 4),  # their gradients, scattered
    *((2, 2 * 256 * 2048, 3 / 4), (2, 2 * 512 * 256, 3 / 4)),  # the head; the embedding, exchanged
    (RUNS * 5 + 2, 2 * 512 * 256, 2 / 2),  # activations, added up over TP
    *((RUNS, 4 * 2 * 256, 6 / 4), (1, 4 * 256, 6 / 4)),  # gradients of norms
    *((2, 4 * 512, 2 / 2), (1, 2 * 512, 2 / 2)),  # of the loss: sums, and what was chosen
    *((1, 4 * 4 * 256, 1 / 2), (1, 4 * 8 * 256, 1 / 2)),  # tokens, gathered in two steps
    (1, 4 * 2 * 256, 6 / 8),  # and permuted before: two of eight devices keep theirs
    (7 + 3, 4, 14 / 8),  # scalars
)


@needs_shared
def test_overlap_lost() -> None:
    report = compare("tpu.base", "tpu.nolhs")
    assert report.causes[0] == find(report, "overlap-lost")
    cause = report.causes[0]
    # By hand: 24 of 38 have a share of 1 that nothing hides, without the scheduler all.
    assert (cause.old, cause.new, cause.count) == ("24", "38", 14)
    exposed = "collectives.exposed_bytes_per_step"
    row = next(one for one in report.metrics if one.metric == exposed)
    # Without the scheduler all that is sent is exposed. With it 14 steps hide what their
    # products take, at 197 Tflop/s, of a transfer at 100 GB/s and 1 μs: by hand from the shapes,
    # other work in them left out (it is less than 2 % of it).
    assert row.new == sum(runs * size * part for runs, size, part in SENT)
    hidden = sum(
        RUNS * wire * min(1, flops / 197e12 / (wire / 100e9 + 1e-6)) for wire, flops in STEPS
    )
    assert cause.delta_bytes is not None
    assert 0.98 * cause.delta_bytes < hidden <= cause.delta_bytes
    assert report.triage is not None
    assert report.triage.is_input_identical is True
    assert [(one.flag, one.file) for one in report.flags] == [
        ("xla_tpu_enable_async_collective_fusion", "tpu_comp_env"),
        ("xla_tpu_enable_latency_hiding_scheduler", "tpu_comp_env"),
    ]


@needs_shared
def test_rematerialization_lost() -> None:
    report = compare("gpu.base", "gpu.noremat")
    cause = report.causes[0]
    assert cause == find(report, "rematerialization-lost")
    assert cause.subject == "attention, mlp"
    # What the while of the forward pass hands on, 8 layers each, and the copy of the largest:
    # f32[8,4,4,2,1024,1024] twice and bf16 once, four f32[8,4,1024,1024], six
    # bf16[8,4,1024,2048]: 3,840 MiB at least, of 38 values.
    assert cause.delta_bytes is not None
    assert cause.delta_bytes > (2 * 1024 + 512 + 4 * 128 + 6 * 128) * MIB
    assert cause.count == 38
    back = compare("gpu.noremat", "gpu.base").causes[0]
    assert (back.id, back.count) == ("rematerialization-gained", 38)
    assert back.delta_bytes == -cause.delta_bytes


def test_rematerialization_without_scopes() -> None:
    """The names that JAX gives in this program have no scope, so that no part can be named."""
    folder = ROOT / "testdata/dumps/gpu_h100"
    sides = [str(folder / name) for name in ("mlp_train", "mlp_train.remat")]
    cause = compare(*sides).causes[0]
    assert cause == Cause("rematerialization-gained", None, source="mlp_train.py:17")
    assert write_cause(cause, "auto").endswith("gained: the backward pass recomputes values")
    lost = compare(*sides[::-1]).causes[0]
    assert lost == Cause("rematerialization-lost", None, source="mlp_train.py:17")
    assert write_cause(lost, "auto").endswith("lost: the backward pass recomputes nothing")


@needs_shared
def test_operations() -> None:
    report = compare("gpu.base", "gpu.relu")
    cause = next(one for one in report.causes if one.id == "operations")
    # jax.nn.silu by jnp.maximum's derivative: `gt` and `select_n` are new in mlp.
    assert (cause.scope, cause.old) == ("mlp", "silu")
    assert cause.new == "gt, select_n, constant 0"


@needs_shared
def test_dtype_widened() -> None:
    report = compare("gpu.base", "gpu.f32")
    first = report.causes[0]
    assert (first.id, first.old, first.new) == ("type-changed", "bf16", "f32")
    cause = find(report, "dtype-widened")
    # All large collectives were of bf16 and send twice as much: 723,517,440 bytes more.
    assert cause.delta_sent_bytes == 690 * MIB
    assert {row.dtype for row in report.collectives} == {"f32"}
    assert {row.details for row in report.collectives} == {("dtype bf16 → f32",)}


@needs_shared
def test_fusing() -> None:
    report = compare("gpu.base", "gpu.nofuse")
    cause = report.causes[0]
    # As many `fusion` instructions run on each side as the text has outside fused bodies.
    assert (cause.id, cause.old, cause.new) == ("fusion-structure-changed", "211", "846")
    assert report.triage is not None
    assert report.triage.is_input_identical is True


@unrolled
@needs_shared
def test_layers_added() -> None:
    report = compare("gpu.unroll12", "gpu.unroll13")
    cause = report.causes[0]
    assert (cause.id, cause.subject, cause.count) == ("layers-added", "layer_12", 1)
    # Five all-reduces of 8 MiB, two all-gathers of 11.25 MiB.
    assert cause.delta_sent_bytes == (5 * 8 + 22.5) * MIB
    # Nearly all of what the program computes more: 277 G.
    flops = next(row for row in report.metrics if row.metric == "cost.total_flops_per_step")
    assert flops.delta is not None
    assert cause.delta_flops is not None
    assert 0.99 * flops.delta < cause.delta_flops <= flops.delta
    back = compare("gpu.unroll13", "gpu.unroll12").causes[0]
    assert (back.id, back.subject) == ("layers-removed", "layer_12")
    assert back.delta_sent_bytes == -cause.delta_sent_bytes


@unrolled
@needs_shared
def test_loop_unrolled() -> None:
    """Two loops of eight rounds, forward and backward, against layer_0 to layer_11."""
    report = compare("gpu.base", "gpu.unroll12")
    cause = report.causes[0]
    assert (cause.id, cause.old, cause.new) == ("loop-unrolled", "8", "12")
    assert (cause.subject, cause.scope, cause.count) == ("while.37, while.38", "layer_*", 12)
    # More layers send more: their collectives are no reason of their own.
    assert not [one for one in report.causes if one.id == "collectives"]
    back = compare("gpu.unroll12", "gpu.base").causes[0]
    assert (back.id, back.old, back.new) == ("loop-rolled", "12", "8")


UNROLLED = """\
HloModule step, is_scheduled=true

ENTRY main {
  x = f32[64]{0} parameter(0), sharding={devices=[4]<=[4]}, metadata={op_name="x"}
  y0 = f32[64] add(x, x), metadata={op_name="jit(step)/layer_0/mlp/add"}
  ROOT y1 = f32[64] add(y0, y0), metadata={op_name="jit(step)/layer_1/mlp/add"}
}
"""


@pytest.mark.parametrize(("scope", "is_copied"), [("mlp", True), ("head", False)])
def test_copies_are_those_of_the_body(scope: str, is_copied: bool) -> None:
    """Copies of something else do not tell of the loop."""
    name = f'metadata={{op_name="jit(step)/while/body/{scope}/add"}}'
    loop = LOOP.replace("add(x, x)", f"add(x, x), {name}")
    kinds = [one.id for one in compare_texts(loop, UNROLLED).causes]
    assert ("loop-unrolled" in kinds) == is_copied


@needs_shared
def test_products_moved() -> None:
    # 38 `dot` run on the old side, 38 fusions of kind `__ynn_fusion` with one inside on the new
    # side.
    cause = compare("cpu83.base", "cpu.base").causes[0]
    assert (cause.id, cause.old, cause.new) == ("matmul-backend-changed", "plain dot", "YNNPACK")
    assert cause.count == 38


@needs_shared
@pytest.mark.parametrize(
    ("old", "new"),
    [("gpu90.base", "gpu102old.base"), ("cpu83.base", "cpu.base"), ("tpu83.base", "tpu.base")],
)
def test_releases(old: str, new: str) -> None:
    """No collective differs but in what hides it, and the programs do the same."""
    report = compare(old, new)
    assert all(row.old_bytes == row.new_bytes for row in report.collectives)
    assert all(row.old_count == row.new_count for row in report.collectives)
    assert not any(row.details for row in report.collectives)
    assert report.triage is not None
    assert report.triage.is_input_identical is True  # whatever functions it is cut into
    assert report.causes
    assert write_triage(report.triage, report.flags)


@needs_shared
def test_less_exposed_can_be_slower() -> None:
    """Without rematerialization less is computed and exposed, but more moved: it takes longer."""
    report = compare("gpu.base", "gpu.noremat")
    deltas = {row.metric: row.delta for row in report.metrics}
    assert (deltas["cost.total_flops_per_step"] or 0) < 0
    assert (deltas["collectives.exposed_bytes_per_step"] or 0) < 0
    time = report.time
    assert time is not None
    assert (time.chip, time.old_seconds) == ("h100", None)
    # By hand: 8.8 GiB more at 3.35 TB/s are 2.8 ms more, 450 Gflop fewer at 989 Tflop/s 0.5 ms
    # less, 307 MiB fewer at 450 GB/s 0.7 ms less; 1.6 ms of some 13.
    assert time.relative_delta is not None
    assert 0.1 < time.relative_delta < 0.2
    assert (time.old_exposed_share or 0) < 0.1


@needs_shared
def test_what_is_known_of_the_compiler() -> None:
    said = [
        "; ".join(write_triage(report.triage, report.flags))
        for pair in (
            ("tpu83.base", "tpu.base"),
            ("tpu.base", "tpu.nolhs"),
            ("cpu83.base", "cpu.base"),
        )
        if (report := compare(*pair)).triage
    ]
    assert "compiler cl_889434569 → cl_933746096" in said[0]
    assert "due to a flag; the build is cl_933746096 on both sides" in said[1]
    assert "the dumps name no compiler version" in said[2]


@needs_shared
def test_other_dtypes_inside_fusions() -> None:
    (cause,) = compare("tpu83.base", "tpu.base").causes
    assert (cause.id, cause.old, cause.new) == ("dtype-inside-fusions", "bf16", "f32")
    sentence = "62 operations inside fusions compute in f32 instead of bf16"
    assert write_cause(cause, "auto") == sentence


@needs_shared
@pytest.mark.parametrize("path", sorted(PAIRS.glob("*.*/")), ids=lambda path: path.name)
def test_nothing_to_explain(path: Path) -> None:
    """A program has no reason to differ from itself."""
    if path.is_dir() and "unroll" not in path.name:
        report = compare(path.name, path.name)
        assert not report.differs
        assert report.causes == ()
        assert report.triage is None


LOOP = """\
HloModule step, is_scheduled=true

body {
  state = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[64] get-tuple-element(state), index=1
  y = f32[64] add(x, x)
  ROOT out = (s32[], f32[64]) tuple(next, y)
}

condition {
  state = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  n = s32[] constant(12)
  ROOT less = pred[] compare(i, n), direction=LT
}

ENTRY main {
  x = f32[64]{0} parameter(0), sharding={devices=[4]<=[4]}, metadata={op_name="x"}
  zero = s32[] constant(0)
  start = (s32[], f32[64]) tuple(zero, x)
  loop = (s32[], f32[64]) while(start), condition=condition, body=body
  ROOT end = f32[64]{0} get-tuple-element(loop), index=1
}
"""


def compare_texts(old: str, new: str) -> DiffReport:
    """Compare two texts."""
    programs = [Program("step", parse_module(Source(text))) for text in (old, new)]
    return compare_programs(DiffSide(programs[0]), DiffSide(programs[1]))


def test_trip_count() -> None:
    report = compare_texts(LOOP, LOOP.replace("constant(12)", "constant(13)"))
    (cause,) = [one for one in report.causes if one.id == "trip-count-changed"]
    # One run of the body more: 64 floats and an s32 are added.
    assert (cause.old, cause.new, cause.delta_flops) == ("12", "13", 65)
    assert write_cause(cause, "auto").startswith("trip count of loop 12 → 13 (+65 flops/step")


def test_dimension() -> None:
    report = compare_texts(LOOP, LOOP.replace("[64]", "[128]"))
    (cause,) = [one for one in report.causes if one.id == "dimension"]
    # 64 floats more in each of 12 additions.
    assert (cause.old, cause.new, cause.count) == ("64", "128", 1)
    assert cause.delta_bytes == 12 * 64 * 4
    sentence = "dimension 0 of x 64 → 128: 1 result is ×2 (+3.0 KiB of results/step)"
    assert write_cause(cause, "auto") == sentence
    back = compare_texts(LOOP.replace("[64]", "[128]"), LOOP)
    (cause,) = [one for one in back.causes if one.id == "dimension"]
    assert write_cause(cause, "auto").endswith("is ×1/2 (−3.0 KiB of results/step)")
    longer = LOOP.replace("[64]", "[128]").replace("constant(12)", "constant(24)")
    (cause,) = [one for one in compare_texts(LOOP, longer).causes if one.id == "dimension"]
    assert cause.delta_bytes == (24 * 128 - 12 * 64) * 4  # each at its own number of runs


def test_twice_the_batch() -> None:
    """The inputs' dimension alone is told: what is made of it is of other sizes as well."""
    dumps = [ROOT / "testdata" / "dumps" / "gpu_h100" / f"mlp_train{name}" for name in BATCHES]
    found = [
        find_candidates(Argument("", str(path)), "after", None, DEFAULT_BUDGET)[0][0]
        for path in dumps
    ]
    old, new = (read_side(one, "")[0] for one in found)
    report = compare_programs(old, new)
    (cause,) = [one for one in report.causes if one.id == "dimension"]
    assert report.causes[0] == cause
    assert cause.subject == "dimension 0 of images, labels"
    assert (cause.old, cause.new) == ("128", "256")


def test_one_result_widened() -> None:
    """A value that the user made wider, where nothing else differs."""
    wider = BASE.replace("%left = bf16[64,128]", "%left = f32[64,128]")
    cause = find(compare_texts(BASE, wider), "dtype-widened")
    assert (cause.old, cause.new, cause.count) == ("bf16", "f32", 1)
    assert cause.delta_bytes == 64 * 128 * 2
    back = find(compare_texts(wider, BASE), "dtype-narrowed")
    assert back.delta_bytes == -64 * 128 * 2


def test_axes() -> None:
    """Rows of four devices, then every other one of eight: as many, and the same bytes."""
    groups = "{{0,1,2,3},{4,5,6,7}}"
    report = compare_texts(BASE, BASE.replace(groups, "{{0,2,4,6},{1,3,5,7}}"))
    cause = find(report, "axes")
    assert (cause.subject, cause.count, cause.delta_bytes) == ("all-reduce", 1, 0)
    assert cause.old != cause.new


def test_collectives_more() -> None:
    line = next(line for line in BASE.splitlines() if line.startswith("  %reduced = "))
    again = line.replace("%reduced", "%again").replace("%scaled)", "%reduced)")
    text = BASE.replace(line, f"{line}\n{again}").replace("tuple(%next, %red", "tuple(%next, %ag")
    text = text.replace("%aguced", "%again").replace("channel_id=2", "channel_id=3")
    cause = find(compare_texts(BASE, text), "collectives")
    assert (cause.old, cause.new, cause.count) == ("1", "2", 1)
    # All-reduce by four devices sends 2 · 3/4 of 64 × 128 floats, in each of 8 rounds.
    assert cause.delta_bytes == 8 * 64 * 128 * 4 * 3 // 2


REDUCED = """\
HloModule step, is_scheduled=true, num_partitions=4

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  x = f32[] parameter(0)
  y = f32[SIZE]{0} broadcast(x), dimensions={}
SENT
}
"""
REDUCE = "  zN = f32[SIZE]{0} all-reduce(y), channel_id=N, replica_groups={{0,1,2,3}}, to_apply=sum"


@pytest.mark.parametrize(
    ("counts", "sizes", "is_reason"),
    [
        ((2, 1), (64, 64), True),
        ((1, 2), (64, 64), True),
        ((2, 1), (64, 256), False),  # fewer, and more bytes
        ((1, 2), (256, 64), False),  # more, and fewer bytes
        ((2, 1), (64, 128), True),  # put together: the same bytes
    ],
)
def test_a_number_is_no_reason_for_the_reverse(
    counts: tuple[int, int], sizes: tuple[int, int], *, is_reason: bool
) -> None:
    texts = []
    for count, size in zip(counts, sizes, strict=True):
        lines = [REDUCE.replace("N", str(each + 1)) for each in range(count)]
        names = ", ".join(f"z{each + 1}" for each in range(count))
        shapes = ", ".join([f"f32[{size}]{{0}}"] * count)
        sent = "\n".join([*lines, f"  ROOT out = ({shapes}) tuple({names})"])
        texts.append(REDUCED.replace("SENT", sent).replace("SIZE", str(size)))
    kinds = [one.id for one in compare_texts(*texts).causes]
    assert ("collectives" in kinds) == is_reason


@unrolled
@needs_shared
def test_values_at_the_peak() -> None:
    """At the peak of another layer its values take the place of others, which is no reason."""
    cause = find(compare("gpu.unroll12", "gpu.unroll13"), "buffers-at-peak-changed")
    # The gradient of the logits is held then: bf16[4,1024,16384].
    assert cause.delta_bytes == 4 * 1024 * 16384 * 2
    assert (cause.scope, cause.subject) == (
        "head",
        "input_convert_reduce_fusion{1} bf16[4,1024,16384]",
    )


@needs_shared
def test_values_that_came_and_went_are_told_both() -> None:
    report = compare("gpu.base", "gpu.nofuse")
    cause = find(report, "buffers-at-peak-changed")
    programs = [load(name).program for name in ("gpu.base", "gpu.nofuse")]
    counts = [len(one.peak_rows) for one in programs if one]
    assert counts == [87, 168]
    assert cause.more == 168 - 87
    said = write_cause(cause, "auto")
    assert f"buffers at the peak: {cause.new} new and {cause.old} freed, the largest " in said


@unrolled
@needs_shared
def test_the_largest_value_has_no_twin_among_those_gone() -> None:
    """A product of 128 MiB in attention is at both peaks, in a loop and in a layer.

    Of seven layers' products one is that of the loop.
    """
    report = compare("gpu.base", "gpu.unroll12")
    cause = find(report, "buffers-at-peak-changed")
    row = report.memory[0]
    assert cause.subject == "×6 gemm_fusion_dot.972 bf16[4096,4096]"
    assert cause.subject == f"×{row.count} {row.value} {row.shape}"
    assert (cause.scope, cause.delta_bytes) == (row.scope, row.delta_bytes)
    assert cause.delta_bytes == 6 * 4096 * 4096 * 2
    # Arrays are as large as on a device, though what XLA was given has global shapes.
    arguments = find(report, "arguments-new")
    assert (arguments.count, arguments.delta_bytes) == (288, 251_920_384)


@needs_shared
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("cpu.base", "cpu.noremat"),  # one all-reduce fewer; nothing is hidden on either side
        pytest.param("gpu.unroll12", "gpu.unroll13", marks=unrolled),  # a layer more
        ("tpu83.base", "tpu.base"),  # 687 of 16 million bytes
    ],
)
def test_no_overlap_lost(old: str, new: str) -> None:
    """What is exposed because more is sent, or hardly differs, is no reason."""
    assert not [one for one in compare(old, new).causes if one.id.startswith("overlap")]


@needs_shared
def test_remat_widens_nothing() -> None:
    """A loop that hands on 48 arrays in place of 16 may hand on another one at a place."""
    kinds = {one.id for one in compare("gpu.base", "gpu.noremat").causes}
    assert kinds == {"rematerialization-lost", "operations", "overlap-gained", "collectives"}


SHARDED = LOOP.replace("is_scheduled=true", "is_scheduled=true, num_partitions=4")


def test_sharding() -> None:
    """Half as many parts, twice as large: the array is the same."""
    cut = "[2,2]<=[4] last_tile_dim_replicate"
    new = SHARDED.replace("[64]", "[128]").replace("[4]<=[4]", cut)
    report = compare_texts(SHARDED, new)
    cause = report.causes[0]
    assert (cause.id, cause.subject, cause.count) == ("sharding", "x", 1)
    assert (cause.old, cause.new, cause.delta_bytes) == ("[4@1]", "[2@2]", 64 * 4)
    assert write_cause(cause, "auto") == "x is sharded [2@2] instead of [4@1] (+256 B on a device)"
    assert "dimension" not in {one.id for one in report.causes}


def test_devices() -> None:
    """Twice the devices for an array of twice the size."""
    new = SHARDED.replace("num_partitions=4", "num_partitions=8").replace("[4]<=[4]", "[8]<=[8]")
    new = new.replace("constant(12)", "constant(13)")
    said = [write_cause(one, "auto") for one in compare_texts(SHARDED, new).causes[:2]]
    assert said == [
        "the mesh is 8 devices instead of 4 devices",
        "dimension 0 of x 256 → 512",
    ]


def test_sizes_of_a_part() -> None:
    """Of several devices, where nobody says how an array is sharded, its part is told."""
    old = SHARDED.replace(", sharding={devices=[4]<=[4]}", "")
    cause = find(compare_texts(old, old.replace("[64]", "[128]")), "dimension")
    assert (cause.subject, cause.old, cause.new) == (
        "dimension 0 of a device's part of x",
        "64",
        "128",
    )


def test_the_rest_is_named() -> None:
    """Where no reason is found, the kind of what differs is."""
    report = compare_texts(LOOP, LOOP.replace("constant(1)\n", "constant(2)\n"))
    assert report.causes
    assert all(write_cause(one, "auto") for one in report.causes)


@needs_shared
def test_equal_input_texts_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    candidates, _ = find_candidates(
        Argument("", str(PAIRS / "gpu.base")), "after", None, DEFAULT_BUDGET
    )
    chosen = candidates[0].input
    assert chosen is not None
    monkeypatch.setattr(InputPair, "programs", property(lambda _: pytest.fail("parsed")))
    assert InputPair(chosen.before, chosen.before).is_same is True
    assert InputPair(chosen.before, None).is_same is None
