"""The cost model against XLA's own: small modules exactly, whole dumps within float32."""

from __future__ import annotations

import pytest
from cost_cases import (
    Case,
    count_custom_calls,
    list_corpus,
    list_dumps,
    read_module,
)

from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.text import Source

CORPUS = list_corpus()
DUMPS = list_dumps()


def test_the_cases_are_there() -> None:
    assert len(CORPUS) > 120
    assert len(DUMPS) >= 16


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case.name)
def test_small_module_costs_what_xla_says(case: Case) -> None:
    """Equal to the last digit, but for the -1 of XLA's custom calls."""
    cost = Program("", case.module).costs.of_computation(case.module.entry)
    calls = count_custom_calls(case.module)
    in_entry = sum(one.opcode == "custom-call" for one in case.module.entry.instructions)
    assert (cost.flops, cost.transcendentals, cost.bytes_accessed) == (
        case.expected.flops + calls,
        case.expected.transcendentals,
        case.expected.bytes_accessed + in_entry,  # a fusion's bytes do not come from its body
    )
    assert cost.is_total_lower_bound == (cost.unknown_custom_call_count > 0)
    assert not cost.is_lower_bound


@pytest.mark.parametrize("case", DUMPS, ids=lambda case: case.name)
def test_dump_costs_what_xla_says(case: Case) -> None:
    """XLA adds in float32: 1e-6 of the sum, and one for each custom call."""
    cost = Program("", case.module).costs.of_computation(case.module.entry)
    calls = count_custom_calls(case.module)
    expected = case.expected
    assert cost.flops == pytest.approx(expected.flops, rel=1e-6, abs=calls)
    assert cost.transcendentals == pytest.approx(expected.transcendentals, rel=1e-6, abs=calls)
    assert cost.bytes_accessed == pytest.approx(expected.bytes_accessed, rel=1e-5, abs=calls)


@pytest.mark.parametrize("case", DUMPS, ids=lambda case: case.name)
def test_every_instruction_costs_what_xla_says(case: Case) -> None:
    """XLA's figures for each instruction alone, where they are written down."""
    oracle = case.read_instruction_costs()
    if oracle is None:
        pytest.skip("no figures for each instruction")
    costs = Program("", case.module).costs
    for computation, rows in oracle.items():
        by_name = {one.name: one for one in case.module.computations[computation].instructions}
        for name, expected in rows.items():
            cost = costs.of(by_name[name])
            calls = count_custom_calls(case.module)
            found = (cost.flops, cost.transcendentals, cost.bytes_accessed)
            assert found == pytest.approx(expected, rel=1e-6, abs=calls), name


@pytest.mark.parametrize("case", CORPUS + DUMPS, ids=lambda case: case.name)
def test_parts_add_up(case: Case) -> None:
    """The entry costs what its instructions cost one by one."""
    costs = Program("", case.module).costs
    parts = [costs.of(one) for one in case.module.entry.instructions]
    whole = costs.of_computation(case.module.entry)
    assert sum(one.flops for one in parts) == whole.flops
    assert sum(one.transcendentals for one in parts) == whole.transcendentals
    assert sum(one.bytes_accessed for one in parts) == whole.bytes_accessed
    assert sum(one.matrix_flops for one in parts) == whole.matrix_flops
    assert sum(one.unknown_custom_call_count for one in parts) == whole.unknown_custom_call_count


def test_layouts_and_their_tiles_do_not_count() -> None:
    """The same module, printed without layouts and with tiles, costs the same."""
    shapes = ("f32[6,5]{1,0}", "f32[6,5]", "f32[6,5]{1,0:T(8,128)S(1)}")
    text = "ENTRY e {{\n p = {0} parameter(0)\n ROOT a = {0} add(p, p)\n}}"
    modules = [parse_module(Source(text.format(shape))) for shape in shapes]
    costs = [Program("", module).costs.of_computation(module.entry) for module in modules]
    assert len({(one.flops, one.bytes_accessed) for one in costs}) == 1
    assert [one.traffic_bytes for one in costs] == [240, 240, 0]  # the last lies elsewhere


LOOP = """HloModule m
body {{
  p = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[8] get-tuple-element(p), index=1
  o = s32[] constant(1)
  j = s32[] add(i, o)
  z = f32[8] multiply(x, x)
  ROOT t = (s32[], f32[8]) tuple(j, z)
}}
cond {{
  p = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] {limit}
  ROOT l = pred[] compare(i, n), direction=LT
}}
ENTRY e {{
  x = f32[8] parameter(0)
  z = s32[] constant(0)
  t = (s32[], f32[8]) tuple(z, x)
  w = (s32[], f32[8]) while(t), condition=cond, body=body
  ROOT r = f32[8] get-tuple-element(w), index=1
}}
"""


