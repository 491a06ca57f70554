"""Each copy has one cause."""

from __future__ import annotations

import pytest

from hlotool.analysis.dataflow.copies import COPY_CAUSES, CopyReader
from hlotool.analysis.dataflow.flow import Flow
from hlotool.analysis.graph.calls import read_call_graph
from hlotool.hlo.parser import parse_module
from hlotool.text import Source

ALIAS = ", input_output_alias={ {0}: (0, {}, may-alias) }"
ROOT = "ROOT t = (f32[8,4]) tuple(u)"
LOOP = """body {
  s = (f32[8,4], f32[8,4]) parameter(0)
  a = f32[8,4] get-tuple-element(s), index=0
  b = f32[8,4] get-tuple-element(s), index=1
  KIND
  n = f32[8,4] add(a, b)
  ROOT r = (f32[8,4], f32[8,4]) tuple(n, c)
}
cond {
  s = (f32[8,4], f32[8,4]) parameter(0)
  ROOT k = pred[] constant(true)
}
"""
WHILE = "w = (f32[8,4], f32[8,4]) while(i), condition=cond, body=body"
IN_LOOP = "i = (f32[8,4], f32[8,4]) tuple(p, p)", WHILE
TAKEN = "u = f32[8,4] get-tuple-element(w), index=0"


@pytest.mark.parametrize(
    ("cause", "lines", "header", "before", "said"),
    [
        (
            "layout",
            ("c = f32[8,4]{0,1} copy(p)", "u = f32[8,4] negate(c)"),
            "",
            "",
            ", from f32[8,4]{1,0} of x to f32[8,4]{0,1} for u",
        ),
        (
            "memory-space",
            ("c = f32[8,4]{1,0:S(1)} copy(p)", "u = f32[8,4] negate(c)"),
            "",
            "",
            ", into another memory space",
        ),
        (
            "donated-and-read",
            ("c = f32[8,4] copy(p)", "n = f32[8,4] negate(p)", "u = f32[8,4] add(c, n)"),
            ALIAS,
            "",
            ", as x is donated and still read",
        ),
        ("returned", ("u = f32[8,4] copy(p)",), "", "", ", as x is a result, in memory of its own"),
        (
            "loop-carry",
            ("c = f32[8,4] copy(p)", "i = (f32[8,4], f32[8,4]) tuple(c, p)", WHILE, TAKEN),
            "",
            LOOP.replace("KIND", "c = f32[8,4] negate(b)"),
            ", as w overwrites what enters it",
        ),
        (
            "loop-aliasing",
            (*IN_LOOP, TAKEN),
            "",
            LOOP.replace("KIND", "c = f32[8,4] copy(a)"),
            ", as an iteration still reads what it overwrites",
        ),
        (
            "sharding",
            ("g = f32[8,4] all-to-all(p), replica_groups={{0,1}}, dimensions={0}",
             "c = f32[8,4] copy(g)", "u = f32[8,4] negate(c)"),
            "",
            "",
            ", behind g",
        ),
        (None, ("n = f32[8,4] sine(p)", "c = f32[8,4] copy(n)", "u = f32[8,4] sine(c)"), *[""] * 3),
    ],
)  # fmt: skip
def test_causes(
    cause: str | None, lines: tuple[str, ...], header: str, before: str, said: str
) -> None:
    parameter = 'p = f32[8,4] parameter(0), metadata={op_name="x"}'
    text = f"HloModule m, is_scheduled=true{header}\n{before}\nENTRY e {{\n"
    module = parse_module(Source(text + "\n".join((parameter, *lines, ROOT)) + "\n}\n"))
    reader = CopyReader(module, Flow(read_call_graph(module)))
    (copy,) = (one for one in module.instructions() if one.opcode == "copy")
    found = reader.read(copy)
    assert (found.cause, found.because) == (cause, said)
    assert cause is None or cause in COPY_CAUSES


def test_what_goes_through_a_barrier_beside_a_value_is_no_part_of_it() -> None:
    module = parse_module(
        Source("""HloModule m

ENTRY e {
  a = f32[4] parameter(0)
  b = f32[4] parameter(1)
  t = (f32[4], f32[4]) tuple(a, b)
  o = (f32[4], f32[4]) opt-barrier(t)
  g = f32[4] get-tuple-element(o), index=1
  ROOT n = f32[4] negate(g)
}
""")
    )
    root = module.entry.root
    made = Flow(read_call_graph(module)).ancestors([root], module.entry)
    assert [one.name for one in made or ()] == ["n", "g", "b"]
