"""Where does a value come from: which opcode, scope and source line made it?

The module tells where it is there, else the instruction texts that the used-values section
of an assignment repeats.
"""

from __future__ import annotations

from msgspec import Struct

from hlotool.analysis.memory.definers import find_definers
from hlotool.analysis.memory.makers import Makers
from hlotool.analysis.origin.scope import find_scope
from hlotool.ir.buffers import BufferAssignment, BufferValue
from hlotool.ir.module import Instruction, Module
from hlotool.ir.values import ShapeIndex, SourceLocation


class ValueOrigin(Struct, frozen=True):
    """What is known about where a value comes from; None for what is not.

    `opcode` and `op_name` are those of the defining instruction. Loops, fusions and copies
    often have no op_name, or one that names no module; `scope` and the source line are then
    those of what makes the value. `moved_parameter` names the entry parameter of which the
    value is a copy, or a conversion.
    """

    opcode: str | None = None
    op_name: str | None = None
    scope: str | None = None
    source_file: str | None = None
    source_line: int | None = None
    moved_parameter: str | None = None


class ValueOrigins:
    """Finds where values come from, for one program."""

    def __init__(self, module: Module | None, assignment: BufferAssignment) -> None:
        self.assignment = assignment
        self.entry = module.entry if module else None
        self.makers = Makers(module) if module else None
        self.definers = find_definers(module, assignment) if module else {}

    def of(self, value: BufferValue) -> ValueOrigin:
        """Return the origin of a value."""
        instruction = self.definers.get(value.instruction)
        if instruction is None or self.makers is None:
            return self._read_text(value)
        return self._ask_makers(self.makers, instruction, value.index or ())

    def _ask_makers(
        self, makers: Makers, instruction: Instruction, index: ShapeIndex
    ) -> ValueOrigin:
        """Take scope and line from the first that have one, up to the parameter it all is."""
        scope: str | None = None
        place: SourceLocation | None = None
        moved: str | None = None
        for maker in makers.of(instruction, index):
            if maker.opcode == "parameter" and maker.computation is self.entry:
                moved = maker.metadata().op_name or None
                break
            scope = scope or find_scope(maker.metadata().op_name)
            place = place or maker.source_location()
            if scope and place:
                break
        return ValueOrigin(
            instruction.opcode,
            instruction.metadata().op_name or None,
            scope,
            place.file if place else None,
            place.line if place else None,
            moved,
        )

    def _read_text(self, value: BufferValue) -> ValueOrigin:
        definition = self.assignment.find_definition(value.number)
        if definition is None:
            return ValueOrigin()
        metadata = definition.metadata
        return ValueOrigin(
            definition.opcode,
            metadata.op_name or None,
            find_scope(metadata.op_name),
            metadata.source_file or None,
            metadata.source_line or None,
        )
