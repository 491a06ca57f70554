"""What no fusion took in: by opcode, size and executions."""

from __future__ import annotations

import pytest

from hlotool.analysis.fusions.rows import MissedRow
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.text import Source

MIB = 1 << 20


def find(text: str, least_bytes: int = MIB) -> tuple[MissedRow, ...]:
    module = parse_module(Source(text))
    return Program("", module).find_missed(least_bytes)


def one_line(line: str) -> str:
    return f"ENTRY e {{\n p = f32[512,512] parameter(0)\n ROOT a = {line}\n}}"


LINES = {
    "add": "f32[512,512] add(p, p)",
    "exponential": "f32[512,512] exponential(p)",
    "convert": "bf16[512,512] convert(p)",
    "copy": "f32[512,512]{0,1} copy(p)",
    "transpose": "f32[512,512] transpose(p), dimensions={1,0}",
    "broadcast": "f32[2,512,512] broadcast(p), dimensions={1,2}",
    "reshape": "f32[1024,256] reshape(p)",
    "compare": "pred[512,512] compare(p, p), direction=EQ",
}
NOT_MISSED = {
    "bitcast": "f32[1024,256] bitcast(p)",
    "layout change alone": "f32[512,512]{0,1} transpose(p), dimensions={1,0}",
    "dot": "f32[512,512] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "reverse": "f32[512,512] reverse(p), dimensions={0}",
    "custom call": 'f32[512,512] custom-call(p), custom_call_target="x"',
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_missed(line: str) -> None:
    (row,) = find(one_line(line))
    assert row.opcode in line
    assert row.bytes_accessed == row.bytes_accessed_per_step
    assert row.bytes_accessed >= MIB


@pytest.mark.parametrize("line", NOT_MISSED.values(), ids=NOT_MISSED)
def test_not_missed(line: str) -> None:
    assert find(one_line(line)) == ()


def test_the_threshold_is_for_one_run() -> None:
    """16 KiB in a loop of 100 rounds is 1.6 MB a run."""
    text = """body {
  p = (s32[], f32[2048]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  o = s32[] constant(1)
  j = s32[] add(i, o)
  x = f32[2048] get-tuple-element(p), index=1
  y = f32[2048] copy(x)
  ROOT t = (s32[], f32[2048]) tuple(j, y)
}
cond {
  p = (s32[], f32[2048]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(100)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY e {
  p = f32[2048] parameter(0)
  z = s32[] constant(0)
  t = (s32[], f32[2048]) tuple(z, p)
  ROOT w = (s32[], f32[2048]) while(t), condition=cond, body=body
}"""
    (row,) = find(text)
    assert (row.name, row.executions, row.bytes_accessed_per_step) == ("y", 100, 100 * 16384)
    assert find(text, 2 * MIB) == ()
    assert len(find(text, 0)) == 3


def test_equal_ones_from_one_place_fold() -> None:
    text = """ENTRY e {
  p = f32[512,512] parameter(0), metadata={op_name="jit(f)/embed/p"}
  a = f32[512,512]{0,1} copy(p)
  b = f32[512,512]{0,1} copy(p)
  c = f32[512,512] add(p, p), metadata={op_name="jit(f)/mlp/add" source_file="m.py" source_line=2}
  d = f32[512,512] add(p, p), metadata={op_name="jit(f)/mlp/add" source_file="m.py" source_line=3}
  ROOT t = (f32[512,512], f32[512,512], f32[512,512], f32[512,512]) tuple(a, b, c, d)
}"""
    rows = find(text)
    assert [(row.members, row.scope, row.source_line) for row in rows] == [
        (("a", "b"), "embed", None),  # a copy without a name takes that of what it copies
        (("c",), "mlp", 2),
        (("d",), "mlp", 3),
    ]
    assert [row.is_alone for row in rows] == [True, True, True]  # p and a tuple: nothing to fuse
