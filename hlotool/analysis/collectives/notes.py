"""Which instructions of a module do its collectives consist of, and which belong together?"""

from __future__ import annotations

from collections import deque
from typing import Final, TypeAlias

from hlotool.analysis.graph.host_transfers import (
    find_rendezvous,
    is_between_slices,
    is_with_host,
)
from hlotool.ir import Computation, Instruction, Module
from hlotool.ir.opcodes import ASYNC_DONES, TRANSFERS

DONES: Final = ASYNC_DONES - {"copy-done"}  # which ends no transfer between devices
_NOTED: Final = TRANSFERS | DONES | {"async-start", "async-update", "call", "recv"}

# Both ends of a transfer between devices have the channel alike; between slices, the name.
_Meeting: TypeAlias = tuple[Computation, int | str | None]


class Notes:
    """The instructions of a module that collectives consist of, from one pass over it.

    `starts` are async-starts by what they call, `ends` by what they wait for, `receives` by
    where they meet the send; `places` number all that was noted, in order; `folded` has what
    follows each beginning that was looked at.
    """

    def __init__(self) -> None:
        self.transfers: list[Instruction] = []
        self.starts: dict[Computation, Instruction] = {}
        self.ends: dict[Instruction, Instruction] = {}
        self.receives: dict[_Meeting, deque[Instruction]] = {}
        self.places: dict[Instruction, int] = {}
        self.called: set[Computation] = set()
        self.folded: dict[Instruction, list[Instruction]] = {}


def take_notes(module: Module) -> Notes:
    """Look at every instruction once."""
    notes = Notes()
    for computation in module.computations.values():
        for instruction in computation.instructions:
            if instruction.opcode in _NOTED:
                notes.places[instruction] = len(notes.places)
                _note(instruction, notes)
    return notes


def _note(instruction: Instruction, notes: Notes) -> None:
    opcode = instruction.opcode
    if opcode in TRANSFERS:
        if not is_with_host(instruction):
            notes.transfers.append(instruction)
    elif opcode == "async-start":
        callee = instruction.callee()
        if callee is not None:
            notes.starts.setdefault(callee, instruction)
    elif opcode == "call":
        notes.called.update(instruction.called_computations())
    elif opcode == "recv":
        if not is_with_host(instruction):
            notes.receives.setdefault(_meet(instruction), deque()).append(instruction)
    elif instruction.operands:
        notes.ends.setdefault(instruction.operands[0], instruction)


def _meet(instruction: Instruction) -> _Meeting:
    """Return what a send and its recv have alike."""
    if is_between_slices(instruction):
        name = find_rendezvous(instruction)
        if name is not None:
            return instruction.computation, name
    return instruction.computation, instruction.channel_id


def follow(begin: Instruction, notes: Notes) -> list[Instruction]:
    """List what carries a transfer on and what waits for its end."""
    ends: list[Instruction] = []
    latest = begin
    while latest in notes.ends:
        latest = notes.ends[latest]
        ends.append(latest)
    return ends


def take_receive(send: Instruction, notes: Notes) -> list[Instruction]:
    """Take the first recv that is left where a send meets one, with its done."""
    waiting = notes.receives.get(_meet(send))
    if not waiting:
        return []
    receive = waiting.popleft()
    end = notes.ends.get(receive)
    return [receive, end] if end else [receive]
