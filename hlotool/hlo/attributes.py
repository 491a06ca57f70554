"""The attributes after an instruction's operands: split, not interpreted.

Two readers with one answer: a regex for what machines print on one line, and a descent
for everything, which is the authority and the only one that explains.

How is the value of an attribute read once, and blamed in its place?

Values are kept by function and text. One that does not parse is read again in place, so that
the error points into the dump.

The AttributeReader of parsed text: which attribute is read how, and what must fit its shape.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from sys import intern
from typing import Any, Final, NoReturn, TypeVar

from hlotool.errors import ParseError
from hlotool.hlo.attribute_values import (
    drop_metadata,
    parse_aliases,
    parse_backend_config,
    parse_computation_names,
    parse_dim_labels,
    parse_instruction_names,
    parse_metadata,
    parse_numbers,
    parse_padding,
    parse_pairs,
    parse_slices,
    parse_window,
    read_metadata,
)
from hlotool.hlo.group_parser import parse_replica_groups, parse_sharding
from hlotool.hlo.groups import ReplicaGroups, Sharding
from hlotool.hlo.module import Computation, Instruction
from hlotool.hlo.not_hlo import REQUIRED
from hlotool.hlo.opcodes import CALL_KEYS, LISTS_OF_CALLEES
from hlotool.hlo.scanner import NAME, QUOTED, STRING, Scanner, parse_string_map, unquote
from hlotool.hlo.shape import ArrayShape, Shape, TupleShape
from hlotool.hlo.values import (
    Alias,
    BackendConfig,
    DimLabels,
    DotDimensions,
    Metadata,
    PaddingDimension,
    SliceDimension,
    WindowDimension,
)
from hlotool.text import Source

_MAY_COME_TWICE: Final = "statistics"
_BRACES_DEPTH: Final = 6  # what backend_config's JSON needs; deeper goes the slow way


def _braces(depth: int) -> str:
    inner = rf"|{_braces(depth - 1)}" if depth else ""
    return rf"\{{(?:[^{{}}\"/]++|/(?!\*)|{STRING}{inner})*+\}}"


_GROUP: Final = rf"(?:{_braces(_BRACES_DEPTH)}|\[[^\[\]\"/]*+\]|\([^()\"/]*+\))"
_CHUNK: Final = rf"(?:[^\s,{{}}()\[\]\"'/=]++|=(?!=)|{STRING}|{_GROUP})"

# `, key=value`; a value of several words (`mesh[...] {'a'}`, `s32[2] {1,2}`) is left to the
# slow reader by the look-ahead, and so is the one with a comma (`mesh[a=4], device_ids=…`).
_ATTRIBUTE = re.compile(rf", ({NAME})=({_CHUNK}++)(?=, (?!device_ids=){NAME}=|\Z)")
_KEY = re.compile(rf"({NAME})=")
_PLAIN = re.compile(r"[^\s,{}()\[\]\"'/]++|/(?![/*])")
_MORE = re.compile(r"[ \t]*+\{")  # on the same line: on the next, an unnamed computation begins
_LITERAL = re.compile(r"[ \t]++(?=[^\s,{}/])")  # what stands behind the shape of a literal
_CLOSED = re.compile(QUOTED, re.DOTALL)

_BODY_BEGINS = re.compile(rf"ROOT\s|%?{NAME}\s++=|%{NAME}=|\{{")

# A definition at the beginning of a line: no value reaches over it, only a body holds it.
_SWALLOWED = re.compile(rf"\n[ \t]*+(?:ROOT )?+%?+{NAME} = (?:[a-z][a-z0-9]*+\[|\()")

ReadBodies = Callable[[str], str]


def read_attributes(source: Source, start: int, end: int) -> dict[str, str]:
    """Split `, key=value, key=value`; values keep their spelling, brackets and quotes.

    Raises ParseError where the text stops being attributes, or a key occurs twice.
    """
    attributes: dict[str, str] = {}
    count = 0
    pos = start
    match_next = _ATTRIBUTE.match
    text = source.text
    while pos < end:
        match = match_next(text, pos, end)
        if match is None:
            break
        key, value = match.groups()
        attributes[intern(key)] = value  # few keys, many instructions
        count += 1
        pos = match.end()
    if pos < end or len(attributes) < count:
        return read_attributes_slowly(Scanner(source, start, end))
    return attributes


def read_attributes_slowly(scanner: Scanner) -> dict[str, str]:
    """Split attributes by hand, or raise where they stop being attributes."""
    attributes = parse_attributes(scanner)
    if not scanner.at_end():
        scanner.fail_expected("',' before the next attribute")
    return attributes


def parse_attributes(scanner: Scanner, read_bodies: ReadBodies | None = None) -> dict[str, str]:
    """Read attributes as long as a comma announces one; stop before anything else.

    attributes = { "," key "=" value }

    With `read_bodies`, a computation's body in place of its name goes to that function,
    which steps over it and returns the name to keep. Of two bodies under one key the last
    counts: canonical prints of a `reduce-scatter-start` have `calls={reducer}, calls={callee}`.
    So does the last of two `statistics=`, which XLA prints among the attributes and again at
    their end.
    """
    attributes: dict[str, str] = {}
    while scanner.accept_token(","):
        key = _expect_key(scanner)
        end = scanner.pos - 1
        scanner.skip_blanks()
        if read_bodies and _opens_body(scanner, key):
            attributes[key] = read_bodies(key)
        elif key in attributes and key != _MAY_COME_TWICE:
            scanner.fail(f"the attribute {key!r} is given twice", end - len(key), end)
        else:
            attributes[key] = _read_value(scanner, key)
    return attributes


def _read_value(scanner: Scanner, key: str) -> str:
    """Read one value; one that goes on over the next instruction lacks its end."""
    scanner.skip_blanks()
    start = scanner.pos
    try:
        skip_value(scanner, key)
        end = scanner.pos
    except ParseError as error:
        end = error.start
        if not _SWALLOWED.search(scanner.text, start, end):
            raise
    if scanner.text.find("\n", start, end) >= 0 and _SWALLOWED.search(scanner.text, start, end):
        scanner.fail(f"the value of {key!r} is never closed", start, start + 1)
    return scanner.text[start:end]


def find_value(scanner: Scanner, wanted: str) -> tuple[int, int] | None:
    """Return where the last value of a key stands, None where the key is absent."""
    found = None
    while scanner.accept_token(","):
        key = _expect_key(scanner)
        start = skip_value(scanner, key)
        if key == wanted:
            found = start, scanner.pos
    return found


def _expect_key(scanner: Scanner) -> str:
    return scanner.expect_match(_KEY, "an attribute name followed by '='")[:-1]


def _opens_body(scanner: Scanner, key: str) -> bool:
    """Say whether a `{` at the cursor, the value of `key`, opens a computation's body."""
    if key not in CALL_KEYS or not scanner.starts_with("{"):
        return False
    start = scanner.pos
    scanner.pos += 1
    scanner.skip_blanks()
    begins = _BODY_BEGINS.match(scanner.text, scanner.pos, scanner.end) is not None
    scanner.pos = start
    return begins


