"""Donation: aliases, outputs that could be aliased, and copies of what is donated."""

from __future__ import annotations

import pytest

from hlotool.analysis.dataflow.schedule import require_schedule
from hlotool.analysis.dataflow.values import trace_values
from hlotool.analysis.memory.donation import DonationRow, list_donations, list_missed_outputs
from hlotool.hlo.parser import parse_module
from hlotool.text import Source

TEXT = """HloModule m, is_scheduled=true, \
input_output_alias={ {0}: (0, {}, may-alias), {2}: (1, {1}, must-alias) }

copying {
  x = f32[4] parameter(0)
  ROOT c = f32[4] copy(x)
}

ENTRY main {
  state = f32[8,8] parameter(0), metadata={op_name="state['w']"}
  pair = (f32[4], f32[4]) parameter(1), metadata={op_name="pair"}
  batch = f32[2,8] parameter(2), metadata={op_name="batch"}
  free = f32[8,8] parameter(3)
  lonely = s32[3] parameter(4)
  second = f32[4] get-tuple-element(pair), index=1
  first = f32[4] get-tuple-element(pair), index=0
  saved = f32[4] fusion(second), kind=kLoop, calls=copying
  new = f32[8,8] add(state, free)
  other = f32[8,8] subtract(state, free)
  out = f32[4] add(saved, first)
  rest = f32[2,8] negate(batch)
  ROOT r = (f32[8,8], f32[8,8], f32[4], f32[2,8]) tuple(new, other, out, rest)
}
"""


def rows(text: str) -> list[DonationRow]:
    return list_donations(parse_module(Source(text)))


def test_statuses() -> None:
    assert rows(TEXT) == [
        DonationRow(256, None, "donated", 0, "state['w']", "f32[8,8]", (0,), None),
        DonationRow(256, None, "not-donated", 3, None, "f32[8,8]", (1,), None),
        DonationRow(64, None, "not-donated", 2, "batch", "f32[2,8]", (3,), None),
        DonationRow(16, None, "not-donated", 1, "pair{0}", "f32[4]", None, None),
        DonationRow(16, None, "copied", 1, "pair{1}", "f32[4]", (2,), "saved", None, ("saved",)),
        DonationRow(12, None, "not-donated", 4, None, "s32[3]", None, None),
    ]


def test_each_output_is_offered_once() -> None:
    text = """HloModule m, is_scheduled=true

ENTRY main {
  a = f32[4] parameter(0)
  b = f32[4] parameter(1)
  ROOT r = f32[4] add(a, b)
}
"""
    assert [(row.parameter_number, row.output_index) for row in rows(text)] == [(0, ()), (1, None)]


def test_a_copy_to_another_memory_is_a_prefetch() -> None:
    text = """HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }

ENTRY main {
  p = f32[128]{0:T(128)} parameter(0)
  s = (f32[128]{0:T(128)S(1)}, f32[128]{0:T(128)}, u32[]{:S(2)}) copy-start(p)
  d = f32[128]{0:T(128)S(1)} copy-done(s)
  ROOT r = f32[128]{0:T(128)} negate(d)
}
"""
    assert [row.status for row in rows(text)] == ["donated"]


LOOP = """HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }

body {
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[8] get-tuple-element(s), index=1
  one = f32[1] constant({1})
  y = f32[8] dynamic-update-slice(x, one, i)
  ROOT r = (s32[], f32[8]) tuple(i, y)
}

cond {
  s = (s32[], f32[8]) parameter(0)
  ROOT c = pred[] constant(false)
}

ENTRY main {
  p = f32[8] parameter(0)
  zero = s32[] constant(0)
  c = f32[8] copy(p)
  pair = (s32[], f32[8]) tuple(zero, c)
  w = (s32[], f32[8]) while(pair), condition=cond, body=body
  ROOT o = f32[8] get-tuple-element(w), index=1
}
"""


