"""Names are unique in their computation only: no answer may depend on more."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from diff_cases import BASE, CASES, read_case
from dump_files import TESTDATA, find_folders, find_texts, read_text
from same_names import Naming, OldNames, counted, match_names, rename, stemmed, unique, write_back

from hlotool.analysis.collectives.report import CollectiveOptions
from hlotool.analysis.memory.timeline import find_peaks, timeline
from hlotool.analysis.memory.value_rows import all_rows
from hlotool.diff.blocks.text import write_texts
from hlotool.diff.report import DiffOptions, DiffReport, DiffSide, compare_programs
from hlotool.parse import parse_module
from hlotool.program.program import Program
from hlotool.source import Source

LARGEST = 200_000  # characters; larger ones hold the same again, and take their time
TEXTS = [
    path
    for folder in find_folders()
    for path in find_texts(folder)
    if len(read_text(path)) < LARGEST
]
HAND_WRITTEN = [
    path
    for folder in ("collectives", "cost", "executions")
    for path in sorted((TESTDATA / folder).glob("*.txt"))
]


MLPS = [
    read_text(path)
    for path in TEXTS
    if path.parent.name.startswith("mlp_train") and "after" in path.name
]


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
    report = program.memory
    if report is not None and report.map.lifetimes is not None:
        curve, sequence = report.map.curve(0), report.map.lifetimes.sequence
        assert curve is not None
        found["values"] = all_rows(report, program.module, None)
        found["timeline"] = timeline(curve, sequence)
        found["peaks"] = find_peaks(curve, sequence, 5)
    return found


def written_back(program: Program, names: OldNames) -> Any:
    """Return the answers under the old names; equal findings are ordered by name."""
    found = write_back(answers(program), names)
    return found | {"findings": sorted(found["findings"], key=str)}


def check(text: str, naming: Naming) -> None:
    program, renamed = read(text), read(rename(text, naming))
    names = match_names(program.expect_module(), renamed.expect_module())
    assert written_back(renamed, names) == written_back(program, OldNames())


@pytest.mark.parametrize("naming", [counted, stemmed()], ids=["counted", "stemmed"])
@pytest.mark.parametrize("path", TEXTS, ids=name_dump)
def test_repeated_names_change_no_answer(path: Path, naming: Naming) -> None:
    check(read_text(path), naming)


@pytest.mark.parametrize("path", HAND_WRITTEN, ids=lambda path: path.stem)
def test_unique_names_change_no_answer(path: Path) -> None:
    check(read_text(path), unique())


def compare(left: Program, right: Program) -> DiffReport:
    return compare_programs(DiffSide(left), DiffSide(right), DiffOptions(is_folded=False))


@pytest.mark.parametrize("path", TEXTS, ids=name_dump)
def test_repeated_names_are_no_difference(path: Path) -> None:
    text = read_text(path)
    program, renamed = read(text), read(rename(text, counted))
    for found in (compare(program, renamed), compare(renamed, program)):
        assert found.identical
        assert not found.differs
        assert found.order is None
        assert found.matched_count
        assert (found.changed_count, found.left_only_count, found.right_only_count) == (0, 0, 0)
        assert found.structure is not None
        assert not any(block.differs for block in write_texts(found.structure))


def list_changes(left: Program, right: Program, names: OldNames) -> Any:
    """Return the lists of a diff; equal rows are ordered by name.

    The `name` of fusions is left out: it is one where both sides have the same.
    """
    found = compare(left, right)
    plain = {
        name: getattr(found, name)
        for name in ("instructions", "memory", "collectives", "fusions", "metrics", "header")
    }
    lists = write_back(plain, names)
    for row in lists["fusions"]:
        del row["name"]
    return {name: sorted(rows, key=str) for name, rows in lists.items()}


@pytest.mark.parametrize(
    ("left", "right"), [*pairwise(MLPS), *((BASE, read_case(path).text) for path in CASES)]
)
def test_repeated_names_change_no_difference(left: str, right: str) -> None:
    old = read(left), read(right)
    new = read(rename(left, stemmed())), read(rename(right, stemmed(1000)))
    names = [match_names(*(one.expect_module() for one in pair)) for pair in zip(old, new)]
    assert list_changes(*new, names[0] | names[1]) == list_changes(*old, OldNames())