def skip_value(scanner: Scanner, key: str) -> int:
    """Step over one value and return where it starts; raise where it is none.

    value = chunk { chunk } { " " "{" … "}" }        (`mesh['a'=2] {'a'}`, `s32[2] {1,2}`)
          | shape " " chunk                          (`literal=s32[] 1`)
    chunk = plain | string | "(" … ")" | "[" … "]" | "{" … "}"

    One attribute has a comma outside brackets: `mesh[…], device_ids=(…) {'a'}`.
    """
    scanner.skip_blanks()
    start = scanner.pos
    _skip_chunks(scanner, key)
    if key == "replica_groups" and scanner.text.startswith(("mesh", "@mesh"), start):
        before = scanner.pos
        if scanner.accept_token(",") and scanner.accept_token("device_ids="):
            _skip_chunks(scanner, key)
        else:
            scanner.pos = before
    if key == "literal" and scanner.accept_match(_LITERAL):
        _skip_chunks(scanner, key)
    while opener := _MORE.match(scanner.text, scanner.pos, scanner.end):
        scanner.pos = opener.end() - 1
        scanner.skip_group(f"the value of {key!r}")
    return start


def _skip_chunks(scanner: Scanner, key: str) -> None:
    start = scanner.pos
    while char := scanner.peek():
        if char in "({[":
            scanner.skip_group(f"the value of {key!r}")
        elif char in {'"', "'"}:
            if scanner.accept_match(_CLOSED) is None:
                scanner.fail(f"the string of {key!r} is never closed")
        elif scanner.accept_match(_PLAIN) is None:
            break
    if scanner.pos == start:
        scanner.fail_expected(f"a value for {key!r}")


