"""Fusions: equal ones fold, figures add up, oddities are flagged."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from cost_cases import Case, list_dumps
from each import for_each
from msgspec.structs import replace

from hlotool.analysis.cost.chips import find_chip
from hlotool.analysis.cost.model import CostModel, analyze_cost
from hlotool.analysis.fusions.report import FusionReport, estimate_fusions, expand_fusion
from hlotool.analysis.fusions.rows import FUSION_ROWS, FusionRow
from hlotool.analysis.graph.executions import Executions
from hlotool.errors import UsageError
from hlotool.hlo import Module
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.table.sums import sum_fields
from hlotool.text import Source

MIB = 1 << 20
ROOT = Path(__file__).parent.parent
DUMPS = [case for case in list_dumps() if "after" in case.path.name]


@cache
def measured(case: Case) -> tuple[Executions, CostModel, FusionReport]:
    program = Program("", case.module)
    return program.executions, program.costs, program.fusions


@for_each(DUMPS)
def test_every_fusion_is_in_one_row(case: Case) -> None:
    executions, _, report = measured(case)
    expected = [
        one.name
        for computation in executions.executed
        for one in computation.instructions
        if one.opcode == "fusion"
    ]
    members = [member for row in report.rows for member in row.members]
    assert sorted(members) == sorted(expected)
    assert report.totals.fusion_count == sum(row.count for row in report.rows) == len(expected)
    assert report.totals.distinct_count == len(report.rows)


@for_each(DUMPS)
def test_rows_by_place_are_the_same_fusions_and_each_of_one_place(case: Case) -> None:
    program = Program("", case.module)
    rows = program.find_fusions(tells_places=True).rows
    members = [member for row in program.fusions.rows for member in row.members]
    assert sorted(member for row in rows for member in row.members) == sorted(members)
    for figure in ("count", "known_traffic_bytes_per_step", "known_flops_per_step"):
        whole = sum(getattr(row, figure) for row in program.fusions.rows)
        assert sum(getattr(row, figure) for row in rows) == whole
    alone = {row.members[0]: row.scope for row in program.fusions.rows if row.count == 1}
    assert all(alone.get(row.members[0], row.scope) == row.scope for row in rows)
    assert not any("*" in (row.scope or "") for row in rows)


def test_equal_fusions_of_two_scopes_are_two_rows_by_place() -> None:
    text = (ROOT / "testdata" / "hlo" / "gpu_train_step.txt").read_text(encoding="utf-8")
    program = Program("", parse_module(Source(text, "")))
    shared = [row for row in program.fusions.rows if row.scope == "*"]
    assert shared
    apart = [
        row
        for row in program.find_fusions(tells_places=True).rows
        if set(row.members) < set(shared[0].members)
    ]
    assert len({row.scope for row in apart}) > 1


@for_each(DUMPS)
def test_fusions_are_a_part_of_the_module(case: Case) -> None:
    _, costs, report = measured(case)
    whole = analyze_cost(case.module, costs)
    if whole.is_upper_bound:
        pytest.skip("the module counts the largest branch, the rows every branch")
    assert report.totals.flops_per_step <= whole.flops_per_step
    assert report.totals.bytes_accessed_per_step <= whole.bytes_accessed_per_step


@for_each(DUMPS)
def test_members_of_a_row_cost_the_same(case: Case) -> None:
    _, costs, report = measured(case)
    by_name = {one.name: one for one in case.module.instructions()}
    for row in report.rows:
        found = {costs.of(by_name[name]) for name in row.members}
        assert len(found) == 1


@for_each(DUMPS)
def test_a_body_adds_up_to_its_fusion(case: Case) -> None:
    _, costs, report = measured(case)
    for row in report.rows:
        body = expand_fusion(row.name, case.module, costs)
        assert sum(one.on_chip_bytes for one in body) == row.on_chip_bytes
        special = row.kind == "kCustom" and {"gather", "scatter"} & {one.opcode for one in body}
        if not special:  # of those XLA counts the gather or scatter alone
            assert sum(one.flops for one in body) == row.flops
            assert sum(one.bytes_accessed for one in body) == row.bytes_accessed


def test_figures_of_a_fusion_worked_out_by_hand() -> None:
    """Reads a slice of 2 KiB and a vector, keeps two, writes one."""
    text = """HloModule m
