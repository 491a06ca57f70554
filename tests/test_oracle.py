"""What we read of a dump is what XLA itself read: computations, instructions, operands, users.

The oracles are frozen answers, oracle_STAGE_instructions.json beside each dump: of XLA's own
parser for the stage's text, or of the protobuf that was written with it. Rows are name,
opcode, operand names and, from XLA's parser in testdata, users.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from dump_files import TESTDATA, find_file, find_folders, read_json
from parsed import read_module
from tables import TableCase, find_cases

from hlotool.hlo import Computation, Layout, Shape
from hlotool.hlo.parser import parse_module
from hlotool.hlo.scanner import Scanner
from hlotool.hlo.shape_parser import parse_shape
from hlotool.text import Source

# Where the C++ name of an opcode is not its spelling in the text.
SPELLINGS = {
    "kClz": "count-leading-zeros",
    "kCos": "cosine",
    "kExp": "exponential",
    "kExpm1": "exponential-minus-one",
    "kLog1p": "log-plus-one",
    "kOptimizationBarrier": "opt-barrier",
    "kPopulationCount": "popcnt",
    "kSin": "sine",
    "kTopK": "topk",
}

# The only difference tolerated, with its reason: a protobuf lists computations and
# instructions in another order than the text does, so these are compared without it.
UNORDERED = {"proto"}


ORACLES = [
    path for folder in find_folders() for path in sorted(folder.glob("oracle*_instructions.json*"))
]


def stage_of(oracle: Path) -> str:
    return oracle.name.removeprefix("oracle_").partition("_instructions.json")[0]


def find_text(oracle: Path) -> Path:
    """Return the module text that an oracle is about."""
    stage = stage_of(oracle).replace("proto", "after_optimizations")
    path = find_file(oracle.parent, f"{stage}.txt")
    assert path is not None
    return path


def spell(opcode: str) -> str:
    """Turn `kGetTupleElement` into `get-tuple-element`; protobufs spell it so already."""
    if not opcode.startswith("k"):
        return opcode
    return SPELLINGS.get(opcode) or re.sub(r"(?<=.)([A-Z])", r"-\1", opcode[1:]).lower()


def list_rows(computation: Computation, *, has_users: bool) -> list[list[Any]]:
    """List a computation as the oracles do."""
    return [
        [
            one.name,
            one.opcode,
            [operand.name for operand in one.operands],
            *([[user.name for user in one.users]] if has_users else []),
        ]
        for one in computation.instructions
    ]


def test_there_are_oracles() -> None:
    assert len([path for path in ORACLES if path.is_relative_to(TESTDATA)]) > 40


@pytest.mark.parametrize(
    "oracle", ORACLES, ids=lambda path: f"{path.parents[1].name}/{path.parent.name}/{path.stem}"
)
def test_the_module_is_what_xla_reads(oracle: Path) -> None:
    text = find_text(oracle)
    module = read_module(text)
    expected = read_json(oracle)
    has_users = any(
        len(row) > 3 and isinstance(row[3], list) for one in expected for row in one["instructions"]
    )
    ours = [(one.name, list_rows(one, has_users=has_users)) for one in module.computations.values()]
    theirs = [
        (
            one["computation"],
            [
                [name, spell(opcode), *rest[: 1 + has_users]]
                for name, opcode, *rest in one["instructions"]
            ],
        )
        for one in expected
    ]
    if stage_of(oracle) in UNORDERED:
        ours, theirs = (
            sorted((name, sorted(rows)) for name, rows in side) for side in (ours, theirs)
        )
        roots = {one.name: one.root.name for one in module.computations.values()}
        assert roots == {one["computation"]: one["root"] for one in expected}
    assert ours == theirs


FORMS = find_cases(TESTDATA / "hlo_forms")
READ_FORMS = [case for case in FORMS if "computations" in json.loads(case.parts["xla"])]


@pytest.mark.parametrize("case", READ_FORMS, ids=lambda case: case.name)
def test_the_form_is_what_xla_reads(case: TableCase) -> None:
    """Compare by position, since XLA renames what has a name twice and invents names.

    Shapes too: XLA prints the ones it infers where a text states none.
    """
    module = parse_module(Source(case.text))
    ours = []
    for computation in module.computations.values():
        place = {one: number for number, one in enumerate(computation.instructions)}
        ours.append(
            [
                [
                    one.opcode,
                    [place[each] for each in one.operands],
                    [place[user] for user in one.users],
                    outline(one.shape),
                ]
                for one in computation.instructions
            ]
        )
    theirs = [
        [
            [spell(opcode), operands, users, outline(parse_shape(Scanner(Source(shape))))]
            for opcode, operands, users, shape in rows
        ]
        for rows in json.loads(case.parts["xla"])["computations"]
    ]
    assert sorted(ours) == sorted(theirs)  # XLA puts the computations it makes elsewhere


def outline(shape: Shape) -> list[Any]:
    """List the arrays of a shape, and where they lie; XLA prints the default layout too."""
    default = tuple(range(64))
    return [
        [index, str(leaf), layout.minor_to_major, layout.tiles, layout.memory_space]
        for index, leaf in shape.leaves_with_index()
        for layout in [leaf.layout or Layout(default[: len(leaf.dims)][::-1])]
    ]


def test_every_form_was_shown_to_xla() -> None:
    assert all("xla" in case.parts for case in FORMS)
    assert len(READ_FORMS) >= 20
