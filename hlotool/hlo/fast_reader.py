"""The line-oriented fast reader: what machines print, one instruction a line.

The regexes are an optimisation, never the authority: a line or a computation they refuse
goes to `instruction_parser`, which parses it or raises at the exact character. So every helper
here gives up (None) on what it does not take apart exactly. Tests hold the two to one answer on
every line of testdata and on mutants of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from sys import intern
from typing import Final

from hlotool.hlo import opcodes
from hlotool.hlo.module import Computation, Instruction
from hlotool.hlo.opcodes import TAKES_OPERANDS, sugared_opcode
from hlotool.hlo.scanner import NAME
from hlotool.hlo.shape import ArrayShape, Shape
from hlotool.hlo.shape_parser import ShapeCache

# Starts and dones that are opcodes of their own, and those that take all operands in one tuple.
_OWN_STARTS: Final = opcodes.ASYNC_STARTS - {"async-start"}
_OWN_DONES: Final = opcodes.ASYNC_DONES - {"async-done"}
MAY_BE_SUGAR: Final = _OWN_STARTS | _OWN_DONES

_STEPS: Final = opcodes.LATER_STEPS | {"async-start"}
_WITH_CONTEXT: Final = 3  # operands, result, and one number or more


def find_sugar(
    opcode: str, shape: Shape, operands: tuple[Instruction, ...]
) -> tuple[str, str] | None:
    """Split async sugar: `slice-start` gives ("async-start", "slice"); None for all else."""
    if opcode in MAY_BE_SUGAR and _is_lookalike(opcode, shape, operands):
        wrapped, _, step = opcode.rpartition("-")
        return f"async-{step}", wrapped
    return sugared_opcode(opcode)


def _is_lookalike(opcode: str, shape: Shape, operands: tuple[Instruction, ...]) -> bool:
    """Say whether a `copy-start` wraps a copy, instead of being the opcode of that name.

    XLA prints both alike; only the shape tells. In front, an async-start has a tuple of all
    operands, but a copy-start its destination, an all-reduce-start a result, and the others
    their operand. Of several operands these have a tuple too, but then nothing, or two numbers,
    behind the results. A done ends what its operand is.
    """
    if opcode in _OWN_DONES:
        return bool(operands) and operands[0].opcode in _STEPS
    if isinstance(shape, ArrayShape) or not shape.elements:
        return False
    if not _holds(shape.elements[0], operands):
        return False
    is_open = len(operands) > 1 and opcode in {"all-gather-start", "collective-permute-start"}
    return not is_open or len(shape.elements) == _WITH_CONTEXT


def _holds(first: Shape, operands: tuple[Instruction, ...]) -> bool:
    """Say whether the first element of a start is the tuple of its operands."""
    if isinstance(first, ArrayShape) or not operands or len(first.elements) != len(operands):
        return False
    return all(
        one.without_layout() == operand.shape.without_layout()
        for one, operand in zip(first.elements, operands, strict=True)
    )


# Any array or tuple spelling without comments; `ShapeCache` decides whether it is a shape.
_ARRAY: Final = r"[a-z][a-z0-9]*+\[[^\]\s]*+\](?:\{[^}\s]*+\})?+"
_TUPLE: Final = r"\((?:[^()\"]++|\((?:[^()\"]++|\((?:[^()\"]++|\([^()\"]*+\))*+\))*+\))*+\)"
_OPERAND = re.compile(rf"(?:/\*[^*]*+\*/)?+(?:({_ARRAY}|{_TUPLE}) )?+%?+({NAME})(?:, |\Z)")


def find_operands(
    text: str, defined: dict[str, Instruction], shapes: ShapeCache
) -> tuple[Instruction, ...] | None:
    """Resolve an operand list; None if any part is unclear."""
    operands: list[Instruction] = []
    pos = 0
    while pos < len(text):
        if (match := _OPERAND.match(text, pos)) is None:
            return None
        shape, name = match.groups()
        operand = defined.get(name)
        if operand is None or (shape is not None and shapes.find(shape) is None):
            return None
        operands.append(operand)
        pos = match.end()
    return None if text.endswith(", ") else tuple(operands)


_STRING: Final = r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"'


def _parens(depth: int) -> str:
    """Match balanced parentheses on one line, without strings, nested up to `depth`."""
    inner = rf"|{_parens(depth - 1)}" if depth else ""
    return rf"\((?:[^()\"\n]++{inner})*+\)"


_INSTRUCTION: Final = rf"""
    [ ]++(ROOT[ ])?+%?+({NAME})[ ]=[ ]
    ({_ARRAY}|{_parens(4)})[ ]
    ([a-z][a-z0-9\-]*+)
    \(([^()"\n]*+(?:(?:[^()"\n]++|{_STRING}|{_parens(2)})*+))\)()