%f (p: f32[8,512], i: s32[], q: f32[512]) -> f32[512] {
  %p = f32[8,512]{1,0} parameter(0)
  %i = s32[] parameter(1)
  %q = f32[512]{0} parameter(2)
  %zero = s32[] constant(0)
  %s = f32[1,512]{1,0} dynamic-slice(%p, %i, %zero), dynamic_slice_sizes={1,512}
  %b = f32[512]{0} bitcast(%s)
  %e = f32[512]{0} exponential(%b)
  ROOT %a = f32[512]{0} add(%e, %q)
}
ENTRY %main (p: f32[8,512], i: s32[], q: f32[512]) -> f32[512] {
  %p = f32[8,512]{1,0} parameter(0)
  %i = s32[] parameter(1)
  %q = f32[512]{0} parameter(2)
  ROOT %fusion = f32[512]{0} fusion(%p, %i, %q), kind=kLoop, calls=%f, METADATA
}
""".replace("METADATA", 'metadata={op_name="jit(f)/mlp/add" source_file="m.py" source_line=3}')
    (row,) = find(text).rows
    assert row == FusionRow(
        name="fusion",
        count=1,
        kind="kLoop",
        backend_kind=None,
        root_opcode="add",
        computation="main",
        fused_computation="f",
        instruction_count=8,
        operand_bytes=8 * 2048 + 4 + 2048,
        matrix_flops=0,
        padded_traffic_bytes=3 * 2048 + 4,
        result_bytes=2048,
        traffic_bytes=2048 + 4 + 2048 + 2048,
        traffic_bytes_by_space=((0, 6148),),
        space_names=("space 0",),  # nothing tells the backend
        bytes_accessed=2048 + 4 + 2048 + 2048,
        on_chip_bytes=2048 + 2048,  # the slice and the exponential; the bitcast is no copy
        flops=512,
        product_types=(),
        product_flops=(),
        transcendentals=512,
        arithmetic_intensity=512 / 6148,
        executions=1,
        known_executions=1,
        traffic_bytes_per_step=6148,
        known_traffic_bytes_per_step=6148,
        bytes_accessed_per_step=6148,
        known_bytes_accessed_per_step=6148,
        flops_per_step=512,
        known_flops_per_step=512,
        on_chip_bytes_per_step=4096,
        known_on_chip_bytes_per_step=4096,
        flags=(),
        scope="mlp",
        op_name="jit(f)/mlp/add",
        source_file="m.py",
        source_line=3,
        is_conditional=False,
        is_lower_bound=False,
        is_flops_lower_bound=False,
        members=("fusion",),
    )


def parse(text: str) -> Module:
    return parse_module(Source(text))


def find(text: str) -> FusionReport:
    return Program("", parse(text)).fusions


CALL = """HloModule m, is_scheduled=true
g {
  p = f32[1024,1024] parameter(0)
  n = f32[1024,1024] negate(p)
  ROOT c = f32[1024,1024] custom-call(n), custom_call_target="TARGET", backend_config=CONFIG
}
ENTRY e {
  x = f32[1024,1024] parameter(0)
  ROOT r = f32[1024,1024] fusion(x), kind=kCustom, calls=g
}
"""
STATED = '{"cost_estimate":{"flops":7}}'


@pytest.mark.parametrize(
    ("target", "config", "is_lower"),
    [("foo", "{}", True), ("foo", STATED, True), ("Sharding", "{}", False)],
)
def test_flops_leave_out_a_call_in_the_body(target: str, config: str, is_lower: bool) -> None:
    text = CALL.replace("TARGET", target).replace("CONFIG", config)
    report = find(text)
    (row,) = report.rows
    assert (row.flops, row.flops_per_step, report.totals.flops_per_step) == (MIB, MIB, MIB)
    assert (row.is_flops_lower_bound, row.is_lower_bound) == (is_lower, False)
    assert report.totals.is_flops_lower_bound is is_lower
    assert not report.totals.is_lower_bound
    names = "flops_per_step", "traffic_bytes_per_step"
    flops, memory = sum_fields(FUSION_ROWS, report.rows, [*map(FUSION_ROWS.field, names)])
    assert (flops.is_lower_bound, flops.value) == (is_lower, MIB)
    assert not memory.is_lower_bound


def test_a_fusion_without_a_body_has_a_row() -> None:
    lines = "x = f32[8] parameter(0)", "ROOT r = f32[8] fusion(x), kind=kLoop"
    text = "HloModule m, is_scheduled=true\nENTRY e {\n" + "\n".join(lines) + "\n}\n"
    report = find(text)
    (row,) = report.rows
    assert (row.name, row.root_opcode, row.fused_computation) == ("r", None, None)
    assert (row.flops, row.traffic_bytes, row.instruction_count) == (0, 0, None)
    assert row.is_lower_bound
    assert row.is_flops_lower_bound
    assert (report.totals.fusion_count, report.totals.is_lower_bound) == (1, True)
    program = Program("", parse(text))
    with pytest.raises(UsageError, match="'r' names no computation"):
        expand_fusion("r", program.expect_module(), program.costs)


NESTED = """HloModule m
leaf {
  p = f32[2,2] parameter(0)
  ROOT a = f32[2,2] add(p, p)
}
f {
  p = f32[2,2] parameter(0)
  s = ((f32[2,2]), f32[2,2], s32[]) fusion-start(p), kind=kLoop, calls=leaf
  u = ((f32[2,2]), f32[2,2], s32[]) fusion-update(s)
  ROOT d = f32[2,2] fusion-done(u)
}
ENTRY e {
  p = f32[2,2] parameter(0)
  s = ((f32[2,2]), f32[2,2], s32[]) fusion-start(p), kind=kLoop, calls=f
  ROOT d = f32[2,2] fusion-done(s)
}
"""


def test_steps_of_an_asynchronous_fusion_save_nothing() -> None:
    """The sum is written; what start and update return are no arrays of their own."""
    (row,) = find(NESTED).rows
    assert (row.on_chip_bytes, row.traffic_bytes) == (0, 32)


LAYERS = """HloModule m
f0 {
  p = f32[8] parameter(0)
  ROOT t = f32[8] tanh(p), metadata={op_name="jit(f)/decoder/layers_0/mlp/tanh"}
}
f1 {
  x = f32[8] parameter(0)
  ROOT y = f32[8] tanh(x), metadata={op_name="jit(f)/decoder/layers_1/mlp/tanh"}
}
ENTRY e {
  p = f32[8] parameter(0)
  a = f32[8] fusion(p), kind=kLoop, calls=f0
  b = f32[8] fusion(a), kind=kLoop, calls=f1
  ROOT c = f32[8] add(a, b)
}
"""


def test_equal_bodies_fold() -> None:
    """The scope is what they share; without one of its own, a fusion takes its body's."""
    (row,) = find(LAYERS).rows
    assert (row.name, row.count, row.members, row.executions) == ("a", 2, ("a", "b"), 2)
    assert (row.scope, row.op_name) == ("decoder/layers_*/mlp", None)