T = TypeVar("T")


class ValueReader:
    """Reads the values of one module, few of which have a spelling of their own."""

    def __init__(self) -> None:
        # Any: one cache holds the values of all the functions that read some.
        self._cache: dict[tuple[Callable[[Scanner], Any], str], Any] = {}

    def read(self, instruction: Instruction, key: str, parse: Callable[[Scanner], T]) -> T | None:
        """Return a value, None where the attribute is absent; raise if its opcode needs it."""
        return self.read_text(instruction, key, instruction.attributes.get(key), parse)

    def read_text(
        self, instruction: Instruction, key: str, text: str | None, parse: Callable[[Scanner], T]
    ) -> T | None:
        """Return the value that a text is; None, or raise, where there is none."""
        if text is None:
            if REQUIRED.get(instruction.opcode) == key:
                fail_at(instruction, key, f"{instruction.opcode} needs an attribute {key}=")
            return None
        found = self._cache.get((parse, text))
        if found is None:
            found = self._cache[parse, text] = parse_value(instruction, key, text, parse)
        value: T = found
        return value


def parse_value(instruction: Instruction, key: str, text: str, parse: Callable[[Scanner], T]) -> T:
    """Parse a value alone; on failure parse it in place for an error with its place."""
    try:
        return _parse_whole(Scanner(Source(text)), parse)
    except ParseError:
        span = _find_span(instruction, key)
        if span is None:
            raise
        return _parse_whole(Scanner(instruction.computation.module.source, *span), parse)


def fail_at(instruction: Instruction, key: str, message: str) -> NoReturn:
    """Raise at the value of `key`, or where the attributes begin if it is absent."""
    start = instruction.start
    span = _find_span(instruction, key) or (start, start + 1)
    raise ParseError(message, instruction.computation.module.source, *span)


def _find_span(instruction: Instruction, key: str) -> tuple[int, int] | None:
    """Return where the value of an attribute stands, None if it was not written as one."""
    try:
        scanner = Scanner(instruction.computation.module.source, instruction.start)
        return find_value(scanner, key)
    except ParseError:  # an operand written in place: no attributes follow it
        return None


def _parse_whole(scanner: Scanner, parse: Callable[[Scanner], T]) -> T:
    """Parse a value and insist that nothing stands behind it."""
    value = parse(scanner)
    scanner.expect_end()
    return value


# How many operands hold the left and, last, the right side of a product.
_DOT_OPERANDS = {"scaled-dot": 3}

_NO_METADATA = Metadata()
_DOT_KEYS = (
    "lhs_contracting_dims",
    "rhs_contracting_dims",
    "lhs_batch_dims",
    "rhs_batch_dims",
)


