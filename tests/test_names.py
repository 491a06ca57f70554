"""Names are unique in their computation only: no answer may depend on more."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from diff_cases import BASE, CASES
from dump_files import TESTDATA, as_parameters, find_folders, find_texts, read_text
from parsed import read_program
from same_names import (
    Naming,
    OldNames,
    by_opcode,
    counted,
    match_names,
    rename,
    stemmed,
    unique,
    write_back,
)
from tables import TableCase, find_cases

from hlotool.analysis.collectives.report import CollectiveOptions
from hlotool.analysis.fusions.report import expand_fusion, expect_fusion
from hlotool.analysis.memory.report import analyze_memory
from hlotool.analysis.memory.rows import all_rows
from hlotool.analysis.memory.timeline import choose_peaks, find_position, timeline
from hlotool.check.config import Budget
from hlotool.check.judge import judge_rule
from hlotool.check.rule import compile_rule
from hlotool.compare.changes.text import write_texts
from hlotool.compare.inputs import DiffSide
from hlotool.compare.report import DiffOptions, DiffReport, compare_programs
from hlotool.errors import UsageError
from hlotool.hlo.assignment_parser import parse_buffer_assignment
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.text import Source

LARGEST = 200_000  # characters; larger ones hold the same again, and take their time
TEXTS = [
    path
    for folder in find_folders()
    for path in find_texts(folder)
    if len(read_text(path)) < LARGEST
]
HAND_WRITTEN = [
    case
    for name in ("collectives", "cost", "executions.cases")
    for case in find_cases(TESTDATA / name)
    if "canonical" not in case.name  # bodies in place of names
]


MLPS = [
    read_text(path)
    for path in TEXTS
    if path.parent.name.startswith("mlp_train") and "after" in path.name
]
BUDGETS = ("fusions: count > 1", "collectives: sent_bytes > 0", "buffers: live_bytes > 0")
RULES = [compile_rule(Budget(forbid=text)) for text in BUDGETS]


def name_dump(path: Path) -> str:
    stage = "before" if "before" in path.name else "after"
    return "/".join((*path.parts[-3:-1], stage))


def read(text: str) -> Program:
    return Program("", parse_module(Source(text)))


def answers(program: Program) -> dict[str, Any]:
    """Work out what the commands show, before options choose among it."""
    options = CollectiveOptions(with_groups=True, with_operands=True)
    found = {
        "summary": program.summarize(with_findings=False),
        "findings": program.findings,
        "fusions": program.fusions,
        "missed": program.find_missed(0),
        "recomputed": program.recomputed,
        "collectives": program.analyze_collectives(options),
        "donations": program.donations,
        "peak": program.peak_rows,
    }
    bodies = [
        expand_fusion(row.name, program.expect_module(), program.costs)
        for row in program.fusions.rows
    ]
    found["bodies"] = [[(one.role, one.bytes_accessed) for one in body] for body in bodies]
    found["check"] = [judge_rule(rule, program) for rule in RULES]
    report = program.memory
    if report is not None and report.map.live_ranges is not None:
        curve, sequence = report.map.curve(0), report.map.live_ranges.sequence
        assert curve is not None
        loops = [loop.instruction.full_name for loop in program.executions.loops]
        found["positions"] = [find_position(report, name, 0) for name in loops if name in sequence]
        found["values"] = all_rows(report, None)
        found["timeline"] = timeline(curve, sequence)
        found["peaks"] = choose_peaks(curve, sequence, 5)
    return found


def written_back(program: Program, names: OldNames) -> Any:
    """Return the answers under the old names; equal findings are ordered by name."""
    found = write_back(answers(program), names)
    return found | {"findings": sorted(found["findings"], key=str)}


def check(program: Program, text: str, naming: Naming) -> None:
    renamed = read(rename(text, naming))
    names = match_names(program.expect_module(), renamed.expect_module())
    assert written_back(renamed, names) == written_back(program, OldNames())


@pytest.mark.parametrize("path", as_parameters(TEXTS, name_dump))
def test_repeated_names_change_no_answer(path: Path) -> None:
    check(read_program(path), read_text(path), counted)


@pytest.mark.parametrize("case", HAND_WRITTEN, ids=lambda case: case.name)
def test_names_of_small_texts_change_no_answer(case: TableCase) -> None:
    """Most of these texts repeat names already."""
    program = read(case.text)
    check(program, case.text, unique())
    check(program, case.text, by_opcode)


def compare(old: Program, new: Program) -> DiffReport:
    return compare_programs(DiffSide(old), DiffSide(new), DiffOptions(is_folded=False))


@pytest.mark.parametrize("path", as_parameters(TEXTS, name_dump))
def test_repeated_names_are_no_difference(path: Path) -> None:
    program, renamed = read_program(path), read(rename(read_text(path), counted))
    for found in (compare(program, renamed), compare(renamed, program)):
        assert found.identical
        assert not found.differs
        assert found.order is None
        assert found.matched_count
        assert (found.changed_count, found.old_only_count, found.new_only_count) == (0, 0, 0)
        assert found.structure is not None
        assert not any(block.differs for block in write_texts(found.structure))


def list_changes(old: Program, new: Program, names: OldNames) -> Any:
    """Return the lists of a diff; equal rows are ordered by name.

    The `name` of fusions is left out: it is one where both sides have the same.
    """
    found = compare(old, new)
    plain = {
        name: getattr(found, name)
        for name in ("instructions", "memory", "collectives", "fusions", "metrics", "header")
    }
    lists = write_back(plain, names)
    for row in lists["fusions"]:
        del row["name"]
    return {name: sorted(rows, key=str) for name, rows in lists.items()}


@pytest.mark.parametrize(("old", "new"), [*pairwise(MLPS), *((BASE, case.text) for case in CASES)])
def test_repeated_names_change_no_difference(old: str, new: str) -> None:
    before = read(old), read(new)
    after = read(rename(old, stemmed())), read(rename(new, stemmed(1000)))
    names = [
        match_names(*(one.expect_module() for one in pair))
        for pair in zip(before, after, strict=True)
    ]
    assert list_changes(*after, names[0] | names[1]) == list_changes(*before, OldNames())


TWICE = """HloModule m, is_scheduled=true

