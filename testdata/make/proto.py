"""What an `.hlo.pb` beside a dump says: the module, its allocations and its heap simulations."""

from collections import Counter
from typing import Any

from make.wire import Message

# Field numbers of HloProto, HloModuleProto, HloComputationProto and HloInstructionProto.
MODULE, BUFFER_ASSIGNMENT = 1, 3
MODULE_ENTRY_NAME, MODULE_COMPUTATIONS = 2, 3
COMPUTATION_NAME, COMPUTATION_INSTRUCTIONS, COMPUTATION_ROOT = 1, 2, 6
INSTRUCTION_NAME, INSTRUCTION_OPCODE, INSTRUCTION_ID = 1, 2, 35
INSTRUCTION_OPERANDS, INSTRUCTION_CALLEES = 36, 38
# BufferAssignmentProto, HeapSimulatorTrace and its Event.
LOGICAL_BUFFERS, ALLOCATIONS, TRACES = 1, 3, 4
TRACE_EVENTS, TRACE_ALLOCATION = 1, 3
FREE, SHARE = 1, 2
ALLOCATION_NUMBERS = {
    "index": 1,
    "size": 2,
    "thread_local": 3,
    "entry_parameter": 5,
    "parameter_number": 6,
    "maybe_live_out": 7,
    "color": 8,
    "tuple": 11,
    "constant": 12,
}
ALLOCATION_ASSIGNED = 9


def find_entry_name(module: bytes) -> str:
    """Name the entry computation of a serialized HloModuleProto."""
    return Message(module).text(MODULE_ENTRY_NAME)


def read_module(module: Message) -> dict[str, Any]:
    """Count what a module holds, in the words of its text: opcodes as printed."""
    opcodes: Counter[str] = Counter()
    sizes: list[list[Any]] = []
    entry = module.text(MODULE_ENTRY_NAME)
    parameters = 0
    for computation in module.messages(MODULE_COMPUTATIONS):
        inner = Counter(
            instruction.text(INSTRUCTION_OPCODE)
            for instruction in computation.messages(COMPUTATION_INSTRUCTIONS)
        )
        opcodes.update(inner)
        sizes.append([computation.text(COMPUTATION_NAME), inner.total()])
        if computation.text(COMPUTATION_NAME) == entry:
            parameters = inner["parameter"]
    return {
        "entry": entry,
        "computations": len(sizes),
        "instructions": opcodes.total(),
        "entry_parameters": parameters,
        "opcodes": dict(sorted(opcodes.items())),
        "per_computation": sizes,
    }


def read_instructions(module: Message) -> list[dict[str, Any]]:
    """List every instruction: name, opcode, operands, and how many computations it calls."""
    computations = [
        (computation, computation.messages(COMPUTATION_INSTRUCTIONS))
        for computation in module.messages(MODULE_COMPUTATIONS)
    ]
    names = {
        instruction.number(INSTRUCTION_ID): instruction.text(INSTRUCTION_NAME)
        for _, instructions in computations
        for instruction in instructions
    }
    return [
        {
            "computation": computation.text(COMPUTATION_NAME),
            "root": names[computation.number(COMPUTATION_ROOT)],
            "instructions": [
                [
                    instruction.text(INSTRUCTION_NAME),
                    instruction.text(INSTRUCTION_OPCODE),
                    [names[number] for number in instruction.numbers(INSTRUCTION_OPERANDS)],
                    len(instruction.numbers(INSTRUCTION_CALLEES)),
                ]
                for instruction in instructions
            ],
        }
        for computation, instructions in computations
    ]


def replay_trace(trace: Message, sizes: dict[int, int]) -> dict[str, int]:
    """Replay a heap simulation; its peak is the true peak of that heap.

    A buffer that shares another's bytes raises that one's count of users, and brings it back if
    it was freed already; the last user's end frees the bytes.
    """
    owner: dict[int, int] = {}
    users: Counter[int] = Counter()
    live = peak = 0
    events = trace.messages(TRACE_EVENTS)
    for event in events:
        kind, buffer = event.number(1), event.number(2)
        if kind == FREE:
            base = owner[buffer]
            users[base] -= 1
            live -= 0 if users[base] else sizes[base]
            continue
        base = owner.get(event.number(5), event.number(5)) if kind == SHARE else buffer
        owner[buffer] = base
        live += 0 if users[base] else sizes[base]
        users[base] += 1
        peak = max(peak, live)
    return {
        "allocation": trace.number(TRACE_ALLOCATION),
        "events": len(events),
        "peak_live_bytes": peak,
        "left_live_bytes": live,
    }


def read_buffer_assignment(assignment: Message) -> dict[str, Any]:
    """List the allocations, and the peak of each heap simulation."""
    buffers = assignment.messages(LOGICAL_BUFFERS)
    sizes = {buffer.number(1): buffer.number(2) for buffer in buffers}
    allocations = []
    for allocation in assignment.messages(ALLOCATIONS):
        row = {
            name: allocation.number(number)
            for name, number in ALLOCATION_NUMBERS.items()
            if allocation.number(number)
        }
        row["assigned"] = len(allocation.messages(ALLOCATION_ASSIGNED))
        allocations.append(row)
    return {
        "logical_buffers": len(buffers),
        "heap_simulator_traces": [
            replay_trace(trace, sizes) for trace in assignment.messages(TRACES)
        ],
        "total_size": sum(row.get("size", 0) for row in allocations),
        "allocations": allocations,
    }
