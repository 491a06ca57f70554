"""`hlotool diff --passes`: who changed what, in small dumps written here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hlotool.cli import run

HEAD = "HloModule jit_f\n\n"
SUM = """%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}

"""


def write(folder: Path, *steps: tuple[str, str]) -> Path:
    """Write a dump: names of steps as XLA has them, and the bodies of their entries."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (name, body) in enumerate(steps):
        file = folder / f"module_0001.jit_f.{number:04}.{name}.txt"
        file.write_text(HEAD + SUM + "ENTRY %main {\n" + body + "}\n", "utf-8")
    return folder


def entry(*lines: str) -> str:
    first = "  %x = f32[8] parameter(0)\n"
    return first + "".join(f"  {line}\n" for line in lines)


PLAIN = entry("ROOT %y = f32[8] negate(%x)")
REDUCED = entry(
    "%r = f32[8] all-reduce(%x), replica_groups={{0,1}}, to_apply=%sum, "
    'metadata={op_name="jit(f)/attention/psum"}',
    "ROOT %y = f32[8] negate(%r)",
)
STARTED = entry(
    "%s = f32[8] all-reduce-start(%x), replica_groups={{0,1}}, to_apply=%sum",
    "%d = f32[8] all-reduce-done(%s)",
    "ROOT %y = f32[8] negate(%d)",
)
NESTED = (
    ("outer.after_pipeline-start.before_first", PLAIN),
    ("outer.after_first.before_partitioning", PLAIN),
    ("cleanup.after_pipeline-start.before_dce", REDUCED),
    ("outer.after_partitioning.before_second", REDUCED),
    ("later.after_pipeline-start.before_creator", REDUCED),
    ("later.after_creator.before_pipeline-end", STARTED),
)


