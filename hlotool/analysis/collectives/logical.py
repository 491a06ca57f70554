"""The logical collectives of a module: each transfer once, however many instructions print it.

`grep all-gather` counts starts and dones, wrappers and their bodies, and each of the fusions
over which TPU spreads one transfer. Here each transfer is found once, with what starts it, carries
it on and waits for it. libtpu's async collective fusion starts a transfer in one fusion and ends
it in another; between them further fusions mix steps of it with real work, and each body prints
the same collective again:

    fusion.1  all-gather, channel 7, AsyncCollectiveStart     the begin of one transfer
    fusion.2  all-gather, channel 7, dot                      a step beside work
    fusion.3  all-gather, channel 7, AsyncCollectiveDone      its done
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.graph import backend
from hlotool.analysis.graph.calls import CallGraph, reach
from hlotool.analysis.graph.executions import Executions, Runs, add_runs, check_count
from hlotool.hlo import ArrayShape, Computation, Instruction, Module, TupleShape
from hlotool.hlo.opcodes import ASYNC_DONES, ASYNC_STARTS, DEVICE_NUMBERS, MOVES, TRANSFERS

_DONES: Final = ASYNC_DONES - {"copy-done"}  # which ends no transfer between devices
_NOTED: Final = TRANSFERS | _DONES | {"async-start", "async-update", "fusion", "recv"}
_ROLES: Final = {"AsyncCollectiveStart": "start", "AsyncCollectiveDone": "done"}
_SAME_ORDER: Final = (MOVES - {"transpose"}) | {"bitcast"}  # of elements
_MARK: Final = "all-reduce-scatter"  # what libtpu calls computations that scatter in effect

# Both ends of a transfer between devices have the channel alike; between slices, the name.
_Meeting: TypeAlias = tuple[Computation, int | str | None]


class FusedCollective(Struct, frozen=True):
    """A collective inside a fusion; `fusion` is what an executed computation holds of it.

    `role` is `start` or `done` where it begins or ends a chain.
    """

    operation: Instruction
    fusion: Instruction
    role: str | None = None


Chain: TypeAlias = list[FusedCollective]  # those of one transfer, in the order in which they run


class LogicalCollective(Struct, frozen=True):
    """One transfer, however many printed instructions it takes.

    `operation` has the attributes and operands. `begin` is what an executed computation
    holds: the operation, the async-start that wraps it, or the fusion it stands in; `done` is
    what waits for the end, None where it is synchronous or the end is not found. `steps` are
    what carries it on in further fusions (TPU). `members` are the collective and async instructions
    it was folded from.
    """

    operation: Instruction
    begin: Instruction
    done: Instruction | None
    steps: tuple[FusedCollective, ...]
    members: tuple[Instruction, ...]
    is_async: bool
    runs: Runs

    @property
    def stated_kind(self) -> str:
        """The opcode without `-start`; between slices, what the transfer does there."""
        if backend.is_between_slices(self.operation):
            transfer_type = backend.find_transfer_type(self.operation)
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


def fold_collectives(
    module: Module, executions: Executions, graph: CallGraph
) -> list[LogicalCollective]:
    """Find every transfer between devices that a run of the module makes, in dump order.

    A start and its done are one; an async-start and what it wraps, at any depth of calls,
    fusions and custom calls, are one; collectives that TPU fusions pass on are one
    (`_fold_chains`); send, recv and their dones are one, between slices too, where each part of
    what was several operands is one. Left out: transfers between device and host, and what
    no run reaches. A computation that is called several times holds its
    collectives once, with the sum of its executions.
    """
    notes = Notes(module)
    if not notes.transfers:
        return []
    places = _find_places(executions, graph, notes)
    alone: list[LogicalCollective] = []
    fused: list[FusedCollective] = []
    for operation in notes.transfers:
        if (place := places.get(operation.computation)) is None:
            continue
        if place.wrapper is not None and place.wrapper.opcode == "fusion":
            fused.append(FusedCollective(operation, place.wrapper))
        else:
            alone.append(_make_alone(operation, place, notes))
    chains = _fold_chains(fused, notes)
    found = alone + [_make_chain(one, places[one[0].operation.computation].runs) for one in chains]
    return sorted(found, key=lambda one: notes.numbers[one.operation])


def _make_alone(operation: Instruction, place: Place, notes: Notes) -> LogicalCollective:
    """Fold an operation with what wraps it, waits for it, and receives what it sends.

    Between devices the send's done ends it, between slices the recv's, which has the result;
    unless it stands before the send, in an order that cannot run.
    """
    begin = place.wrapper or operation
    members: list[Instruction] = []
    if begin not in notes.folded:
        notes.folded[begin] = ends = notes.follow(begin)
        if begin is operation or begin.opcode == "async-start":
            members = [begin, *ends]
    if begin is not operation:
        members.insert(1, operation)
    ends = notes.folded[begin]
    if operation.opcode == "send":
        received = notes.take_receive(operation)
        members += received
        if backend.is_between_slices(operation):
            ends = [one for one in received[1:] if notes.numbers[one] > notes.numbers[operation]]
    return LogicalCollective(
        operation,
        begin,
        done=ends[-1] if ends and ends[-1].opcode in _DONES else None,
        steps=(),
        members=tuple(members),
        is_async=begin.opcode in ASYNC_STARTS or begin.opcode == "send",
        runs=place.runs,
    )


def _make_chain(chain: Chain, runs: Runs) -> LogicalCollective:
    """Make one transfer of a chain; one of a single part that is no start is synchronous."""
    first, *later = chain
    done = next((one.fusion for one in reversed(chain) if one.role == "done"), None)
    return LogicalCollective(
        first.operation,
        first.fusion,
        done,
        steps=tuple(one for one in later if one.fusion is not done),
        members=tuple(part.operation for part in chain),
        is_async=bool(later) or first.role == "start",
        runs=runs,
    )


class Notes:
    """The instructions of a module that collectives consist of, from one pass over it.

    `ends` are by what they wait for, `receives` by where they meet the send; `numbers` say where
    each stands, fusions too; `folded` has what follows each beginning that was looked at.
    """

    def __init__(self, module: Module) -> None:
        self.transfers: list[Instruction] = []
        self.ends: dict[Instruction, Instruction] = {}
        self.receives: defaultdict[_Meeting, deque[Instruction]] = defaultdict(deque)
        self.numbers: dict[Instruction, int] = {}
        self.folded: dict[Instruction, list[Instruction]] = {}
        for computation in module.computations.values():
            for instruction in computation.instructions:
                if instruction.opcode in _NOTED:
                    self.numbers[instruction] = len(self.numbers)
                    self._note(instruction)

    def _note(self, instruction: Instruction) -> None:
        opcode = instruction.opcode
        if opcode == "recv" or opcode in TRANSFERS:
            if backend.is_with_host(instruction):
                return
            waiting = self.receives[_meet(instruction)] if opcode == "recv" else self.transfers
            waiting.append(instruction)
        elif opcode not in {"async-start", "fusion"} and instruction.operands:
            self.ends.setdefault(instruction.operands[0], instruction)

    def follow(self, begin: Instruction) -> list[Instruction]:
        """List what carries a transfer on and what waits for its end."""
        ends: list[Instruction] = []
        latest = begin
        while latest in self.ends:
            latest = self.ends[latest]
            ends.append(latest)
        return ends

    def take_receive(self, send: Instruction) -> list[Instruction]:
        """Take the first recv that is left where a send meets one, with its done."""
        if not (waiting := self.receives.get(_meet(send))):
            return []
        receive = waiting.popleft()
        return [receive, *self.follow(receive)[:1]]


def _meet(instruction: Instruction) -> _Meeting:
    """Return what a send and its recv have alike."""
    name = backend.find_rendezvous(instruction) if backend.is_between_slices(instruction) else None
    return instruction.computation, instruction.channel_id if name is None else name


class Place(Struct, frozen=True):
    """Where the collectives of one computation run, and how often.

    `wrapper` is what an executed computation holds of them: the async-start that wraps them,
    or the fusion they stand in; None where the computation itself is executed.
    """

    wrapper: Instruction | None
    runs: Runs


def _find_places(
    executions: Executions, graph: CallGraph, notes: Notes
) -> dict[Computation, Place]:
    """Find out where and how often each collective runs; those no run reaches are absent.

    What stands in fusions and custom calls runs as often as these, summed over them; what a call
    inside an async-start runs belongs to the async-start. Raises InputError for more runs than
    there can be.
    """

    def holding(computation: Computation) -> list[Computation]:
        return [caller.computation for caller in graph.callers.get(computation, ())]

    above = set(reach({one.computation for one in notes.transfers}, holding))
    found: dict[Computation, Place] = {}
    for computation in reversed(graph.callees_first):
        if computation not in above:
            continue
        around = [
            (caller, found[caller.computation])
            for caller in graph.callers.get(computation, ())
            if caller.computation in found
        ]
        if computation in executions.counts:
            wrappers = (outer.wrapper for one, outer in around if one.opcode == "call")
            inside = (one for one in wrappers if one and one.opcode == "async-start")
            # One that no run reaches, as where it calls the entry, wraps nothing that runs.
            starts = (one for one, _ in around if one.opcode == "async-start")
            wrapper = next(starts, None) or next(inside, None)
            found[computation] = Place(wrapper, executions.runs_of(computation))
        elif around:
            runs = add_runs(outer.runs for _, outer in around)
            check_count(runs.known, computation)
            found[computation] = Place(around[0][1].wrapper or around[0][0], runs)
    return found


def _fold_chains(fused: Iterable[FusedCollective], notes: Notes) -> list[Chain]:
    """Fold collectives inside fusions into chains.

    Collectives of equal opcode, channel_id and `chain_id` are one; a second start of the
    same key begins a second chain, as in a loop of which the compiler took out one round.
    Without a `chain_id` only what stands between a start and its done is folded.
    """
    alike: defaultdict[tuple[str, int | None, str], Chain] = defaultdict(list)
    chains: list[Chain] = []
    for one in fused:
        channel_id = one.operation.channel_id
        chain_id = one.operation.frontend_attributes().get("chain_id", "")
        if channel_id is None and not chain_id:
            chains.append([one])
        else:
            part = replace(one, role=_find_role(one.operation.computation))
            alike[one.operation.opcode, channel_id, chain_id].append(part)
    for (_, _, chain_id), parts in alike.items():
        parts.sort(key=lambda one: notes.numbers[one.fusion])
        chains += _split(parts, is_named=bool(chain_id))
    return chains


def _split(parts: Iterable[FusedCollective], *, is_named: bool) -> list[Chain]:
    """Cut what has one key at every start; unnamed ones also after every done."""
    chains: list[Chain] = []
    is_open = is_named
    for part in parts:
        begins = part.role == "start" and (
            not is_named or (chains and any(one.role == "start" for one in chains[-1]))
        )
        if begins or not chains or not is_open:
            chains.append([])
        chains[-1].append(part)
        if part.role is not None:
            is_open = is_named or part.role == "start"
    return chains


def _find_role(body: Computation) -> str | None:
    """Tell from the marker in a body whether it starts or ends a transfer."""
    calls = (one for one in body.instructions if one.opcode == "custom-call")
    return next(filter(None, (_ROLES.get(one.custom_call_target) for one in calls)), None)


def choose_kind(one: LogicalCollective, group_size: int | None) -> str:
    """Return what a collective amounts to: what it states, or `reduce-scatter`.

    TPU writes a reduce-scatter as a fusion: an all-reduce, then the slices that belong to this
    device. No device needs the rest, and the compiler moves only what a reduce-scatter moves. So
    it is one if it is an all-reduce inside a fusion, and the only use there of each of its
    results is a dynamic-slice, one group_size-th in length along one dimension and whole
    along the others, at an offset made from partition-id or replica-id. Where the offset
    comes from outside the fusion, the computation's name has to say so.
    """
    kind = one.stated_kind
    if kind != "all-reduce" or not one.is_fused or not group_size or group_size < 2:  # noqa: PLR2004
        return kind
    results = _list_results(one.operation)
    is_scattered = results and all(_is_scattered(each, group_size) for each in results)
    return "reduce-scatter" if is_scattered else kind


def _list_results(operation: Instruction) -> Sequence[Instruction]:
    """Return what holds each result: the operation, or of several a get-tuple-element each.

    None of them where one result has no or several such, or anything else uses the tuple.
    """
    shape = operation.shape
    if not isinstance(shape, TupleShape):
        return (operation,)
    users = operation.users
    if any(one.opcode != "get-tuple-element" for one in users):
        return ()
    indices = sorted(one.tuple_index for one in users)
    return users if indices == list(range(len(shape.elements))) else ()


def _is_scattered(result: Instruction, group_size: int) -> bool:
    """Whether only this device's shard of a result is used."""
    if (slicing := _find_slice(result)) is None:
        return False
    whole, part = slicing.operands[0].shape, slicing.shape
    if not (isinstance(whole, ArrayShape) and isinstance(part, ArrayShape)):
        return False
    if len(whole.dims) != len(part.dims):
        return False
    changed = [at for at, size in enumerate(whole.dims) if part.dims[at] != size]
    if len(changed) != 1 or part.dims[changed[0]] * group_size != whole.dims[changed[0]]:
        return False
    offsets = slicing.operands[1:]
    return changed[0] < len(offsets) and _is_of_this_device(offsets[changed[0]])


def _find_slice(result: Instruction) -> Instruction | None:
    """Follow the only use of a result to a dynamic-slice."""
    current = result
    while True:
        users = current.users
        if len(users) != 1 or not users[0].operands or users[0].operands[0] is not current:
            return None
        current = users[0]
        if current.opcode == "dynamic-slice":
            return current
        if current.opcode not in _SAME_ORDER:
            return None


def _is_of_this_device(offset: Instruction) -> bool:
    """Whether an offset is made from this device's number."""
    origins = reach([offset], lambda one: one.operands)
    if any(one.opcode in DEVICE_NUMBERS for one in origins):
        return True
    is_from_outside = any(one.opcode == "parameter" for one in origins)
    return is_from_outside and offset.computation.name.startswith(_MARK)
