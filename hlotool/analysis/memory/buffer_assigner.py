"""XLA's buffer assigner: which values lie in one allocation, and how large the heap of others is.

What must share is a rule of dataflow (`shared_buffers`); what may is the allocator's choice.

1. `list_buffers` puts each value into an HloBuffer.
2. `Reuse` lets temporary values move into the memory of outputs and donated parameters, as
   BufferAssigner::AssignSingleHloBuffer and MaybeAssignBuffer do
   (xla/service/buffer_assignment.cc): from the largest to the smallest, each buffer goes where
   one of its operands lies, else into the smallest allocation that is free while it lives.
3. What finds no place is left to the heap simulator (xla/service/heap_simulator/heap_simulator.cc).
   `join_buffers` lets what may be written over an operand lie where that lies, as it needs no
   memory of its own. `measure_temp` has `list_blocks` run the simulator's clock, and `pack_best`
   (CPU, GPU) or `pack_in_time` (TPU) find the size of the heap. Where in it anything lies does not
   matter.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import accumulate, chain, pairwise
from operator import attrgetter
from typing import Final, Literal, TypeAlias

from msgspec import Struct, field

from hlotool.analysis.dataflow.live_ranges import last_position_of
from hlotool.analysis.dataflow.schedule import Schedule, number_post_order
from hlotool.analysis.dataflow.sharing import SharingRule
from hlotool.analysis.dataflow.values import Dataflow, Value, resolve
from hlotool.analysis.graph.backend import Backend
from hlotool.analysis.memory.intervals import ByteRange, ByteUsage, Usage, join_range
from hlotool.hlo import TupleShape
from hlotool.hlo.buffers import Allocation, BufferValue, LiveRange
from hlotool.table.sums import group_by

Role: TypeAlias = Literal["fixed", "reusable", "temp"]
CopiedSide: TypeAlias = Literal["parameter", "output"]


class NewDonation(Struct, frozen=True):
    """A parameter that would be donated, and the output that would lie in its memory.

    `copied` is which of them XLA makes elsewhere, as both need memory at once: the parameter, read
    from a copy that it makes first, or the output, copied to its place at the end.
    """

    parameter: Value
    output: Value
    copied: CopiedSide | None

    @property
    def roles(self) -> Iterable[tuple[Value, Role]]:
        """What becomes of the memory of both; that of the output stays what it is, or is shared."""
        yield self.parameter, "temp" if self.copied == "parameter" else "reusable"
        if self.copied == "output":
            yield self.output, "temp"


class HloBuffer(Struct, eq=False):
    """Values that share memory by rule, or a single value; in order of definition.

    `role` is `fixed` for constants, tables of tuples, and parameters that are not donated:
    their memory is never another's. That of outputs and donated parameters is `reusable`
    while they do not need it. All others are `temp`. `leaves` says whether the program
    returns one of the values.
    """

    values: list[Value]
    size_bytes: int
    color: int
    role: Role
    leaves: bool


def list_buffers(
    flow: Dataflow,
    shared: Iterable[list[Value]],
    placed: Mapping[Value, BufferValue],
    donations: Iterable[NewDonation],
) -> list[HloBuffer]:
    """Put each value into one buffer; `shared` holds those with company."""
    roles = dict(chain.from_iterable(one.roles for one in donations))
    module = flow.schedule.module
    leaving: set[Value] = set()
    pending = [flow.nodes[module.entry.root]]
    while pending:
        node = pending.pop()
        leaving.add(resolve(node.value))
        pending += node.children
    donated = {(alias.number, alias.index) for alias in module.header.aliases}
    groups = [sorted(group, key=attrgetter("number")) for group in shared]
    grouped = {value for group in groups for value in group}
    groups += [[value] for value in flow.values if value not in grouped]
    buffers = []
    for group in groups:
        size = max([placed[value].size_bytes for value in group])
        leaves = not leaving.isdisjoint(group) and "temp" not in map(roles.get, group)
        role: Role = "reusable" if leaves else "temp"
        for value in group:
            if value in roles:
                role = roles[value]
            elif value.instruction.opcode == "constant" or isinstance(value.shape, TupleShape):
                role = "fixed"
            elif is_entry_parameter(value):
                key = value.instruction.parameter_number, value.index
                role = "reusable" if key in donated else "fixed"
        buffers.append(HloBuffer(group, size, placed[group[0]].color, role, leaves))
    return buffers


def is_entry_parameter(value: Value) -> bool:
    """Whether a value is, or is in, a parameter of the entry."""
    one = value.instruction
    return one.opcode == "parameter" and one.computation is one.computation.module.entry


def join_buffers(
    flow: Dataflow,
    buffers: Sequence[HloBuffer],
    ranges: Mapping[Value, LiveRange],
    backend: Backend | None,
) -> list[list[HloBuffer]]:
    """Group the buffers that lie, or probably lie, in one allocation; in order of definition.

    The TPU compiler keeps its own rules, which are in no open source: nothing is joined there.
    """
    joined = [[one] for one in buffers if one.role == "fixed" or backend == "tpu"]
    moving = [one for one in buffers if one.role != "fixed" and backend != "tpu"]
    rule = SharingRule(backend)
    # Each memory space has a heap of its own, and values move only within it.
    for group in group_by(moving, lambda one: one.color).values():
        reuse = Reuse(flow, ranges, rule)
        joined += reuse.share_heap(reuse.place(group))
        joined += [memory.buffers for memory in reuse.memory]
    joined.sort(key=lambda group: min([buffer.values[0].number for buffer in group]))
    return joined


def make_allocation(
    number: int, buffers: list[HloBuffer], placed: Mapping[Value, BufferValue]
) -> Allocation:
    """Make the allocation of some buffers; its class is that of the first value that decides."""
    values = [value for buffer in buffers for value in buffer.values]
    is_temp = all(buffer.role == "temp" for buffer in buffers)  # so are parameters read from copies
    allocation = Allocation(
        number,
        max(buffer.size_bytes for buffer in buffers),
        buffers[0].color,
        is_live_out=any(buffer.leaves for buffer in buffers),
        values=[placed[value] for value in values],
    )
    for value in values:
        if value.instruction.opcode == "constant":
            allocation.is_constant = True
        elif is_entry_parameter(value) and not is_temp:
            allocation.parameter = value.instruction.parameter_number
            allocation.parameter_index = value.index
    return allocation


MOST_REUSED: Final = 4096  # outputs and donated parameters; the memory of more is not reused
MOST_TRIED: Final = 256  # of these, for one buffer, where its time just meets that of others


class ReusedMemory(Struct, eq=False):
    """The memory of one output or donated parameter: its own buffer first, then its guests.

    `held` are all their values as time goes by: their ranges have at most an end in common. `times`
    is what they are ordered by, `ends` when each ends.
    """

    number: int
    buffers: list[HloBuffer] = field(default_factory=list)
    held: list[Value] = field(default_factory=list)
    times: list[tuple[int, int, int]] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)


class Reuse:
    """All memory of a space that may be reused, the largest first, and what lies where.

    `place` comes first; `share_heap` is for what finds no place.
    """

    def __init__(
        self, flow: Dataflow, ranges: Mapping[Value, LiveRange], rule: SharingRule
    ) -> None:
        self.flow = flow
        self.ranges = ranges
        self.rule = rule
        self.memory: list[ReusedMemory] = []
        self.memory_of: dict[Value, ReusedMemory] = {}
        self.usage = Usage(flow.schedule.end)

    def place(self, buffers: Iterable[HloBuffer]) -> list[HloBuffer]:
        """Give a place to what finds one; return the temporary buffers that are left.

        The larger come first, then what leaves the program, then what XLA visits first.
        """
        order = number_post_order(self.flow.schedule)

        def key(buffer: HloBuffer) -> tuple[int, bool, int, int]:
            visited = min([order[value.instruction] for value in buffer.values])
            return -buffer.size_bytes, not buffer.leaves, visited, buffer.values[0].number

        left = []
        for buffer in sorted(buffers, key=key):
            memory: ReusedMemory | None
            if buffer.role == "reusable":
                memory = ReusedMemory(len(self.memory))
                self.memory.append(memory)
            else:
                memory = self._find_place(buffer)
            if memory is None:
                left.append(buffer)
            else:
                self._add(memory, buffer)
        return left

    def _find_place(self, buffer: HloBuffer) -> ReusedMemory | None:
        """Return the memory of an operand, else the smallest, that has room for a buffer."""
        # All memory as bits of a set, without what is in use while a value of the buffer lives;
        # what only meets it in one position is looked at by `_admits`.
        free = (1 << min(len(self.memory), MOST_REUSED)) - 1
        for value in buffer.values if free else ():
            found = self.ranges[value]
            free &= ~self.usage.find(found.start, found.end)
        if not free:
            return None
        for value in buffer.values:
            for operand in () if value.index else value.instruction.operands:
                source = self.flow.value_at(operand, ())
                memory = self.memory_of.get(source) if source else None
                if memory and free >> memory.number & 1 and self._admits(memory, buffer):
                    return memory
        for _ in range(MOST_TRIED):
            if not free:
                break
            # The memory was added from the largest on: the highest number is the smallest.
            number = free.bit_length() - 1
            if self._admits(self.memory[number], buffer):
                return self.memory[number]
            free ^= 1 << number
        return None

    def _admits(self, memory: ReusedMemory, buffer: HloBuffer) -> bool:
        """Whether a buffer may lie there; a copy never lies where its operand does.

        Where one of two values ends as the other begins, the second must be one that may be
        written over the first.
        """
        for value in buffer.values:
            found = self.ranges[value]
            for place in range(bisect_left(memory.ends, found.start), len(memory.held)):
                other = memory.held[place]
                there = self.ranges[other]
                if there.start > found.end:
                    break
                if found.end == there.start:
                    may_meet = self._may_follow(value, other)
                else:
                    may_meet = there.end == found.start and self._may_follow(other, value)
                if not may_meet:
                    return False
            if value.instruction.opcode == "copy":
                source = self.flow.value_at(value.instruction.operands[0], ())
                if source and self.memory_of.get(source) is memory:
                    return False
        return True

    def _may_follow(self, value: Value, output: Value) -> bool:
        return self.rule.allows(last_position_of(self.flow.schedule, value), output)

    def _add(self, memory: ReusedMemory, buffer: HloBuffer) -> None:
        memory.buffers.append(buffer)
        for value in buffer.values:
            found = self.ranges[value]
            place = bisect_right(memory.times, time := self._time_of(value))
            memory.held.insert(place, value)
            memory.times.insert(place, time)
            memory.ends.insert(place, found.end)
            self.memory_of[value] = memory
            if memory.number < MOST_REUSED:
                self.usage.add(memory.number, found.start, found.end)

    def share_heap(self, buffers: Iterable[HloBuffer]) -> list[list[HloBuffer]]:
        """Let each value that is alone in its buffer be written over an operand, where it may.

        Follows HeapSimulator::RunComputation (xla/service/heap_simulator/heap_simulator.cc).
        """
        chains = [[buffer] for buffer in buffers]
        chain_of = {chain[0].values[0]: chain for chain in chains if len(chain[0].values) == 1}
        ends = {value: self.ranges[value].end for value in chain_of}
        sharing = [one for one in chain_of if self.rule.concerns(one.instruction.opcode)]
        for output in sorted(sharing, key=self._time_of):
            for operand in output.instruction.operands:
                source = self.flow.value_at(operand, ())
                if (
                    source is not None
                    and ends.get(source) == self.ranges[output].start
                    and self.rule.allows((source.instruction, source.index), output)
                ):
                    ends[source] = -1  # it is taken
                    chain, other = chain_of[source], chain_of[output]
                    chain += other
                    other.clear()
                    chain_of[output] = chain
                    break
        return [chain for chain in chains if chain]

    def _time_of(self, value: Value) -> tuple[int, int, int]:
        found = self.ranges[value]
        return found.start, found.end, value.number


# Where values may begin; on TPU in the main memory alone, as dumps show.
_ALIGNMENT: Final[Mapping[Backend, int]] = {"cpu": 64, "gpu": 256, "tpu": 16 * 1024}


def measure_temp(
    schedule: Schedule,
    ranges: Mapping[Value, LiveRange],
    groups: Iterable[list[HloBuffer]],
    backend: Backend | None,
) -> dict[int, int | None]:
    """Return the bytes of temporary values in each space that has some, None where unknown.

    That is so on an unknown backend, and on TPU in all spaces but 0, of which it disposes
    before it assigns buffers. Each group holds buffers that lie together.

    What may move lies in a heap; tables of tuples lie beside it, each on its own, as
    BufferAssignment::CombineTempAllocations puts them (xla/service/buffer_assignment.cc):
    everything begins at a multiple of the alignment, and only what comes last needs no more than
    its bytes.
    """
    sizes: dict[int, int | None] = {}
    for color, found in group_by(groups, lambda group: group[0].color).items():
        if backend is None or (backend == "tpu" and color):
            sizes[color] = None
            continue
        tables = [group[0].size_bytes for group in found if group[0].role == "fixed"]
        moving = [group for group in found if group[0].role != "fixed"]
        pack = pack_in_time if backend == "tpu" else pack_best
        heap = pack(list_blocks(moving, ranges), _ALIGNMENT[backend])
        last = max(tables) if tables and (not heap or _has_thread_local(schedule)) else heap
        rounded = sum(round_up(size, _ALIGNMENT[backend]) for size in (heap, *tables))
        sizes[color] = rounded - round_up(last, _ALIGNMENT[backend]) + last
    return sizes


def _has_thread_local(schedule: Schedule) -> bool:
    """Say whether there are computations in threads: neither in the schedule nor in fusions.

    Their memory is put behind the heap, and then changes places with the largest table.
    """
    callees = schedule.module.callees.items()
    fused = {body for one, called in callees if one.opcode == "fusion" for body in called}
    computations = schedule.module.computations.values()
    return any(one not in schedule.spans and one not in fused for one in computations)


class HeapBlock(Struct, eq=False):
    """Memory for buffers that lie together, in use in some spans `[begin, end)` of time.

    The spans are in order and do not touch. `first_duration` and `number` are those of the
    value that begins first.
    """

    size_bytes: int
    number: int
    first_duration: int
    spans: list[tuple[int, int]]

    @property
    def begin(self) -> int:
        """When it is first in use."""
        return self.spans[0][0]

    @property
    def end(self) -> int:
        """When it is in use no more."""
        return self.spans[-1][1]


def list_blocks(
    groups: Iterable[list[HloBuffer]], ranges: Mapping[Value, LiveRange]
) -> list[HeapBlock]:
    """Return the blocks of one heap, in no order; nothing is made for groups without bytes.

    A group holds buffers each of which is written over the one before.
    """
    sizes = [(group, max([buffer.size_bytes for buffer in group])) for group in groups]
    sized = [(group, size) for group, size in sizes if size]
    begins, ends = _run_clock([group for group, _ in sized], ranges)
    blocks = []
    for group, size in sized:
        values = [value for buffer in group for value in buffer.values]
        first = min(values, key=begins.__getitem__)
        spans: list[tuple[int, int]] = []
        for value in values:
            join_range(spans, begins[value], ends[value])
        blocks.append(HeapBlock(size, first.number, ends[first] - begins[first], spans))
    return blocks


def _run_clock(
    groups: Iterable[list[HloBuffer]], ranges: Mapping[Value, LiveRange]
) -> tuple[dict[Value, int], dict[Value, int]]:
    """Return when the heap simulator gives each value its memory, and when it takes it back.

    The clock of HeapSimulator::RunComputation counts events, not positions: at each position
    first what is defined there begins, then what ends there is freed. What is written over an
    operand begins as soon as that is freed.
    """
    written_over: dict[Value, Value] = {}
    values = []
    for group in groups:
        values += [value for buffer in group for value in buffer.values]
        written_over |= {after.values[0]: before.values[0] for before, after in pairwise(group)}
    values.sort(key=lambda value: (ranges[value].start, ranges[value].end, value.number))
    dying = sorted(values, key=lambda value: ranges[value].end)
    begins: dict[Value, int] = {}
    ends: dict[Value, int] = {}
    freed = 0
    for value in values:
        while ranges[dying[freed]].end < ranges[value].start:
            ends.setdefault(dying[freed], len(begins) + len(ends))
            freed += 1
        if value in written_over:
            ends.setdefault(written_over[value], len(begins) + len(ends))
        begins[value] = len(begins) + len(ends)
    for value in dying[freed:]:
        ends.setdefault(value, len(begins) + len(ends))
    return begins, ends


MOST_PLACED: Final = 8192  # blocks; time grows with the square of what lives at once


def round_up(size: int, alignment: int) -> int:
    """Return the next multiple of an alignment."""
    return -(-size // alignment) * alignment


def pack_best(blocks: Sequence[HeapBlock], alignment: int) -> int:
    """Return the bytes of the smaller of two heaps: the largest first, the longest-lived first.

    Each block goes into the smallest gap that is free while it lives, the lowest of equal ones.
    More than MOST_PLACED blocks get two heaps, one for the smallest; that may be too much.
    Follows ChooseBestHeapAlgorithm and GlobalDecreasingSizeBestFitHeap
    (xla/service/heap_simulator/heap_simulator.cc), which the compilers for CPU and GPU use.
    """
    blocks = sorted(blocks, key=lambda one: (-one.size_bytes, -one.first_duration, one.number))
    if len(blocks) > MOST_PLACED:
        small = round_up(pack_in_time(blocks[MOST_PLACED:], alignment), alignment)
        return small + pack_best(blocks[:MOST_PLACED], alignment)
    by_size = _pack(blocks, alignment)
    changes: list[tuple[int, int]] = []
    # No heap is smaller than what is in use at once, and that is quick to add up.
    for block in blocks:
        size = round_up(block.size_bytes, alignment)
        for begin, end in block.spans:
            changes += ((begin, size), (end, -size))
    changes.sort()
    most_in_use = max(accumulate(change for _, change in changes), default=0)
    if round_up(by_size, alignment) == most_in_use:
        return by_size  # there is no smaller heap
    blocks.sort(key=lambda one: (one.begin - one.end, -one.size_bytes, one.number))
    return _pack(blocks, alignment, at_most=by_size)


def _pack(blocks: Sequence[HeapBlock], alignment: int, at_most: int | None = None) -> int:
    """Place blocks in their order; a heap that grows beyond `at_most` is given up for that.

    Places are multiples of the alignment, and counted in it: small numbers are sorted faster.
    """
    usage = ByteUsage(max((block.end for block in blocks), default=0))
    heap_bytes = 0
    for block in blocks:
        size = -(-block.size_bytes // alignment)
        low = _choose_gap(usage.find(block.spans), size)
        heap_bytes = max(heap_bytes, low * alignment + block.size_bytes)
        if at_most is not None and heap_bytes >= at_most:
            return at_most
        usage.add(low, low + size, block.spans)
    return heap_bytes


def _choose_gap(used: Iterable[ByteRange], size: int) -> int:
    """Return where the smallest gap begins that is large enough; there is no end to the last."""
    best: int | None = None
    found = start = 0
    for low, high in used:
        gap = low - start
        if gap >= size and (best is None or gap < best):
            best, found = gap, start
        if high > start:  # noqa: PLR1730  max() takes twice as long
            start = high
    return start if best is None else found


def pack_in_time(blocks: Iterable[HeapBlock], alignment: int) -> int:
    """Return the bytes of a heap that blocks enter as they begin, and leave for good at their end.

    Follows ConstrainedGlobalDecreasingSizeBestFitHeap::FinishFastMerge of the same file, which
    is what dumps of newer TPU compilers show; those of older ones show the largest first.
    """
    free = FreeBytes()
    dying: list[tuple[int, int, int]] = []
    heap_bytes = 0
    for block in sorted(blocks, key=lambda one: (one.begin, -one.size_bytes, one.number)):
        while dying and dying[0][0] <= block.begin:
            _, low, high = heappop(dying)
            free.give_back(low, high)
        size = round_up(block.size_bytes, alignment)
        low = free.take(size)
        heappush(dying, (block.end, low, low + size))
        heap_bytes = max(heap_bytes, low + block.size_bytes)
    return heap_bytes


class FreeBytes:
    """The gaps in a heap, by place and by size; above `top` all is free.

    `borders` are where gaps begin and end, `[low, high, low, high, …]`; no two gaps touch.
    """

    def __init__(self) -> None:
        self.borders: list[int] = []
        self.by_size: list[tuple[int, int]] = []
        self.top = 0

    def take(self, size: int) -> int:
        """Take so many bytes of the smallest gap, the lowest of equal ones, and say where."""
        number = bisect_left(self.by_size, (size, 0))
        if number == len(self.by_size):
            self.top += size
            return self.top - size
        gap, low = self.by_size.pop(number)
        place = bisect_left(self.borders, low)
        if gap == size:
            del self.borders[place : place + 2]
        else:
            self.borders[place] = low + size
            insort(self.by_size, (gap - size, low + size))
        return low

    def give_back(self, low: int, high: int) -> None:
        """Make bytes free again, together with the gaps they touch."""
        first, last = bisect_left(self.borders, low), bisect_right(self.borders, high)
        first, last = first - first % 2, last + last % 2
        for place in range(first, last, 2):
            start, end = self.borders[place : place + 2]
            del self.by_size[bisect_left(self.by_size, (end - start, start))]
            low, high = min(low, start), max(high, end)
        if high == self.top:
            self.top = low
            del self.borders[first:last]
        else:
            self.borders[first:last] = [low, high]
            insort(self.by_size, (high - low, low))
