"""One instruction or computation by recursive descent: the authority on the grammar.

Follows xla/hlo/parser/hlo_parser.cc. It reads what the fast reader leaves: instructions
over several lines, comments, nested operands, bodies in place of computation names, sugar.
"""

from __future__ import annotations

import re
from sys import intern

from hlotool.ir.module import Computation, Instruction
from hlotool.ir.opcodes import GIVEN, TAKES_OPERANDS, sugared_opcode
from hlotool.ir.shape import DTYPE_BITS, ArrayShape, Shape
from hlotool.parse.attributes import parse_attributes
from hlotool.parse.builder import Builder
from hlotool.parse.scanner import NAME
from hlotool.parse.shape import parse_shape
from hlotool.parse.styles import CUT_OPERANDS, DELETED_OPERAND, NO_OPERANDS, NO_SHAPES
from hlotool.parse.sugar import wrap_async

_OPCODE = re.compile(r"[a-z][a-z0-9_\-]*+")
_OPCODE_AHEAD = re.compile(r"(?!b\()([a-z][a-z0-9_\-]*+)\s*+\(")  # `b(` is a buffer's shape
_NAME = re.compile(NAME)
_ROOT = re.compile(r"ROOT(?=[\s%])")
_PARAMETER_NUMBER = re.compile(r"[0-9]++")
_ELEMENT = re.compile(r"#([0-9]{1,9})")
_CUT = re.compile(r"\.\.\.(?:\(\+[0-9]+\))?")
_DELETED = re.compile(r"null(?=\s*+[,)])")


