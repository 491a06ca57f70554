"""Which parameters give their memory to an output, and which could?

Which outputs could lie in a parameter's memory, and beside which argument do they lie?
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.dataflow.schedule import find_problem, require_schedule
from hlotool.analysis.dataflow.sharing import find_forerunners, follow
from hlotool.analysis.dataflow.values import find_values
from hlotool.analysis.graph.backend import find_backend
from hlotool.analysis.memory.savings import Donatable
from hlotool.analysis.memory.sizes import estimate_size
from hlotool.hlo import ArrayShape, Instruction, Module
from hlotool.hlo.buffers import ValueKey, format_position
from hlotool.hlo.values import ShapeIndex
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
    gain_bytes: Annotated[
        int | None,
        column(
            "how far the allocated size falls if it were donated too, 0 where it is; null where "
            "nothing says when values live; of several rows together, not their sum",
            BYTES,
            joint_from="donatable",
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
    donatable: Donatable | None = None


def find_donations(module: Module, least_bytes: int = 0) -> list[DonationRow]:
    """Return what became, or could become, of the parameters' memory; largest first.

    Parameters for which there is neither an alias nor an output of equal shape are left out:
    donating them would save nothing. So are those under `least_bytes`. Sizes are those of the
    shapes, tiles included. `gain_bytes` is left to `gains/donating`.
    """
    aliases = {(one.number, one.index): one.output_index for one in module.header.aliases}
    donors = {(one.parameter, one.index) for one in module.header.donors}
    free = _FreeOutputs(module.entry.root, set(aliases.values()))
    backend = find_backend(module)
    rows = []
    for parameter in module.entry.parameters:
        number = parameter.parameter_number
        for index, shape in parameter.shape.leaves_with_index():
            is_donated = (number, index) in aliases or (number, index) in donors
            output = aliases.get((number, index)) if is_donated else free.take(shape)
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


class _FreeOutputs:
    """The arrays of the result that have memory of their own, by shape."""

    def __init__(self, root: Instruction, taken: set[ShapeIndex]) -> None:
        self.by_shape: dict[ArrayShape, list[ShapeIndex]] = {}
        for index, shape in reversed(list(root.shape.leaves_with_index())):
            if index not in taken:
                self.by_shape.setdefault(shape.without_layout(), []).append(index)

    def take(self, shape: ArrayShape) -> ShapeIndex | None:
        """Return the first output of a shape that nobody took yet, None without one."""
        outputs = self.by_shape.get(shape.without_layout())
        return outputs.pop() if outputs else None


def _find_copy(
    parameter: Instruction, index: ShapeIndex, output: ShapeIndex | None
) -> Instruction | None:
    """Return the copy of a parameter's array that becomes the output in its memory, if any."""
    copies = list(_find_copies(parameter, index))
    if not copies or output is None:
        return None
    forerunners = find_forerunners(parameter.computation.root, output)
    return next((copy for copy in copies if copy in forerunners), None)


def _find_copies(parameter: Instruction, index: ShapeIndex) -> Iterator[Instruction]:
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
    made = next(user.shape.leaves(), None)
    source = next(operand.shape.leaves(), None)
    if made is None or source is None:
        return False
    return is_copy and made.memory_space == source.memory_space


_ARGUMENT: Final = re.compile(r"[^.\[{]+")


def find_missed(module: Module) -> Iterator[tuple[ValueKey, str]]:
    """Yield the outputs that could lie in a parameter, and the argument that it is of."""
    for row, key in find_missed_outputs(module):
        argument = _ARGUMENT.match(row.parameter_name or "")
        yield key, argument[0] if argument else f"parameter {row.parameter_number}"


def find_missed_outputs(module: Module) -> Iterator[tuple[DonationRow, ValueKey]]:
    """Yield the parameters that are not donated, and the outputs that could lie in them."""
    rows = [row for row in find_donations(module) if row.status == "not-donated"]
    if not rows or find_problem(module):
        return
    flow = find_values(require_schedule(module))
    for row in rows:
        value = flow.value_at(module.entry.root, row.output_index or ())
        if value is None:
            continue
        yield row, (value.instruction.name, value.index)  # as assignments name it
        yield row, (value.instruction.full_name, value.index)  # and estimates