@pytest.mark.parametrize(
    ("limit", "rounds", "is_lower_bound"),
    [
        ("constant(10)", 10, False),
        ("constant(0)", 0, False),
        ("get-tuple-element(p), index=0", 1, True),
    ],
)
def test_loops_multiply(limit: str, rounds: int, is_lower_bound: bool) -> None:
    """A body of 8 + 1 flops and a condition of 1; an unknown count is taken once and said."""
    module = parse_module(Source(LOOP.format(limit=limit)))
    report = Program("", module).cost
    assert report.flops == 10
    assert report.flops_per_step == 10 * rounds
    assert report.is_lower_bound is is_lower_bound
    assert not report.is_upper_bound


def test_a_conditional_is_an_upper_bound() -> None:
    path = next(case.path for case in CORPUS if case.path.stem == "conditional")
    module = read_module(path)
    report = Program("", module).cost
    assert (report.is_lower_bound, report.is_upper_bound) == (False, True)


MALFORMED = {
    "no operand": "a = f32[4,4] ragged-dot(), lhs_contracting_dims={1}",
    "no groups": "a = f32[4,4] convolution(p, p), dim_labels=bf_io->bf, feature_group_count=0",
    "a stride of nothing": "q = f32[4,4,4] parameter(1)\n a = f32[4,4,4] convolution(q, q), "
    "window={size=4 stride=0}, dim_labels=b0f_i0o->b0f",
    "an endless window": "q = f32[4,9000000000,4] parameter(1)\n a = f32[4,9000000000,4] "
    "convolution(q, q), window={size=9000000000 pad=9_9}, dim_labels=b0f_i0o->b0f",
    "unbounded": "q = f32[?,4] parameter(1)\n a = f32[?,4] add(q, q)",
    "an unknown opcode": "a = f32[4,4] sing(p)",
    "no branch": "a = f32[4,4] conditional(p)",
    "no start index": "a = f32[4,4] dynamic-slice(p), dynamic_slice_sizes={4,4}",
    "an empty reduction": "a = () reduce(p, p), dimensions={0}",
}

SQUARE = "window={size=3x3 pad=1_1x1_1}"
IMAGE = (
    "i = f32[1,8,8,4] parameter(1)\n k = f32[3,3,4,5] parameter(2)\n"
    " a = f32[1,8,8,5] convolution(i, k), "
)
# What does not fit, and the reason given.
REASONS = {
    "a = f32[4,4] dot(p, p), lhs_contracting_dims={7}": "f32[4,4] has no such dimension (line 4)",
    "a = f32[4,4] dot(p, p), lhs_contracting_dims={1}": "lhs and rhs contract, or batch, different",
    "a = f32[4,4] dot(p, p), lhs_contracting_dims={1,1}, rhs_contracting_dims={0,0}": "twice",
    "a = f32[4] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}": "rank than f32[4]",
    "q = f32[5,4] parameter(1)\n a = f32[4,4] dot(p, q), lhs_contracting_dims={1}, "
    "rhs_contracting_dims={0}": "differ in size",
    "t = (f32[4,4]) tuple(p)\n a = f32[4,4] dot(t, p), lhs_contracting_dims={1}": "no such",
    IMAGE + SQUARE + ", dim_labels=b12f_12io->b12f": "each spatial dimension once (line 6)",
    IMAGE + SQUARE + ", dim_labels=bf_io->bf": "dim_labels= describes 2 dimensions",
    IMAGE + "window={size=3}, dim_labels=b01f_01io->b01f": "dimensions, dim_labels= 2 spatial",
    IMAGE + "window={size=3x3 pad=1_1}, dim_labels=b01f_01io->b01f": "differ in rank (line 6)",
    IMAGE + "dim_labels=b01f_01io->b01f": "window= has 0 dimensions, dim_labels= 2 spatial ones",
    "a = f32[4,4] reduce-window(p, p), window={size=3}": "window= has 1 dimensions, the operand 2",
    "a = f32[4,4] reduce-window(p, p)": "window= has 0 dimensions, the operand 2",
    "a = f32[4,4] reduce-window(p, p), window={size=-3x-3}": "of the window is below 1",
    "a = f32[4,4] sing(p)": "opcode 'sing' is unknown",
    "a = f32[4,4] call(p)": "call has no computation to_apply=",
    "a = f32[4,4] conditional(p)": "conditional has no branches",
    "q = f32[?,4] parameter(1)\n a = f32[?,4] add(q, q)": "the size of f32[?,4] is unknown",
    "a = f32[4,4] dynamic-slice(p), dynamic_slice_sizes={4,4}": "contradict each other",
}