class BodyReader:
    """Reads the instructions of one computation, and bodies nested in them."""

    def __init__(
        self,
        builder: Builder,
        computation: Computation,
        defined: dict[str, Instruction],
    ) -> None:
        self.builder = builder
        self.scanner = builder.scanner
        self.computation = computation
        self.defined = defined
        self.anonymous = 0  # what stands behind the last name of an operand written in place

    def read_to_close(self) -> None:
        """Read instructions up to and over the closing brace.

        body = instruction { instruction } "}"
        """
        while not self.scanner.accept_token("}"):
            self.read_instruction()

    def read_instruction(self) -> None:
        """Read one instruction, or raise where it stops being one.

        instruction = ["ROOT"] name " =" shape opcode "(" operands ")" { "," attribute }
        """
        scanner = self.scanner
        scanner.skip_blanks()
        if scanner.pos >= scanner.end:
            scanner.fail(
                f"the computation {self.computation.name!r} is never closed: the text ends here",
                hint="is the file truncated?",
            )
        is_root = scanner.accept_match(_ROOT) is not None
        name = scanner.expect_name("an instruction, or '}' at the end of the computation")
        start, end = scanner.pos - len(name), scanner.pos
        if name in self.defined:
            scanner.fail(f"the name {name!r} is defined twice in this computation", start, end)
        if is_root and self.computation.marked_root:
            scanner.fail("a computation has only one ROOT", start, end)
        if scanner.starts_with("="):
            scanner.fail(f"expected a blank between the name {name!r} and '='")
        scanner.expect("=", f"after the name {name!r}")
        instruction = self._read_definition(name)
        if name in self.defined:  # by an operand written in place
            scanner.fail(f"the name {name!r} is defined twice in this computation", start, end)
        self._add(instruction)
        if is_root:
            self.computation.marked_root = instruction

    def _add(self, instruction: Instruction) -> None:
        self.defined[instruction.name] = instruction
        self.computation.instructions.append(instruction)

    def _read_definition(self, name: str) -> Instruction:
        """Read `shape opcode(operands), attributes` behind `name =`."""
        scanner = self.scanner
        scanner.skip_blanks()
        ahead = _OPCODE_AHEAD.match(scanner.text, scanner.pos, scanner.end)
        if ahead and ahead[1] not in DTYPE_BITS:
            scanner.fail(NO_SHAPES, scanner.pos, ahead.end(1))
        shape = self._intern_shape()
        opcode = intern(scanner.expect_match(_OPCODE, "an opcode"))
        instruction = Instruction(name, shape, opcode, (), self.computation)
        if opcode in GIVEN:
            instruction.literal = self._read_literal(opcode)
        else:
            instruction.operands = self._read_operands(opcode)
        self._read_attributes(instruction)
        self._check_operands(instruction)
        sugar = sugared_opcode(opcode)
        if sugar:
            instruction.opcode, wrapped = sugar
            if instruction.opcode == "async-start":
                wrap_async(self.builder, instruction, wrapped)
        return instruction

    def _intern_shape(self) -> Shape:
        """Parse a shape; equal spellings give the same object as the fast reader's."""
        start = self.scanner.pos
        shape = parse_shape(self.scanner)
        text = self.scanner.text[start : self.scanner.pos]
        return self.builder.shapes.setdefault(text, shape)

    def _read_literal(self, opcode: str) -> str:
        """Read `(literal)` of a constant, `(number)` of a parameter."""
        scanner = self.scanner
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

    def _read_operands(self, opcode: str) -> tuple[Instruction, ...]:
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
        start = scanner.pos
        if scanner.peek() == "(" or scanner.starts_with("b(") or self._array_is_next():
            shape = self._intern_shape()
            scanner.skip_blanks()
        if _OPCODE_AHEAD.match(scanner.text, scanner.pos, scanner.end):
            return self._read_nested(shape, start)
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

    def _read_nested(self, shape: Shape | None, start: int) -> Instruction:
        """Read an operand written in place; it becomes `opcode.anon` of the computation."""
        scanner = self.scanner
        if shape is None:
            scanner.fail(
                "an operand written in place needs its shape, as in 'f32[8] negate(…)'",
                start,
                start + 1,
            )
        scanner.enter("operands")
        opcode = intern(scanner.expect_match(_OPCODE, "an opcode"))
        nested = Instruction(self._free_name(f"{opcode}.anon"), shape, opcode, (), self.computation)
        if opcode in GIVEN:
            nested.literal = self._read_literal(opcode)
        else:
            nested.operands = self._read_operands(opcode)
        nested.start = scanner.pos
        nested.given_attributes = {}
        scanner.leave()
        self._add(nested)
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
        self._add(element)
        return element

    def _read_attributes(self, instruction: Instruction) -> None:
        """Read the attributes; bodies among them become computations of their own.

        attribute = key "=" ( value | body )
        body      = "{" instruction { instruction } "}"
        """
        instruction.start = self.scanner.pos
        instruction.given_attributes = parse_attributes(
            self.scanner, lambda key: self._read_bodies(instruction, key)
        )

    def _read_bodies(self, instruction: Instruction, key: str) -> str:
        """Read one body, or `{body, body}` of branch_computations; return their names."""
        scanner = self.scanner
        scanner.enter("computations")
        start = scanner.pos
        scanner.expect("{", "before a computation's body")
        names: list[str] = []
        if scanner.accept_token("{"):
            names.append(self._read_body(instruction, key, start))
            while scanner.accept_token(","):
                scanner.expect("{", "before the next computation's body")
                names.append(self._read_body(instruction, key, start))
            scanner.expect("}", f"after the computations of {key!r}")
        else:
            names.append(self._read_body(instruction, key, start))
        scanner.leave()
        return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"

    def _read_body(self, instruction: Instruction, key: str, start: int) -> str:
        builder = self.builder
        name = builder.unique_name(f"{instruction.name}.{key}")
        computation = Computation(name, builder.module)
        BodyReader(builder, computation, {}).read_to_close()
        builder.add_computation(computation, start)
        return name

    def _check_operands(self, instruction: Instruction) -> None:
        """Refuse an empty list where the opcode takes operands: a print style without them."""
        if instruction.operands or instruction.opcode not in TAKES_OPERANDS:
            return
        self.scanner.fail(NO_OPERANDS, instruction.start - 1, instruction.start)