def test_a_copy_is_followed_through_loops_and_updates() -> None:
    assert [row.copy_instruction for row in rows(LOOP)] == ["c"]
    start = "s = (f32[8], f32[8], u32[]) copy-start(c)\n  d = f32[8] copy-done(s)\n  pair ="
    apart = LOOP.replace("tuple(zero, c)", "tuple(zero, d)").replace("pair =", start)
    assert [row.copy_instruction for row in rows(apart)] == ["c"]
    unused = LOOP.replace("tuple(zero, c)", "tuple(zero, p)")
    assert [row.status for row in rows(unused)] == ["donated"]


def test_a_copy_that_another_output_is_made_of_does_not_count() -> None:
    both = LOOP.replace("ROOT o =", "o =").replace("{}: (0, {},", "{0}: (0, {},")
    both = both.rstrip().removesuffix("}")
    for order, status in (("o, n", "copied"), ("n, o", "donated")):
        text = f"{both}  n = f32[8] negate(p)\n  ROOT a = (f32[8], f32[8]) tuple({order})\n}}\n"
        assert [row.status for row in rows(text) if row.output_index == (0,)] == [status]


def test_donors_that_are_not_aliased_yet() -> None:
    text = """HloModule m, buffer_donor={ (0, {}) }

ENTRY main {
  p = f32[4] parameter(0)
  ROOT r = f32[4] negate(p)
}
"""
    assert [(row.status, row.output_index) for row in rows(text)] == [("donated", None)]


@pytest.mark.parametrize(
    ("parameter", "body", "reason"),
    [
        ("f32[8,8]", "ROOT r = f32[8] slice(q), slice={[0:8]}", "no-result"),
        ("s32[16]", "ROOT r = f32[16] negate(q)", "results-taken"),
        (
            "f32[16]",
            "n = f32[16] negate(q)\n  m = f32[16] negate(p)\n  ROOT r = PAIR",
            "still-read",
        ),
        ("f32[16]", "n = f32[16] negate(p)\n  ROOT r = PAIR", None),
        ("TILED[8,128]TILES", "n = TILED[16,64]TILES reshape(p)\n  ROOT r = PAIR", "layout"),
    ],
)
def test_why_a_donor_is_not_used(parameter: str, body: str, reason: str | None) -> None:
    is_tiled = "TILED" in body
    tiled = "f32[16,64]{1,0:T(8,128)}" if is_tiled else "f32[16]"
    body = body.replace("PAIR", f"(f32[16], {tiled}) tuple(q, n)")
    output = "{0}" if "tuple" in body else "{}"
    alias = f"input_output_alias={{ {output}: (1, {{}}, may-alias) }}"
    text = f"""HloModule m, is_scheduled=true, {alias}, buffer_donor={{ (0, {{}}) }}

ENTRY main {{
  p = {parameter} parameter(0)
  q = f32[16] parameter(1)
  {body}
}}
"""
    text = text.replace("TILED", "f32").replace("TILES", "{1,0:T(8,128)}")
    (row,) = [row for row in rows(text) if row.parameter_number == 0]
    assert (row.status, row.reason, row.output_index) == ("donated-unused", reason, None)


LATE = """
HloModule m, is_scheduled=true

ENTRY e {
  w = f32[8]{0} parameter(0)
  g = f32[8]{0} parameter(1)
  b = f32[8]{0} bitcast(w)
  y = f32[8]{0} custom-call(%s), custom_call_target="lapack_reads"
  new = f32[8]{0} add(w, %s)
  ROOT r = (f32[8]{0}, f32[8]{0}) tuple(new, y)
}
"""


@pytest.mark.parametrize(
    ("read", "added", "copied"),
    [
        ("w", "g", "parameter"),  # `y` reads what `new` is written over, and need not run first
        ("b", "g", "parameter"),
        ("w", "y", None),
        ("g", "g", None),
    ],
)
def test_a_donor_with_a_late_reader_is_copied_on_cpu(
    read: str, added: str, copied: str | None
) -> None:
    flow = trace_values(require_schedule(parse_module(Source(LATE % (read, added)))))
    found = list_missed_outputs(flow)
    assert [one.donation.copied for key, one in found.items() if key[0] == "new"] == [copied]
