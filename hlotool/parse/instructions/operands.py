"""The operands of one instruction by recursive descent, and what else stands in its brackets."""

from __future__ import annotations

import re
from sys import intern
from typing import Final, NoReturn

from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction
from hlotool.ir.opcodes import GIVEN, TABLE
from hlotool.ir.shape import ArrayShape, Shape, TupleShape
from hlotool.parse.builder import Builder
from hlotool.parse.inference import can_infer, infer_shape
from hlotool.parse.scanner import NAME, Scanner
from hlotool.parse.styles import CUT_OPERANDS, DELETED_OPERAND, NO_OPCODE, NO_OPERANDS, NO_SHAPE

OPCODE: Final = re.compile(r"[a-z][a-z0-9_\-]*+")
OPCODE_AHEAD: Final = re.compile(r"(?!b\()([a-z][a-z0-9_\-]*+)\s*+\(")  # `b(` is a buffer's shape
UNSTATED: Final = TupleShape(())  # the shape of what states none, until it is inferred
_NAME = re.compile(NAME)
_PARAMETER_NUMBER = re.compile(r"[0-9]++")
_ELEMENT = re.compile(r"#([0-9]{1,9})")
_CUT = re.compile(r"\.\.\.(?:\(\+[0-9]+\))?")
_DELETED = re.compile(r"null(?=\s*+[,)])")


class OperandReader:
    """Reads operand lists of one computation; what they define in place is added to it."""

    def __init__(
        self, builder: Builder, computation: Computation, defined: dict[str, Instruction]
    ) -> None:
        self.builder = builder
        self.scanner = builder.scanner
        self.computation = computation
        self.defined = defined
        self.anonymous = 0  # what stands behind the last name of an operand written in place

    def read(self, opcode: str) -> tuple[Instruction, ...]:
        """Read an operand list.

        operands = "(" [ operand { "," operand } ] ")"
        """
        scanner = self.scanner
        scanner.expect("(", f"after the opcode {opcode!r}")
        operands: list[Instruction] = []
        if scanner.accept_token(")"):
            return ()
        while True:
            operands.append(self._read_operand(is_first=not operands))
            if not scanner.accept_token(","):
                break
        scanner.expect(")", f"or ',' after an operand of {opcode!r}")
        return tuple(operands)

    def _read_operand(self, *, is_first: bool) -> Instruction:
        """Read one operand.

        operand = [shape] name ["#" index] | [shape] opcode "(" operands ")"
        """
        scanner = self.scanner
        scanner.skip_blanks()
        if is_first and scanner.peek() == ",":
            scanner.fail(NO_OPERANDS)
        if _CUT.match(scanner.text, scanner.pos, scanner.end):
            scanner.fail(CUT_OPERANDS)
        if _DELETED.match(scanner.text, scanner.pos, scanner.end) and "null" not in self.defined:
            scanner.fail(DELETED_OPERAND, scanner.pos, scanner.pos + 4)
        shape: Shape | None = None
        if scanner.peek() == "(" or scanner.starts_with("b(") or self._array_is_next():
            shape = self.builder.intern_shape()
            scanner.skip_blanks()
        if OPCODE_AHEAD.match(scanner.text, scanner.pos, scanner.end):
            return self._read_nested(shape)
        scanner.accept("%")
        start = scanner.pos
        name = scanner.expect_match(_NAME, "an operand")
        operand = self.defined.get(name)
        if operand is None:
            scanner.fail(
                f"the operand {name!r} is not defined above this line",
                start,
                scanner.pos,
                hint="operands come from the same computation, defined before they are used",
            )
        element = scanner.accept_match(_ELEMENT)
        return self._element(operand, int(element[1])) if element else operand

    def _array_is_next(self) -> bool:
        """Say whether `type[` stands at the cursor rather than a name."""
        match = _NAME.match(self.scanner.text, self.scanner.pos, self.scanner.end)
        return match is not None and self.scanner.text.startswith("[", match.end())

    def _read_nested(self, shape: Shape | None) -> Instruction:
        """Read an operand written in place; it becomes `opcode.anon` of the computation."""
        scanner = self.scanner
        scanner.enter("operands")
        opcode = intern(scanner.expect_match(OPCODE, "an opcode"))
        if shape is None:
            expect_rule(scanner, opcode)
        nested = Instruction(
            self._free_name(f"{opcode}.anon"), shape or UNSTATED, opcode, (), self.computation
        )
        if opcode in GIVEN:
            nested.literal = read_literal(scanner, opcode)
        else:
            nested.operands = self.read(opcode)
        nested.start = scanner.pos
        nested.given_attributes = {}
        if shape is None:
            nested.shape = infer_shape(nested, self.builder.inferred)
        scanner.leave()
        self.add(nested)
        return nested

    def _free_name(self, wanted: str) -> str:
        """Return `wanted`, or `wanted.N` when an instruction above has that name."""
        name = wanted
        while name in self.defined:
            self.anonymous += 1
            name = f"{wanted}.{self.anonymous}"
        return name

    def _element(self, operand: Instruction, index: int) -> Instruction:
        """Return element `#index` of a tuple, as xla_dump_compact_gte prints it."""
        name = f"{operand.name}#{index}"
        known = self.defined.get(name)
        if known:
            return known
        shape = operand.shape
        if isinstance(shape, ArrayShape) or index >= len(shape.elements):
            end = self.scanner.pos
            self.scanner.fail(f"{operand.name!r} has no element {index}", end - 1, end)
        element = Instruction(
            name,
            shape.elements[index],
            "get-tuple-element",
            (operand,),
            self.computation,
            given_attributes={"index": str(index)},
        )
        self.add(element)
        return element

    def add(self, instruction: Instruction) -> None:
        """Define an instruction: it stands in the computation, and has a name from here on."""
        self.defined[instruction.name] = instruction
        self.computation.instructions.append(instruction)


def expect_rule(scanner: Scanner, opcode: str) -> None:
    """Refuse an opcode that stands before the cursor without a shape, if it needs one."""
    if not can_infer(opcode):
        fail_without_shape(scanner, opcode, scanner.pos)


def fail_without_shape(scanner: Scanner, opcode: str, end: int) -> NoReturn:
    """Raise at an opcode that ends at `end`: nothing says what shape it has."""
    message = NO_SHAPE if opcode in TABLE else NO_OPCODE
    scanner.fail(message.format(opcode), end - len(opcode), end)


def read_literal(scanner: Scanner, opcode: str) -> str:
    """Read `(literal)` of a constant, `(number)` of a parameter."""
    if opcode == "parameter":
        scanner.expect("(", "after the opcode 'parameter'")
        number = scanner.expect_match(_PARAMETER_NUMBER, "a parameter number")
        scanner.expect(")", "after the parameter number")
        return number
    before = scanner.pos
    scanner.skip_blanks()
    if not scanner.starts_with("("):
        scanner.pos = before
        scanner.fail_expected(f"'(' after the opcode {opcode!r}")
    return scanner.skip_group("the literal")
