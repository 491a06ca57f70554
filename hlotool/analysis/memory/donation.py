"""Donation: which parameters give their memory to an output, and which could.

A donated parameter of which the program makes a copy first saves nothing: `list_donations` follows
the output back to where it comes from, to tell such copies from others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.dataflow.sharing import SharingRule, follow, trace_sources
from hlotool.analysis.dataflow.values import Dataflow
from hlotool.analysis.graph.backend import Backend, find_backend
from hlotool.analysis.memory.buffer_assigner import CopiedSide, NewDonation
from hlotool.analysis.memory.estimate import estimate_size
from hlotool.hlo import ArrayShape, Instruction, Module, ShapeIndex
from hlotool.hlo.buffers import ValueKey, format_position
from hlotool.table import column, figure
from hlotool.table.sums import group_pairs

DonationStatus: TypeAlias = Literal["donated", "not-donated", "donated-unused", "copied"]
UnusedReason: TypeAlias = Literal["no-result", "results-taken", "layout", "still-read"]
UNUSED_REASONS: Final[Mapping[str, str]] = {
    "no-result": "no output has the same size",
    "results-taken": "all outputs of the same size use other parameters",
    "layout": "an output with as many elements has another size, because of its layout",
    "still-read": "it is read after the output of its size is written",
}

ARGUMENT: Final = re.compile(r"[^.\[{]+")  # a parameter's name without the path to its part


class DonationRow(Struct, frozen=True):
    """One array of an entry parameter.

    `donated`: an output lies in its memory. `copied`: so it does, but the output is made of a
    copy of the parameter, and both need memory: donation saves nothing. A copy for another user,
    or one that changes the layout, does not count. `donated-unused`: XLA was given its memory, and
    no output lies in it; `reason` says why, where the text shows it. `not-donated`: nobody gave it;
    `output_index` is an output of equal shape in memory of its own, if there is one.
    """

    size_bytes: Annotated[int, column("size of the array")]
    saves_bytes: Annotated[
        int | None,
        column(
            "its share, by size, of what donating all candidates saves of the allocated "
            "size; 0 if it is donated already. Null if live ranges are unknown",
        ),
    ]
    status: Annotated[
        DonationStatus,
        column(
            "donated; copied: donated, but the output is made from a copy; "
            "donated-unused: donated, but XLA could not use it; not-donated"
        ),
    ]
    parameter_number: Annotated[int, column("parameter number", heading="parameter")]
    parameter_name: Annotated[str | None, column("the program's name for it", heading="name")]
    shape: Annotated[str, column("shape of the array")]
    output_index: Annotated[
        tuple[int, ...] | None,
        column(
            "the output that uses its memory, or could: one of equal shape with memory of its own",
            heading="output",
            null_text="",
        ),
    ]
    copy_instruction: Annotated[
        str | None,
        column("the instruction that copies it first", heading="copied by", null_text=""),
    ]
    reason: Annotated[
        UnusedReason | None,
        column(
            "why XLA did not use the donation, if the text shows it",
            null_text="",
            word_meanings=UNUSED_REASONS,
        ),
    ] = None
    spare_copies: Annotated[
        tuple[str, ...], figure("the instruction that copies the donated array, in its layout")
    ] = ()

    @property
    def argument(self) -> str:
        """The argument of the program that the parameter is a part of."""
        found = ARGUMENT.match(self.parameter_name or "")
        return found[0] if found else f"parameter {self.parameter_number}"

    @property
    def says(self) -> str | None:
        """Why its donation is of no use; None of others."""
        if self.status != "donated-unused":
            return None
        why = UNUSED_REASONS[self.reason] if self.reason else "the text does not show why"
        return f"donated and not reused: {why}"

    @property
    def is_missed(self) -> bool:
        """Whether it is not donated, and an output could lie in it."""
        return self.status == "not-donated" and self.output_index is not None

    @property
    def is_donated(self) -> bool:
        """Whether an output lies in its memory, or could before XLA has decided."""
        return self.status in {"donated", "copied"}


class CopiedArray(Struct, frozen=True):
    """A donated array of which the program makes a copy, so that both need memory."""

    name: Annotated[str, figure("the program's name for the array")]
    copy_instruction: Annotated[str, figure("the instruction that copies it")]
    both_bytes: Annotated[int, figure("size of the array and of its copy")]


def find_copied_array(rows: Collection[DonationRow]) -> CopiedArray | None:
    """Return the first donated array that is copied, None where none is."""
    copied = next((one for one in rows if one.status == "copied" and one.copy_instruction), None)
    if copied is None:
        return None
    name = copied.parameter_name or f"parameter {copied.parameter_number}"
    return CopiedArray(name, copied.copy_instruction or "", 2 * copied.size_bytes)


def list_donations(module: Module, least_bytes: int = 0) -> list[DonationRow]:
    """Return what became, or could become, of the parameters' memory; largest first.

    Left out are those under `least_bytes`. Sizes are those of the shapes, tiles included.
    `saves_bytes` is left to `add_savings`. XLA gives a donated parameter to an output of as many
    bytes, whatever its shape and type (optimize_input_output_buffer_alias.cc): donors that a
    compiled text still names are those it could not use. What JAX does not hand on to XLA leaves no
    trace: such a parameter is `not-donated`.
    """
    found = [row for row, _ in _follow_parameters(module, least_bytes)]
    return sorted(found, key=lambda row: (-row.size_bytes, row.parameter_number))


def _follow_parameters(
    module: Module, least_bytes: int = 0
) -> Iterator[tuple[DonationRow, ShapeIndex]]:
    """Yield the row of each array of a parameter, and where in the parameter it is."""
    aliases = {(one.number, one.index): one.output_index for one in module.header.aliases}
    donors = {(one.parameter, one.index) for one in module.header.donors}
    taken = set(aliases.values())
    leaves = reversed(list(module.entry.root.shape.leaves_with_index()))
    # Outputs in memory of their own, last first.
    free = group_pairs((shape.without_layout(), at) for at, shape in leaves if at not in taken)
    given = {index: _find_carried(module, index) for each in free.values() for index in each}
    backend = find_backend(module)
    explain = _Explainer(module, taken, backend)
    for parameter, index, shape in module.entry.parameter_arrays():
        place = parameter.parameter_number, index
        is_unused = place in donors and module.header.is_scheduled and place not in aliases
        is_donated = place in aliases or (place in donors and not is_unused)
        output = aliases.get(place)
        if not is_donated and not is_unused:
            outputs = free.get(shape.without_layout(), [])
            # A loop's result goes back to what enters it, and to no other.
            fit = [one for one in outputs if given[one] in {None, place}]
            output = next(iter(reversed(fit)), None)
            if output is not None:
                outputs.remove(output)
        size = estimate_size(shape, backend)
        if size < least_bytes:
            continue
        name = parameter.metadata().op_name
        copies = list(_list_copies(parameter, index)) if is_donated else []
        copy = _find_copy(parameter, copies, output)
        status: DonationStatus = "donated" if is_donated else "not-donated"
        row = DonationRow(
            size,
            None,
            "copied" if copy else "donated-unused" if is_unused else status,
            parameter.parameter_number,
            format_position(name, index or None) if name else None,
            str(shape),
            output,
            copy.full_name if copy else None,
            explain.find_reason(parameter, shape, size) if is_unused else None,
            spare_copies=tuple(one.full_name for one in copies if one.shape == shape),
        )
        yield row, index


def _find_carried(module: Module, output: ShapeIndex) -> tuple[int, ShapeIndex] | None:
    """Return the parameter that enters the loop whose result an output is; None of others."""
    loop, index = follow(module.entry.root, output)
    if loop.opcode != "while" or not index or not loop.operands:
        return None
    one, at = follow(loop.operands[0], index)
    if one.opcode == "copy" and not at:
        one, at = follow(one.operands[0], ())
    is_given = one.opcode == "parameter" and one.computation is module.entry
    return (one.parameter_number, at) if is_given else None


class _Explainer:
    """Says why no output lies in the memory of a donor, by the outputs of a compiled module."""

    def __init__(
        self, module: Module, taken: Collection[ShapeIndex], backend: Backend | None
    ) -> None:
        self._root = module.entry.root
        self._places = {one: at for at, one in enumerate(module.entry.instructions)}
        self._outputs = [
            (index, shape, estimate_size(shape, backend))
            for index, shape in module.entry.root.shape.leaves_with_index()
        ]
        self._taken = taken

    def find_reason(
        self, parameter: Instruction, shape: ArrayShape, size: int
    ) -> UnusedReason | None:
        """Return why, None where the text does not show it."""
        alike = [index for index, _, each in self._outputs if each == size]
        free = [index for index in alike if index not in self._taken]
        if free:
            made = min(self._places.get(follow(self._root, each)[0], 0) for each in free)
            is_read = any(
                self._places[user] > made for user in parameter.users if user is not self._root
            )
            return "still-read" if is_read else None
        if alike:
            return "results-taken"
        whole = shape.unpadded_bytes
        is_alike = any(each.unpadded_bytes == whole for _, each, _ in self._outputs)
        return "layout" if is_alike else "no-result"


def _find_copy(
    parameter: Instruction, copies: Collection[Instruction], output: ShapeIndex | None
) -> Instruction | None:
    """Return the copy of a parameter's array that becomes the output in its memory, if any."""
    if not copies or output is None:
        return None
    root = parameter.computation.root
    sources = trace_sources(root, output)
    # One that is a result itself needs memory either way.
    return next((copy for copy in copies if copy in sources and root not in copy.users), None)


