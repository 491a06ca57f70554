"""The structural diff: one change of each kind is found, and nothing else ever is."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from diff_cases import (
    BASE,
    CASES,
    Edit,
    found_changes,
    read,
    renamed,
    reordered,
    without_metadata,
)
from dump_files import PRINTED, TESTDATA, as_parameters, find_folders, find_texts, read_text

from hlotool.compare.changes.instructions import compare_instructions
from hlotool.compare.changes.reasons import Reasoner
from hlotool.compare.match.structure import compare_structure

LARGE_BYTES = 300_000  # larger dumps take too long to be compared three times
TEXTS = [path for folder in find_folders() for path in find_texts(folder)]
DUMPS = [
    path
    for path in TEXTS
    if path.is_relative_to(TESTDATA / "dumps") and path.stat().st_size < LARGE_BYTES
]
LARGE = [path for path in TEXTS if path not in DUMPS]
# No program can be read from some styles, and the default is what the others are compared with.
UNREAD = {
    "bare",
    "compact_operands",
    "default",
    "no_extra_attributes",
    "no_ids",
    "no_operand_names",
    "no_result_shape",
}
STYLES = [path for path in PRINTED if path.stem.rsplit(".", 1)[1] not in UNREAD]
REORDERED = {"canonical", "fingerprint"}  # these sort instructions by what they are
REWRITINGS = (renamed, without_metadata, reordered)


TWICE = """HloModule m, is_scheduled=true

ENTRY e {
  x = f32[8] parameter(0)
  v0 = f32[8] negate(x)
  v1 = f32[8] tanh(v0)
  v2 = f32[8] negate(v0)
  v3 = f32[8] subtract(v2, v0)
  v4 = f32[8] negate(x)
  ROOT t = (f32[8], f32[8], f32[8]) tuple(v1, v3, v4)
}
"""


def test_of_a_value_computed_twice_the_copy_with_the_old_users_is_the_old_one() -> None:
    new = (
        TWICE.replace("  v0 =", "  copy = f32[8] negate(x)\n  v0 =")
        .replace("(v2, v0)", "(v2, copy)\n  more = f32[8] subtract(v0, v2)")
        .replace("tuple(v1, v3, v4)", "tuple(v1, v3, more, v4)")
        .replace("ROOT t = (", "ROOT t = (f32[8], ")
    )
    assert "changed subtract: operands" in (found := found_changes(TWICE, new))
    assert not any("changed negate" in line or "changed tanh" in line for line in found)


def test_there_is_something_to_test() -> None:
    assert len(CASES) > 30
    assert len(DUMPS) > 10


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_one_change(case: Edit) -> None:
    assert found_changes(BASE, case.text, is_strict=case.is_strict) == case.expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_one_change_whatever_the_names_and_the_order(case: Edit) -> None:
    found = found_changes(BASE, reordered(renamed(case.text)), is_strict=case.is_strict)
    assert [line for line in found if not line.startswith("moved")] == [
        line for line in case.expected if not line.startswith("moved")
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_module_equals_itself(case: Edit) -> None:
    assert found_changes(case.text, case.text) == ["identical"]


@pytest.mark.parametrize("rewrite", REWRITINGS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("path", DUMPS, ids=lambda path: f"{path.parents[1].name}/{path.name}")
def test_rewritten_dumps_are_identical(path: Path, rewrite: Callable[[str], str]) -> None:
    text = path.read_text(encoding="utf-8")
    other = rewrite(text)
    if other == text:
        pytest.skip("there is nothing to rewrite")
    found = found_changes(text, other)
    assert [line for line in found if not line.startswith("moved")] == ["identical"]


@pytest.mark.parametrize("path", as_parameters(LARGE, lambda path: "/".join(path.parts[-3:-1])))
def test_large_dumps_are_identical_under_other_names(path: Path) -> None:
    text = read_text(path)
    found = found_changes(text, reordered(without_metadata(renamed(text))))
    assert [line for line in found if not line.startswith("moved")] == ["identical"]


@pytest.mark.parametrize("path", as_parameters(STYLES))
def test_print_styles_are_identical(path: Path) -> None:
    program, style = path.stem.rsplit(".", 1)
    default = path.with_name(f"{program}.default.txt")
    old, new = (each.read_text(encoding="utf-8") for each in (default, path))
    found = found_changes(old, new)
    assert [line for line in found if not line.startswith("moved")] == ["identical"]
    assert len(found) == 1 or style in REORDERED


@pytest.mark.parametrize("path", DUMPS[::3], ids=lambda path: f"{path.parents[1].name}/{path.name}")
def test_one_opcode_among_many(path: Path) -> None:
    """Turn one `add` or `multiply` of a real dump into `atan2`: that and nothing else is found."""
    text = path.read_text(encoding="utf-8")
    places = [match.span(1) for match in re.finditer(r" (add|multiply|maximum)\((?=%)", text)]
    if not places:
        pytest.skip("nothing to replace in this dump")
    for start, end in random.Random(7).sample(places, min(5, len(places))):  # noqa: S311
        other = f"{text[:start]}atan2{text[end:]}"
        found = found_changes(text, reordered(renamed(other)))
        assert [line for line in found if not line.startswith("moved")] == [
            f"changed atan2: opcode {text[start:end]} → atan2"
        ]


@pytest.mark.parametrize("path", DUMPS[1::4], ids=lambda path: path.parent.name)
def test_swapped_sides_mirror_each_other(path: Path) -> None:
    """Compare a dump with the base, a program unrelated: every instruction is counted once."""
    programs = read(path.read_text(encoding="utf-8")), read(BASE)
    old, new = (one.expect_module() for one in programs)
    structures = [compare_structure(*sides) for sides in (programs, programs[::-1])]
    there, back = (compare_instructions(one, Reasoner(one)) for one in structures)
    assert there.matched_count + there.old_only_count <= old.instruction_count()
    assert there.matched_count + there.new_only_count <= new.instruction_count()
    assert there.old_only_count - there.new_only_count == (
        back.new_only_count - back.old_only_count
    )
