"""What is told of an instruction: neighbours across calls, runs, memory, and its graph."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from dump_files import TESTDATA
from test_show_names import TEXT

import hlotool
from hlotool.errors import UsageError
from hlotool.export.graph import GraphNode, render_dot, render_mermaid

DUMPS = sorted(
    path.parent for path in (TESTDATA / "dumps").glob("*/*/oracle.json") if path.parent.is_dir()
)


def neighbours(name: str, hops: int = 1) -> set[tuple[str, str, int]]:
    rows = hlotool.load(TEXT).show(name, hops=hops).neighbours
    return {(row.relation, row.name, row.hops) for row in rows}


def test_neighbours_across_calls() -> None:
    assert neighbours("twice") == {
        ("operand", "body.clone/x", 1),
        ("user", "call.1", 1),
    }
    assert neighbours("body.clone/x") == {("operand", "wq", 1), ("user", "twice", 1)}
    assert neighbours("twice", 2) == {
        ("operand", "body.clone/x", 1),
        ("operand", "wq", 2),
        ("user", "call.1", 1),
        ("user", "call.12", 2),
        ("user", "out", 2),
    }
    assert neighbours("twice", 0) == set()


def test_far_enough_is_everything_that_gives_or_takes() -> None:
    named = {name for _, name, _ in neighbours("call.1", 50)}
    assert named == {"wq", "call.12", "out"}


def test_runs_and_way() -> None:
    row = hlotool.load(TEXT).show("twice").subjects[0]
    assert row.call_path == ("main", "call.1", "body.clone")
    assert (row.executions, row.flops, row.flops_per_step) == (1, 8, 8)
    assert row.definition[0] == "ROOT twice = f32[8] add(x, x)"


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_shares_and_runs_agree_with_the_other_commands(path: Path) -> None:
    """All that runs on its own, shown one by one, comes to what the summary says."""
    dumps = [one for one in hlotool.load_all(path) if one.program.module]
    dump = max(dumps, key=lambda one: one.module.instruction_count())
    fusions = dump.fusions().rows[:5]
    for fusion in fusions:
        shown = [dump.show(name).subjects[0] for name in fusion.members]
        assert (
            sum(one.traffic_bytes_per_step for one in shown) == fusion.known_traffic_bytes_per_step
        )
        assert sum(one.known_executions for one in shown) == fusion.known_executions
    entry = dump.show(dump.module.entry.name).subjects[0]
    cost = dump.program.cost
    assert entry.traffic_bytes_per_step == cost.traffic_bytes_per_step
    assert entry.flops_per_step == cost.total_flops_per_step


@pytest.mark.parametrize("path", DUMPS[:6], ids=lambda path: f"{path.parent.name}-{path.name}")
def test_memory_at_the_peak(path: Path) -> None:
    """Who holds bytes at the peak is shown to hold as many."""
    dump = hlotool.load_all(path)[0]
    for row in dump.buffers().rows[:8]:
        shown = [one for one in dump.show(row.instruction).memory if one.value == row.value]
        assert [one.peak_bytes for one in shown] == [row.live_bytes]
        assert [(one.live_from, one.live_until) for one in shown] == [
            (row.live_from, row.live_until)
        ]


HOSTILE = ('a"]b', "x\\", "</script>", "line\nbreak", "\x1b[31m", "quote'; }", "ünï")
NODES = [GraphNode(name, (name, "add")) for name in HOSTILE]
EDGES = [(HOSTILE[0], HOSTILE[1]), (HOSTILE[2], HOSTILE[0])]


def test_mermaid_holds_no_foreign_mark() -> None:
    lines = render_mermaid(NODES, EDGES).splitlines()
    assert len(lines) == 1 + len(NODES) + len(EDGES)
    for line in lines[1 : 1 + len(NODES)]:
        text = line.partition('["')[2].removesuffix('"]').replace("<br>", "")
        assert not set(text) & set("\"<>'\\;{}|") - {";"}


def test_dot_holds_no_foreign_mark() -> None:
    lines = render_dot(NODES, EDGES).splitlines()
    assert len(lines) == 3 + len(NODES) + len(EDGES)
    assert all("\x1b" not in line for line in lines)


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_dot_reads_it() -> None:
    done = subprocess.run(
        [shutil.which("dot") or "dot", "-Tsvg"],
        input=render_dot(NODES, EDGES).encode(),
        capture_output=True,
        check=False,
    )
    assert not done.stderr
    assert done.returncode == 0


LOOP = """\
HloModule loop, is_scheduled=true

