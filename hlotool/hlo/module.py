"""The nodes of the IR: a module, its computations, their instructions; and what they share.

Nodes are compared with `is`, and their `repr` does not walk the graph. An instruction keeps the
offset of its attributes in the module's source; they are split when the first is asked for, and
each value is read by the function of `attribute_values` that knows its notation.

The steps of an asynchronous operation stand below: an async-start, any number of async-updates and
an async-done, each the first operand of the next (HloAsyncInstruction,
xla/hlo/ir/hlo_instructions.h). Operands, and the place of the result, may be bound late, by any
step: `async-start()`, then `async-update(start, x)`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NoReturn, TypeVar

from msgspec import Struct, field
from msgspec.structs import asdict

from hlotool.errors import ParseError
from hlotool.hlo import attribute_values
from hlotool.hlo.attributes import find_value, read_attributes
from hlotool.hlo.groups import ReplicaGroups, Sharding
from hlotool.hlo.not_hlo import REQUIRED
from hlotool.hlo.opcodes import CALL_KEYS, LATER_STEPS, LISTS_OF_CALLEES, MAY_CALL, OUTSIDE
from hlotool.hlo.scanner import Scanner, parse_string_map, unquote
from hlotool.hlo.shape import ArrayShape, Shape, TupleShape
from hlotool.hlo.values import (
    Alias,
    BackendConfig,
    DimLabels,
    Donor,
    DotDimensions,
    Metadata,
    PaddingDimension,
    ShapeIndex,
    SliceDimension,
    SourceLocation,
    WindowDimension,
)
from hlotool.text import Source

T = TypeVar("T")

_PLAIN = (str, int, float, type(None))
_LONGEST = 200  # characters of one field; some fields hold a whole dump


class Node(Struct, eq=False):
    """A node equals only itself; its fields may lead to other nodes, in circles."""

    def __repr__(self) -> str:
        """Show the plain fields."""
        plain = {name: value for name, value in asdict(self).items() if isinstance(value, _PLAIN)}
        shown = (f"{name}={repr(value)[:_LONGEST]}" for name, value in plain.items())
        return f"{type(self).__name__}({', '.join(shown)})"


_CALL_PLACES: Final = {key: place for place, key in enumerate(CALL_KEYS)}
_NO_METADATA: Final = Metadata()
_METADATA: Final = ", metadata={"
_FEW_OPERANDS: Final = 16
# How many operands hold the left and, last, the right side of a product.
_DOT_OPERANDS: Final = {"scaled-dot": 3}


class Instruction(Node, eq=False):
    """One instruction: `%name = shape opcode(operands), attributes`.

    `literal` is the text between the parentheses of `constant(...)` and `parameter(...)`.
    The raw attributes begin at `start` in the module's source.

    Methods that read an attribute return None, or an empty value, where it is absent; they raise
    ParseError, with the place, where it is malformed, does not fit the shapes, or is one that
    XLA's own parser insists on.
    """

    name: str
    shape: Shape
    opcode: str
    operands: tuple[Instruction, ...]
    computation: Computation
    literal: str = ""
    start: int = 0
    given_attributes: dict[str, str] | None = None

    @property
    def module(self) -> Module:
        """The module that holds the instruction."""
        return self.computation.module

    @property
    def full_name(self) -> str:
        """A name that no other instruction of the module has: `add.1`, `body/add.1`.

        The computation stands before it where several have an instruction of that name; the
        entry's keep theirs.
        """
        computation = self.computation
        module = computation.module
        if self.name not in module.repeated_names or computation is module.entry:
            return self.name
        return f"{computation.name}/{self.name}"

    @property
    def is_root(self) -> bool:
        """Whether this is its computation's result."""
        return self.computation.root is self

    @property
    def users(self) -> tuple[Instruction, ...]:
        """The instructions that have this one as an operand, each once, in dump order."""
        return self.computation.users.get(self, ())

    def places_of(self, operand: Instruction) -> Sequence[int]:
        """Return at which places an operand is given; a long list is gone through once for all."""
        if len(self.operands) > _FEW_OPERANDS:
            return self.computation.places_in_long_lists[self].get(operand, ())
        return [place for place, one in enumerate(self.operands) if one is operand]

    @property
    def parameter_number(self) -> int:
        """The N of `parameter(N)`; only for parameters."""
        return int(self.literal)

    # -- the attributes, as text

    @property
    def attributes(self) -> dict[str, str]:
        """Raw attribute text by key, in dump order; split on first access, then kept."""
        if (attributes := self.given_attributes) is None:
            self.given_attributes = attributes = self.split_attributes()
        return attributes

    def split_attributes(self) -> dict[str, str]:
        """Return the attributes without keeping them, as for one look at each instruction."""
        if self.given_attributes is not None:
            return self.given_attributes
        source = self.computation.module.source
        return read_attributes(source, self.start, _line_end(source.text, self.start))

    def plain_text(self) -> str | None:
        """Return the attributes as written, without metadata; None where they are split already."""
        return next(list_plain_texts(self.computation, (self,)))

    # -- any attribute, as a value

    def read(
        self, key: str, parse: Callable[[Scanner], T], attributes: dict[str, str] | None = None
    ) -> T | None:
        """Return the value of an attribute, of those that are split already if they are given.

        Few values have a spelling of their own: the module keeps them by function and text.
        """
        text = (self.attributes if attributes is None else attributes).get(key)
        if text is None:
            if REQUIRED.get(self.opcode) == key:
                self.fail(key, f"{self.opcode} needs an attribute {key}=")
            return None
        values = self.computation.module.values
        if (found := values.get((parse, text))) is None:
            found = values[parse, text] = self._parse_value(key, text, parse)
        value: T = found
        return value

    def _parse_value(self, key: str, text: str, parse: Callable[[Scanner], T]) -> T:
        """Parse a value alone; on failure parse it in place for an error with its place."""
        try:
            return Scanner(Source(text)).parse_whole(parse)
        except ParseError:
            if (span := find_value(self.module.source, self.start, key)) is None:
                raise
            return Scanner(self.module.source, *span).parse_whole(parse)

    def fail(self, key: str, message: str) -> NoReturn:
        """Raise at the value of `key`, or where the attributes begin if it is absent."""
        source, start = self.module.source, self.start
        raise ParseError(message, source, *(find_value(source, start, key) or (start, start + 1)))

    def integers(self, key: str) -> tuple[int, ...]:
        """Return an attribute `{0,1}` or `3` as integers."""
        return self.read(key, attribute_values.parse_numbers) or ()

    def expect_number(self, key: str, attributes: dict[str, str] | None = None) -> int:
        """Return an attribute that is one integer; raise where it is absent too."""
        numbers = self.read(key, attribute_values.parse_numbers, attributes)
        if numbers is None:
            self.fail(key, f"{self.opcode} needs an attribute {key}=")
        if len(numbers) != 1:
            self.fail(key, f"expected one integer as the value of {key!r}")
        return numbers[0]

    # -- what it names

    def callees(self, key: str) -> tuple[Computation, ...]:
        """Return the computations that an attribute names; a fusion's, in `calls` alone.

        XLA's parser takes several in LISTS_OF_CALLEES alone, and knows no other key of a fusion.
        """
        if (text := self.attributes.get(key)) is None:
            return ()
        if self.opcode == "fusion" and key != "calls":
            self.fail(key, f"a fusion calls its computation in calls=, not in {key}=")
        module = self.computation.module
        only = module.computations.get(text.removeprefix("%"))
        if only is not None:  # nearly always: one name, and nothing to take apart
            return (only,)
        found: tuple[Computation, ...] | None = module.values.get((key, text))
        if found is None:  # a long list is asked for again and again
            names = self.read(key, attribute_values.parse_computation_names) or ()
            if len(names) != 1 and key not in LISTS_OF_CALLEES:
                self.fail(key, f"expected one computation as the value of {key!r}")
            for name in names:
                if name not in module.computations:
                    self.fail(key, f"there is no computation {name!r}")
            found = tuple(module.computations[name] for name in names)
            module.values[key, text] = found
        return found

    def expect_callee(self, key: str) -> Computation:
        """Return the one computation that attribute `key` names; raise where it is absent."""
        found = self.callees(key)
        if len(found) != 1:
            self.fail(key, f"{self.opcode} needs an attribute {key}=")
        return found[0]

    def called_computations(self) -> tuple[Computation, ...]:
        """Return all computations this instruction names; a while gives condition, body."""
        if self.opcode not in MAY_CALL:
            return ()
        keys = [key for key in self.attributes if key in _CALL_PLACES]
        if len(keys) == 1:
            return self.callees(keys[0])
        keys.sort(key=_CALL_PLACES.__getitem__)
        return tuple(computation for key in keys for computation in self.callees(key))

    def callee(self) -> Computation | None:
        """Return the one computation of `calls` or `to_apply`, None without either."""
        found = self.callees("calls") or self.callees("to_apply")
        return found[0] if found else None

    def control_predecessors(self) -> tuple[Instruction, ...]:
        """Return what must run before for another reason than its result."""
        key = "control-predecessors"
        names = self.read(key, attribute_values.parse_instruction_names) or ()
        for name in names:
            if name not in self.computation.by_name:
                self.fail(key, f"there is no instruction {name!r} in this computation")
        return tuple(self.computation.by_name[name] for name in names)

    @property
    def tuple_index(self) -> int:
        """The `index=` of a get-tuple-element; its operand has such an element."""
        # Not kept: who asks is one of many, and seldom asks for another attribute.
        number = self.expect_number("index", self.split_attributes())
        shape = self.operands[0].shape if self.operands else None
        if not isinstance(shape, TupleShape):
            self.fail("index", f"{self.opcode} needs a tuple as its operand")
        last = len(shape.elements) - 1
        if not 0 <= number <= last:
            message = f"the last is {last}" if shape.elements else "it is an empty tuple"
            self.fail("index", f"the operand has no element {number}: {message}")
        return number

    # -- where it comes from

    def metadata(self) -> Metadata:
        """Return the metadata; an empty one where the dump has none.

        Splitting all attributes costs ten times as much as reading this one. So it is looked for
        where machines print it: behind no string, which may hold anything, and without a brace.
        """
        source, start = self.computation.module.source.text, self.start
        end = _line_end(source, start)
        if self.given_attributes is None:
            at = source.find(_METADATA, start, end)
            if at < 0 and source.find("metadata", start, end) < 0:
                return _NO_METADATA
            close = source.find("}", at, end) + 1
            if at >= 0 and source.find('"', start, at) < 0 and source[close : close + 1] in ",\n":
                found = attribute_values.read_metadata(source[at + len(_METADATA) - 1 : close])
                if found is not None:
                    return found
        if (text := self.split_attributes().get("metadata")) is None:
            return _NO_METADATA
        found = attribute_values.read_metadata(text)
        return found or self._parse_value("metadata", text, attribute_values.parse_metadata)

    def source_location(self, metadata: Metadata | None = None) -> SourceLocation | None:
        """Return the user's line: as printed, else through the stack-frame tables.

        `metadata` is the instruction's own, where the caller has read it already.
        """
        metadata = metadata or self.metadata()
        if metadata.source_file:
            return SourceLocation(
                metadata.source_file,
                metadata.source_line,
                metadata.source_column,
                metadata.source_end_line,
                metadata.source_end_column,
            )
        return self.computation.module.debug_info.find_location(metadata.stack_frame_id)

    # -- single attributes

    @property
    def channel_id(self) -> int | None:
        """The `channel_id=`, None where absent; no channel has a number below 0."""
        if "channel_id" not in self.attributes:
            return None
        number = self.expect_number("channel_id")
        return None if number < 0 else number

    @property
    def custom_call_target(self) -> str:
        """The unquoted `custom_call_target=`, '' where absent."""
        return unquote(self.attributes.get("custom_call_target", ""))

    @property
    def is_outside(self) -> bool:
        """Whether it stands for something that the text of a fragment has not."""
        return self.opcode == "custom-call" and self.custom_call_target == OUTSIDE

    def replica_groups(self) -> ReplicaGroups | None:
        """Return `replica_groups=`."""
        return self.read("replica_groups", attribute_values.parse_replica_groups)

    def source_target_pairs(self) -> tuple[tuple[int, int], ...]:
        """Return the pairs of a collective-permute."""
        return self.read("source_target_pairs", attribute_values.parse_pairs) or ()

    def window(self) -> tuple[WindowDimension, ...]:
        """Return `window=`."""
        return self.read("window", attribute_values.parse_window) or ()

    def dim_labels(self) -> DimLabels | None:
        """Return `dim_labels=`; a convolution's name each dimension it has."""
        labels = self.read("dim_labels", attribute_values.parse_dim_labels)
        if labels is not None and self.opcode == "convolution":
            shapes = (self.shape, *self._operand_shapes(2))
            self._check_rank("dim_labels", len(labels.lhs_spatial) + 2, *shapes)
        return labels

    def dot_dimensions(self) -> DotDimensions:
        """Return the contracting and batch dimensions of a dot; its operands have such ones."""
        lhs, *_, rhs = self._operand_shapes(_DOT_OPERANDS.get(self.opcode, 2))

        def read(key: str, shape: Shape) -> tuple[int, ...]:
            numbers = self.integers(key)
            if not all(0 <= number < _rank(shape) for number in numbers):
                self.fail(key, f"{shape} has no such dimension")
            return numbers

        return DotDimensions(
            read("lhs_contracting_dims", lhs),
            read("rhs_contracting_dims", rhs),
            read("lhs_batch_dims", lhs),
            read("rhs_batch_dims", rhs),
        )

    def slice_dimensions(self) -> tuple[SliceDimension, ...]:
        """Return `slice=`, one part for each dimension."""
        parts = self.read("slice", attribute_values.parse_slices) or ()
        if self.opcode == "slice":
            self._check_rank("slice", len(parts), self.shape)
            self._check_rank("slice", len(parts), *self._operand_shapes(1))
        return parts

    def padding(self) -> tuple[PaddingDimension, ...]:
        """Return `padding=`, one part for each dimension."""
        parts = self.read("padding", attribute_values.parse_padding) or ()
        if self.opcode == "pad":
            self._check_rank("padding", len(parts), self.shape)
        return parts

    def backend_config(self) -> BackendConfig | None:
        """Return `backend_config=`."""
        return self.read("backend_config", attribute_values.parse_backend_config)

    def find_config(self, *path: str) -> object:
        """Return the value at a path of keys in `backend_config=`, None where there is none."""
        config = self.backend_config()
        return config.find(*path) if config else None

    def sharding(self) -> Sharding | None:
        """Return `sharding=`."""
        return self.read("sharding", attribute_values.parse_sharding)

    def aliasing(self) -> tuple[Alias, ...]:
        """Return `output_to_operand_aliasing=`."""
        return self.read("output_to_operand_aliasing", attribute_values.parse_aliases) or ()

    def frontend_attributes(self) -> Mapping[str, str]:
        """Return `frontend_attributes=` with values unquoted."""
        return self.read("frontend_attributes", parse_string_map) or {}

    def _operand_shapes(self, count: int) -> list[Shape]:
        """Return the shapes of the first operands; raise if they are fewer."""
        if len(self.operands) < count:
            needed = f"{count} operands" if count > 1 else "an operand"
            self.fail("", f"{self.opcode} needs {needed}")
        return [one.shape for one in self.operands[:count]]

    def _check_rank(self, key: str, rank: int, *shapes: Shape) -> None:
        for shape in shapes:
            if _rank(shape) != rank:
                self.fail(key, f"{key}= describes {rank} dimensions, but not those of {shape}")


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _is_metadata_alone(text: str, start: int, end: int) -> bool:
    """Say whether a line's attributes are metadata and nothing else, as of most instructions."""
    return text.startswith(_METADATA, start) and text.find("}", start, end) == end - 1


