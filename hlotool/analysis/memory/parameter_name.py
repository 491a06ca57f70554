"""What does the program call the parameter that owns an allocation?"""

from __future__ import annotations

import re
from typing import Final

from hlotool.hlo import Module
from hlotool.hlo.buffers import Allocation, BufferAssignment, format_position


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


# A step of a path in a tree of arguments: `.mu`, `[0]`, `['layers']`.
_STEP: Final = re.compile(r"\.[A-Za-z_]\w*|\[(?:'[^']*'|\"[^\"]*\"|[^\]]*)\]")
_ROOT: Final = re.compile(r"[^.\[{]+")


def find_parameter_tree(name: str) -> str | None:
    """Return the part of the arguments' tree that a parameter is in: its name's beginning.

    That is the path to its last attribute, `state.params`, `state.opt_state[0].mu`; without
    attributes to its first key, `state['mu']`. The leaf itself does not count: `batch['x']` is
    in `batch`. None where the name is no path.

    >>> find_parameter_tree("state.opt_state[0].mu['params']['head']['kernel']")
    'state.opt_state[0].mu'
    >>> find_parameter_tree("state['params']['layers'][3]['w']"), find_parameter_tree("batch['x']")
    ("state['params']", 'batch')
    """
    root = _ROOT.match(name)
    if root is None:
        return None
    steps = []
    end = root.end()
    while step := _STEP.match(name, end):
        steps.append(step)
        end = step.end()
    inner = steps[:-1]
    attributes = [step for step in inner if step[0].startswith(".")]
    last = (attributes[-1:] or inner[:1] or [root])[0]
    return name[: last.end()]


def _find_in_used_values(allocation: Allocation, assignment: BufferAssignment) -> str:
    for value in allocation.values:
        definition = assignment.find_definition(value.number)
        if definition and definition.opcode == "parameter":
            return definition.metadata.op_name
    return ""
