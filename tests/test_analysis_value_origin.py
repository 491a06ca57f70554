"""Who made a value: its scope and line, the parameter that it only moves."""

from __future__ import annotations

import pytest
from buffer_dumps import Dump, find_dumps
from dump_files import SEEDS, TESTDATA, needs_shared
from each import for_each
from parsed import read_module

from hlotool.analysis.memory.estimate import estimate_assignment
from hlotool.analysis.memory.report import analyze_memory
from hlotool.analysis.memory.rows import rows_at
from hlotool.analysis.memory.value_origins import ValueOrigin, ValueOrigins
from hlotool.hlo.buffers import BufferAssignment
from hlotool.hlo.parser import parse_module
from hlotool.text import Source

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
    estimate = estimate_assignment(module)
    found = ValueOrigins(module, estimate.assignment, estimate.flow)
    values = [value for one in estimate.assignment.allocations for value in one.values]
    return {value.name: found.of(value) for value in values}


def test_a_fusion_takes_scope_and_line_from_inside() -> None:
    found = origins(TEXT)["w"]
    assert (found.opcode, found.op_name) == ("fusion", None)
    assert (found.scope, found.source_file, found.source_line) == ("mlp", "/a/b/model.py", 7)


def test_a_loop_takes_scope_and_line_from_its_body() -> None:
    found = origins(TEXT)["loop{1}"]
    assert (found.op_name, found.scope) == ("jit(f)/while", "mlp")
    assert (found.source_file, found.source_line) == ("/a/b/model.py", 7)
    assert (found.scope_from, found.source_from) == ("producer", "producer")


def test_the_state_of_a_loop_comes_from_its_last_round() -> None:
    assert origins(TEXT)["s{1}"].scope == "mlp"


def test_a_moved_parameter_is_named() -> None:
    found = origins(TEXT)
    assert [found[name].moved_parameter for name in ("copied", "moving", "p")] == [
        "state['w']",
        "state['w']",
        "state['w']",
    ]
    assert [found[name].source_from for name in ("copied", "moving", "p")] == ["user", None, None]


# As JAX writes a scan and its gradient: line 3 calls the loop, and what cuts and stacks stands
# there too. The state of the first loop: 0 counts, 1 is carried, 2 stacks what is carried.
STACKED = """HloModule m, is_scheduled=true

stack {
  q = f32[9,4] parameter(0)
  x = f32[4] parameter(1)
  i = s32[] parameter(2)
  r = f32[1,4] bitcast(x)
  zero = s32[] constant(0)
  ROOT d = f32[9,4] dynamic-update-slice(q, r, i, zero), metadata={LOOP}
}

cut {
  q = f32[9,4] parameter(0)
  i = s32[] parameter(1)
  zero = s32[] constant(0)
  d = f32[1,4] dynamic-slice(q, i, zero), dynamic_slice_sizes={1,4}, metadata={LOOP}
  ROOT b = f32[4] bitcast(d)
}

two {
  x = f32[4] parameter(0)
  a = f32[4] negate(x), metadata={op_name="jit(f)/first/neg" source_file="m.py" source_line=21}
  b = f32[4] cosine(x), metadata={op_name="jit(f)/second/cos" source_file="m.py" source_line=22}
  ROOT t = (f32[4], f32[4]) tuple(a, b)
}

forward {
  s = (s32[], f32[4], f32[9,4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4] get-tuple-element(s), index=1
  all = f32[9,4] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one), metadata={LOOP}
  y = f32[4] tanh(x), \
metadata={op_name="jit(f)/while/body/mlp/tanh" source_file="m.py" source_line=11}
  stacked = f32[9,4] fusion(all, x, i), kind=kLoop, calls=stack, metadata={LOOP}
  ROOT t = (s32[], f32[4], f32[9,4]) tuple(j, y, stacked)
}

backward {
  s = (s32[], f32[4], f32[9,4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  g = f32[4] get-tuple-element(s), index=1
  all = f32[9,4] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one), metadata={LOOP}
  cutout = f32[4] fusion(all, i), kind=kLoop, calls=cut, metadata={LOOP}
  h = f32[4] multiply(g, cutout), \
metadata={op_name="jit(f)/while/body/attention/mul" source_file="m.py" source_line=12}
  sum = f32[4] add(g, h), metadata={LOOP}
  ROOT t = (s32[], f32[4], f32[9,4]) tuple(j, sum, all)
}

goes_on {
  s = (s32[], f32[4], f32[9,4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(9)
  ROOT c = pred[] compare(i, n), direction=LT, metadata={LOOP}
}

ENTRY main {
  p = f32[4] parameter(0), metadata={op_name="state['w']"}
  nameless = f32[4] parameter(1)
  first = s32[] constant(0)
  nothing = f32[] constant(0)
  zeros = f32[9,4] broadcast(nothing), dimensions={}
  kept = f32[4] copy(p)
  start = (s32[], f32[4], f32[9,4]) tuple(first, kept, zeros)
  there = (s32[], f32[4], f32[9,4]) while(start), condition=goes_on, body=forward, metadata={LOOP}
  all = f32[9,4] get-tuple-element(there), index=2
  seed = f32[4] iota(), iota_dimension=0
  again = (s32[], f32[4], f32[9,4]) tuple(first, seed, all)
  back = (s32[], f32[4], f32[9,4]) while(again), condition=goes_on, body=backward
  grad = f32[4] get-tuple-element(back), index=1
  both = (f32[4], f32[4]) fusion(grad), kind=kLoop, calls=two, \
metadata={op_name="jit(f)/second/cos" source_file="m.py" source_line=22}
  a = f32[4] get-tuple-element(both), index=0
  scaled = f32[4] multiply(a, nameless), \
metadata={op_name="jit(f)/adamw/mul" source_file="m.py" source_line=31}
  ROOT o = (f32[4], (f32[4], f32[4])) tuple(scaled, both)
}
""".replace("LOOP", 'op_name="jit(f)/while" source_file="m.py" source_line=3')

