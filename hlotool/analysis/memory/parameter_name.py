"""What does the program call the parameter that owns an allocation?"""

from __future__ import annotations

from hlotool.ir.buffers import Allocation, BufferAssignment, format_position
from hlotool.ir.module import Module


def find_parameter_name(
    allocation: Allocation, module: Module | None, assignment: BufferAssignment
) -> str | None:
    """Return a parameter's name, with the index of its part: `state['w']`, `pair{1}`.

    It is the op_name in the module or, without one, in the assignment's used values. None
    where no parameter owns the allocation, or the parameter has no name.
    """
    number = allocation.parameter
    if number is None:
        return None
    if module is not None:
        parameters = module.entry.parameters
        found = parameters[number].metadata().op_name if number < len(parameters) else ""
    else:
        found = _find_in_used_values(allocation, assignment)
    return format_position(found, allocation.parameter_index or None) if found else None


def _find_in_used_values(allocation: Allocation, assignment: BufferAssignment) -> str:
    for value in allocation.values:
        definition = assignment.find_definition(value.number)
        if definition and definition.opcode == "parameter":
            return definition.metadata.op_name
    return ""