def _rank(shape: Shape) -> int:
    """Return the number of dimensions; a tuple has none, and -1 is no array's."""
    return len(shape.dims) if isinstance(shape, ArrayShape) else -1


class Computation(Node, eq=False, dict=True):
    """A named list of instructions, in dump order; that is schedule order when scheduled.

    There is at least one instruction, and the parameters are numbered 0, 1, 2, … without gap.
    """

    name: str
    module: Module
    is_entry: bool = False
    instructions: list[Instruction] = field(default_factory=list)
    execution_thread: str = "main"
    marked_root: Instruction | None = None

    @property
    def root(self) -> Instruction:
        """The result: the instruction marked ROOT, else the last one."""
        return self.marked_root or self.instructions[-1]

    @cached_property
    def parameters(self) -> tuple[Instruction, ...]:
        """The parameters by number."""
        found = [one for one in self.instructions if one.opcode == "parameter"]
        return tuple(sorted(found, key=lambda one: one.parameter_number))

    def parameter_arrays(self) -> Iterator[tuple[Instruction, ShapeIndex, ArrayShape]]:
        """Yield the arrays of all parameters, each with its parameter and its place in that."""
        for one in self.parameters:
            yield from ((one, index, shape) for index, shape in one.shape.leaves_with_index())

    @cached_property
    def by_name(self) -> Mapping[str, Instruction]:
        """The instructions by name, which is unique here and need not be in the module."""
        return {one.name: one for one in self.instructions}

    @cached_property
    def places_in_long_lists(self) -> Mapping[Instruction, Mapping[Instruction, Sequence[int]]]:
        """The places of each operand, by the instructions that have many."""
        found: dict[Instruction, dict[Instruction, list[int]]] = {}
        for one in self.instructions:
            if len(one.operands) > _FEW_OPERANDS:
                places = found[one] = {}
                for place, operand in enumerate(one.operands):
                    places.setdefault(operand, []).append(place)
        return found

    @cached_property
    def users(self) -> Mapping[Instruction, tuple[Instruction, ...]]:
        """Users by instruction, each once, in dump order; unused instructions are absent."""
        lists: dict[Instruction, list[Instruction]] = {}
        for instruction in self.instructions:
            for operand in instruction.operands:
                if (users := lists.get(operand)) is None:
                    lists[operand] = [instruction]
                elif users[-1] is not instruction:  # an operand may be given twice
                    users.append(instruction)
        return {operand: tuple(users) for operand, users in lists.items()}


