"""What is computed again: the same value in several fusions, and nothing else."""

from __future__ import annotations

import pytest

from hlotool.analysis.fusions.missed import list_recomputed
from hlotool.analysis.fusions.rows import RecomputeRow
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.text import Source


def find(text: str, least: int = 1) -> tuple[RecomputeRow, ...]:
    program = Program("", parse_module(Source(text)))
    return list_recomputed(program.fingerprints, program.costs, least)


TWO = """HloModule m
f {{
  p = f32[64,64] parameter(0)
  q = f32[64,64] parameter(1)
  {first}
  ROOT r = f32[64,64] add(e, q)
}}
g {{
  x = f32[64,64] parameter(0)
  y = f32[64,64] parameter(1)
  {second}
  ROOT r = f32[64,64] multiply(e, y)
}}
ENTRY main {{
  a = f32[64,64] parameter(0)
  b = f32[64,64] parameter(1)
  c = f32[64,64] fusion(a, b), kind=kLoop, calls=f
  {between}
  ROOT d = f32[64,64] fusion({operands}), kind=kLoop, calls=g
}}
"""


def two(
    first: str = "e = f32[64,64] exponential(p)",
    second: str = "e = f32[64,64] exponential(x)",
    operands: str = "a, c",
    between: str = "",
) -> str:
    return TWO.format(first=first, second=second, operands=operands, between=between)


SAME = {
    "a transcendental": two(),
    "a dot": two(
        "e = f32[64,64] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "e = f32[64,64] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "a, b",
    ),
    "of a value computed in both": two(
        "n = f32[64,64] negate(p)\n  e = f32[64,64] tanh(n)",
        "m = f32[64,64] negate(x)\n  e = f32[64,64] tanh(m)",
    ),
    "operands in another order": two(second="e = f32[64,64] exponential(y)", operands="c, a"),
    "through a copy": two(operands="k, c", between="k = f32[64,64] copy(a)"),
    "through a tuple": two(
        operands="k, c",
        between="t = (f32[64,64], f32[64,64]) tuple(b, a)\n"
        "  k = f32[64,64] get-tuple-element(t), index=1",
    ),
    "layouts differ": two(second="e = f32[64,64]{0,1} exponential(x)"),
    "metadata differs": two(second='e = f32[64,64] exponential(x), metadata={op_name="x"}'),
}
DIFFERENT = {
    "another operation": two(second="e = f32[64,64] tanh(x)"),
    "another operand": two(second="e = f32[64,64] exponential(y)"),
    "cheap": two("e = f32[64,64] add(p, p)", "e = f32[64,64] add(x, x)"),
    "another type": two(
        second="h = bf16[64,64] exponential(x)\n  e = f32[64,64] convert(h)",
    ),
    "other attributes": two(
        "e = f32[64,64] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "e = f32[64,64] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        "a, b",
    ),
    "of random numbers": two(
        'n = f32[64,64] custom-call(), custom_call_target="x"\n  e = f32[64,64] tanh(n)',
        'n = f32[64,64] custom-call(), custom_call_target="x"\n  e = f32[64,64] tanh(n)',
    ),
    "of constants that are not printed": two(
        "n = f32[64,64] constant({...})\n  e = f32[64,64] tanh(n)",
        "n = f32[64,64] constant({...})\n  e = f32[64,64] tanh(n)",
    ),
    "twice in one fusion": two(
        "e2 = f32[64,64] exponential(p)\n  e = f32[64,64] exponential(p)",
        "e = f32[64,64] negate(x)",
    ),
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_the_same_value(text: str) -> None:
    (row,) = find(text)
    assert (row.count, row.members, row.computation) == (2, ("c", "d"), "main")
    assert row.repeated_per_step == row.flops + row.transcendentals > 0


@pytest.mark.parametrize("text", DIFFERENT.values(), ids=DIFFERENT)
def test_different_values(text: str) -> None:
    assert find(text) == ()


def test_an_operation_on_its_own_counts_too() -> None:
    (row,) = find(two(between="k = f32[64,64] exponential(a)"))
    assert (row.count, row.members) == (3, ("c", "k", "d"))
    assert row.repeated_per_step == 2 * 64 * 64


def test_small_ones_are_left_out() -> None:
    assert find(two(), 64 * 64) != ()
    assert find(two(), 64 * 64 + 1) == ()


def test_two_computations_share_no_values() -> None:
    """A parameter of a branch is not that of another."""
    text = """b0 {
  p = f32[8] parameter(0)
  ROOT e = f32[8] exponential(p)
}
b1 {
  p = f32[8] parameter(0)
  ROOT e = f32[8] exponential(p)
}
ENTRY main {
  i = s32[] parameter(0)
  p = f32[8] parameter(1)
  ROOT c = f32[8] conditional(i, p, p), branch_computations={b0, b1}
}"""
    assert find(text) == ()


def test_nesting_does_not_explode() -> None:
    """Thirty levels of fusions, each called twice with the same operand."""
    levels = "\n".join(
        f"f{n} {{\n p = f32[8] parameter(0)\n a = f32[8] fusion(p), kind=kLoop, calls=f{n - 1}\n"
        f" b = f32[8] fusion(p), kind=kLoop, calls=f{n - 1}\n ROOT c = f32[8] add(a, b)\n}}"
        for n in range(1, 30)
    )
    text = f"""f0 {{
  p = f32[8] parameter(0)
  ROOT e = f32[8] exponential(p)
}}
{levels}
ENTRY main {{
  p = f32[8] parameter(0)
  a = f32[8] fusion(p), kind=kLoop, calls=f29
  ROOT b = f32[8] fusion(p), kind=kLoop, calls=f29
}}"""
    assert {row.count for row in find(text)} == {2}
