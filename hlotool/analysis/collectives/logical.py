"""Which printed instructions are one logical collective?

`grep all-gather` counts starts and dones, wrappers and their bodies, and each of the fusions
over which TPU spreads one transfer. Here each transfer is found once.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from msgspec import Struct

from hlotool.analysis.collectives.chains import Chain, FusedCollective, fold_chains
from hlotool.analysis.collectives.running import Running, find_running
from hlotool.analysis.graph.call_graph import CallGraph
from hlotool.analysis.graph.executions import Executions
from hlotool.ir import Computation, Instruction, Module
from hlotool.ir.opcodes import ASYNC_DONES, ASYNC_STARTS, TRANSFERS

_DONES: Final = ASYNC_DONES - {"copy-done"}  # which ends no transfer between devices
_NOTED: Final = TRANSFERS | _DONES | {"async-start", "async-update", "call", "recv"}


class LogicalCollective(Struct, frozen=True):
    """One transfer, however many printed instructions it takes.

    `operation` has the attributes and operands. `begin` is what an executed computation
    holds: the operation, the async-start that wraps it, or the fusion it stands in; `done` is
    what waits for the end, None where it is synchronous or the end is not found. `steps` are
    what carries it on in further fusions (TPU). `members` are the collective and async instructions
    it was folded from. `executions` takes unknown trip counts as one.
    """

    operation: Instruction
    begin: Instruction
    done: Instruction | None
    steps: tuple[FusedCollective, ...]
    members: tuple[Instruction, ...]
    is_async: bool
    executions: int
    is_exact: bool
    is_conditional: bool

    @property
    def kind(self) -> str:
        """The opcode without `-start`."""
        return self.operation.opcode.removesuffix("-start")

    @property
    def is_fused(self) -> bool:
        """Whether the operation stands in a fusion."""
        return self.begin.opcode == "fusion"


class _Notes:
    """The instructions of a module that collectives consist of, from one pass over it.

    `starts` are async-starts by what they call, `ends` by what they wait for, `receives` by
    computation and channel; `folded` has what follows each beginning that was looked at.
    """

    def __init__(self) -> None:
        self.transfers: list[Instruction] = []
        self.starts: dict[Computation, Instruction] = {}
        self.ends: dict[Instruction, Instruction] = {}
        self.receives: dict[tuple[Computation, int | None], deque[Instruction]] = {}
        self.called: set[Computation] = set()
        self.folded: dict[Instruction, list[Instruction]] = {}


def find_collectives(
    module: Module, executions: Executions, graph: CallGraph
) -> list[LogicalCollective]:
    """Find every transfer between devices that a run of the module makes, in dump order.

    A start and its done are one; an async-start and what it wraps, at any depth of calls,
    fusions and custom calls, are one; collectives that TPU fusions pass on are one
    (`chains`); send, recv and their dones are one. Left out: transfers between device and
    host, and what no run reaches. A computation that is called several times holds its
    collectives once, with the sum of its executions.
    """
    notes = _take_notes(module)
    if not notes.transfers:
        return []
    holders = dict.fromkeys(one.computation for one in notes.transfers)
    runs = find_running(executions, graph, holders, notes.starts, notes.called)
    alone: list[LogicalCollective] = []
    fused: list[FusedCollective] = []
    for operation in notes.transfers:
        running = runs.get(operation.computation)
        if running is None:
            continue
        if running.wrapper is not None and running.wrapper.opcode == "fusion":
            fused.append(FusedCollective(operation, running.wrapper))
        else:
            alone.append(_make_alone(operation, running, notes))
    found = alone + [_make_chain(chain, runs) for chain in fold_chains(fused)]
    order = {operation: number for number, operation in enumerate(notes.transfers)}
    return sorted(found, key=lambda one: order[one.operation])


def _take_notes(module: Module) -> _Notes:
    notes = _Notes()
    for computation in module.computations.values():
        for instruction in computation.instructions:
            if instruction.opcode in _NOTED:
                _note(instruction, notes)
    return notes


def _note(instruction: Instruction, notes: _Notes) -> None:
    opcode = instruction.opcode
    if opcode in TRANSFERS:
        if opcode != "send" or not _is_to_host(instruction):
            notes.transfers.append(instruction)
    elif opcode == "async-start":
        callee = instruction.callee()
        if callee is not None:
            notes.starts.setdefault(callee, instruction)
    elif opcode == "call":
        notes.called.update(instruction.called_computations())
    elif opcode == "recv":
        if not _is_to_host(instruction):
            key = instruction.computation, instruction.channel_id
            notes.receives.setdefault(key, deque()).append(instruction)
    elif instruction.operands:
        notes.ends.setdefault(instruction.operands[0], instruction)


def _is_to_host(instruction: Instruction) -> bool:
    return instruction.attributes.get("is_host_transfer") == "true"


def _make_alone(operation: Instruction, running: Running, notes: _Notes) -> LogicalCollective:
    """Fold an operation with what wraps it, waits for it, and receives what it sends."""
    begin = running.wrapper or operation
    members: list[Instruction] = []
    if begin not in notes.folded:
        notes.folded[begin] = ends = _follow(begin, notes)
        if begin is operation or begin.opcode == "async-start":
            members = [begin, *ends]
    if begin is not operation:
        members.insert(1, operation)
    if operation.opcode == "send":
        members += _take_receive(operation, notes)
    ends = notes.folded[begin]
    return LogicalCollective(
        operation,
        begin,
        done=ends[-1] if ends and ends[-1].opcode in _DONES else None,
        steps=(),
        members=tuple(members),
        is_async=begin.opcode in ASYNC_STARTS or begin.opcode == "send",
        executions=running.executions,
        is_exact=running.is_exact,
        is_conditional=running.is_conditional,
    )


def _follow(begin: Instruction, notes: _Notes) -> list[Instruction]:
    """List what carries a transfer on and what waits for its end."""
    ends: list[Instruction] = []
    latest = begin
    while latest in notes.ends:
        latest = notes.ends[latest]
        ends.append(latest)
    return ends


def _take_receive(send: Instruction, notes: _Notes) -> list[Instruction]:
    """Take the first recv that is left of the same channel, in the same computation."""
    waiting = notes.receives.get((send.computation, send.channel_id))
    if not waiting:
        return []
    receive = waiting.popleft()
    end = notes.ends.get(receive)
    return [receive, end] if end else [receive]


def _make_chain(chain: Chain, runs: dict[Computation, Running]) -> LogicalCollective:
    first = chain.parts[0]
    running = runs[first.operation.computation]
    return LogicalCollective(
        first.operation,
        first.fusion,
        chain.done,
        chain.steps,
        tuple(part.operation for part in chain.parts),
        chain.is_async,
        running.executions,
        running.is_exact,
        running.is_conditional,
    )