add {
  p = f32[8] parameter(0)
  ROOT r = f32[8] add(p, p)
}

sub {
  p = f32[8] parameter(0)
  ROOT r = f32[8] negate(p)
}

body {
  p = f32[8] parameter(0)
  f = f32[8] fusion(p), kind=kLoop, calls=add
  ROOT g = f32[8] fusion(f), kind=kLoop, calls=sub
}

ENTRY main {
  p = f32[8] parameter(0)
  c = f32[8] call(p), to_apply=body
  d = f32[8] call(c), to_apply=other
  g = f32[8] negate(d)
  ROOT add = f32[8] fusion(g), kind=kInput, calls=sub
}

other {
  p = f32[8] parameter(0)
  ROOT f = f32[8] fusion(p), kind=kLoop, calls=sub
}
"""


def test_a_fusion_is_found_by_its_full_name() -> None:
    module = read(TWICE).expect_module()

    def find(name: str) -> str:
        return expect_fusion(name, module).full_name

    assert [find(name) for name in ("body/f", "%other/f", "body/g")] == [
        "body/f",
        "other/f",
        "body/g",
    ]
    assert [find(name) for name in ("add", "sub")] == ["add", "body/g"], (
        "an instruction comes first"
    )
    with pytest.raises(UsageError, match="several computations have a 'f'; give body/f or other/f"):
        find("f")
    with pytest.raises(UsageError, match="'g' is not a fusion; its opcode is negate"):
        find("g")


ASSIGNMENT = """BufferAssignment:
allocation 0: size 32, parameter 0, shape |f32[8]| at ShapeIndex {}:
 value: <0 a @0> (size=32,offset=0): f32[8]
allocation 1: size 32, maybe-live-out:
 value: <1 b @0> (size=32,offset=0): f32[8]
"""
INNER = """allocation 2: size 32, preallocated-temp:
 value: <2 y @0> (size=32,offset=0): f32[8]
"""
NAMED = """HloModule m, is_scheduled=true

body {
  x = f32[8] parameter(0)
  ROOT y = f32[8] negate(x), metadata={op_name="jit(f)/inner/neg"}
}

ENTRY main {
  a = f32[8] parameter(0)
  c = f32[8] call(a), to_apply=body
  ROOT b = f32[8] negate(c), metadata={op_name="jit(f)/outer/neg"}
}
"""


def test_an_assignment_names_no_instruction_where_several_have_the_name() -> None:
    rows = {}
    for text, buffers in (
        (NAMED, ASSIGNMENT + INNER),
        (NAMED.replace("y =", "b ="), ASSIGNMENT),
    ):
        assignment = parse_buffer_assignment(Source(buffers))
        module = parse_module(Source(text))
        report = analyze_memory(module, assignment)
        rows[report.figures.live_ranges_from] = all_rows(report, None)[1]
    assert {
        live_ranges: (row.opcode, row.scope, row.use_count) for live_ranges, row in rows.items()
    } == {
        "derived": ("negate", "outer", 0),
        None: (None, None, None),
    }