"""
# One line: an instruction, or anything else, which leaves all groups empty. An instruction
# that ends in an opening bracket, '=' or ',' goes on below and is refused.
LINE: Final = re.compile(
    rf"{_INSTRUCTION}(?:,.*+(?<![=,{{(\[]))?+(?:\n|\Z) | .*+(?:\n|\Z)", re.VERBOSE
)
# The first line of an instruction that goes on below with a computation's body, or a list of them.
# Compiled when it is met: machines write none.
OPENING_LINE: Final = rf"(?x){_INSTRUCTION},.*+(?<=[={{])\n"

# What the loop must do about an opcode, in the order of its questions.
_PLAIN, _LOOK, _LEAVE, _PARAMETER, _CONSTANT = range(5)

# A definition behind the first comma: another instruction on the same line, or one in the
# body of a computation that is written in place of its name. Strings and raw values may look
# so too; the descent can tell. No printer of XLA writes so, and looking costs a tenth of the
# time, so it is left out of texts that no hand can have written.
_DEFINITION = re.compile(r"=(?<=[\s/]=)")
_MARKED_DEFINITION = re.compile(rf"%{NAME}=")
LONGEST_HAND_WRITTEN: Final = 1 << 20


class OpcodeKinds(dict[str, tuple[int, str]]):
    """The kind of each opcode met so far, and the one string object that stands for it."""

    def __missing__(self, opcode: str | None) -> tuple[int, str]:
        if opcode is None:  # a line that is no instruction
            raise KeyError
        if opcode == "parameter":
            kind = _PARAMETER
        elif opcode == "constant":
            kind = _CONSTANT
        else:
            kind = _LEAVE if sugared_opcode(opcode) else _PLAIN
            if opcode in MAY_BE_SUGAR:
                kind = _LOOK
        self[opcode] = found = kind, intern(opcode)
        return found


def read_lines(  # noqa: C901, PLR0912 (one loop: a call for each line costs a tenth of the time)
    computation: Computation,
    defined: dict[str, Instruction],
    shapes: ShapeCache,
    kinds: OpcodeKinds,
    lines: Iterable[re.Match[str]],
) -> int:
    """Read matches of `LINE` or `OPENING_LINE` into `computation`; return where it stopped.

    That is the beginning of the first line that is not an instruction, or not one for this
    reader: the caller's slow reader takes over there. Attributes are left alone, so what goes
    on below has to be read by the caller. A name defined twice leaves `defined` shorter than the
    computation; the caller looks.

    line = blank {blank} ["ROOT "] ["%"] name " = " shape " " opcode "(" operands ")"
           {", " attribute} newline
    """
    text = shapes.source.text
    lookup = defined.__getitem__
    look = _DEFINITION.search if len(text) <= LONGEST_HAND_WRITTEN else None
    look_again = _MARKED_DEFINITION.search
    add = computation.instructions.append
    operands: tuple[Instruction, ...]
    for match in lines:
        root, name, shape_text, opcode, inside, _ = match.groups()
        try:
            kind, opcode = kinds[opcode]
            shape = shapes[shape_text]
        except KeyError:  # no instruction, or its shape is none
            return match.start()
        attributes = match.start(6)
        if look and (
            look(text, attributes, match.end()) or look_again(text, attributes, match.end())
        ):
            return match.start()
        if kind < _PARAMETER:
            literal = ""
            try:  # exact, since every part must turn out to be a defined name
                if inside[:1] != "%":
                    operands = tuple(map(lookup, inside.split(", ")))
                elif "," in inside:
                    operands = tuple(map(lookup, inside[1:].split(", %")))
                else:
                    operands = (defined[inside[1:]],)
            except KeyError:
                found = find_operands(inside, defined, shapes)
                if found is None or (not found and opcode in TAKES_OPERANDS):
                    return match.start()
                operands = found
            if kind and (kind == _LEAVE or find_sugar(opcode, shape, operands)):
                return match.start()
        else:
            literal, operands = inside, ()
            if kind == _PARAMETER and not literal.isdecimal():
                return match.start()
        one = Instruction(name, shape, opcode, operands, computation, literal, attributes)
        if root:
            if computation.marked_root:
                return match.start()
            computation.marked_root = one
        defined[name] = one
        add(one)
    return len(text)
