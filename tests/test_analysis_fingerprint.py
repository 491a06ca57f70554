"""Fingerprints: equal for renamed, reordered and relabelled bodies, different for all else."""

from __future__ import annotations

import pytest

from hlotool.analysis.graph.calls import read_call_graph
from hlotool.analysis.graph.equality import Fingerprints
from hlotool.errors import ParseError
from hlotool.hlo.parser import parse_module
from hlotool.text import Source

BODY = """HloModule m
%add.1 (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}
ENTRY %main (p: f32[8,4], q: f32[8,4]) -> f32[8] {
  %p = f32[8,4]{1,0} parameter(0)
  %q = f32[8,4]{1,0} parameter(1)
  %zero = f32[] constant(0)
  %e = f32[8,4]{1,0} exponential(%p), metadata={op_name="jit(f)/exp"}
  %s = f32[8,4]{1,0} subtract(%e, %q)
  ROOT %r = f32[8]{0} reduce(%s, %zero), dimensions={1}, to_apply=%add.1, backend_config={"a":1}
}
"""

SAME = {
    "names": BODY.replace("%e", "%other").replace("add.1", "region_3.4"),
    "metadata": BODY.replace(', metadata={op_name="jit(f)/exp"}', ""),
    "backend_config": BODY.replace('{"a":1}', '{"a":2}'),
    "order": BODY.replace("  %zero = f32[] constant(0)\n", "").replace(
        "  %p = ", "  %zero = f32[] constant(0)\n  %p = "
    ),
    "default layout left out": BODY.replace("{1,0}", ""),
}
DIFFERENT = {
    "opcode": BODY.replace("exponential", "tanh"),
    "operand order": BODY.replace("subtract(%e, %q)", "subtract(%q, %e)"),
    "other operand": BODY.replace("subtract(%e, %q)", "subtract(%e, %p)"),
    "shape": BODY.replace("[8,4]", "[8,5]"),
    "dtype": BODY.replace("f32", "bf16"),
    "layout": BODY.replace("exponential(%p)", "exponential(%p)").replace(
        "%s = f32[8,4]{1,0}", "%s = f32[8,4]{0,1}"
    ),
    "memory space": BODY.replace("%s = f32[8,4]{1,0}", "%s = f32[8,4]{1,0:S(1)}"),
    "attribute": BODY.replace("dimensions={1}", "dimensions={0}"),
    "literal": BODY.replace("constant(0)", "constant(1)"),
    "parameter number": (
        BODY.replace("%p = ", "%_ = ").replace("%q = ", "%p = ").replace("%_ = ", "%q = ")
    ),
    "reducer": BODY.replace("add(%a, %b)", "maximum(%a, %b)"),
    "an instruction more": BODY.replace("  %s = ", "  %t = f32[8,4]{1,0} tanh(%q)\n  %s = "),
    "shared or computed twice": BODY.replace(
        "  %s = f32[8,4]{1,0} subtract(%e, %q)",
        "  %e2 = f32[8,4]{1,0} exponential(%p)\n  %s = f32[8,4]{1,0} subtract(%e, %e2)",
    ),
}


def entry_fingerprint(text: str) -> str:
    module = parse_module(Source(text))
    return Fingerprints(read_call_graph(module)).of(module.entry)


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_same(text: str) -> None:
    assert text != BODY
    assert entry_fingerprint(text) == entry_fingerprint(BODY)


@pytest.mark.parametrize("text", DIFFERENT.values(), ids=DIFFERENT)
def test_different(text: str) -> None:
    assert text != BODY
    assert entry_fingerprint(text) != entry_fingerprint(BODY)


def test_sharing_counts() -> None:
    """`add(e, e)` is not `add(exp(x), exp(x))`, though both unfold to one tree."""
    once = DIFFERENT["shared or computed twice"].replace("subtract(%e, %e2)", "subtract(%e, %e)")
    assert entry_fingerprint(once) == entry_fingerprint(once.replace("%e2", "%again"))
    shared = once.replace("  %e2 = f32[8,4]{1,0} exponential(%p)\n", "")
    assert entry_fingerprint(once) != entry_fingerprint(shared)


def test_other_attributes_may_be_ignored() -> None:
    texts = (BODY, DIFFERENT["attribute"])
    modules = [parse_module(Source(text)) for text in texts]
    ignored = frozenset({"dimensions", "backend_config", "metadata"})
    one, two = (Fingerprints(read_call_graph(m), ignored=ignored).of(m.entry) for m in modules)
    assert one == two


def test_callees_come_first_in_any_text_order() -> None:
    head, _, rest = BODY.partition("%add.1")
    reducer, _, entry = rest.partition("ENTRY")
    module = parse_module(Source(f"{head}ENTRY{entry}\n%add.1{reducer}"))
    assert [one.name for one in read_call_graph(module).callees_first] == ["add.1", "main"]


def test_recursion_is_refused() -> None:
    text = """HloModule m
%f (p: f32[]) -> f32[] {
  %p = f32[] parameter(0)
  ROOT %c = f32[] call(%p), to_apply=%g
}
%g (p: f32[]) -> f32[] {
  %p = f32[] parameter(0)
  ROOT %c = f32[] call(%p), to_apply=%f
}
ENTRY %main (p: f32[]) -> f32[] {
  %p = f32[] parameter(0)
  ROOT %c = f32[] call(%p), to_apply=%g
}
"""
    with pytest.raises(ParseError, match="calls itself"):
        Fingerprints(read_call_graph(parse_module(Source(text))))


def test_a_long_chain_of_calls_needs_no_recursion() -> None:
    links = [
        f"%f{n} (p: f32[]) -> f32[] {{\n  %p = f32[] parameter(0)\n"
        f"  ROOT %c = f32[] call(%p), to_apply=%f{n + 1}\n}}"
        for n in range(3000)
    ]
    last = "%f3000 (p: f32[]) -> f32[] {\n  ROOT %p = f32[] parameter(0)\n}"
    module = parse_module(Source("\n".join(["HloModule m", *links, last])))
    assert read_call_graph(module).callees_first[0].name == "f3000"
    prints = Fingerprints(read_call_graph(module))
    assert len({prints.of(one) for one in module.computations.values()}) == 3001
