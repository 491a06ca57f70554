"""Donation: which parameters give their memory to an output, and which could.

A donated parameter of which the program makes a copy first saves nothing: `list_donations` follows
the output back to where it comes from, to tell such copies from others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.dataflow.schedule import find_problem, require_schedule
from hlotool.analysis.dataflow.sharing import follow, trace_sources
from hlotool.analysis.dataflow.values import Dataflow, trace_values
from hlotool.analysis.graph.backend import find_backend
from hlotool.analysis.memory.estimate import estimate_size
from hlotool.analysis.memory.memory_map import Saving
from hlotool.hlo import ArrayShape, Instruction, Module, ShapeIndex
from hlotool.hlo.buffers import ValueKey, format_position
from hlotool.table import BYTES, NUMBER, column

DonationStatus: TypeAlias = Literal["donated", "not-donated", "copied"]


class DonationRow(Struct, frozen=True):
    """One array of an entry parameter.

    `donated`: an output lies in its memory. `copied`: so it does, but the output is made of a
    copy of the parameter, and both need memory: donation saves nothing. A copy for another user,
    or one that changes the layout, does not count. `not-donated`: no output lies in it, although
    `output_index` is one of equal shape in memory of its own.
    """

    size_bytes: Annotated[int, column("size of the array", BYTES)]
    saves_bytes: Annotated[
        int | None,
        column(
            "how far the allocated size falls if it were donated too, 0 where it is; null where "
            "nothing says when values live; of several rows together, not their sum",
            BYTES,
            joint=lambda row: row.donatable,
        ),
    ]
    status: Annotated[
        DonationStatus,
        column(
            "donated; copied: donated, but the output is made of a copy of it; "
            "not-donated: an output of equal shape has memory of its own"
        ),
    ]
    parameter_number: Annotated[int, column("number of the parameter", NUMBER, heading="parameter")]
    parameter_name: Annotated[str | None, column("the program's name for it", heading="name")]
    shape: Annotated[str, column("shape of the array")]
    output_index: Annotated[
        tuple[int, ...] | None,
        column("the output that has its memory, or could have it", heading="output"),
    ]
    copy_instruction: Annotated[
        str | None,
        column("the instruction that copies it first", heading="copied by", null_text=""),
    ]
    donatable: Saving[Any] | None = None


def list_donations(module: Module, least_bytes: int = 0) -> list[DonationRow]:
    """Return what became, or could become, of the parameters' memory; largest first.

    Parameters for which there is neither an alias nor an output of equal shape are left out:
    donating them would save nothing. So are those under `least_bytes`. Sizes are those of the
    shapes, tiles included. `saves_bytes` is left to `add_savings`.
    """
    aliases = {(one.number, one.index): one.output_index for one in module.header.aliases}
    donors = {(one.parameter, one.index) for one in module.header.donors}
    taken = set(aliases.values())
    free: dict[ArrayShape, list[ShapeIndex]] = {}  # outputs in memory of their own, last first
    for index, shape in reversed(list(module.entry.root.shape.leaves_with_index())):
        if index not in taken:
            free.setdefault(shape.without_layout(), []).append(index)
    backend = find_backend(module)
    rows = []
    for parameter in module.entry.parameters:
        number = parameter.parameter_number
        for index, shape in parameter.shape.leaves_with_index():
            is_donated = (number, index) in aliases or (number, index) in donors
            if is_donated:
                output = aliases.get((number, index))
            else:
                outputs = free.get(shape.without_layout())
                output = outputs.pop() if outputs else None
            size = estimate_size(shape, backend)
            if (not is_donated and output is None) or size < least_bytes:
                continue
            name = parameter.metadata().op_name
            copy = _find_copy(parameter, index, output) if is_donated else None
            rows.append(
                DonationRow(
                    size,
                    None,
                    "copied" if copy else "donated" if is_donated else "not-donated",
                    number,
                    format_position(name, index or None) if name else None,
                    str(shape),
                    output,
                    copy.full_name if copy else None,
                )
            )
    return sorted(rows, key=lambda row: (-row.size_bytes, row.parameter_number))


def _find_copy(
    parameter: Instruction, index: ShapeIndex, output: ShapeIndex | None
) -> Instruction | None:
    """Return the copy of a parameter's array that becomes the output in its memory, if any."""
    copies = list(_list_copies(parameter, index))
    if not copies or output is None:
        return None
    sources = trace_sources(parameter.computation.root, output)
    return next((copy for copy in copies if copy in sources), None)


def _list_copies(parameter: Instruction, index: ShapeIndex) -> Iterator[Instruction]:
    """Yield the copies of a parameter's array within its memory space."""
    pending: list[tuple[Instruction, ShapeIndex]] = [(parameter, index)]
    while pending:
        one, at = pending.pop()
        for user in one.users:
            if user.opcode == "get-tuple-element" and at and at[0] == user.tuple_index:
                pending.append((user, at[1:]))
            elif user.opcode == "bitcast" and not at:
                pending.append((user, at))
            elif not at and _is_copy(user, one):
                yield user


def _is_copy(user: Instruction, operand: Instruction) -> bool:
    """Whether an instruction does nothing but copy its operand, in the same space."""
    if user.opcode == "fusion" and len(user.operands) == 1:
        body = user.callee()
        inner, _ = follow(body.root, ()) if body else (user, ())
        is_copy = inner.opcode == "copy" and inner.operands[0].opcode == "parameter"
    else:
        is_copy = user.opcode in {"copy", "copy-start"}
    # A copy into another memory space moves the array: it is no second one beside it.
    spaces = [
        next((one.memory_space for one in each.shape.leaves()), None) for each in (user, operand)
    ]
    return is_copy and spaces[0] is not None and spaces[0] == spaces[1]


def list_missed_outputs(module: Module, flow: Dataflow | None) -> dict[ValueKey, DonationRow]:
    """Return the parameters that are not donated, by the outputs that could lie in them.

    `flow` has the values of the module, where they are known already.
    """
    rows = [row for row in list_donations(module) if row.status == "not-donated"]
    missed: dict[ValueKey, DonationRow] = {}
    if not rows or find_problem(module):
        return missed
    flow = flow or trace_values(require_schedule(module))
    for row in rows:
        value = flow.value_at(module.entry.root, row.output_index or ())
        if value is not None:
            missed[value.instruction.name, value.index] = row  # as assignments name it
            missed[value.instruction.full_name, value.index] = row  # and estimates
    return missed
