"""Derived live ranges: the schedule alone gives what XLA's live-range section prints."""

from __future__ import annotations

import pytest
from buffer_dumps import Dump, find_dumps, read_ranges
from dump_files import SEEDS, needs_shared
from each import for_each
from msgspec.structs import replace

from hlotool.analysis.dataflow.live_ranges import add_live_ranges, derive_ranges, name_live_ranges
from hlotool.analysis.dataflow.schedule import require_schedule
from hlotool.analysis.dataflow.values import Dataflow, trace_values
from hlotool.errors import InputError
from hlotool.hlo.buffers import BufferAssignment, LiveRange, ValueKey
from hlotool.hlo.parser import parse_module
from hlotool.text import Source

DUMPS = [dump for dump in find_dumps() if not dump.path.is_file()]


def follow(text: str) -> Dataflow:
    return trace_values(require_schedule(parse_module(Source(text))))


def derive(text: str) -> dict[ValueKey, LiveRange]:
    return derive_ranges(follow(text))


def as_text(ranges: dict[ValueKey, LiveRange]) -> dict[str, str]:
    """Write ranges as `start-end`, by name and index."""
    return {
        f"{name}{{{','.join(map(str, index))}}}": f"{found.start}-{found.end}"
        for (name, index), found in ranges.items()
    }


@for_each(DUMPS)
def test_derived_is_what_xla_prints(dump: Dump) -> None:
    printed = dump.assignment.live_ranges
    assert printed is not None
    flow = trace_values(require_schedule(dump.module))
    assert name_live_ranges(flow).sequence == printed.sequence
    assert derive_ranges(flow) == read_ranges(dump.assignment)


@needs_shared
def test_an_older_dump() -> None:
    (text,) = SEEDS.glob("003*")
    (dump,) = [one for one in find_dumps() if one.name == "004"]
    assert as_text(derive(text.read_text("utf-8"))) == as_text(read_ranges(dump.assignment))


def test_straight_line() -> None:
    text = """HloModule m, is_scheduled=true, input_output_alias={ {}: (1, {}, may-alias) }

ENTRY main {
  p0 = f32[4] parameter(0)
  p1 = f32[4] parameter(1)
  a = f32[4] add(p0, p1)
  b = f32[4] negate(a)
  ROOT c = f32[4] multiply(a, b)
}
"""
    assert as_text(derive(text)) == {
        "p0{}": "0-5",  # read only: to the end
        "p1{}": "0-2",  # donated: to its last use
        "a{}": "2-4",
        "b{}": "3-4",
        "c{}": "4-5",
    }


def test_loop_state_is_one_buffer_and_what_only_passes_through_no_phi() -> None:
    text = """HloModule m, is_scheduled=true

body {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT r = (s32[], f32[4]) tuple(next, x)
}

cond {
  t = (s32[], f32[4]) parameter(0)
  j = s32[] get-tuple-element(t), index=0
  n = s32[] constant(3)
  ROOT less = pred[] compare(j, n), direction=LT
}

ENTRY main {
  p = f32[4] parameter(0)
  zero = s32[] constant(0)
  start = s32[] copy(zero)
  init = (s32[], f32[4]) tuple(start, p)
  w = (s32[], f32[4]) while(init), condition=cond, body=body
  ROOT out = f32[4] get-tuple-element(w), index=1
}
"""
    ranges = as_text(derive(text))
    assert ranges["p{}"] == "0-16"
    assert "w{1}" not in ranges
    assert "s{1}" not in ranges
    # start is copied into the loop; condition, body and while share its memory in turn
    assert [ranges[name] for name in ("start{}", "t{0}", "s{0}", "next{}", "w{0}")] == [
        "2-4", "4-8", "8-12", "12-14", "14-14",
    ]  # fmt: skip


def test_slots_that_only_change_places_are_no_phis() -> None:
    text = """HloModule m, is_scheduled=true

body {
  s = (f32[4], f32[4]) parameter(0)
  x = f32[4] get-tuple-element(s), index=0
  y = f32[4] get-tuple-element(s), index=1
  ROOT r = (f32[4], f32[4]) tuple(y, x)
}

cond {
  t = (f32[4], f32[4]) parameter(0)
  ROOT c = pred[] constant(true)
}

ENTRY main {
  p = f32[4] parameter(0)
  init = (f32[4], f32[4]) tuple(p, p)
  w = (f32[4], f32[4]) while(init), condition=cond, body=body
  ROOT out = f32[4] get-tuple-element(w), index=1
}
"""
    assert sorted(as_text(derive(text))) == ["c{}", "init{}", "p{}", "r{}", "s{}", "t{}", "w{}"]