body {
  state = (s32[], f32[8], f32[16]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  a = f32[8] get-tuple-element(state), index=1
  b = f32[16] get-tuple-element(state), index=2
  ROOT next = (s32[], f32[8], f32[16]) tuple(i, a, b)
}

cond {
  state.1 = (s32[], f32[8], f32[16]) parameter(0)
  ROOT stop = pred[] constant(false)
}

ENTRY main {
  n = s32[] constant(0)
  x = f32[8] parameter(0)
  y = f32[16] parameter(1)
  begin = (s32[], f32[8], f32[16]) tuple(n, x, y)
  loop = (s32[], f32[8], f32[16]) while(begin), condition=cond, body=body
  first = f32[8] get-tuple-element(loop), index=1
  second = f32[16] get-tuple-element(loop), index=2
  odd = f32[?] custom-call(second), custom_call_target="odd"
  ROOT out = (f32[8], f32[?]) tuple(first, odd)
}
"""


def test_a_part_of_a_tuple_is_shown_as_itself() -> None:
    report = hlotool.load(LOOP).show("loop{2}")
    (row,) = report.subjects
    assert (row.name, row.asked, row.shape, row.size_bytes) == ("loop{2}", "loop{2}", "f32[16]", 64)
    assert row.definition[0] == "loop{2} = f32[16] of while(begin)"
    near = [(one.relation, one.name) for one in report.neighbours]
    assert near == [("operand", "y"), ("user", "second")]
    whole = hlotool.load(LOOP).show("loop{}").subjects[0]
    assert whole.shape == "(s32[], f32[8], f32[16])"


def test_a_part_comes_from_what_makes_it() -> None:
    dump = hlotool.load(TESTDATA / "dumps" / "cpu" / "nested_loops")
    lines = {
        name: dump.show(name).subjects[0].source_line
        for name in ("while.7", "while.7{0}", "while.7{1}")
    }
    assert lines == {"while.7": 32, "while.7{0}": 32, "while.7{1}": 12}


def test_a_part_of_a_tuple_is_what_was_put_in() -> None:
    near = hlotool.load(LOOP).show("begin{1}").neighbours
    assert [(one.relation, one.name) for one in near] == [("operand", "x"), ("user", "loop")]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("loop{3}", "'loop{3}': loop has no such part; it is a tuple of 3."),
        ("x{0}", "'x{0}': x has no such part; it is not a tuple."),
        ("loop{1,0}", "'loop{1,0}': loop has no such part; it is a tuple of 3."),
        ("body{0}", "'body{0}': a computation has no parts; name its root."),
    ],
)
def test_a_part_that_is_not_there(name: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        hlotool.load(LOOP).show(name)
    assert str(caught.value) == message


def test_a_size_that_nothing_tells_is_unknown() -> None:
    report = hlotool.load(LOOP).show("odd")
    assert report.subjects[0].size_bytes is None
    out = next(one for one in report.neighbours if one.name == "out")
    assert out.size_bytes is None
    inside = {one.name: one for one in hlotool.load(LOOP).show("main").body}
    assert (inside["odd"].size_bytes, inside["odd"].flops) == (None, None)
    assert (inside["x"].size_bytes, inside["x"].flops) == (32, 0)