def ask(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    assert run(["diff", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_what_a_pass_old_to_its_own_pipeline_is_its_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """At the start of `cleanup` nothing of it has run: `partitioning`, which began it, has."""
    made = ask(capsys, "--passes", write(tmp_path, *NESTED))
    changed = [(row["step"], row["pass_name"], row["pipeline"]) for row in made["passes"]]
    assert changed[2] == (2, "partitioning", "outer")
    assert changed[5] == (5, "creator", "later")
    what = [row["differs_in"] for row in made["passes"]]
    assert what == [[], [], ["structure", "collectives"], [], [], ["structure"]]
    row = made["passes"][2]
    assert (row["new_only_count"], row["old_only_count"], row["changed_count"]) == (1, 0, 1)
    assert row["opcodes"] == ["all-reduce +1"]
    counts = [(one["opcode"], one["delta"]) for one in made["opcodes"] if one["step"] == 5]
    assert sorted(counts) == [
        ("all-reduce", -1),
        ("all-reduce-done", 1),
        ("all-reduce-start", 1),
    ]


def test_a_change_between_pipelines_is_nobodys(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    steps = (
        ("one.after_pipeline-start.before_a", PLAIN),
        ("two.after_pipeline-start.before_b", REDUCED),
        ("two.after_b.before_pipeline-end", PLAIN),
    )
    made = ask(capsys, "--passes", write(tmp_path, *steps))
    names = [(row["pass_name"], row["pipeline"]) for row in made["passes"]]
    assert names == [("before one", ""), ("between one and two", ""), ("b", "two")]


def test_a_pipeline_that_begins_anew_was_not_open(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    steps = (
        ("one.after_pipeline-start.before_a", PLAIN),
        ("two.after_pipeline-start.before_b", REDUCED),
        ("one.after_pipeline-start.before_a", REDUCED),
        ("one.after_a.before_pipeline-end", PLAIN),
    )
    made = ask(capsys, "--passes", write(tmp_path, *steps))
    assert [row["pass_name"] for row in made["passes"]][1] == "between one and two"


def test_a_limit_keeps_the_steps_that_matter(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A change of collectives counts before one of many instructions; the order stays."""
    many = entry(
        *(f"%n{number} = f32[8] negate(%x)" for number in range(9)),
        "ROOT %y = f32[8] negate(%n1)",
    )
    steps = (
        ("one.after_pipeline-start.before_a", PLAIN),
        ("one.after_a.before_b", many),
        ("one.after_b.before_c", PLAIN),
        ("one.after_c.before_pipeline-end", REDUCED),
    )
    folder = str(write(tmp_path, *steps))
    shown: dict[int, list[str]] = {}
    for most in (1, 2, 0):
        assert run(["diff", "--passes", folder, "-n", str(most)]) == 0
        printed = capsys.readouterr().out
        rows = [line.split() for line in printed.splitlines() if " one " in line]
        shown[most] = [row[1] for row in rows if row[0].isdigit()]
        assert ("that changed less" in printed) == (most != 0)
    assert shown == {1: ["c"], 2: ["a", "c"], 0: ["a", "b", "c"]}


def test_new_names_alone_are_no_change(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    renamed = REDUCED.replace("%r", "%all-reduce.7").replace("%y", "%z")
    rewired = REDUCED.replace("%r", "%q").replace("negate(%q)", "negate(%x)")
    steps = (
        ("p.after_pipeline-start.before_rename", REDUCED),
        ("p.after_rename.before_rewire", renamed),
        ("p.after_rewire.before_pipeline-end", rewired),
    )
    made = ask(capsys, "--passes", write(tmp_path, *steps))
    assert [row["differs_in"] for row in made["passes"]] == [[], [], ["structure"]]
    traced = ask(
        capsys, "--passes", tmp_path, "--trace", 'opcode == "all-reduce" and scope ~ "attention"'
    )
    (first, second) = traced["trace"]
    assert (first["name"], first["first_pass_number"], first["last_pass_number"]) == ("r", 0, 2)
    assert (second["name"], second["first_pass_number"], second["last_pass_number"]) == (
        "q",
        2,
        None,
    )


def test_a_trace_names_who_made_and_who_removed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = write(tmp_path, *NESTED)
    made = ask(capsys, "--passes", folder, "--trace", 'opcode == "all-reduce"')
    assert (made["first_pass"], made["first_pass_number"]) == ("partitioning", 2)
    assert (made["last_pass"], made["last_pass_number"]) == ("creator", 5)
    assert (made["seen_count"], made["remaining_count"]) == (1, 0)
    (row,) = made["trace"]
    assert (row["name"], row["scope"], row["ending"]) == ("r", "attention", "continues")
    assert (row["continues_as"], made["continued_opcodes"]) == ("s", ["all-reduce-start"])
    assert run(["diff", "--passes", str(folder), "--trace", 'opcode == "all-reduce"']) == 0
    told = capsys.readouterr().out
    assert "1 of 1 continues as all-reduce-start, the last by creator (step 5)\n" in told
    assert "gone" not in told.partition("\n\n")[0]


def test_a_trace_tells_what_goes_on_from_what_is_removed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Two products of one collective: one is split, the other is dropped; then it is joined."""
    second = "%q = f32[8] all-reduce(%r), replica_groups={{0,1}}, to_apply=%sum"
    both = REDUCED.replace(
        "  ROOT %y = f32[8] negate(%r)", f"  {second}\n  ROOT %y = f32[8] negate(%q)"
    )
    steps = (
        ("p.after_pipeline-start.before_creator", both),
        ("p.after_creator.before_joiner", STARTED),
        ("p.after_joiner.before_pipeline-end", REDUCED),
    )
    folder = write(tmp_path, *steps)
    made = ask(capsys, "--passes", folder, "--trace", 'opcode ~ "all-reduce"')
    assert [(row["name"], row["continues_as"], row["ending"]) for row in made["trace"]] == [
        ("r", "s", "continues"),
        ("q", None, "removed"),
        ("s", "r", "continues"),
        ("d", None, "removed"),
        ("r", None, None),
    ]
    assert made["continued_opcodes"] == ["all-reduce-start", "all-reduce"]


@pytest.mark.parametrize("expression", ['name == "r"', 'name == "r" and opcode == "all-reduce"'])
@pytest.mark.parametrize("is_all", [True, False])
def test_a_trace_goes_on_under_a_new_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, expression: str, *, is_all: bool
) -> None:
    renamed = REDUCED.replace("%r", "%r.0")
    if is_all:
        renamed = renamed.replace("%y", "%y.0")
    steps = (
        ("p.after_pipeline-start.before_renamer", REDUCED),
        ("p.after_renamer.before_pipeline-end", renamed),
    )
    made = ask(capsys, "--passes", write(tmp_path, *steps), "--trace", expression)
    (row,) = made["trace"]
    assert (row["continues_as"], row["ending"]) == ("r.0", "continues")


@pytest.mark.parametrize(
    ("arguments", "lists"),
    [
        (["--passes", "dump"], "there are passes, survivors, opcodes"),
        (["--passes", "dump", "--trace", 'opcode == "dot"'], "known: trace"),
        (["a", "b", "--why", "dot.1"], "known: evidence"),
        (["a", "b", "c"], "there are figures, sides"),
    ],
)
def test_an_unknown_list_is_told_those_of_this_form(
    capsys: pytest.CaptureFixture[str], arguments: list[str], lists: str
) -> None:
    assert run(["diff", *arguments, "--rows", "wrong"]) == 2
    assert f"there is no row list 'wrong'; {lists}\n" in capsys.readouterr().err


def test_a_trace_ends_where_the_expression_holds_no_more(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    steps = (
        ("p.after_pipeline-start.before_a", REDUCED),
        ("p.after_a.before_pipeline-end", REDUCED.replace("attention", "mlp")),
    )
    made = ask(capsys, "--passes", write(tmp_path, *steps), "--trace", 'scope ~ "attention"')
    (row,) = made["trace"]
    assert (row["last_pass"], row["ending"]) == ("a", "no match")
    assert ask(capsys, "--passes", tmp_path)["passes"][1]["differs_in"] == []


def test_two_compilations_part_after_a_pass(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    other = [*NESTED[:5], (NESTED[5][0], STARTED.replace("negate", "tanh"))]
    old, new = write(tmp_path / "old", *NESTED), write(tmp_path / "new", *other)
    keys = ("last_identical_path", "first_different_path", "first_different_pass")
    made = ask(capsys, "--passes", old, "--passes", new)
    last, first = (f"{new}/module_0001.jit_f.{NESTED[step][0]}.txt" for step in (4, 5))
    last, first = last.replace("later", "0004.later"), first.replace("later", "0005.later")
    assert [made[key] for key in keys] == [last, first, "creator"]
    same = ask(capsys, "--passes", old, "--passes", old)
    assert [same[key] is None for key in keys] == [False, True, True]
    assert run(["diff", "--passes", str(old), "--passes", str(new), "--exit-code"]) == 1
    told = capsys.readouterr().out
    assert "first different after creator of later (step 5): structure" in told


def test_what_differs_in_the_end_is_told_by_the_pass_that_began_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Only NEW runs a pass that doubles; what differed in between and no more is not told."""
    at = 'metadata={op_name="jit(f)/mlp/neg"}'
    one = entry(f"ROOT %y = f32[8] negate(%x), {at}")
    other = entry(f"%a = f32[8] negate(%x), {at}", "ROOT %y = f32[8] copy(%a)")
    twice = entry(f"%a = f32[8] negate(%x), {at}", f"ROOT %y = f32[8] add(%a, %a), {at}")
    names = (
        "p.after_pipeline-start.before_first",
        "p.after_first.before_second",
        "p.after_second.before_third",
        "p.after_third.before_pipeline-end",
    )
    old = write(tmp_path / "old", *zip(names, (one, one, one, one), strict=True))
    new = write(tmp_path / "new", *zip(names, (one, other, one, twice), strict=True))
    made = ask(capsys, "--passes", old, "--passes", new)
    (row,) = made["survivors"]
    assert (row["pass_name"], row["what"]) == ("third", ["add added"])
