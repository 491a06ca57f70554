"""Shapes left out are the ones that were there: compilers state what XLA's parser infers.

`test_oracle` asks XLA itself, of the forms whose names begin with `inferred`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dump_files import TESTDATA, read_text, split_modules
from each import for_each
from parsed import read_module

from hlotool.errors import ParseError
from hlotool.hlo import ArrayShape, Instruction, Module, Shape
from hlotool.hlo.fast_reader import LINE
from hlotool.hlo.inference import can_infer, infer_shape
from hlotool.hlo.parser import parse_module
from hlotool.text import Source

LEFT_OUT = {"bad", "hlo_forms", "inputs", "printed", "questions"}  # not made by compilers, or twice

# Compilers convert on the way here; the rule keeps the operands' type.
CONVERTS = {"convolution", "copy", "dot", "scaled-dot"}
# Written by hand with a shape that XLA's cost analysis does not check.
WRONG = {
    "convolution_backward_filter",
    "convolution_both_dilated",
    "convolution_lhs_dilated_strided",
    "typed_attributes.txt",
}


def find_dumps() -> list[Path]:
    made = [path for path in split_modules(TESTDATA) if LEFT_OUT.isdisjoint(path.parts)]
    return list({read_text(path): path for path in made}.values())


DUMPS = find_dumps()
with_dumps = pytest.mark.parametrize("path", DUMPS, ids=lambda path: "/".join(path.parts[-3:]))


def infer(instruction: Instruction) -> Shape | None:
    """Infer a shape as if it were left out; None where that is refused."""
    stated = instruction.shape
    try:
        return infer_shape(instruction)[0]
    except ParseError:
        return None
    finally:
        instruction.shape = stated


def is_known_difference(instruction: Instruction, inferred: Shape | None) -> bool:
    """Say whether XLA's parser, too, infers another shape than the compiler states."""
    stated = instruction.shape
    if isinstance(stated, ArrayShape) and isinstance(inferred, ArrayShape):
        return instruction.opcode in CONVERTS and stated.dims == inferred.dims
    return instruction.opcode == "reduce-window" and stated.is_tuple and inferred is None


def test_there_are_dumps() -> None:
    assert len(DUMPS) > 100
    opcodes = {one.opcode for path in DUMPS for one in read_module(path).instructions()}
    assert len([opcode for opcode in opcodes if can_infer(opcode)]) > 70


@for_each(DUMPS)
def test_the_inferred_shape_is_the_stated_one(path: Path) -> None:
    """All but that of a broadcast, whose dimensions= stand for sizes where it has no shape."""
    for one in read_module(path).instructions():
        if can_infer(one.opcode) and one.opcode != "broadcast" and path.name not in WRONG:
            inferred = infer(one)
            assert str(inferred) == str(one.shape) or is_known_difference(one, inferred), one.name


def without_shapes(text: str, module: Module) -> str:
    """Leave out every shape that is the inferred one."""
    kept = {one.name for one in module.instructions() if differs(one)}
    pieces, done = [], 0
    for line in LINE.finditer(text):
        if line[3] and line[2] not in kept:
            pieces.append(text[done : line.start(3)])
            done = line.end(3) + 1
    return "".join([*pieces, text[done:]])


def differs(instruction: Instruction) -> bool:
    return not can_infer(instruction.opcode) or str(infer(instruction)) != str(instruction.shape)


def list_all(module: Module) -> list[Any]:
    return [
        (one.name, [(each.name, str(each.shape), each.literal) for each in one.instructions])
        for one in module.computations.values()
    ]


@for_each(DUMPS)
def test_a_text_without_shapes_is_the_same_module(path: Path) -> None:
    text, module = read_text(path), read_module(path)
    found = parse_module(Source(without_shapes(text, module)))
    assert list_all(found) == list_all(module)


def test_shapes_are_left_out() -> None:
    texts = [(read_text(path), read_module(path)) for path in DUMPS]
    shorter = [text for text, module in texts if without_shapes(text, module) != text]
    assert len(shorter) > len(texts) / 2