@pytest.mark.parametrize(
    "other",
    [
        LAYERS.replace("y = f32[8] tanh(x)", "y = f32[8] sine(x)"),
        LAYERS.replace("fusion(a), kind=kLoop", "fusion(a), kind=kInput"),
        LAYERS.replace(
            "calls=f1", 'calls=f1, backend_config={"fusion_backend_config":{"kind":"__triton"}}'
        ),
    ],
    ids=["body", "kind", "backend kind"],
)
def test_different_ones_do_not(other: str) -> None:
    assert len(find(other).rows) == 2


def test_backend_kinds() -> None:
    configs = {
        '{"fusion_backend_config":{"kind":"__triton_gemm"}}': "__triton_gemm",
        '{"fusion_config":{"kind":"__ynn_fusion"}}': "__ynn_fusion",
        '{"fusion_backend_config":{"kind":""}}': None,
        '"no json, kind"': None,
        "{}": None,
    }
    for config, expected in configs.items():
        text = LAYERS.replace("calls=f0", f"calls=f0, backend_config={config}")
        assert find(text).rows[0].backend_kind == expected


FLAGS = {
    "p0 add exponential": ((), "x = f32[8] exponential(p)", "y = f32[8] add(x, p)"),
    "one": (("trivial",), "y = f32[8] add(p, p)"),
    "one, and a bitcast": (("trivial",), "x = f32[8] add(p, p)", "y = f32[2,4] bitcast(x)"),
    "nothing": (("trivial",), "y = f32[2,4] bitcast(p)"),
    "one convert": (("trivial", "convert-only"), "y = bf16[8] convert(p)"),
    "converts": (("convert-only",), "x = bf16[8] convert(p)", "y = f32[8] convert(x)"),
    "copies": (
        ("copy-only",),
        "x = f32[8] copy(p)",
        "z = f32[2,4] reshape(x)",
        "y = f32[4,2] transpose(z), dimensions={1,0}",
    ),
    "outputs": (
        ("multi-output",),
        "x = f32[8] exponential(p)",
        "z = f32[8] tanh(p)",
        "y = (f32[8], f32[8]) tuple(x, z)",
    ),
    "the same twice": (
        ("multi-output", "duplicate-output"),
        "x = f32[8] exponential(p)",
        "z = f32[8] tanh(x)",
        "b = f32[2,4] bitcast(z)",
        "y = (f32[8], f32[2,4]) tuple(z, b)",
    ),
    "a tuple of one": ((), "x = f32[8] tanh(p)", "z = f32[8] sine(x)", "y = (f32[8]) tuple(z)"),
}


