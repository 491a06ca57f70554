"""What the nodes of the IR share: identity, and a `repr` that does not walk the graph.

One instruction: a node, compared with `is`.

One computation: a node, compared with `is`. It lists its instructions.

What does the `HloModule` line say beside the name?

The index tables of a module: FileNames, FunctionNames, FileLocations, StackFrames.

Which steps does an asynchronous operation have, and what does each of them give it?

A chain is an async-start, any number of async-updates and an async-done, each the first operand
of the next (HloAsyncInstruction, xla/hlo/ir/hlo_instructions.h). Operands, and the place of the
result, may be bound late, by any step: `async-start()`, then `async-update(start, x)`.

What does an instruction ask to read its attributes? `parse.attributes` answers.

One program: a node, compared with `is`. It lists its computations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final, Protocol

from msgspec import Struct, field
from msgspec.structs import asdict

from hlotool.errors import ParseError
from hlotool.hlo.groups import ReplicaGroups, Sharding
from hlotool.hlo.opcodes import CALL_KEYS, LATER_STEPS, MAY_CALL
from hlotool.hlo.shape import Shape, TupleShape
from hlotool.hlo.values import (
    Alias,
    BackendConfig,
    DimLabels,
    Donor,
    DotDimensions,
    Metadata,
    PaddingDimension,
    SliceDimension,
    SourceLocation,
    WindowDimension,
)
from hlotool.text import Source

_PLAIN = (str, int, float, type(None))
_LONGEST = 200  # characters of one field; some fields hold a whole dump


class Node(Struct, eq=False):
    """A node equals only itself; its fields may lead to other nodes, in circles."""

    def __repr__(self) -> str:
        """Show the plain fields."""
        plain = {name: value for name, value in asdict(self).items() if isinstance(value, _PLAIN)}
        shown = (f"{name}={repr(value)[:_LONGEST]}" for name, value in plain.items())
        return f"{type(self).__name__}({', '.join(shown)})"


_CALL_PLACES = {key: place for place, key in enumerate(CALL_KEYS)}


class Instruction(Node, eq=False):
    """One instruction: `%name = shape opcode(operands), attributes`.

    `literal` is the text between the parentheses of `constant(...)` and `parameter(...)`.
    The raw attributes begin at `start` in the module's source.
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
    def attributes(self) -> dict[str, str]:
        """Raw attribute text by key, in dump order; split on first access, then kept."""
        attributes = self.given_attributes
        if attributes is None:
            self.given_attributes = attributes = self.split_attributes()
        return attributes

    def plain_text(self) -> str | None:
        """Return the attributes as written, without metadata; None where they are split already."""
        if self.given_attributes is None:
            return self.computation.module.reader.plain_text(self)
        return None

    def split_attributes(self) -> dict[str, str]:
        """Return the same, not kept: for what goes through a whole module once."""
        if self.given_attributes is None:
            return self.computation.module.reader.attributes(self)
        return self.given_attributes

    @property
    def users(self) -> tuple[Instruction, ...]:
        """The instructions that have this one as an operand, each once, in dump order."""
        return self.computation.users.get(self, ())

    @property
    def parameter_number(self) -> int:
        """The N of `parameter(N)`; only for parameters."""
        return int(self.literal)

    @property
    def tuple_index(self) -> int:
        """The `index=` of a get-tuple-element; its operand has such an element."""
        return self.computation.module.reader.expect_element(self, "index")

    @property
    def channel_id(self) -> int | None:
        """The `channel_id=`, None where absent; no channel has a number below 0."""
        if "channel_id" not in self.attributes:
            return None
        number = self.computation.module.reader.expect_number(self, "channel_id")
        return None if number < 0 else number

    @property
    def custom_call_target(self) -> str:
        """The unquoted `custom_call_target=`, '' where absent."""
        return self.computation.module.reader.string(self, "custom_call_target")

    def callees(self, key: str) -> tuple[Computation, ...]:
        """Return the computations that attribute `key` names, () where absent."""
        return self.computation.module.reader.callees(self, key)

    def expect_callee(self, key: str) -> Computation:
        """Return the computation that attribute `key` names; raise where it is absent."""
        return self.computation.module.reader.expect_callee(self, key)

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
        for key in ("calls", "to_apply"):
            found = self.callees(key)
            if found:
                return found[0]
        return None

    def control_predecessors(self) -> tuple[Instruction, ...]:
        """Return what must run before for another reason than its result, () where absent."""
        if "control-predecessors" not in self.attributes:
            return ()
        computation = self.computation
        names = computation.module.reader.control_predecessors(self)
        return tuple(map(computation.by_name.__getitem__, names))

    def metadata(self) -> Metadata:
        """Return the metadata; an empty one where the dump has none."""
        return self.computation.module.reader.metadata(self)

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

    def integers(self, key: str) -> tuple[int, ...]:
        """Return an attribute `{0,1}` or `3` as integers, () where absent."""
        return self.computation.module.reader.integers(self, key)

    def replica_groups(self) -> ReplicaGroups | None:
        """Return `replica_groups=`, None where absent."""
        return self.computation.module.reader.replica_groups(self)

    def source_target_pairs(self) -> tuple[tuple[int, int], ...]:
        """Return the pairs of a collective-permute, () where absent."""
        return self.computation.module.reader.source_target_pairs(self)

    def window(self) -> tuple[WindowDimension, ...]:
        """Return `window=`, () where absent."""
        return self.computation.module.reader.window(self)

    def dim_labels(self) -> DimLabels | None:
        """Return `dim_labels=`, None where absent."""
        return self.computation.module.reader.dim_labels(self)

    def dot_dimensions(self) -> DotDimensions:
        """Return the contracting and batch dimensions of a dot."""
        return self.computation.module.reader.dot_dimensions(self)

    def slice_dimensions(self) -> tuple[SliceDimension, ...]:
        """Return `slice=`, () where absent."""
        return self.computation.module.reader.slice_dimensions(self)

    def padding(self) -> tuple[PaddingDimension, ...]:
        """Return `padding=`, () where absent."""
        return self.computation.module.reader.padding(self)

    def backend_config(self) -> BackendConfig | None:
        """Return `backend_config=`, None where absent."""
        return self.computation.module.reader.backend_config(self)

    def sharding(self) -> Sharding | None:
        """Return `sharding=`, None where absent."""
        return self.computation.module.reader.sharding(self)

    def aliasing(self) -> tuple[Alias, ...]:
        """Return `output_to_operand_aliasing=`, () where absent."""
        return self.computation.module.reader.aliasing(self)

    def frontend_attributes(self) -> Mapping[str, str]:
        """Return `frontend_attributes=` with values unquoted, empty where absent."""
        return self.computation.module.reader.frontend_attributes(self)


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

    @cached_property
    def by_name(self) -> Mapping[str, Instruction]:
        """The instructions by name, which is unique here and need not be in the module."""
        return {one.name: one for one in self.instructions}

    @cached_property
    def users(self) -> Mapping[Instruction, tuple[Instruction, ...]]:
        """Users by instruction, each once, in dump order; unused instructions are absent."""
        lists: dict[Instruction, list[Instruction]] = {}
        for instruction in self.instructions:
            for operand in instruction.operands:
                users = lists.get(operand)
                if users is None:
                    lists[operand] = [instruction]
                elif users[-1] is not instruction:  # an operand may be given twice
                    users.append(instruction)
        return {operand: tuple(users) for operand, users in lists.items()}


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
        following = next((user for user in step.users if _goes_on_with(user, step)), None)
        if following is not None:
            yield following


