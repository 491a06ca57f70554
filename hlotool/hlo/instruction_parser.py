"""The operands of one instruction by recursive descent, and what else stands in its brackets.

What does the header of a computation say of its parameters?

The parameters say it themselves, so this is read only where one of them does not.

Async sugar: `slice-start(x), slice={…}` for an async-start that calls a computation.

One instruction by recursive descent: the authority on the grammar.

Follows xla/hlo/parser/hlo_parser.cc. It reads what the fast reader leaves: instructions
over several lines, comments, nested operands, bodies in place of computation names, sugar.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from sys import intern
from typing import Final, NoReturn

from hlotool.hlo.attributes import parse_attributes
from hlotool.hlo.builder import Builder
from hlotool.hlo.fast_reader import find_sugar
from hlotool.hlo.inference.rules import can_infer, infer_shape
from hlotool.hlo.module import NO_RESULT, Computation, Instruction
from hlotool.hlo.not_hlo import CUT_OPERANDS, DELETED_OPERAND, NO_OPCODE, NO_OPERANDS, NO_SHAPE
from hlotool.hlo.opcodes import GIVEN, LATER_STEPS, TABLE, TAKES_OPERANDS
from hlotool.hlo.scanner import NAME, Scanner, unquote
from hlotool.hlo.shape import DTYPE_BITS, ArrayShape, Shape, TupleShape
from hlotool.hlo.shape_parser import parse_shape
from hlotool.text import Source

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


def parse_parameter_shapes(source: Source, start: int) -> dict[str, Shape]:
    """Read the shapes of the parameters, by number; the computation's name stands at `start`.

    signature = "(" [ name ":" shape { "," name ":" shape } ] ")" "->" shape
    """
    scanner = Scanner(source, start)
    scanner.expect_name("the computation's name")
    shapes: dict[str, Shape] = {}
    if not scanner.accept_token("(") or scanner.accept_token(")"):
        return {}
    while True:
        scanner.expect_name("a parameter of the computation")
        scanner.expect(":", "after the parameter's name")
        shapes[str(len(shapes))] = parse_shape(scanner)
        if not scanner.accept_token(","):
            break
    scanner.expect(")", "or ',' after a parameter's shape")
    return shapes


# What an async line says about itself; everything else belongs to the wrapped operation.
_OF_THE_START: Final = frozenset(
    (
        "async_execution_thread", "backend_config", "control-predecessors",
        "frontend_attributes", "metadata", "origin", "output_to_operand_aliasing", "sharding",
        "statistics",
    )
)  # fmt: skip
_NOT_OF_THE_WRAPPED: Final = frozenset(
    ("async_execution_thread", "control-predecessors", "output_to_operand_aliasing")
)
# These have such an attribute themselves, and XLA's parser gives it to them alone.
_SHARE_THEMSELVES: Final = frozenset(("custom-call", "fusion"))

_PAIR: Final = 2  # operands and result, with nothing behind them


def wrap_async(
    builder: Builder, instruction: Instruction, wrapped: str, *, is_callee_printed: bool
) -> None:
    """Undo the sugar of a start: give it a computation that does what it says.

    The computation gets parameters shaped like the operands and a root with the wrapped
    opcode and its attributes, as XLA's own parser makes it (HloParserImpl::CreateInstruction,
    kAsyncStart). Names are those of the start with an ending, so that they are unique, and found
    in the text. `calls` of a fusion-start is the fused computation. Canonical prints have the
    callee all the same, behind what the operation itself calls; it is kept instead.
    """
    attributes = instruction.attributes
    given = {key: value for key, value in attributes.items() if key in _OF_THE_START}
    instruction.given_attributes = given
    if is_callee_printed or ("calls" in attributes and wrapped != "fusion"):
        given["calls"] = attributes["calls"]
        return
    left_out = _NOT_OF_THE_WRAPPED
    if wrapped in _SHARE_THEMSELVES:
        given.pop("output_to_operand_aliasing", None)
        left_out -= {"output_to_operand_aliasing"}
    name = given["calls"] = builder.unique_name(f"{instruction.name}.async_wrapped")
    computation = Computation(name, builder.module)
    root = Instruction(
        name,
        _result_shape(instruction.shape),
        wrapped,
        (),
        computation,
        start=instruction.start,
        given_attributes={key: value for key, value in attributes.items() if key not in left_out},
    )
    computation.instructions.append(root)
    computation.marked_root = root
    computation.execution_thread = unquote(attributes.get("async_execution_thread", "main"))
    _bind(computation, instruction.operands)
    builder.module.computations[computation.name] = computation
    builder.wrapped[instruction] = computation


def bind_late(builder: Builder, step: Instruction) -> None:
    """Give a wrapped operation what a step behind its start adds: operands, the result's shape.

    XLA prints `((), (), …) custom-call-start()` where nothing is bound yet.
    """
    computation = builder.wrapped.get(step.operands[0]) if step.operands else None
    if computation is None:
        return
    builder.wrapped[step] = computation
    _bind(computation, step.operands[1:])
    root = computation.root
    if root.shape == NO_RESULT:
        root.shape = step.shape if step.opcode == "async-done" else _result_shape(step.shape)


def _bind(computation: Computation, operands: tuple[Instruction, ...]) -> None:
    """Add parameters shaped like the operands, which the root takes."""
    root = computation.root
    first = len(root.operands)
    parameters = [
        Instruction(
            f"{computation.name}.{number}",
            operand.shape,
            "parameter",
            (),
            computation,
            literal=str(number),
            given_attributes={},
        )
        for number, operand in enumerate(operands, first)
    ]
    computation.instructions[-1:] = [*parameters, root]
    root.operands += tuple(parameters)


def _result_shape(shape: Shape) -> Shape:
    """Return the second element of an async triple; a shape that is none stays as it is."""
    if isinstance(shape, ArrayShape) or len(shape.elements) < _PAIR:
        return shape
    return shape.elements[1]


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