@pytest.mark.parametrize(("flags", "lines"), [(f, ls) for f, *ls in FLAGS.values()], ids=FLAGS)
def test_flags(flags: tuple[str, ...], lines: list[str]) -> None:
    body = "\n".join([*lines[:-1], f"ROOT {lines[-1]}"])
    shape = re.findall(r" = (\(.*?\)|\S+) ", lines[-1])[0]
    text = f"""f {{
p = f32[8] parameter(0)
{body}
}}
ENTRY e {{
p = f32[8] parameter(0)
ROOT r = {shape} fusion(p), kind=kLoop, calls=f
}}"""
    (row,) = find(text).rows
    assert row.flags == flags


def test_unknown_trip_counts_make_figures_unknown_and_totals_bounds() -> None:
    text = """f {
  p = s32[] parameter(0)
  ROOT a = s32[] add(p, p)
}
body {
  p = (s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  j = s32[] fusion(i), kind=kLoop, calls=f
  ROOT t = (s32[]) tuple(j)
}
cond {
  p = (s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(100)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY e {
  p = s32[] parameter(0)
  t = (s32[]) tuple(p)
  w = (s32[]) while(t), condition=cond, body=body
  g = s32[] get-tuple-element(w), index=0
  ROOT r = s32[] fusion(g), kind=kLoop, calls=f
}"""
    report = find(text)
    (row,) = report.rows
    assert (row.count, row.executions, row.flops_per_step) == (2, None, None)
    assert (row.known_executions, row.known_flops_per_step) == (2, 2)
    assert report.totals.is_lower_bound
    assert not report.totals.is_upper_bound


def test_expanding_what_is_no_fusion() -> None:
    module = parse(LAYERS)
    costs = Program("", module).costs
    assert expand_fusion("%a", module, costs) == expand_fusion("f0", module, costs)
    with pytest.raises(UsageError, match="there is no fusion 'z'"):
        expand_fusion("z", module, costs)
    with pytest.raises(UsageError, match="'c' is not a fusion; its opcode is add"):
        expand_fusion("c", module, costs)