def _goes_on_with(user: Instruction, step: Instruction) -> bool:
    return user.opcode in LATER_STEPS and user.operands[0] is step


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


def all_operands(caller: Instruction) -> tuple[Instruction, ...]:
    """Return what an instruction gives the computation it calls; an async-start, with all steps."""
    operands = list(caller.operands)
    if caller.opcode == "async-start":
        for step in list_later_steps(caller):
            operands += step.operands[1:]
    return tuple(operands)


class AttributeReader(Protocol):
    """What a module asks of whoever read its text: attributes as values, on demand.

    Every method returns None (or an empty value) where the attribute is absent and raises
    ParseError, with the place, where it is malformed. Values are cached by their text.
    """

    def plain_text(self, instruction: Instruction) -> str:
        """Return the raw text of all attributes but the metadata, which differ from all others."""

    def attributes(self, instruction: Instruction) -> dict[str, str]:
        """Return the raw text of each attribute by key."""

    def expect_number(self, instruction: Instruction, key: str) -> int:
        """Return an attribute that is one integer; raise where it is absent too."""

    def expect_element(self, instruction: Instruction, key: str) -> int:
        """Return the number of an element of the operand, a tuple; raise where it has none."""

    def string(self, instruction: Instruction, key: str) -> str:
        """Return an attribute without quotes and escapes, '' where absent."""

    def callees(self, instruction: Instruction, key: str) -> tuple[Computation, ...]:
        """Return computations by name, each of which is in the module."""

    def control_predecessors(self, instruction: Instruction) -> tuple[str, ...]:
        """Return the names of instructions, each of which is in the same computation."""

    def expect_callee(self, instruction: Instruction, key: str) -> Computation:
        """Return a computation of the module by name; raise where it is absent."""

    def metadata(self, instruction: Instruction) -> Metadata:
        """Return `metadata=`."""

    def integers(self, instruction: Instruction, key: str) -> tuple[int, ...]:
        """Return an attribute `{0,1}` or `3`."""

    def replica_groups(self, instruction: Instruction) -> ReplicaGroups | None:
        """Return `replica_groups=`."""

    def source_target_pairs(self, instruction: Instruction) -> tuple[tuple[int, int], ...]:
        """Return `source_target_pairs=`."""

    def window(self, instruction: Instruction) -> tuple[WindowDimension, ...]:
        """Return `window=`."""

    def dim_labels(self, instruction: Instruction) -> DimLabels | None:
        """Return `dim_labels=`."""

    def dot_dimensions(self, instruction: Instruction) -> DotDimensions:
        """Return `lhs_contracting_dims=` and its kin."""

    def slice_dimensions(self, instruction: Instruction) -> tuple[SliceDimension, ...]:
        """Return `slice=`."""

    def padding(self, instruction: Instruction) -> tuple[PaddingDimension, ...]:
        """Return `padding=`."""

    def backend_config(self, instruction: Instruction) -> BackendConfig | None:
        """Return `backend_config=`."""

    def sharding(self, instruction: Instruction) -> Sharding | None:
        """Return `sharding=`."""

    def aliasing(self, instruction: Instruction) -> tuple[Alias, ...]:
        """Return `output_to_operand_aliasing=`."""

    def frontend_attributes(self, instruction: Instruction) -> Mapping[str, str]:
        """Return `frontend_attributes=`."""


class Module(Node, eq=False, dict=True):
    """One program. `reader` reads attributes on demand; computations keep dump order.

    There is at least one computation. XLA prints callees first, but any order is read, and
    nothing here keeps a computation from calling itself.
    """

    name: str
    source: Source
    reader: AttributeReader
    header: Header = field(default_factory=Header)
    debug_info: DebugInfo = field(default_factory=DebugInfo)
    computations: dict[str, Computation] = field(default_factory=dict)

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