def list_plain_texts(
    computation: Computation, instructions: Iterable[Instruction]
) -> Iterator[str | None]:
    """Yield the attributes of some instructions as written, without metadata; None if split."""
    text = computation.module.source.text
    for one in instructions:
        end = _line_end(text, one.start)
        if one.given_attributes is not None:
            yield None
        elif _is_metadata_alone(text, one.start, end):
            yield ""
        else:
            yield attribute_values.drop_metadata(text[one.start : end])


class Header(Struct, frozen=True):
    """What the `HloModule` line says beside the name; `attributes` holds all of it, raw.

    `entry_parameters` and `entry_result` are the shapes of `entry_computation_layout`,
    None where the dump has none. The counts of devices are None where nobody knows them: a proto
    need not say them.
    """

    is_scheduled: bool = False
    replica_count: int | None = 1
    num_partitions: int | None = 1
    aliases: tuple[Alias, ...] = ()
    donors: tuple[Donor, ...] = ()
    entry_parameters: tuple[Shape, ...] | None = None
    entry_result: Shape | None = None
    frontend_attributes: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)

    @property
    def device_count(self) -> int | None:
        """All devices the program runs on."""
        if self.replica_count is None or self.num_partitions is None:
            return None
        return self.replica_count * self.num_partitions


class StackFrame(Struct, frozen=True):
    """One row of StackFrames; `parent` is the real parent's row, 0 for none.

    The text prints the parent one too high (xla/hlo/ir/hlo_module.cc); the parser has
    already taken that off.
    """

    location: int
    parent: int


