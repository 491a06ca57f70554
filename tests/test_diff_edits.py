"""What somebody changed is said in the words of an edit, and what is the same is proven."""

from __future__ import annotations

import re

import pytest

from hlotool.commands.diff.cause_text import write_cause
from hlotool.compare.inputs import DiffSide
from hlotool.compare.match.proof import compute_the_same
from hlotool.compare.report import compare_programs
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.text import Source

PROGRAM = """\
HloModule step

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  x = f32[64,64] parameter(0), metadata={op_name="x"}
  y = f32[64,64] parameter(1), metadata={op_name="y"}
  test = pred[64,64] compare(x, y), direction=LT, metadata={op_name="jit(step)/mask/lt"}
  chosen = f32[64,64] select(test, x, y), metadata={op_name="jit(step)/mask/select_n"}
  rate = f32[] constant(0.001)
  rates = f32[64,64] broadcast(rate), dimensions={}
  scaled = f32[64,64] multiply(chosen, rates), metadata={op_name="jit(step)/optimizer/mul"}
  window = f32[16,64] slice(scaled), slice={[0:16], [0:64]}, metadata={op_name="jit(step)/slice"}
  zero = f32[] constant(0)
  total = f32[64] reduce(scaled, zero), dimensions={0}, to_apply=sum, \
metadata={op_name="jit(step)/loss/reduce_sum"}
  ROOT out = (f32[16,64], f32[64]) tuple(window, total)
}
"""
EDITS = {
    "direction=LT": ("direction=GT", "comparison of lt in mask: LT → GT"),
    "select(test, x, y)": ("select(test, y, x)", "the operands of select_n in mask are swapped"),
    "constant(0.001)": (
        "constant(0.0003)",
        "a constant in optimizer (f32[]): 0.001 → 0.0003",
    ),
    "[0:16], [0:64]": (
        "[8:24], [0:64]",
        "slice: {[0:16], [0:64]} → {[8:24], [0:64]}",
    ),
    "dimensions={0}": ("dimensions={1}", "axes of reduce_sum in loss: {0} → {1}"),
    "multiply(chosen, rates)": ("subtract(chosen, rates)", "multiply became subtract in optimizer"),
}


def load(text: str) -> Program:
    """Parse a text."""
    return Program("step", parse_module(Source(text)))


@pytest.mark.parametrize("edit", EDITS)
def test_edit(edit: str) -> None:
    changed, sentence = EDITS[edit]
    assert edit in PROGRAM
    old, new = (DiffSide(load(text)) for text in (PROGRAM, PROGRAM.replace(edit, changed)))
    said = [write_cause(one, "auto") for one in compare_programs(old, new).causes]
    assert said[0] == sentence


def test_swapped_operands_name_their_function() -> None:
    """JAX calls it by a name in the brackets of differentiation."""
    pick = """pick {
  t = pred[64,64] parameter(0)
  a = f32[64,64] parameter(1)
  b = f32[64,64] parameter(2)
  ROOT s = f32[64,64] select(t, a, b)
}

ENTRY"""
    call = 'call(test, x, y), to_apply=pick, metadata={op_name="jit(step)/jvp(jit(_where))"}, x={'
    text = PROGRAM.replace("ENTRY", pick).replace("select(test, x, y), metadata={", call)
    text = re.sub(r", x=\{.*", "", text)
    old, new = (DiffSide(load(one)) for one in (text, text.replace("test, x, y", "test, y, x")))
    said = [write_cause(one, "auto") for one in compare_programs(old, new).causes]
    assert said == ["the operands of _where are swapped"]


CALLED = """\
HloModule step

double {
  p = f32[64] parameter(0)
  ROOT q = f32[64] add(p, p)
}

ENTRY main {
  x = f32[64] parameter(0)
  once = f32[64] call(x), to_apply=double
  ROOT twice = f32[64] call(once), to_apply=double
}
"""
INLINED = """\
HloModule step

ENTRY main {
  x = f32[64] parameter(0)
  once = f32[64] add(x, x)
  both = (f32[64], f32[64]) tuple(once, x)
  first = f32[64] get-tuple-element(both), index=0
  unused = f32[64] negate(x)
  ROOT twice = f32[64] add(first, first)
}
"""


def test_functions_do_not_count() -> None:
    assert compute_the_same(load(CALLED), load(INLINED))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("add(first, first)", "add(first, x)"),
        ("add(first, first)", "subtract(first, first)"),
        ("negate(x)", "rng(x, x), distribution=rng_uniform"),  # draws numbers of its own
        ("index=0", "index=1"),
    ],
)
def test_nothing_else_is_proven(old: str, new: str) -> None:
    assert old in INLINED
    assert not compute_the_same(load(CALLED), load(INLINED.replace(old, new)))
