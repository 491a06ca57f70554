"""Where does a value come from: which opcode, scope and source line made it?

The module tells where it is there, else the instruction texts that the used-values section
of an assignment repeats.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from hlotool.analysis.dataflow.dataflow import Dataflow
from hlotool.analysis.graph.call_graph import find_callers
from hlotool.analysis.memory.values.definers import find_definers
from hlotool.analysis.memory.values.makers import Makers, Place
from hlotool.analysis.memory.values.users import Users
from hlotool.analysis.origin.scope import find_scope
from hlotool.ir.buffers import BufferAssignment, BufferValue
from hlotool.ir.instruction import Instruction
from hlotool.ir.module import Module
from hlotool.ir.opcodes import CONTROL_FLOW
from hlotool.ir.values import ShapeIndex, SourceLocation

Teller: TypeAlias = Literal["own", "maker", "user"]


class ValueOrigin(Struct, frozen=True):
    """What is known about where a value comes from; None for what is not.

    `opcode` and `op_name` are those of the defining instruction. Scope and source line are its
    own, or those of what makes the value. If neither has a line, that of what uses the value
    stands in, and so does the scope if there is no scope either. `frame` is the line's row of
    StackFrames. `moved_parameter` names the entry parameter of which the value is a copy, a
    conversion or a part. `made_op_name` is the op_name that a scope of its own or of its maker was
    read from.
    """

    opcode: str | None = None
    op_name: str | None = None
    scope: str | None = None
    scope_from: Teller | None = None
    source_file: str | None = None
    source_line: int | None = None
    source_from: Teller | None = None
    frame: int = 0
    moved_parameter: str | None = None
    made_op_name: str | None = None


class ValueOrigins:
    """Finds where values come from, for one program; an estimate was made of `flow`."""

    def __init__(
        self,
        module: Module | None,
        assignment: BufferAssignment,
        flow: Dataflow | None = None,
    ) -> None:
        self.assignment = assignment
        self.search = _Search(module) if module else None
        self.definers = find_definers(module, assignment, flow) if module else {}

    def of(self, value: BufferValue) -> ValueOrigin:
        """Return the origin of a value."""
        instruction = self.definers.get(value.instruction)
        if instruction is None or self.search is None:
            return self._read_text(value)
        index = value.index or ()
        found = self.search.among_makers(instruction, index)
        is_given = instruction.opcode == "parameter" and found.moved_parameter is not None
        used = _Sighting()
        if found.line is None and not is_given:
            used = self.search.among_users(instruction, index)
        scope = found.scope or (used.scope if found.line is None else None)
        line = found.line or used.line
        return ValueOrigin(
            instruction.opcode,
            instruction.metadata().op_name or None,
            scope.text if scope else None,
            _who(instruction, found.scope, scope),
            line.place.file if line else None,
            line.place.line if line else None,
            _who(instruction, found.line, line),
            line.teller.metadata().stack_frame_id if line else 0,
            found.moved_parameter,
            found.scope.teller.metadata().op_name if found.scope else None,
        )

    def _read_text(self, value: BufferValue) -> ValueOrigin:
        definition = self.assignment.find_definition(value.number)
        if definition is None:
            return ValueOrigin()
        metadata = definition.metadata
        scope, file = find_scope(metadata.op_name), metadata.source_file or None
        return ValueOrigin(
            definition.opcode,
            metadata.op_name or None,
            scope,
            "own" if scope else None,
            file,
            metadata.source_line or None,
            "own" if file else None,
        )


class _Scope(NamedTuple):
    """A scope, and the instruction that has it."""

    text: str
    teller: Instruction


class _Line(NamedTuple):
    """A source line, and the instruction that has it."""

    place: SourceLocation
    teller: Instruction


def _who(
    instruction: Instruction, made: _Scope | _Line | None, shown: _Scope | _Line | None
) -> Teller | None:
    """Say who told what is shown; `made` is what the makers told, the instruction among them."""
    if shown is None or made is None:
        return "user" if shown else None
    return "own" if made.teller is instruction else "maker"


class _Sighting(Struct):
    """The scope and the line that were met first. `is_vague`: no line but a loop's was met."""

    scope: _Scope | None = None
    line: _Line | None = None
    moved_parameter: str | None = None
    is_vague: bool = False

    @property
    def is_any(self) -> bool:
        """Whether anything was met."""
        return self.scope is not None or self.line is not None

    def look_at(self, instruction: Instruction, *, with_line: bool = True) -> None:
        """Take what is not known yet."""
        metadata = instruction.metadata()
        if self.scope is None and (scope := find_scope(metadata.op_name)):
            self.scope = _Scope(scope, instruction)
        if with_line and self.line is None and (place := instruction.source_location(metadata)):
            self.line = _Line(place, instruction)


class _Search:
    """Looks for a scope and a line in one module."""

    def __init__(self, module: Module) -> None:
        self.entry = module.entry
        callers = find_callers(module, CONTROL_FLOW | {"fusion"})
        self.makers = Makers(module, callers)
        self.users = Users(callers)
        self.of_makers: dict[tuple[Instruction, tuple[Place, ...]], _Sighting] = {}

    def among_makers(self, instruction: Instruction, index: ShapeIndex) -> _Sighting:
        """Look at what makes a value; what makes several results of an instruction, once."""
        key = instruction, self.makers.places_behind(instruction, index)
        found = self.of_makers.get(key)
        if found is None:
            found = self.of_makers[key] = self._look_at_makers(instruction, index)
        return found

    def _look_at_makers(self, instruction: Instruction, index: ShapeIndex) -> _Sighting:
        """Look at what makes a value, nearest first, up to the parameter it all is.

        What says little of the value is looked at last, and so are lines that call a loop.
        """
        found = _Sighting()
        vague: list[Instruction] = []
        for maker in self.makers.of(instruction, index):
            if maker.opcode == "parameter" and maker.computation is self.entry:
                found.moved_parameter = maker.metadata().op_name or None
                break
            is_vague = self.makers.is_vague(maker)
            if is_vague or self.makers.is_in_loop_line(maker):
                vague.append(maker)
            if not is_vague:
                found.look_at(maker, with_line=maker not in vague[-1:])
            if found.scope and found.line:
                return found
        found.is_vague = found.line is None
        for maker in vague:
            found.look_at(maker)
        return found

    def among_users(self, instruction: Instruction, index: ShapeIndex) -> _Sighting:
        """Look at what uses a value, for the nearest line; a vague one comes last."""
        best = _Sighting()
        for user in self.users.of(instruction, index):
            found = self.among_makers(user, ())
            if found.line and not found.is_vague:
                return found
            if found.is_any and (not best.is_any or best.is_vague > found.is_vague):
                best = found
        return best
