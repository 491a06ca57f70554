"""Where a value comes from: its scope and line, the parameter that it only moves."""

from __future__ import annotations

import pytest
from buffer_dumps import Dump, find_dumps

from hlotool.analysis.memory.estimate.assignment import estimate_assignment
from hlotool.analysis.memory.value_origin import ValueOrigin, ValueOrigins
from hlotool.ir.buffers import BufferAssignment
from hlotool.parse import parse_module
from hlotool.source import Source

DUMPS = [dump for dump in find_dumps() if not dump.path.is_file()]

TEXT = """HloModule m, is_scheduled=true

scale {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  ROOT m = f32[4] multiply(x, y), \
metadata={op_name="jit(f)/jvp(mlp)/mul" source_file="/a/b/model.py" source_line=7}
}

moved {
  z = f32[4] parameter(0)
  ROOT t = bf16[4] convert(z)
}

body {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[4] get-tuple-element(s), index=1
  w = f32[4] fusion(v, v), kind=kLoop, calls=scale
  ROOT b = (s32[], f32[4]) tuple(i, w)
}

cond {
  q = (s32[], f32[4]) parameter(0)
  ROOT c = pred[] constant(true)
}

ENTRY main {
  p = f32[4] parameter(0), metadata={op_name="state['w']"}
  zero = s32[] constant(0)
  moving = bf16[4] fusion(p), kind=kLoop, calls=moved
  copied = f32[4] copy(p)
  init = (s32[], f32[4]) tuple(zero, copied)
  loop = (s32[], f32[4]) while(init), condition=cond, body=body, \
metadata={op_name="jit(f)/while" source_file="model.py" source_line=3}
  r = f32[4] get-tuple-element(loop), index=1
  ROOT o = (f32[4], bf16[4]) tuple(r, moving)
}
"""


def origins(text: str) -> dict[str, ValueOrigin]:
    module = parse_module(Source(text))
    assignment = estimate_assignment(module).assignment
    found = ValueOrigins(module, assignment)
    values = [value for one in assignment.allocations for value in one.values]
    return {value.name: found.of(value) for value in values}


def test_a_fusion_takes_scope_and_line_from_inside() -> None:
    found = origins(TEXT)["w"]
    assert (found.opcode, found.op_name) == ("fusion", None)
    assert (found.scope, found.source_file, found.source_line) == ("mlp", "/a/b/model.py", 7)


def test_a_loop_takes_its_scope_from_its_body_but_has_a_line() -> None:
    found = origins(TEXT)["loop{1}"]
    assert (found.op_name, found.scope) == ("jit(f)/while", "mlp")
    assert (found.source_file, found.source_line) == ("model.py", 3)


def test_the_state_of_a_loop_comes_from_its_last_round() -> None:
    assert origins(TEXT)["s{1}"].scope == "mlp"


def test_a_moved_parameter_is_named() -> None:
    found = origins(TEXT)
    assert [found[name].moved_parameter for name in ("copied", "moving", "p")] == [
        "state['w']",
        "state['w']",
        "state['w']",
    ]
    assert found["copied"].scope is None


@pytest.mark.parametrize("dump", DUMPS[:3], ids=lambda dump: dump.name)
def test_texts_of_used_values_tell_the_same(dump: Dump) -> None:
    """Without the module, opcode and op_name come from the assignment itself."""
    whole = ValueOrigins(dump.module, dump.assignment)
    alone = ValueOrigins(None, dump.assignment)
    for allocation in dump.assignment.allocations:
        for value in allocation.values:
            ours, theirs = whole.of(value), alone.of(value)
            assert (ours.opcode, ours.op_name) == (theirs.opcode, theirs.op_name)


def test_nothing_known() -> None:
    dump = DUMPS[0]
    bare = BufferAssignment(dump.assignment.source, dump.assignment.allocations)
    value = dump.assignment.allocations[0].values[0]
    assert ValueOrigins(None, bare).of(value) == ValueOrigin()
