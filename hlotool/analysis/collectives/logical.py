"""Which printed instructions are one logical collective?

`grep all-gather` counts starts and dones, wrappers and their bodies, and each of the fusions
over which TPU spreads one transfer. Here each transfer is found once.
"""

from __future__ import annotations

from msgspec import Struct

from hlotool.analysis.collectives.chains import Chain, FusedCollective, fold_chains
from hlotool.analysis.collectives.notes import DONES, Notes, follow, take_notes, take_receive
from hlotool.analysis.collectives.running import Running, find_running
from hlotool.analysis.graph.call_graph import CallGraph
from hlotool.analysis.graph.executions import Executions
from hlotool.analysis.graph.host_transfers import find_transfer_type, is_between_slices
from hlotool.ir import Computation, Instruction, Module
from hlotool.ir.opcodes import ASYNC_STARTS


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
    def stated_kind(self) -> str:
        """The opcode without `-start`; between slices, what the transfer does there."""
        if is_between_slices(self.operation):
            transfer_type = find_transfer_type(self.operation)
            if transfer_type is not None:
                return transfer_type.lower().replace("_", "-")
        return self.operation.opcode.removesuffix("-start")

    @property
    def receive(self) -> Instruction | None:
        """The `recv` that takes what others send, None where it is not found."""
        return next((one for one in self.members if one.opcode == "recv"), None)

    @property
    def is_fused(self) -> bool:
        """Whether the operation stands in a fusion."""
        return self.begin.opcode == "fusion"


def find_collectives(
    module: Module, executions: Executions, graph: CallGraph
) -> list[LogicalCollective]:
    """Find every transfer between devices that a run of the module makes, in dump order.

    A start and its done are one; an async-start and what it wraps, at any depth of calls,
    fusions and custom calls, are one; collectives that TPU fusions pass on are one
    (`chains`); send, recv and their dones are one, between slices too, where each part of
    what was several operands is one. Left out: transfers between device and host, and what
    no run reaches. A computation that is called several times holds its
    collectives once, with the sum of its executions.
    """
    notes = take_notes(module)
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


def _make_alone(operation: Instruction, running: Running, notes: Notes) -> LogicalCollective:
    """Fold an operation with what wraps it, waits for it, and receives what it sends.

    Between devices the send's done ends it, between slices the recv's, which has the result;
    unless it stands before the send, in an order that cannot run.
    """
    begin = running.wrapper or operation
    members: list[Instruction] = []
    if begin not in notes.folded:
        notes.folded[begin] = ends = follow(begin, notes)
        if begin is operation or begin.opcode == "async-start":
            members = [begin, *ends]
    if begin is not operation:
        members.insert(1, operation)
    ends = notes.folded[begin]
    if operation.opcode == "send":
        received = take_receive(operation, notes)
        members += received
        if is_between_slices(operation):
            ends = [one for one in received[1:] if notes.places[one] > notes.places[operation]]
    return LogicalCollective(
        operation,
        begin,
        done=ends[-1] if ends and ends[-1].opcode in DONES else None,
        steps=(),
        members=tuple(members),
        is_async=begin.opcode in ASYNC_STARTS or begin.opcode == "send",
        executions=running.executions,
        is_exact=running.is_exact,
        is_conditional=running.is_conditional,
    )


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