def test_places_in_a_body() -> None:
    case = next(case for case in DUMPS if case.path.parent.name == "scan_train")
    _, costs, report = measured(case)
    places = {
        place.role: place.opcode
        for row in report.rows
        for place in expand_fusion(row.name, case.module, costs)
    }
    assert places.keys() == {"operand", "constant", "on chip", "result", "alias"}
    assert places["operand"] == "parameter"


def test_estimates_are_the_longer_of_two_times() -> None:
    chip = find_chip("h100")
    rows = estimate_fusions(find(LAYERS), chip).rows
    assert rows[0].bound == "memory"
    assert rows[0].estimated_seconds == pytest.approx(2 * 64 / chip.hbm_bytes_per_second)
    case = next(case for case in DUMPS if case.path.parent.name == "transformer_train")
    estimated = estimate_fusions(measured(case)[2], chip).rows
    assert {row.bound for row in estimated} == {"compute", "memory"}
    compute = next(row for row in estimated if row.bound == "compute")
    assert compute.estimated_seconds == pytest.approx(
        (compute.flops_per_step or 0) / chip.flops_per_second
    )
    names = set(FusionRow.__struct_fields__) - {"bound", "estimated_seconds"}
    for before, after in zip(measured(case)[2].rows, estimated, strict=True):
        assert all(getattr(before, name) == getattr(after, name) for name in names)


def test_the_estimates_of_all_rows_add_up_in_the_totals() -> None:
    chip = find_chip("h100")
    case = next(case for case in DUMPS if case.path.parent.name == "transformer_train")
    found = measured(case)[2]
    estimated = estimate_fusions(found, chip)
    times = [row.estimated_seconds for row in estimated.rows]
    assert estimated.totals.estimated_seconds == sum(time for time in times if time is not None)
    assert replace(estimated.totals, estimated_seconds=None) == found.totals
    assert estimate_fusions(replace(found, rows=()), chip).totals.estimated_seconds == 0
    unknown = replace(found, rows=(replace(found.rows[0], executions=None),))
    assert estimate_fusions(unknown, chip).totals.estimated_seconds is None


VMEM = """HloModule m, is_scheduled=true
body {
  p = f32[4096]{0:S(1)} parameter(0)
  ROOT n = f32[4096] negate(p)
}
inside {
  p = f32[4096]{0:S(1)} parameter(0)
  ROOT n = f32[4096]{0:S(1)} negate(p)
}
ENTRY e {
  p = f32[4096]{0:S(1)} parameter(0)
  kept = f32[4096]{0:S(1)} fusion(p), kind=kLoop, calls=inside
  ROOT written = f32[4096] fusion(kept), kind=kLoop, calls=body
}
"""


def test_the_slowest_memory_space_limits() -> None:
    """`written` reads 16 KiB of vmem and writes as much to HBM; `kept` moves 32 KiB in vmem."""
    chip = find_chip("v5e")
    rows = {row.name: row for row in estimate_fusions(find(VMEM), chip).rows}
    once = 16384 / chip.hbm_bytes_per_second
    assert (rows["written"].bound, rows["written"].estimated_seconds) == ("memory", once)
    moving = 32768 / (chip.vmem_bytes_per_second or 0)
    assert (rows["kept"].bound, rows["kept"].estimated_seconds) == ("vmem", moving)
    unstated = estimate_fusions(find(VMEM), replace(chip, vmem_bytes_per_second=None))
    assert {row.name: row.bound for row in unstated.rows}["kept"] is None
    slow = replace(chip, vmem_bytes_per_second=chip.hbm_bytes_per_second / 2)
    rows = {row.name: row for row in estimate_fusions(find(VMEM), slow).rows}
    assert (rows["written"].bound, rows["written"].estimated_seconds) == ("vmem", 2 * once)
    assert (rows["kept"].bound, rows["kept"].estimated_seconds) == ("vmem", 4 * once)