@pytest.mark.parametrize("line", MALFORMED.values(), ids=MALFORMED)
def test_what_is_not_known_makes_a_lower_bound(line: str) -> None:
    text = f"ENTRY e {{\n p = f32[4,4] parameter(0)\n b = f32[4,4] add(p, p)\n {line}\n}}"
    module = parse_module(Source(text))
    cost = Program("", module).costs.of_computation(module.entry)
    assert cost.flops == 16
    assert cost.is_lower_bound


@pytest.mark.parametrize(("line", "reason"), REASONS.items(), ids=REASONS.values())
def test_an_unknown_cost_has_a_reason(line: str, reason: str) -> None:
    text = f"ENTRY e {{\n p = f32[4,4] parameter(0)\n b = f32[4,4] add(p, p)\n {line}\n}}"
    module = parse_module(Source(text))
    costs = Program("", module).costs
    assert costs.of_computation(module.entry).flops == 16
    assert costs.of_computation(module.entry).is_lower_bound
    assert [(one.name, reason in why) for one, why in costs.unknown.items()] == [("a", True)]


BATCH = "i = f32[8,32,32,16] parameter(0)\n k = f32[3,3,16,64] parameter(1)\n"
CONVOLUTION = (
    BATCH + " ROOT a = f32[8,32,32,64] convolution(i, k), window={size=3x3 pad=1_1x1_1}, "
    "dim_labels=b01f_01io->b01f"
)
# One thing changed in that convolution, which XLA's shape inference then refuses, and the reason.
CONTRADICTIONS = {
    ("_01io", "_01oi"): "the kernel takes 64 features, but a group of the input has 16",
    ("=b01f", "=f01b"): "the kernel takes 16 features, but a group of the input has 8",
    (">b01f", ">f01b"): "the operands, window= and dim_labels= do not give f32[8,32,32,64]",
    ("3x3 pad=1_1x1_1", "5x5 pad=2_2x2_2"): "window= has size 5, but the kernel 3",
    ("=3x3", "=-3x3"): "the window has no end, or a size, stride or dilation below 1",
    ("=3x3", "=99999999999x3"): "window= has size 99999999999, but the kernel 3",
    ("=1_1x", "=99999999999_1x"): "do not give f32[8,32,32,64]",
    ("x1_1", "x1_1 lhs_dilate=999999999999x1"): "do not give f32[8,32,32,64]",
    ("x1_1", "x1_1 rhs_dilate=0x0"): "a size, stride or dilation below 1",
    ("x1_1", "x0_0"): "do not give f32[8,32,32,64]",
    ("->b01f", "->b01f, feature_group_count=5"): "feature_group_count=5 does not divide",
    ("->b01f", "->b01f, batch_group_count=3"): "batch_group_count=3 does not divide",
    ("->b01f", "->b01f, batch_group_count=2, feature_group_count=2"): "both features",
}


@pytest.mark.parametrize(("change", "reason"), CONTRADICTIONS.items(), ids=map(str, CONTRADICTIONS))
def test_a_convolution_fits_its_shapes(change: tuple[str, str], reason: str) -> None:
    text = f"ENTRY e {{\n {CONVOLUTION}\n}}"
    module = parse_module(Source(text))
    assert Program("", module).costs.of_computation(module.entry).flops == 2 * 16 * 64 * 8 * 94 * 94
    module = parse_module(Source(text.replace(*change)))
    costs = Program("", module).costs
    assert costs.of_computation(module.entry).flops == 0
    assert costs.of_computation(module.entry).is_lower_bound
    assert [(one.name, reason in why) for one, why in costs.unknown.items()] == [("a", True)]


def test_padding_may_be_negative() -> None:
    """Read and written: 8 and 4 elements, and the padding value."""
    line = "a = f32[4] pad(p, z), padding=-2_-2"
    text = f"ENTRY e {{\n p = f32[8] parameter(0)\n z = f32[] parameter(1)\n {line}\n}}"
    module = parse_module(Source(text))
    cost = Program("", module).costs.of_computation(module.entry)
    assert (cost.flops, cost.bytes_accessed, cost.is_lower_bound) == (0, 52, False)