PLACES = {
    "there{1}": (11, "mlp", "producer"),  # what the last round leaves
    "there{2}": (11, "mlp", "producer"),  # stacks element 1, which the round before left
    "stacked": (11, "mlp", "producer"),
    "cutout": (11, "mlp", "producer"),  # a part of what the forward loop stacked
    "sum": (12, "attention", "producer"),  # adds what attention sends back to what was there
    "back{1}": (12, "attention", "producer"),
    "there{0}": (3, None, "own"),  # nothing else is known of a counter
    "zeros": (11, "mlp", "user"),  # the loop stacks into it
    "seed": (12, "attention", "user"),
    "nameless": (31, "adamw", "user"),
    "both{0}": (21, "first", "producer"),  # the fusion itself names its other result
    "both{1}": (22, "second", "producer"),
    "scaled": (31, "adamw", "own"),
    "p": (None, None, None),  # a parameter is what its name says
}


@pytest.mark.parametrize(("name", "place"), PLACES.items())
def test_who_made_it(name: str, place: tuple[int | None, str | None, str | None]) -> None:
    found = origins(STACKED)[name]
    assert (found.source_line, found.scope, found.source_from) == place
    assert found.scope_from in {found.source_from, None}


# `y = jnp.cumsum(x @ w)`, in one line, of which XLA makes a loop: the product is still its own.
ONE_LINE = """HloModule m, is_scheduled=true

round {
  ROOT s = f32[4] parameter(0), metadata={op_name="jit(f)/jit(cumsum)/cumsum" source_file="m.py" \
source_line=5}
}

goes_on {
  s = f32[4] parameter(0)
  ROOT c = pred[] constant(false)
}

ENTRY main {
  x = f32[4] parameter(0), metadata={op_name="x"}
  first = f32[4] tanh(x), \
metadata={op_name="jit(f)/norm/tanh" source_file="m.py" source_line=4}
  product = f32[4] multiply(first, x), \
metadata={op_name="jit(f)/mlp/mul" source_file="m.py" source_line=5}
  loop = f32[4] while(product), condition=goes_on, body=round, \
metadata={op_name="jit(f)/jit(cumsum)/cumsum" source_file="m.py" source_line=5}
  ROOT o = (f32[4], f32[4]) tuple(loop, first)
}
"""


def test_what_only_shares_the_line_of_a_loop_keeps_it() -> None:
    found = origins(ONE_LINE)["product"]
    assert (found.source_line, found.source_from) == (5, "own")
    assert (found.scope, found.scope_from) == ("mlp", "own")


def test_a_part_of_a_parameter_is_named() -> None:
    assert origins(STACKED)["kept"].moved_parameter == "state['w']"


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


KEPT = """HloModule m, is_scheduled=true

ENTRY main {
  p = f32[4] parameter(0)
  a = f32[4] negate(p), metadata={op_name="jit(f)/jvp()/neg"}
  b = f32[4] exponential(a), metadata={op_name="jit(f)/jvp()/exp"}
  v = f32[2,2] bitcast(b)
  c = f32[2,2] sine(v), metadata={op_name="jit(f)/jvp()/sin"}
  ROOT d = f32[2,2] multiply(c, v), metadata={op_name="jit(f)/transpose(jvp())/mul"}
}
"""


