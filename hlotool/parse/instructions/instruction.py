"""One instruction by recursive descent: the authority on the grammar.

Follows xla/hlo/parser/hlo_parser.cc. It reads what the fast reader leaves: instructions
over several lines, comments, nested operands, bodies in place of computation names, sugar.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from sys import intern

from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction
from hlotool.ir.opcodes import GIVEN, LATER_STEPS, TAKES_OPERANDS
from hlotool.ir.shape import DTYPE_BITS, Shape
from hlotool.parse.attributes.split import parse_attributes
from hlotool.parse.builder import Builder
from hlotool.parse.inference import infer_shape
from hlotool.parse.instructions.find_sugar import find_sugar
from hlotool.parse.instructions.operands import (
    OPCODE,
    OPCODE_AHEAD,
    UNSTATED,
    OperandReader,
    expect_rule,
    fail_without_shape,
    read_literal,
)
from hlotool.parse.instructions.signature import parse_parameter_shapes
from hlotool.parse.instructions.sugar import bind_late, wrap_async
from hlotool.parse.styles import NO_OPERANDS

_ROOT = re.compile(r"ROOT(?=[\s%])")


class InstructionReader:
    """Reads single instructions of one computation.

    `head` is where the computation's name stands, None where it has none. `read_body` reads a
    computation that is written in place of its name, from behind its opening brace.
    """

    def __init__(
        self,
        builder: Builder,
        computation: Computation,
        defined: dict[str, Instruction],
        head: int | None,
        read_body: Callable[[Computation], None],
    ) -> None:
        self.builder = builder
        self.scanner = builder.scanner
        self.computation = computation
        self.defined = defined
        self.head = head
        self.read_body = read_body
        self.parameter_shapes: dict[str, Shape] | None = None  # of the head, once asked for
        self.operands = OperandReader(builder, computation, defined)

    def read(self) -> None:
        """Read one instruction, or raise where it stops being one.

        instruction = ["ROOT"] ( name " =" | "%" name "=" ) definition
        """
        scanner = self.scanner
        scanner.skip_blanks()
        if scanner.pos >= scanner.end:
            scanner.fail(
                f"the computation {self.computation.name!r} is never closed: the text ends here",
                hint="is the file truncated?",
            )
        is_root = scanner.accept_match(_ROOT) is not None
        has_percent = scanner.accept_token("%")
        name = scanner.expect_name("an instruction, or '}' at the end of the computation")
        start, end = scanner.pos - len(name), scanner.pos
        if name in self.defined:
            scanner.fail(f"the name {name!r} is defined twice in this computation", start, end)
        if is_root and self.computation.marked_root:
            scanner.fail("a computation has only one ROOT", start, end)
        if scanner.starts_with("=") and not has_percent:
            scanner.fail(f"expected a blank between the name {name!r} and '='")
        scanner.expect("=", f"after the name {name!r}")
        instruction = self._read_definition(name)
        if name in self.defined:  # by an operand written in place
            scanner.fail(f"the name {name!r} is defined twice in this computation", start, end)
        self.operands.add(instruction)
        if is_root:
            self.computation.marked_root = instruction

    def _read_definition(self, name: str) -> Instruction:
        """Read what stands behind `name =`.

        definition = [shape] opcode "(" operands ")" { "," attribute }
        """
        scanner = self.scanner
        scanner.skip_blanks()
        ahead = OPCODE_AHEAD.match(scanner.text, scanner.pos, scanner.end)
        has_shape = ahead is None or ahead[1] in DTYPE_BITS
        shape = self.builder.intern_shape() if has_shape else UNSTATED
        opcode = intern(scanner.expect_match(OPCODE, "an opcode"))
        end = scanner.pos
        if not has_shape and opcode != "parameter":
            expect_rule(scanner, opcode)
        instruction = Instruction(name, shape, opcode, (), self.computation)
        if opcode in GIVEN:
            instruction.literal = read_literal(scanner, opcode)
        else:
            instruction.operands = self.operands.read(opcode)
        bodies = self.read_attributes(instruction)
        self._check_operands(instruction)
        if not has_shape:
            instruction.shape = (
                self._shape_in_head(instruction, end)
                if opcode == "parameter"
                else infer_shape(instruction, self.builder.inferred)
            )
        sugar = find_sugar(opcode, instruction.shape, instruction.operands)
        if sugar:
            instruction.opcode, wrapped = sugar
            if instruction.opcode in LATER_STEPS:
                bind_late(self.builder, instruction)
            else:
                is_callee_printed = bodies.count("calls") > 1
                wrap_async(self.builder, instruction, wrapped, is_callee_printed=is_callee_printed)
        return instruction

    def _shape_in_head(self, parameter: Instruction, end: int) -> Shape:
        """Return a parameter's shape as the computation's head states it; its opcode ends there."""
        if self.parameter_shapes is None and self.head is not None:
            self.parameter_shapes = parse_parameter_shapes(self.scanner.source, self.head)
        shape = (self.parameter_shapes or {}).get(parameter.literal)
        if shape is None:
            fail_without_shape(self.scanner, parameter.opcode, end)
        return shape

    def read_attributes(self, instruction: Instruction) -> list[str]:
        """Read the attributes; return the keys of bodies, which become computations of their own.

        attribute = key "=" ( value | body )
        body      = "{" instruction { instruction } "}"
        """
        bodies: list[str] = []

        def read_bodies(key: str) -> str:
            bodies.append(key)
            return self._read_bodies(instruction, key)

        instruction.start = self.scanner.pos
        instruction.given_attributes = parse_attributes(self.scanner, read_bodies)
        return bodies

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
        computation = Computation(f"{instruction.name}.{key}", builder.module)
        self.read_body(computation)
        computation.name = builder.unique_name(computation.name)  # a body in it may have that name
        builder.add_computation(computation, start)
        return computation.name

    def _check_operands(self, instruction: Instruction) -> None:
        """Refuse an empty list where the opcode takes operands: a print style without them."""
        if instruction.operands or instruction.opcode not in TAKES_OPERANDS:
            return
        self.scanner.fail(NO_OPERANDS, instruction.start - 1, instruction.start)