class DebugInfo(Struct, frozen=True):
    """The four tables by their printed 1-based row numbers."""

    locations: Mapping[int, SourceLocation] = field(default_factory=dict)
    frames: Mapping[int, StackFrame] = field(default_factory=dict)

    def find_location(self, frame: int) -> SourceLocation | None:
        """Return the innermost line of a stack frame, or None for an unknown number."""
        row = self.frames.get(frame)
        return self.locations.get(row.location) if row else None

    def find_stack(self, frame: int) -> tuple[SourceLocation, ...]:
        """Return the lines of a stack frame and of its callers, innermost first.

        Unknown lines are left out; a frame that calls itself ends the stack.
        """
        found: dict[int, SourceLocation | None] = {}
        while frame in self.frames and frame not in found:
            found[frame] = self.find_location(frame)
            frame = self.frames[frame].parent
        return tuple(location for location in found.values() if location)


class Module(Node, eq=False, dict=True):
    """One program. Computations keep dump order; `values` are what was read of attributes.

    There is at least one computation. XLA prints callees first, but any order is read, and
    nothing here keeps a computation from calling itself.
    """

    name: str
    source: Source
    header: Header = field(default_factory=Header)
    debug_info: DebugInfo = field(default_factory=DebugInfo)
    computations: dict[str, Computation] = field(default_factory=dict)
    # By text, '' for all, and the function or the key that reads it. Any: all types are here.
    values: dict[tuple[object, str], Any] = field(default_factory=dict)

    @cached_property
    def entry(self) -> Computation:
        """The computation marked ENTRY, else the last one."""
        for computation in self.computations.values():
            if computation.is_entry:
                return computation
        return next(reversed(self.computations.values()))

    @cached_property
    def repeated_names(self) -> frozenset[str]:
        """Names that instructions of several computations have, as in canonical prints."""
        names = [one.name for each in self.computations.values() for one in each.instructions]
        if len(set(names)) == len(names):
            return frozenset()
        return frozenset(name for name, count in Counter(names).items() if count > 1)

    @cached_property
    def callees(self) -> Mapping[Instruction, tuple[Computation, ...]]:
        """The computations that each instruction names; who names none is absent.

        Raises ParseError where the text has no computation of a name.
        """
        callers = (one for one in self.instructions() if one.opcode in MAY_CALL)
        return {one: called for one in callers if (called := one.called_computations())}

    def instructions(self) -> Iterator[Instruction]:
        """Yield every instruction of every computation, in dump order."""
        for computation in self.computations.values():
            yield from computation.instructions

    def instruction_count(self) -> int:
        """Count the instructions of all computations."""
        return sum(len(one.instructions) for one in self.computations.values())

    def find_instruction(self, name: str) -> Instruction | None:
        """Return the instruction of that full name (a leading % is ignored), or None."""
        wanted = name.removeprefix("%")
        return next((one for one in self.instructions() if one.full_name == wanted), None)