class TextReader:
    """Reads the attributes of one module's instructions from its source."""

    def __init__(self) -> None:
        self._values = ValueReader()
        self._called: dict[tuple[str, str], tuple[Computation, ...]] = {}

    def attributes(self, instruction: Instruction) -> dict[str, str]:
        """Split the raw attributes of an instruction whose attributes end with the line."""
        source = instruction.computation.module.source
        return read_attributes(source, instruction.start, _find_end(source, instruction))

    def plain_text(self, instruction: Instruction) -> str:
        """Return the raw attributes of an instruction whose attributes end with the line."""
        source = instruction.computation.module.source
        return drop_metadata(source.text[instruction.start : _find_end(source, instruction)], 1)

    def callees(self, instruction: Instruction, key: str) -> tuple[Computation, ...]:
        """Return what `calls=` and its kin name; each must be a computation, a fusion's its own.

        XLA's parser takes several in LISTS_OF_CALLEES alone, and knows no other key of a fusion.
        """
        text = instruction.attributes.get(key)
        if text is None:
            return ()
        if instruction.opcode == "fusion" and key != "calls":
            fail_at(instruction, key, f"a fusion calls its computation in calls=, not in {key}=")
        only = instruction.computation.module.computations.get(text.removeprefix("%"))
        if only is not None:  # nearly always: one name, and nothing to take apart
            return (only,)
        found = self._called.get((key, text))  # a long list is asked for again and again
        if found is None:
            found = self._called[key, text] = self._read_callees(instruction, key)
        return found

    def _read_callees(self, instruction: Instruction, key: str) -> tuple[Computation, ...]:
        computations = instruction.computation.module.computations
        names = self._values.read(instruction, key, parse_computation_names) or ()
        if len(names) != 1 and key not in LISTS_OF_CALLEES:
            fail_at(instruction, key, f"expected one computation as the value of {key!r}")
        for name in names:
            if name not in computations:
                fail_at(instruction, key, f"there is no computation {name!r}")
        return tuple(computations[name] for name in names)

    def control_predecessors(self, instruction: Instruction) -> tuple[str, ...]:
        """Return the names in `control-predecessors=`; each must be of the same computation."""
        key = "control-predecessors"
        names = self._values.read(instruction, key, parse_instruction_names) or ()
        for name in names:
            if name not in instruction.computation.by_name:
                fail_at(instruction, key, f"there is no instruction {name!r} in this computation")
        return names

    def expect_callee(self, instruction: Instruction, key: str) -> Computation:
        """Return the one computation under a key; raise where it is absent."""
        found = self.callees(instruction, key)
        if len(found) != 1:
            fail_at(instruction, key, f"{instruction.opcode} needs an attribute {key}=")
        return found[0]

    def expect_number(self, instruction: Instruction, key: str) -> int:
        """Return an attribute that is one integer; raise where it is absent too."""
        return _expect_one(instruction, key, self._values.read(instruction, key, parse_numbers))

    def expect_element(self, instruction: Instruction, key: str) -> int:
        """Return the number of an element of the operand, a tuple; raise where it has none.

        The split attributes are not kept: who asks is one of many, and seldom asks for another.
        """
        text = instruction.split_attributes().get(key)
        numbers = self._values.read_text(instruction, key, text, parse_numbers)
        number = _expect_one(instruction, key, numbers)
        shape = instruction.operands[0].shape if instruction.operands else None
        if not isinstance(shape, TupleShape):
            fail_at(instruction, key, f"{instruction.opcode} needs a tuple as its operand")
        last = len(shape.elements) - 1
        if not 0 <= number <= last:
            message = f"the last is {last}" if shape.elements else "it is an empty tuple"
            fail_at(instruction, key, f"the operand has no element {number}: {message}")
        return number

    def string(self, instruction: Instruction, key: str) -> str:
        """Return an attribute without quotes and escapes, '' where absent."""
        return unquote(instruction.attributes.get(key, ""))

    def metadata(self, instruction: Instruction) -> Metadata:
        """Return the metadata."""
        text = instruction.split_attributes().get("metadata")
        if text is None:
            return _NO_METADATA
        return read_metadata(text) or parse_value(instruction, "metadata", text, parse_metadata)

    def integers(self, instruction: Instruction, key: str) -> tuple[int, ...]:
        """Return `{0,1}` or `3` as integers."""
        return self._values.read(instruction, key, parse_numbers) or ()

    def replica_groups(self, instruction: Instruction) -> ReplicaGroups | None:
        """Return the replica groups."""
        return self._values.read(instruction, "replica_groups", parse_replica_groups)

    def source_target_pairs(self, instruction: Instruction) -> tuple[tuple[int, int], ...]:
        """Return the pairs of a permute."""
        return self._values.read(instruction, "source_target_pairs", parse_pairs) or ()

    def window(self, instruction: Instruction) -> tuple[WindowDimension, ...]:
        """Return the window."""
        return self._values.read(instruction, "window", parse_window) or ()

    def dim_labels(self, instruction: Instruction) -> DimLabels | None:
        """Return the dimension labels of a convolution, one for each dimension it has."""
        labels = self._values.read(instruction, "dim_labels", parse_dim_labels)
        if labels is not None and instruction.opcode == "convolution":
            rank = len(labels.lhs_spatial) + 2
            for shape in (instruction.shape, *_operand_shapes(instruction, 2)):
                _check_rank(instruction, "dim_labels", shape, rank)
        return labels

    def dot_dimensions(self, instruction: Instruction) -> DotDimensions:
        """Return the dimension numbers of a dot; its operands have such dimensions."""
        lhs, *_, rhs = _operand_shapes(instruction, _DOT_OPERANDS.get(instruction.opcode, 2))
        numbers = []
        for key in _DOT_KEYS:
            shape = lhs if key.startswith("lhs") else rhs
            numbers.append(self.integers(instruction, key))
            if not all(0 <= number < _rank(shape) for number in numbers[-1]):
                fail_at(instruction, key, f"{shape} has no such dimension")
        return DotDimensions(*numbers)

    def slice_dimensions(self, instruction: Instruction) -> tuple[SliceDimension, ...]:
        """Return the slice, one part for each dimension."""
        parts = self._values.read(instruction, "slice", parse_slices) or ()
        if instruction.opcode == "slice":
            _check_rank(instruction, "slice", instruction.shape, len(parts))
            _check_rank(instruction, "slice", _operand_shapes(instruction, 1)[0], len(parts))
        return parts

    def padding(self, instruction: Instruction) -> tuple[PaddingDimension, ...]:
        """Return the padding, one part for each dimension."""
        parts = self._values.read(instruction, "padding", parse_padding) or ()
        if instruction.opcode == "pad":
            _check_rank(instruction, "padding", instruction.shape, len(parts))
        return parts

    def backend_config(self, instruction: Instruction) -> BackendConfig | None:
        """Return the backend config."""
        return self._values.read(instruction, "backend_config", parse_backend_config)

    def sharding(self, instruction: Instruction) -> Sharding | None:
        """Return the sharding."""
        return self._values.read(instruction, "sharding", parse_sharding)

    def aliasing(self, instruction: Instruction) -> tuple[Alias, ...]:
        """Return which outputs share memory with which operands."""
        return self._values.read(instruction, "output_to_operand_aliasing", parse_aliases) or ()

    def frontend_attributes(self, instruction: Instruction) -> Mapping[str, str]:
        """Return the frontend attributes."""
        return self._values.read(instruction, "frontend_attributes", parse_string_map) or {}