def _list_copies(parameter: Instruction, index: ShapeIndex) -> Iterator[Instruction]:
    """Yield the copies of a parameter's array within its memory space, and copies of these."""
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
                pending.append((user, at))


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


def is_update(module: Module, row: DonationRow) -> bool:
    """Whether the output that could lie in a parameter is an update of it, as of a cache."""
    made, _ = follow(module.entry.root, row.output_index or ())
    is_made_over = made.opcode == "while" or SharingRule(None).concerns(made.opcode)
    return is_made_over and made in _list_readers(module.entry.parameters[row.parameter_number])


class MissedOutput(Struct, frozen=True, eq=False):
    """An output that could lie in the memory of a parameter that is not donated, its donor.

    The output is made elsewhere where what makes it reads the donor and may not write over what it
    reads, or is a loop that has both in its state; all 14 such outputs in testdata were copied, 13
    of them in programs that the rule was not made on. Of TPUs, whose rule is not public, only such
    loops are known. The donor is read from a copy where XLA for CPU copies it first, as something
    reads it that need not run before the output is made: so are all 253 of 842 donated arrays in
    testdata of which that is true, and no other.
    """

    donor: DonationRow
    donation: NewDonation


def list_missed_outputs(flow: Dataflow) -> dict[ValueKey, MissedOutput]:
    """Return the outputs that could lie in parameters which are not donated, by their values."""
    module = flow.schedule.module
    missed: dict[ValueKey, MissedOutput] = {}
    made = []
    for row, index in _follow_parameters(module):
        if row.is_missed:
            given = flow.value_at(module.entry.parameters[row.parameter_number], index)
            value = flow.value_at(module.entry.root, row.output_index or ())
            if given is not None and value is not None:
                made.append((row, given, value))
    if not made:
        return missed
    backend = find_backend(module)
    rule = SharingRule(backend)
    # Which outputs an instruction must run before, a bit each: one pass for all parameters.
    before: dict[Instruction, int] = {}
    for number, (_, _, value) in enumerate(made):
        before[value.instruction] = before.get(value.instruction, 0) | 1 << number
    for one in reversed(module.entry.instructions if backend == "cpu" else ()):
        for operand in one.operands:
            before[operand] = before.get(operand, 0) | before.get(one, 0)
    for number, (row, given, value) in enumerate(made):
        producer = value.instruction
        read = [one for one in producer.operands if flow.value_at(one, ()) is given]
        is_over = backend == "tpu" or all(rule.allows((one, ()), value) for one in read)
        if producer.opcode == "while" and producer.operands:
            # A loop reads the donor round by round, as it makes the output.
            state = producer.operands[0]
            places = (at for at, _ in state.shape.leaves_with_index() if at != value.index)
            is_over = not any(flow.value_at(state, at) is given for at in places)
        readers = _list_readers(given.instruction)
        late = (one for one in readers if not before.get(one, 0) >> number & 1)
        is_read = backend == "cpu" and producer.computation is module.entry and any(late)
        copied: CopiedSide | None = "parameter" if is_read else None if is_over else "output"
        output = MissedOutput(row, NewDonation(given, value, copied))
        missed[producer.name, value.index] = output  # as assignments name it
        missed[producer.full_name, value.index] = output  # and estimates
    return missed


def _list_readers(parameter: Instruction) -> list[Instruction]:
    """Return what reads a parameter, past what only names it again."""
    pending: list[Instruction] = [parameter]
    readers: list[Instruction] = []
    while pending:
        for user in pending.pop().users:
            if user.opcode in {"bitcast", "get-tuple-element"}:
                pending.append(user)
            else:
                readers += user.users if user.opcode == "tuple" else [user]
    return readers
