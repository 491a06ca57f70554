"""Pairs of edited programs: the table in the documentation is what its generator finds."""

from __future__ import annotations

import csv
import random
from collections.abc import Hashable, Iterable, Iterator

import pytest
from accuracy.page import PAGE, write_page
from accuracy.pairing import BASES, EDITS, HEADING, LAYERS, TABLE, base
from dump_files import SHARED, needs_shared
from edits.kinds import Edit
from edits.layers import renumber
from edits.listing import Print
from edits.measure import judge

import hlotool
from hlotool.compare.match.matching import Pairs
from hlotool.compare.match.moved import CONTAINERS
from hlotool.compare.match.structure import compare_structure, list_reached
from hlotool.hlo import Instruction
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.text import Source

SMALL = BASES[-1]
HANDED_ON = frozenset(("parameter", "get-tuple-element", "tuple", "constant"))
PAIRS = [name for name in HEADING.split(",") if name.startswith("pair ")]


def rows() -> list[dict[str, str]]:
    with TABLE.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_table_has_every_edit_in_every_style() -> None:
    found = {row["edit"] for row in rows()}
    assert {one.__name__.replace("_", " ") for one in EDITS} | set(LAYERS) <= found


@pytest.mark.parametrize(
    ("group", "least"),
    [
        ("one edit", 0.97),
        ("5 to 150 edits", 0.92),
        ("layers", 0.92),
        ("one edit at other places", 0.97),
        ("5 to 150 edits at other places", 0.92),
    ],
)
def test_pairs_are_as_new_as_promised(group: str, least: float) -> None:
    row = next(one for one in rows() if one["edit"] == f"all: {group}")
    assert min(float(row["pair precision"]), float(row["pair recall"])) >= least


def test_pairs_are_new_however_many_edits_are_made() -> None:
    shares = [float(row[share]) for row in rows() if "at once" in row["edit"] for share in PAIRS]
    assert len(shares) == 2 * 2 * 3 * 4
    assert min(shares) >= 0.92


@needs_shared
@pytest.mark.parametrize(
    ("old", "new"),
    [("gpu90.base", "gpu102old.base"), ("cpu83.base", "cpu.base"), ("tpu83.base", "tpu.base")],
)
def test_nothing_at_one_place_is_removed_and_added(old: str, new: str) -> None:
    """Of two versions of the compiler: same operands, or same users at the same operands."""
    folders = [SHARED / "dumps" / "pairs" / name for name in (old, new)]
    texts = [next(one.glob("*after_optimizations.txt.gz")) for one in folders]
    structure = compare_structure(*(hlotool.load(one).program for one in texts))
    marks = structure.marks()
    here, there = (
        {place for one in list_reached(program) for place in list_places(one.instructions, marks)}
        for program in structure.programs
    )
    assert not here & there


def list_places(instructions: Iterable[Instruction], marks: Pairs) -> Iterator[Hashable]:
    """Yield where those without counterpart stand; what only hands on a value stands nowhere.

    Nor does a fusion or call whose result has a counterpart: its body is what is compared.
    """
    for one in instructions:
        body = one.callee() if one.opcode in CONTAINERS else None
        if one in marks or one.opcode in HANDED_ON or (body is not None and body.root in marks):
            continue
        if one.operands and all(each in marks for each in one.operands):
            yield tuple(marks[each] for each in one.operands)
        if one.users and all(each in marks for each in one.users):
            yield frozenset(
                (marks[user], place)
                for user in one.users
                for place, each in enumerate(user.operands)
                if each is one
            )


def test_the_page_says_what_the_tables_do() -> None:
    page = PAGE.read_text("utf-8")
    assert write_page(page) == page


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_one_edit_leaves_nearly_all_pairs(edit: Edit) -> None:
    edited = base(SMALL).copy()
    if not edit(edited, random.Random(3)):  # noqa: S311  repeatable on purpose
        pytest.skip("nothing to edit in this program")
    edited.drop_dead()
    score = judge(base(SMALL), edited, Print(is_shuffled=True), 3)
    assert score.new_pairs >= 0.97 * max(score.found_pairs, score.true_pairs)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_told_by_name_and_content(name: str) -> None:
    old, new = renumber(*LAYERS[name])
    score = judge(old, new, Print(is_shuffled=True), 1)
    assert score.new_pairs == score.found_pairs == score.true_pairs


def step(*widths: int) -> str:
    lines = []
    for place, width in enumerate(widths):
        name = f"{{op_name=\"state[\\'layers\\'][{place}]\"}}"
        lines.append(f"  %w{place} = f32[8,{width}] parameter({place}), metadata={name}")
        operands = f"%w{place}, %w{place}"
        scope = f'{{op_name="jit(f)/layer_{place}/mlp/dot_general"}}'
        dims = "lhs_contracting_dims={1}, rhs_contracting_dims={1}"
        lines.append(f"  %d{place} = f32[8,8] dot({operands}), {dims}, metadata={scope}")
    shapes = ", ".join(["f32[8,8]"] * len(widths))
    results = ", ".join(f"%d{place}" for place in range(len(widths)))
    body = "\n".join([*lines, f"  ROOT %r = ({shapes}) tuple({results})"])
    return f"HloModule m\n\nENTRY %main {{\n{body}\n}}\n"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ((4, 4, 4), (4, 4, 4, 4), [("new", 3)]),
        ((4, 4, 4, 4), (4, 4, 4), [("old", 3)]),
        ((4, 4, 4), (4, 9, 4, 4), [("new", 1)]),
        ((4, 4), (8, 8), []),
        ((4,), (4, 4), [("new", 1)]),
    ],
    ids=["one more", "one less", "put in", "all wider", "one is no sequence"],
)
def test_which_layer_is_new(
    old: tuple[int, ...], new: tuple[int, ...], expected: list[tuple[str, int]]
) -> None:
    sides = [Program("", parse_module(Source(step(*widths)))) for widths in (old, new)]
    pair = compare_structure(sides[0], sides[1]).computations[0]
    gone = [one for one in pair.old.parameters if one not in pair.pairs]
    after = [one for one in pair.new.parameters if one not in pair.pairs.values()]
    found = [("old", one.parameter_number) for one in gone]
    assert found + [("new", one.parameter_number) for one in after] == expected