def _find_end(source: Source, instruction: Instruction) -> int:
    """Return where the line ends on which the attributes stand."""
    end = source.text.find("\n", instruction.start)
    return len(source.text) if end < 0 else end


def _expect_one(instruction: Instruction, key: str, numbers: tuple[int, ...] | None) -> int:
    """Return the only number of an attribute, or raise."""
    if numbers is None:
        fail_at(instruction, key, f"{instruction.opcode} needs an attribute {key}=")
    if len(numbers) != 1:
        fail_at(instruction, key, f"expected one integer as the value of {key!r}")
    return numbers[0]


def _operand_shapes(instruction: Instruction, count: int) -> list[Shape]:
    """Return the shapes of an instruction's first operands; raise if they are fewer."""
    if len(instruction.operands) < count:
        needed = f"{count} operands" if count > 1 else "an operand"
        fail_at(instruction, "", f"{instruction.opcode} needs {needed}")
    return [one.shape for one in instruction.operands[:count]]


def _check_rank(instruction: Instruction, key: str, shape: Shape, rank: int) -> None:
    if _rank(shape) != rank:
        fail_at(instruction, key, f"{key}= describes {rank} dimensions, {shape} has others")


def _rank(shape: Shape) -> int:
    """Return the number of dimensions; a tuple has none, and -1 is no array's."""
    return len(shape.dims) if isinstance(shape, ArrayShape) else -1
