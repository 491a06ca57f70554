"""One module in every style XLA's printer can make: one IR, or a sentence that says why not."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from described import describe_module
from dump_files import PRINTED, as_parameters, read_json
from parsed import read_module

from hlotool.errors import ParseError
from hlotool.hlo import Computation, Instruction

# What a style leaves out of the text, as parts of a description or as attributes; or writes
# out, where the default has `constant({...})`.
LEAVES_OUT = {
    "everything": ("literal",),
    "indented": (),
    "large_constants": ("literal",),
    "no_backend_config": ("backend_config",),
    "no_control_dependencies": ("control-predecessors",),
    "no_layout": ("layouts",),
    "no_metadata": ("metadata", "location", "debug_info"),
    "no_percent": (),
    "no_program_shape": (),
    "old_style": (),
    "operand_shapes": (),
    "short_parsable": ("metadata", "location", "debug_info", "control-predecessors", "literal"),
}
REORDERED = ("canonical", "fingerprint")  # all names are new, and the order is another
_NO_EXTRAS = (
    r"[a-z-]+ needs [a-z_]+=, which is missing; a text printed with print_extra_attributes off"
)
REFUSED = {
    "bare": _NO_EXTRAS,
    "compact_operands": "operand names are missing",
    "no_extra_attributes": _NO_EXTRAS,
    "no_ids": "computation names are missing",
    "no_operand_names": "operand names are missing",
    "no_result_shape": "the shape of",
}


def split_stem(path: Path) -> tuple[str, str]:
    program, style = path.stem.rsplit(".", 1)
    return program, style


def with_styles(*styles: str) -> list[Any]:
    return as_parameters(path for path in PRINTED if split_stem(path)[1] in styles)


def default_of(path: Path) -> Path:
    return path.with_name(f"{split_stem(path)[0]}.default.txt")


@cache
def describe_default(path: Path) -> Any:
    return strip_percent(describe_module(read_module(path)))


def test_every_style_is_accounted_for() -> None:
    styles = {split_stem(path)[1] for path in PRINTED}
    assert len(styles) > 15
    assert styles <= {"default", *LEAVES_OUT, *REORDERED, *REFUSED}
    for folder in {path.parent for path in PRINTED}:
        oracle = read_json(folder / "oracle.json")
        reparsed = {key.rsplit(".", 1)[1] for key, one in oracle.items() if one["reparsed"]}
        assert reparsed <= {"default", *LEAVES_OUT, *REORDERED}


def strip_percent(description: dict[str, Any]) -> Any:
    """Drop what is left to the style: whether names begin with %."""
    return json.loads(json.dumps(description).replace("%", ""))


def without(description: Any, left_out: tuple[str, ...]) -> Any:
    if isinstance(description, dict):
        kept = {
            key: without(part, left_out) for key, part in description.items() if key not in left_out
        }
        return {key: part for key, part in kept.items() if part != {}}
    return description


@pytest.mark.parametrize("path", with_styles(*LEAVES_OUT))
def test_the_same_module(path: Path) -> None:
    left_out = LEAVES_OUT[split_stem(path)[1]]
    found = strip_percent(describe_module(read_module(path)))
    expected = describe_default(default_of(path))
    assert list(found["computations"]) == list(expected["computations"])
    assert without(found, left_out) == without(expected, left_out)


@pytest.mark.parametrize("path", with_styles(*REORDERED))
def test_the_same_structure(path: Path) -> None:
    found, expected = read_module(path), read_module(default_of(path))
    pairs = [(found.entry, expected.entry)]
    seen: set[tuple[Computation, Computation]] = set()
    while pairs:
        pair = pairs.pop()
        if pair not in seen:
            seen.add(pair)
            pairs += match_computations(*pair)
    assert len({expected_one for _, expected_one in seen}) > 5


def match_computations(
    found: Computation, expected: Computation
) -> list[tuple[Computation, Computation]]:
    """Match two computations from their roots up; return the pairs of callees."""
    assert Counter(map(describe, found.instructions)) == Counter(
        map(describe, expected.instructions)
    )
    matched: dict[Instruction, Instruction] = {}
    callees: list[tuple[Computation, Computation]] = []
    pending = [(found.root, expected.root)]
    while pending:
        one, other = pending.pop()
        if one in matched:
            assert matched[one] is other
            continue
        matched[one] = other
        assert describe(one) == describe(other)
        pending += zip(one.operands, other.operands, strict=True)
        callees += zip(one.called_computations(), other.called_computations(), strict=True)
    return callees


def describe(instruction: Instruction) -> tuple[str, str, int]:
    return instruction.opcode, str(instruction.shape), len(instruction.operands)


@pytest.mark.parametrize("path", with_styles(*REFUSED))
def test_refused(path: Path) -> None:
    with pytest.raises(ParseError) as caught:
        read_module(path)
    assert re.match(REFUSED[split_stem(path)[1]], caught.value.message)
    assert "print" in caught.value.message
