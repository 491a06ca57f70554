"""The body of a computation: whole lines by the quick reader, all else by recursive descent.

The descent is the authority on the grammar, after xla/hlo/parser/hlo_parser.cc. It reads what the
fast reader leaves: instructions over several lines, comments, nested operands, bodies in place of
computation names, sugar. `Builder` is the module under construction, which all readers share.

Async sugar is `slice-start(x), slice={…}` for an async-start that calls a computation. It is
undone here, as XLA's own parser does: every analysis meets the long form alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from sys import intern
from typing import Final, NoReturn

from hlotool.errors import ParseError
from hlotool.hlo.attributes import parse_attributes
from hlotool.hlo.fast_reader import LINE, OPENING_LINE, OpcodeKinds, find_sugar, read_lines
from hlotool.hlo.module import NO_RESULT, Computation, Instruction, Module
from hlotool.hlo.not_hlo import CUT_OPERANDS, DELETED_OPERAND, NO_OPCODE, NO_OPERANDS, NO_SHAPE
from hlotool.hlo.opcodes import GIVEN, LATER_STEPS, OPCODES, TAKES_OPERANDS
from hlotool.hlo.scanner import NAME, TRUNCATED, Scanner, unquote
from hlotool.hlo.shape import DTYPE_BITS, ArrayShape, Shape, TupleShape
from hlotool.hlo.shape_parser import ShapeCache, parse_shape
from hlotool.text import Source

_OPCODE: Final = re.compile(r"[a-z][a-z0-9_\-]*+")
_OPCODE_AHEAD: Final = re.compile(r"(?!b\()([a-z][a-z0-9_\-]*+)\s*+\(")  # `b(`: a buffer's shape
_UNSTATED: Final = TupleShape(())  # the shape of what states none, until it is inferred
_NAME = re.compile(NAME)
_ROOT = re.compile(r"ROOT(?=[\s%])")
_PARAMETER_NUMBER = re.compile(r"[0-9]++")
_ELEMENT = re.compile(r"#([0-9]{1,9})")
_CUT = re.compile(r"\.\.\.(?:\(\+[0-9]+\))?")
_DELETED = re.compile(r"null(?=\s*+[,)])")
_OPERANDS_COME: Final = "operands come from the same computation, defined before they are used"
_NUMBERS: Final = list(map(str, range(1000)))  # of parameters, in their usual order


class Builder:
    """A module under construction.

    `wrapped` has the computations made for async sugar, by all steps of the operation.
    """

    def __init__(self, scanner: Scanner, module: Module, shapes: ShapeCache) -> None:
        self.scanner = scanner
        self.module = module
        self.shapes = shapes
        self.kinds = OpcodeKinds()
        self.wrapped: dict[Instruction, Computation] = {}
        self._inferred_parts = 0  # of the shapes that the text leaves out
        self._numbers: dict[str, int] = {}  # behind names that are taken
        self._has_entry = False

    def intern_shape(self) -> Shape:
        """Parse a shape at the cursor; equal spellings give the same object."""
        start = self.scanner.pos
        shape = parse_shape(self.scanner)
        return self.shapes.setdefault(self.scanner.text[start : self.scanner.pos], shape)

    def infer_shape(self, instruction: Instruction) -> Shape:
        """Return the shape of an instruction that states none."""
        from hlotool.hlo.inference import infer_shape  # noqa: PLC0415  texts by hand alone need it

        shape, self._inferred_parts = infer_shape(instruction, self._inferred_parts)
        return shape

    def unique_name(self, wanted: str) -> str:
        """Return `wanted`, or `wanted.N` when a computation has that name already."""
        name = wanted
        while name in self.module.computations:
            self._numbers[wanted] = self._numbers.get(wanted, 0) + 1
            name = f"{wanted}.{self._numbers[wanted]}"
        return name

    def add_computation(self, computation: Computation, start: int) -> None:
        """Register a computation that has been read; refuse one that XLA would."""
        name = computation.name
        if name in self.module.computations:
            self._fail(f"a computation {name!r} is already defined", start, len(name))
        if not computation.instructions:
            self._fail(f"the computation {name!r} has no instructions", start, len(name))
        if computation.is_entry:
            if self._has_entry:
                self._fail("a module has only one ENTRY", start, len(name))
            self._has_entry = True
        parameters = [one for one in computation.instructions if one.opcode == "parameter"]
        if [one.literal for one in parameters] == _NUMBERS[: len(parameters)]:
            computation.parameters = tuple(parameters)  # so that nobody has to sort them
        else:
            self._check_numbers(parameters)
        self.module.computations[name] = computation

    def _check_numbers(self, parameters: list[Instruction]) -> None:
        """Refuse parameters that are not numbered 0, 1, 2, … in some order."""
        free = set(map(str, range(len(parameters))))
        for one in parameters:
            if one.literal not in free:
                expected = f"from 0 to {len(parameters) - 1}" if len(parameters) > 1 else "0"
                message = f"expected a parameter number {expected} that no other parameter has"
                self._fail(message, one.start - 1 - len(one.literal), len(one.literal))
            free.remove(one.literal)

    def _fail(self, message: str, start: int, length: int) -> NoReturn:
        raise ParseError(message, self.module.source, start, start + length)

    def forget_after(self, count: int) -> None:
        """Drop all computations but the first `count`: a body is read a second time."""
        while len(self.module.computations) > count:
            self.module.computations.popitem()


class BodyReader:
    """Reads the instructions of one computation, and bodies nested in them.

    `head` is where the computation's name stands, None where it has none. Without `by_line`
    the descent reads all, alone.
    """

    def __init__(
        self, builder: Builder, computation: Computation, head: int | None, *, by_line: bool
    ) -> None:
        self.builder = builder
        self.scanner = builder.scanner
        self.computation = computation
        self.defined: dict[str, Instruction] = {}
        self.head = head
        self.by_line = by_line
        self.parameter_shapes: dict[str, Shape] | None = None  # of the head, once asked for
        self.anonymous = 0  # what stands behind the last name of an operand written in place

    def read_to_close(self) -> None:
        """Read instructions up to and over the closing brace.

        body = instruction { instruction } "}"
        """
        scanner = self.scanner
        while True:
            if self.by_line:
                self._read_lines()
            if scanner.accept_token("}"):
                break
            self._read_instruction()
        if len(self.defined) != len(self.computation.instructions):  # the descent says where
            scanner.fail("a name is defined twice in this computation")

    def _read_lines(self) -> None:
        """Read whole lines as long as the quick reader can, and bodies that begin below one."""
        scanner, instructions = self.scanner, self.computation.instructions
        while scanner.accept("\n"):
            scanner.pos = self._read_matches(LINE.finditer(scanner.text, scanner.pos))
            if scanner.starts_with("}"):
                return
            count = len(instructions)
            if opening := re.compile(OPENING_LINE).match(scanner.text, scanner.pos):
                self._read_matches([opening])
            if len(instructions) == count:
                return
            scanner.pos = instructions[-1].start  # its attributes go on below its line
            self._read_attributes(instructions[-1])

    def _read_matches(self, lines: Iterable[re.Match[str]]) -> int:
        builder = self.builder
        return read_lines(self.computation, self.defined, builder.shapes, builder.kinds, lines)

    def _read_instruction(self) -> None:
        """Read one instruction, or raise where it stops being one.

        instruction = ["ROOT"] ( name " =" | "%" name "=" ) definition
        """
        scanner = self.scanner
        scanner.skip_blanks()
        if scanner.pos >= scanner.end:
            what = f"the computation {self.computation.name!r}"
            scanner.fail(f"{what} is never closed: the text ends here", hint=TRUNCATED)
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
        self._add(instruction)
        if is_root:
            self.computation.marked_root = instruction

    def _add(self, instruction: Instruction) -> None:
        """Define an instruction: it stands in the computation, and has a name from here on."""
        self.defined[instruction.name] = instruction
        self.computation.instructions.append(instruction)

    def _read_definition(self, name: str) -> Instruction:
        """Read what stands behind `name =`.

        definition = [shape] opcode "(" operands ")" { "," attribute }
        """
        scanner = self.scanner
        scanner.skip_blanks()
        ahead = _OPCODE_AHEAD.match(scanner.text, scanner.pos, scanner.end)
        has_shape = ahead is None or ahead[1] in DTYPE_BITS
        shape = self.builder.intern_shape() if has_shape else _UNSTATED
        opcode = intern(scanner.expect_match(_OPCODE, "an opcode"))
        end = scanner.pos
        if not has_shape and opcode != "parameter":
            _expect_rule(scanner, opcode)
        instruction = Instruction(name, shape, opcode, (), self.computation)
        if opcode in GIVEN:
            instruction.literal = _read_literal(scanner, opcode)
        else:
            instruction.operands = self._read_operands(opcode)
        bodies = self._read_attributes(instruction)
        if opcode in TAKES_OPERANDS and not instruction.operands:
            scanner.fail(NO_OPERANDS, instruction.start - 1, instruction.start)
        if not has_shape:
            instruction.shape = (
                self._shape_in_head(instruction, end)
                if opcode == "parameter"
                else self.builder.infer_shape(instruction)
            )
        if sugar := find_sugar(opcode, instruction.shape, instruction.operands):
            instruction.opcode, wrapped = sugar
            if instruction.opcode in LATER_STEPS:
                _bind_late(self.builder, instruction)
            else:
                is_callee_printed = bodies.count("calls") > 1
                _wrap_async(self.builder, instruction, wrapped, is_callee_printed=is_callee_printed)
        return instruction

    def _shape_in_head(self, parameter: Instruction, end: int) -> Shape:
        """Return a parameter's shape as the computation's head states it; its opcode ends there."""
        if self.parameter_shapes is None and self.head is not None:
            self.parameter_shapes = _parse_parameter_shapes(self.scanner.source, self.head)
        if (shape := (self.parameter_shapes or {}).get(parameter.literal)) is None:
            _fail_without_shape(self.scanner, parameter.opcode, end)
        return shape

    def _read_operands(self, opcode: str) -> tuple[Instruction, ...]:
        """Read an operand list.

        operands = "(" [ operand { "," operand } ] ")"
        """
        scanner = self.scanner
        scanner.expect("(", f"after the opcode {opcode!r}")
        if scanner.accept_token(")"):
            return ()
        scanner.skip_blanks()
        if scanner.peek() == ",":
            scanner.fail(NO_OPERANDS)
        return tuple(scanner.parse_items(self._read_operand, ")", f"an operand of {opcode!r}"))

    def _read_operand(self, scanner: Scanner) -> Instruction:
        """Read one operand.

        operand = [shape] name ["#" index] | [shape] opcode "(" operands ")"
        """
        scanner.skip_blanks()
        if _CUT.match(scanner.text, scanner.pos, scanner.end):
            scanner.fail(CUT_OPERANDS)
        if _DELETED.match(scanner.text, scanner.pos, scanner.end) and "null" not in self.defined:
            scanner.fail(DELETED_OPERAND, scanner.pos, scanner.pos + 4)
        shape: Shape | None = None
        word = _NAME.match(scanner.text, scanner.pos, scanner.end)
        is_array = word is not None and scanner.text.startswith("[", word.end())
        if is_array or scanner.peek() == "(" or scanner.starts_with("b("):
            shape = self.builder.intern_shape()
            scanner.skip_blanks()
        if _OPCODE_AHEAD.match(scanner.text, scanner.pos, scanner.end):
            return self._read_nested(shape)
        scanner.accept("%")
        start = scanner.pos
        name = scanner.expect_match(_NAME, "an operand")
        if (operand := self.defined.get(name)) is None:
            message = f"the operand {name!r} is not defined above this line"
            scanner.fail(message, start, scanner.pos, _OPERANDS_COME)
        element = scanner.accept_match(_ELEMENT)
        return self._element(operand, int(element[1])) if element else operand

    def _read_nested(self, shape: Shape | None) -> Instruction:
        """Read an operand written in place; it becomes `opcode.anon` of the computation."""
        scanner = self.scanner
        scanner.enter("operands")
        opcode = intern(scanner.expect_match(_OPCODE, "an opcode"))
        if shape is None:
            _expect_rule(scanner, opcode)
        nested = Instruction("", shape or _UNSTATED, opcode, (), self.computation)
        if opcode in GIVEN:
            nested.literal = _read_literal(scanner, opcode)
        else:
            nested.operands = self._read_operands(opcode)
        nested.start = scanner.pos
        nested.given_attributes = {}
        if shape is None:
            nested.shape = self.builder.infer_shape(nested)
        scanner.leave()
        nested.name = f"{opcode}.anon"  # those inside of it have theirs by now
        while nested.name in self.defined:
            self.anonymous += 1
            nested.name = f"{opcode}.anon.{self.anonymous}"
        self._add(nested)
        return nested

    def _element(self, operand: Instruction, index: int) -> Instruction:
        """Return element `#index` of a tuple, as xla_dump_compact_gte prints it."""
        name = f"{operand.name}#{index}"
        if known := self.defined.get(name):
            return known
        shape = operand.shape
        if isinstance(shape, ArrayShape) or index >= len(shape.elements):
            end = self.scanner.pos
            self.scanner.fail(f"{operand.name!r} has no element {index}", end - 1, end)
        opcode = "get-tuple-element"
        element = Instruction(name, shape.elements[index], opcode, (operand,), self.computation)
        element.given_attributes = {"index": str(index)}
        self._add(element)
        return element

    def _read_attributes(self, instruction: Instruction) -> list[str]:
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
        is_list = scanner.accept_token("{")
        while not names or (is_list and scanner.accept_token(",")):
            if names:
                scanner.expect("{", "before the next computation's body")
            names.append(self._read_body(f"{instruction.name}.{key}", start))
        if is_list:
            scanner.expect("}", f"after the computations of {key!r}")
        scanner.leave()
        return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"

    def _read_body(self, wanted: str, start: int) -> str:
        builder = self.builder
        computation = Computation(wanted, builder.module)
        BodyReader(builder, computation, None, by_line=self.by_line).read_to_close()
        computation.name = builder.unique_name(wanted)  # a body in it may have that name
        builder.add_computation(computation, start)
        return computation.name


def _expect_rule(scanner: Scanner, opcode: str) -> None:
    """Refuse an opcode that stands before the cursor without a shape, if it needs one."""
    from hlotool.hlo.inference import can_infer  # noqa: PLC0415  texts by hand alone need it

    if not can_infer(opcode):
        _fail_without_shape(scanner, opcode, scanner.pos)


def _fail_without_shape(scanner: Scanner, opcode: str, end: int) -> NoReturn:
    """Raise at an opcode that ends at `end`: nothing says what shape it has."""
    message = NO_SHAPE if opcode in OPCODES else NO_OPCODE
    scanner.fail(message.format(opcode), end - len(opcode), end)


def _read_literal(scanner: Scanner, opcode: str) -> str:
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


def _parse_parameter_shapes(source: Source, start: int) -> dict[str, Shape]:
    """Read the shapes of the parameters, by number; the computation's name stands at `start`.

    signature = "(" [ name ":" shape { "," name ":" shape } ] ")" "->" shape
    """
    scanner = Scanner(source, start)
    scanner.expect_name("the computation's name")
    if not scanner.accept_token("("):
        return {}
    shapes = scanner.parse_items(_parse_parameter, ")", "a parameter's shape")
    return {str(number): shape for number, shape in enumerate(shapes)}


def _parse_parameter(scanner: Scanner) -> Shape:
    scanner.expect_name("a parameter of the computation")
    scanner.expect(":", "after the parameter's name")
    return parse_shape(scanner)


# What an async line says about itself; everything else belongs to the wrapped operation.
_OF_THE_START: Final = (
    "async_execution_thread backend_config control-predecessors frontend_attributes metadata "
    "origin output_to_operand_aliasing sharding statistics"
)
_NOT_OF_THE_WRAPPED: Final = frozenset(
    ("async_execution_thread", "control-predecessors", "output_to_operand_aliasing")
)
# These have such an attribute themselves, and XLA's parser gives it to them alone.
_SHARE_THEMSELVES: Final = frozenset(("custom-call", "fusion"))

_PAIR: Final = 2  # operands and result, with nothing behind them


def _wrap_async(
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
    kept = set(_OF_THE_START.split())
    given = {key: value for key, value in attributes.items() if key in kept}
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
    root = Instruction(name, _result_shape(instruction.shape), wrapped, (), computation)
    root.start = instruction.start
    root.given_attributes = {key: attributes[key] for key in attributes if key not in left_out}
    computation.instructions.append(root)
    computation.marked_root = root
    computation.execution_thread = unquote(attributes.get("async_execution_thread", "main"))
    _bind(computation, instruction.operands)
    builder.module.computations[computation.name] = computation
    builder.wrapped[instruction] = computation


def _bind_late(builder: Builder, step: Instruction) -> None:
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
    parameters: list[Instruction] = []
    for number, operand in enumerate(operands, len(root.operands)):
        name = f"{computation.name}.{number}"
        parameter = Instruction(name, operand.shape, "parameter", (), computation, str(number))
        parameter.given_attributes = {}
        parameters.append(parameter)
    computation.instructions[-1:] = [*parameters, root]
    root.operands += tuple(parameters)


def _result_shape(shape: Shape) -> Shape:
    """Return the second element of an async triple; a shape that is none stays as it is."""
    if isinstance(shape, ArrayShape) or len(shape.elements) < _PAIR:
        return shape
    return shape.elements[1]