MOST_STEPS: Final = 256  # of one asynchronous operation; XLA makes a handful
NO_RESULT: Final = TupleShape(())


def find_async_start(step: Instruction) -> Instruction | None:
    """Return the start of an asynchronous operation from any of its steps, None for others.

    Raises ParseError where there are more than MOST_STEPS.
    """
    *_, first = _list_steps_back(step)
    return first if first.opcode == "async-start" else None


def _list_steps_back(step: Instruction) -> list[Instruction]:
    """Return a step and those before it, back to the first."""
    steps = [step]
    while step.opcode in LATER_STEPS and step.operands:
        step = step.operands[0]
        steps.append(step)
        if len(steps) > MOST_STEPS:
            message = f"an asynchronous operation has more than {MOST_STEPS} steps"
            raise ParseError(message, step.computation.module.source, step.start - 1, step.start)
    return steps


def list_later_steps(step: Instruction) -> Iterator[Instruction]:
    """Yield what goes on with a step, up to the done."""
    following: Instruction | None = step
    while following is not None:
        step = following
        later = (user for user in step.users if user.opcode in LATER_STEPS)
        following = next((user for user in later if user.operands[0] is step), None)
        if following is not None:
            yield following


def awaits_result(step: Instruction) -> bool:
    """Say whether a start or update has no place for the result yet: `((f32[8]), (), s32[])`."""
    shape = step.shape
    return isinstance(shape, TupleShape) and NO_RESULT in shape.elements[1:2]


def bound_operands(step: Instruction) -> tuple[Instruction, ...]:
    """Return what a step and those before it give the operation, in the order of parameters."""
    *later, first = _list_steps_back(step)
    if not later:
        return first.operands
    return (*first.operands, *(one for each in reversed(later) for one in each.operands[1:]))


def find_passed(parameter: Instruction, caller: Instruction) -> Instruction | None:
    """Return what an instruction gives a parameter of what it calls; None where it has too few."""
    number, given = parameter.parameter_number, all_operands(caller)
    return given[number] if number < len(given) else None


def all_operands(caller: Instruction) -> tuple[Instruction, ...]:
    """Return what an instruction gives the computation it calls; an async-start, with all steps."""
    operands = list(caller.operands)
    if caller.opcode == "async-start":
        for step in list_later_steps(caller):
            operands += step.operands[1:]
    return tuple(operands)
