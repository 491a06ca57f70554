"""The line-oriented fast reader: what machines print, one instruction a line.

The regexes are an optimisation, never the authority: a line or a computation they refuse
goes to `parse/instruction`, which parses it or raises at the exact character. Tests hold
the two to one answer on every line of testdata and on mutants of them.
"""

from __future__ import annotations

import re
from sys import intern
from typing import Final

from hlotool.ir.module import END_OF_LINE, Computation, Instruction
from hlotool.ir.opcodes import MAY_CALL, TAKES_OPERANDS, sugared_opcode
from hlotool.parse.operands import find_names, split_names
from hlotool.parse.scanner import NAME, STRING
from hlotool.parse.shape import ShapeCache

# Possessive quantifiers (++, *+) keep a failing match linear.
_ARRAY: Final = r"[a-z]\w*+\[[^\]\s]*+\](?:\{[^}\s]*+\})?+"
_PARENS: Final = r"\((?:[^()\"\n]++|\((?:[^()\"\n]++|\([^()\"\n]*+\))*+\))*+\)"

# One line: an instruction (groups 1-6) or anything else. An instruction that ends in an
# opening bracket, '=' or ',' goes on below and is refused.
LINE: Final = re.compile(
    rf"""
    [ ]++(ROOT[ ])?+%?+({NAME})[ ]=[ ]
    ({_ARRAY}|\([^\n]*?\))[ ]
    ([a-z][\w\-]*+)
    \(((?:[^()"\n]++|{STRING}|{_PARENS})*+)\)
    ((?:,[^\n]*+(?<![=,{{(\[]))?+)(?:\n|\Z)
    | [^\n]*+(?:\n|\Z)
    """,
    re.VERBOSE,
)

_PLAIN, _LITERAL, _CALLS, _SUGAR, _OPERANDS = range(5)


class _OpcodeKinds(dict[str, int]):
    """What the fast reader must do about an opcode; computed at its first occurrence."""

    def __missing__(self, opcode: str) -> int:
        if opcode in {"constant", "parameter"}:
            kind = _LITERAL
        elif opcode in MAY_CALL:
            kind = _CALLS
        elif opcode in TAKES_OPERANDS:
            kind = _OPERANDS
        else:
            kind = _SUGAR if sugared_opcode(opcode) else _PLAIN
        self[intern(opcode)] = kind
        return kind


_KIND_OF = _OpcodeKinds()


def read_lines(
    computation: Computation,
    defined: dict[str, Instruction],
    shapes: ShapeCache,
    start: int,
    end: int,
) -> int:
    """Read instruction lines of [start, end) into `computation`; return where it stopped.

    That is `end`, or the beginning of the first line it does not read: the caller's slow
    reader takes over there. Blank lines are passed over. No line is read in part.

    line = blank {blank} ["ROOT "] ["%"] name " = " shape " " opcode "(" operands ")"
           {", " attribute} newline
    """
    text = shapes.source.text
    add = computation.instructions.append
    find_shape = shapes.find
    for match in LINE.finditer(text, start, end):
        root, name, shape_text, opcode, operands_text, attributes = match.group(1, 2, 3, 4, 5, 6)
        if name is None:
            if match.group().isspace() or not match.group():
                continue
            return match.start()
        kind = _KIND_OF[opcode]
        shape = shapes.get(shape_text) or find_shape(shape_text)
        literal = ""
        operands: tuple[Instruction, ...] = ()
        if kind == _LITERAL:
            literal = operands_text
            if opcode == "parameter" and not literal.isdecimal():
                return match.start()
        elif operands_text:
            try:
                operands = tuple(map(defined.__getitem__, split_names(operands_text)))
            except KeyError:
                found = _find_operands(operands_text, defined, shapes)
                if found is None:
                    return match.start()
                operands = found
        elif kind == _OPERANDS:
            return match.start()
        if (
            shape is None
            or name in defined
            or kind == _SUGAR
            or (kind == _CALLS and attributes.count("{") != attributes.count("}"))
            or (root and computation.marked_root)
        ):
            return match.start()
        instruction = Instruction(
            name, shape, intern(opcode), operands, computation, literal, match.start(6), END_OF_LINE
        )
        defined[name] = instruction
        if root:
            computation.marked_root = instruction
        add(instruction)
    return end


def _find_operands(
    text: str, defined: dict[str, Instruction], shapes: ShapeCache
) -> tuple[Instruction, ...] | None:
    """Resolve an operand list with shapes or comments; None when any part is unclear."""
    names = find_names(text, shapes)
    if names is None or not all(name in defined for name in names):
        return None
    return tuple(defined[name] for name in names)