def test_a_value_is_kept_if_the_backward_pass_uses_its_own_bytes() -> None:
    """What is made of it does not count: all of the backward pass is made of the forward pass."""
    module = parse_module(Source(KEPT))
    estimate = estimate_assignment(module)
    found = ValueOrigins(module, estimate.assignment, estimate.flow)
    assert [name for name in "abcd" if found.is_kept(name, ())] == ["b", "c"]


# Real values, read by hand: the file, the value, line, scope, and who told.
FOUND = [
    # Element 2 of the loop is written by loop_dynamic_update_slice_fusion.4, which stacks element
    # 1 of the state; the last round makes that by loop_add_fusion.3, of op_name …/mlp/add.
    ("gpu_h100/transformer_train", "while.26{2}", 54, "mlp", "producer"),
    # A ConcatBitcast of slices of what the backward loop cuts out of an array that the forward
    # loop stacked: fusion.360, of op_name …/mlp/dot_general.
    ("tpu_v5e/transformer_train", "custom-call.29", 54, "mlp", "producer"),
    # A ConcatBitcast of slices of the parameter layers[0][0], the operand of a dot in line 17.
    ("tpu_v5e/mlp_train", "custom-call.2", 17, None, "user"),
    # Coordinates for the gradient of the pooling that stands in line 37.
    ("cpu/operations", "wrapped_iota", 37, None, "user"),
]


@pytest.mark.parametrize(("name", "value", "line", "scope", "told_by"), FOUND)
def test_values_of_dumps(name: str, value: str, line: int, scope: str | None, told_by: str) -> None:
    dumps = {"/".join(one.path.parts[-2:]): one for one in reversed(DUMPS)}
    dump = dumps[name]
    origins = ValueOrigins(dump.module, dump.assignment)
    values = [each for one in dump.assignment.allocations for each in one.values]
    found = next(origins.of(each) for each in values if each.name == value)
    assert (found.source_line, found.scope, found.source_from) == (line, scope, told_by)


# Of these nobody can tell a line.
WITHOUT_LINE = {
    ("cpu/operations", "copy_bitcast_fusion"): "a copy of the parameter x, returned as it is",
    ("cpu/operations", "wrapped_reduce-window{0}"): "written because its neighbours are; unused",
    ("tpu_v5e/operations", "pad.38"): "the parameter x, padded, which is returned",
    ("tpu_v5e/scan_train", "constant.244"): "handed to a loop that has a copy of it inside",
    ("tpu_v5e/scan_train", "constant.245"): "handed to a loop that has a copy of it inside",
}


@for_each(DUMPS)
def test_who_holds_memory_at_the_peak_has_a_line(dump: Dump) -> None:
    """But for parameters, which are what their names say, and for less than 1 KiB."""
    name = "/".join(dump.path.parts[-2:])
    report = analyze_memory(dump.module, dump.assignment)
    rows = rows_at(report, report.peak_of(0).position or 0, 0)
    missing = {
        (name, row.value)
        for row in rows
        if row.source is None and row.parameter is None and (row.live_bytes or 0) >= 1 << 10
    }
    assert missing == {key for key in WITHOUT_LINE if key[0] == name and _is_kept(dump)}


def _is_kept(dump: Dump) -> bool:
    return dump.path.is_relative_to(TESTDATA)


@needs_shared
def test_what_a_pipelined_scan_stacks_is_of_its_layers() -> None:
    """The forward loop while.74 of seed 002 stacks 3.4 GiB in each of four elements.

    Each is written by a fusion of a dynamic-update-slice in the line of the scan. What it stacks
    is made, for 8 and 12, by custom-call.1006 and 1009, attention of cuDNN; for 9 by
    cublas-lt-matmul.38, the end of the mixture of experts.
    """
    (path,) = SEEDS.glob("002*")
    module = read_module(path)
    report = analyze_memory(module, None)
    rows = rows_at(report, report.peak_of(0).position or 0, 0)
    stacked = {row.index: row for row in rows if row.instruction == "while.74"}
    assert [(stacked[(at,)].source, stacked[(at,)].source_from) for at in (8, 9, 12)] == [
        ("attention_op.py:1148", "producer"),
        ("moe.py:1460", "producer"),
        ("attention_op.py:1148", "producer"),
    ]
    counted = [row.live_bytes or 0 for row in rows if row.source == "pipeline.py:783"]
    assert sum(counted) == 36 + 4 + 4  # numbers of rounds, which the loop itself counts