def test_operations_in_place_end_their_operand() -> None:
    text = """HloModule m, is_scheduled=true

ENTRY main {
  p = f32[8] parameter(0)
  u = f32[1] parameter(1)
  i = s32[] constant(2)
  c = f32[8] copy(p)
  d = f32[8] dynamic-update-slice(c, u, i)
  e = f32[8] dynamic-update-slice(d, u, i)
  ROOT r = f32[8] negate(e)
}
"""
    ranges = as_text(derive(text))
    assert [ranges[name] for name in ("c{}", "d{}", "e{}", "r{}")] == ["3-4", "4-5", "5-6", "6-7"]


def test_asynchronous_work_is_live_until_it_is_done() -> None:
    text = """HloModule m, is_scheduled=true

wrapped {
  a = f32[8] parameter(0)
  ROOT s = f32[2] slice(a), slice={[0:2]}
}

ENTRY main {
  p = f32[8] parameter(0)
  start = ((f32[8]), f32[2], s32[]) async-start(p), calls=wrapped
  n = f32[8] negate(p)
  done = f32[2] async-done(start)
  ROOT t = (f32[2], f32[8]) tuple(done, n)
}
"""
    ranges = as_text(derive(text))
    assert ranges["s{}"] == "2-7"
    assert ranges["start{2}"] == "3-5"
    assert "done{}" not in ranges


def test_branches_meet_in_the_conditional() -> None:
    text = """HloModule m, is_scheduled=true

yes {
  y = f32[4] parameter(0)
  ROOT yn = f32[4] negate(y)
}

no {
  z = f32[4] parameter(0)
  ROOT zc = f32[4] copy(z)
}

ENTRY main {
  q = pred[] parameter(0)
  p = f32[4] parameter(1)
  ROOT c = f32[4] conditional(q, p, p), true_computation=yes, false_computation=no
}
"""
    ranges = as_text(derive(text))
    assert [ranges[name] for name in ("yn{}", "zc{}", "c{}")] == ["3-4", "5-6", "6-7"]
    assert "y{}" not in ranges


def test_unscheduled_module_is_refused() -> None:
    with pytest.raises(InputError, match=r"not scheduled.*after_optimizations") as caught:
        derive("HloModule m\n\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n")
    assert caught.value.exit_code == 3


def test_printed_ranges_win() -> None:
    dump = DUMPS[0]
    kept, found = add_live_ranges(dump.assignment, dump.module)
    assert found is not None
    assert found.source == "live-range"
    assert kept is dump.assignment
    bare = BufferAssignment(
        dump.assignment.source,
        tuple(
            replace(one, values=[replace(value, live=None) for value in one.values])
            for one in dump.assignment.allocations
        ),
    )
    derived, live_ranges = add_live_ranges(bare, dump.module)
    assert live_ranges is not None
    assert live_ranges.source == "derived"
    assert read_ranges(derived) == read_ranges(kept)
    assert add_live_ranges(bare, None) == (bare, None)


def test_deeply_nested_calls_need_no_stack() -> None:
    depth = 3000
    bodies = ["c0 {\n  p0 = f32[] parameter(0)\n  ROOT n0 = f32[] negate(p0)\n}\n"]
    bodies += [
        f"c{k} {{\n  p{k} = f32[] parameter(0)\n"
        f"  ROOT n{k} = f32[] call(p{k}), to_apply=c{k - 1}\n}}\n"
        for k in range(1, depth)
    ]
    text = "HloModule m, is_scheduled=true\n\n" + "\n".join(bodies)
    text += "\nENTRY e {\n  p = f32[] parameter(0)\n"
    text += f"  ROOT r = f32[] call(p), to_apply=c{depth - 1}\n}}\n"
    ranges = derive(text)
    assert ranges["n0", ()] == LiveRange(depth + 1, 2 * depth + 2)


REPEATED = """HloModule m, is_scheduled=true

body {
  a = f32[4] parameter(0)
  ROOT b = f32[4] negate(a)
}

ENTRY main {
  a = f32[4] parameter(0)
  b = f32[4] call(a), to_apply=body
  ROOT c = f32[4] negate(b)
}
"""


def test_names_that_repeat_are_told_apart() -> None:
    flow = follow(REPEATED)
    assert name_live_ranges(flow).sequence == ("a", "body/a", "body/b", "b", "c")
    assert as_text(derive_ranges(flow)) == {"a{}": "0-5", "body/b{}": "2-4", "c{}": "4-5"}


def test_canonical_prints_are_no_schedule() -> None:
    text = REPEATED.replace("a =", "tmp_0 =").replace("(a)", "(tmp_0)")
    text = text.replace("b =", "tmp_1 =").replace("(b)", "(tmp_1)").replace("c =", "tmp_2 =")
    with pytest.raises(InputError, match="canonical form"):
        derive(text)
    straight = text[: text.index("body {")] + "ENTRY main {\n  ROOT tmp_0 = f32[] parameter(0)\n}\n"
    assert name_live_ranges(follow(straight)).sequence == ("tmp_0",)
