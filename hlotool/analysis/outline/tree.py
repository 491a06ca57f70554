"""Which steps does a program have, in the order in which they run? A tree of nodes.

What is a step called? Without names of instructions, which differ between compilations.

What of a step's figures is in no step that is listed below it, so that steps add up?
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from hlotool.analysis.collectives.machine import Pricing
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.cost.cost import NOTHING, Cost, add_costs, largest_cost
from hlotool.analysis.graph.calls import list_branches
from hlotool.analysis.origin import find_origin
from hlotool.analysis.outline.clock import Clock, Duration, OutlineEvidence, StepKind, find_kind
from hlotool.hlo import Computation, Instruction
from hlotool.table.names import fold_numbers, share_path
from hlotool.table.words import list_some

SMALL: Final = 0.01  # of all seconds: what takes less is no step of its own
MOST_LEVELS: Final = 32  # of loops, branches and calls in one another; what is deeper is left out


class OutlineNode(Struct, eq=False, kw_only=True):
    """One step, or several alike.

    Costs are of all executions in one run of the entry, and include those of `children`. `seconds`
    are those of its work, and of waiting for memory; `own_cost` and `own_seconds` are no child's:
    a loop's condition, memory that a collective waits for. `scopes`
    are those of the instructions, `opcodes` counts them; `collectives` are the rows it stands for.
    `beside` counts the opcodes of work that runs while a collective is under way, where that is no
    step of its own. `begins_seconds` and `ends_seconds` are the modelled clock's when the first of
    them begins and the last ends, in the first round of what holds them. `trip_count` are the
    rounds of a loop, `count` says for how many alike it stands.
    """

    kind: StepKind
    names: list[str]
    cost: Cost = NOTHING
    seconds: float = 0.0
    own_cost: Cost = NOTHING
    own_seconds: float = 0.0
    runs: int | None = None
    trip_count: int | None = 1
    count: int = 1
    branch: int | None = None
    scopes: dict[str, None] = field(default_factory=dict)
    opcodes: Counter[str] = field(default_factory=Counter)
    collectives: list[CollectiveRow] = field(default_factory=list)
    children: list[OutlineNode] = field(default_factory=list)
    beside: Counter[str] = field(default_factory=Counter)
    begins_seconds: float = 0.0
    ends_seconds: float = 0.0
    is_shown_elsewhere: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """What steps have in common that are alike: all but names, costs and numbers in scopes."""
        return (
            self.kind,
            self.trip_count,
            self.count,
            self.branch,
            tuple(dict.fromkeys(map(fold_numbers, self.scopes))),
            tuple(dict.fromkeys((row.kind, row.axes, row.dtype) for row in self.collectives)),
            tuple(child.key for child in self.children),
        )


def grow_tree(evidence: OutlineEvidence) -> list[OutlineNode]:
    """Return the steps of the entry; those of a computation that is run twice stand where first.

    Where an asynchronous copy ends, work may wait for memory: that is a step, or part of the work
    beside it. `Clock` says how long each takes; a part that nobody knows takes no time.
    """
    return _Grower(evidence).grow(evidence.module.entry, 0, 0.0)


class _Grower:
    """Walks computations in schedule order."""

    def __init__(self, evidence: OutlineEvidence) -> None:
        self._evidence = evidence
        self._clock = Clock(evidence)
        self._grown: set[Computation] = set()

    def grow(self, computation: Computation, level: int, now: float) -> list[OutlineNode]:
        """Return the steps of a computation that first runs at a time."""
        self._grown.add(computation)
        return _nest_windows(list(self._list_steps(computation, level, now)))

    def _list_steps(
        self, computation: Computation, level: int, now: float
    ) -> Iterator[OutlineNode]:
        evidence = self._evidence
        for one in computation.instructions:
            taken = self._clock.of(one)
            kind = find_kind(one, evidence) or self._find_wait(taken, computation)
            if kind is None:
                continue
            node = OutlineNode(
                kind=kind,
                names=[one.full_name],
                runs=evidence.executions.of(computation),
                begins_seconds=now,
            )
            origin = find_origin(one, _inside(one))
            if origin.scope:
                node.scopes[origin.scope] = None
            node.opcodes[one.custom_call_target or one.opcode] += 1
            if kind in {"loop", "conditional", "call"}:
                self._hang_below(node, one, level)
            elif kind in {"collective", "wait"}:
                found = evidence.begins if kind == "collective" else evidence.ends
                if one.full_name in found:
                    node.collectives.append(found[one.full_name])
                node.own_seconds = taken.work * evidence.executions.lower_bound(computation)
                add_up(node)
            else:
                self._measure(node, one, taken.work)
            now += taken.total
            node.ends_seconds = now
            yield node

    def _find_wait(self, taken: Duration, computation: Computation) -> StepKind | None:
        """Say what the end of a copy is: a wait, with other work where it is short, or nothing."""
        run = self._clock.of_run(self._evidence.module.entry)
        known = self._evidence.executions.lower_bound(computation)
        if taken.total * known >= run.total * SMALL:
            return "wait" if taken.total else None
        return "memory" if taken.total else None

    def _measure(self, node: OutlineNode, one: Instruction, seconds: float) -> None:
        """Note what work costs; what runs beside it has time alone."""
        executions = self._evidence.executions
        known = executions.lower_bound(one.computation)
        node.seconds = seconds * known
        if find_kind(one, self._evidence) is not None:
            node.cost = self._count(self._evidence.costs.of(one), one.computation)

    def _count(self, once: Cost, computation: Computation) -> Cost:
        """Return the cost of all executions; at most that where branches may not be taken."""
        executions = self._evidence.executions
        known = executions.lower_bound(computation)
        cost = once.times(known, is_exact=executions.of(computation) is not None)
        if executions.is_conditional(computation):
            return replace(cost, is_upper_bound=True)
        return cost

    def _hang_below(self, node: OutlineNode, one: Instruction, level: int) -> None:
        """Add what an instruction runs; a loop's condition is its own."""
        now = node.begins_seconds
        if one.opcode == "conditional":
            node.children = [
                self._make_branch(branch, number, level, now)
                for number, branch in enumerate(list_branches(one))
            ]
            add_up(node)
            return
        called = one.callees("body") or one.called_computations()
        node.trip_count = self._evidence.trips.get(one, 1)
        node.children = [step for body in called for step in self._grow_once(body, node, level)]
        for condition in () if node.is_shown_elsewhere else one.callees("condition"):
            known = self._evidence.executions.lower_bound(condition)
            node.own_cost = self._count(self._evidence.costs.of_computation(condition), condition)
            node.own_seconds = self._clock.of_run(condition).work * known
        add_up(node)

    def _make_branch(self, branch: Computation, number: int, level: int, now: float) -> OutlineNode:
        node = OutlineNode(
            kind="branch",
            names=[branch.name],
            runs=self._evidence.executions.of(branch),
            branch=number,
            begins_seconds=now,
        )
        node.children = self._grow_once(branch, node, level)
        node.ends_seconds = now + self._clock.of_run(branch).total
        add_up(node)
        return node

    def _grow_once(
        self, computation: Computation, above: OutlineNode, level: int
    ) -> list[OutlineNode]:
        if computation in self._grown or level >= MOST_LEVELS:
            above.is_shown_elsewhere = True
            return []
        return self.grow(computation, level + 1, above.begins_seconds)


def add_up(node: OutlineNode) -> None:
    """Give a node its own work, and that of what it holds: of a conditional the largest branch."""
    if node.kind == "conditional":
        node.cost = largest_cost(child.cost for child in node.children)
        node.seconds = max((child.seconds for child in node.children), default=0.0)
    else:
        node.cost = add_costs((node.own_cost, *(child.cost for child in node.children)))
        node.seconds = node.own_seconds + sum(child.seconds for child in node.children)


def _inside(one: Instruction) -> list[Instruction]:
    """Return the body of a fusion, which may say where it comes from if the fusion does not."""
    callee = one.callee() if one.opcode == "fusion" else None
    return callee.instructions if callee else []


def _nest_windows(steps: list[OutlineNode]) -> list[OutlineNode]:
    """Hang what runs between start and done of a collective below its start, and drop the done.

    Where two such windows cross, neither in the other, the second keeps its done as a step.
    """
    ends = _find_windows(steps)
    open_lists: list[list[OutlineNode]] = [[]]
    dropped = set(ends.values())
    closing: list[int] = []
    for place, step in enumerate(steps):
        if place not in dropped:
            open_lists[-1].append(step)
        if place in ends:
            closing.append(ends[place])
            open_lists.append([])
        while closing and closing[-1] == place:
            closing.pop()
            inside = list(_merge_work(open_lists.pop()))
            window = open_lists[-1][-1]
            window.children = inside
            window.ends_seconds = step.ends_seconds
            window.own_seconds += step.own_seconds
            add_up(window)
    return list(_merge_work(open_lists[0]))


def _find_windows(steps: list[OutlineNode]) -> dict[int, int]:
    """Return where windows begin and end, those that cross one begun before left out."""
    done = {
        row.name: place
        for place, step in enumerate(steps)
        if step.kind == "wait"
        for row in step.collectives
    }
    found: dict[int, int] = {}
    enclosing: list[int] = []
    for place, step in enumerate(steps):
        while enclosing and enclosing[-1] < place:
            enclosing.pop()
        end = done.get(step.collectives[0].name) if step.kind == "collective" else None
        if end is not None and end > place and (not enclosing or end < enclosing[-1]):
            found[place] = end
            enclosing.append(end)
    return found


def _merge_work(steps: Iterable[OutlineNode]) -> Iterator[OutlineNode]:
    """Make one node of work of one scope in a row; what has no scope goes with what is before."""
    last: OutlineNode | None = None
    for step in steps:
        if step.kind not in {"compute", "memory"}:
            if last is not None:
                yield last
            last = None
            yield step
        elif last is not None and _goes_with(step, last):
            merge_into(last, step)
        else:
            if last is not None:
                yield last
            last = step
    if last is not None:
        yield last


def _goes_with(step: OutlineNode, last: OutlineNode) -> bool:
    return not step.scopes or not last.scopes or step.scopes.keys() <= last.scopes.keys()


def merge_into(node: OutlineNode, other: OutlineNode) -> None:
    """Add a step to one that it is alike to, or stands beside."""
    if "compute" in {node.kind, other.kind} and node.kind == "memory":
        node.kind = "compute"
    node.names += other.names
    node.cost = add_costs((node.cost, other.cost))
    node.seconds += other.seconds
    node.scopes |= other.scopes
    node.opcodes += other.opcodes
    node.beside += other.beside
    node.begins_seconds = min(node.begins_seconds, other.begins_seconds)
    node.ends_seconds = max(node.ends_seconds, other.ends_seconds)
    node.collectives += other.collectives
    node.runs = None if node.runs is None or other.runs is None else max(node.runs, other.runs)
    for mine, theirs in zip(node.children, other.children, strict=False):
        merge_into(mine, theirs)


_MOST_OPCODES: Final = 4  # named in a step


def write_step(node: OutlineNode) -> str:
    """Say what a node is."""
    if node.kind == "loop":
        rounds = "?" if node.trip_count is None else f"{node.trip_count:,}"
        return f"loop, {rounds} rounds{_elsewhere(node)}"
    if node.kind == "conditional":
        return f"conditional, {len(node.children)} branches"
    if node.kind == "branch":
        return f"branch {node.branch}{_elsewhere(node)}"
    if node.kind == "call":
        return f"call{_elsewhere(node)}"
    if node.kind == "repeat":
        return f"{node.count} in a row: {_name_repeated(node)}"
    if node.collectives:
        return _name_collective(node)
    return _count_opcodes(node.opcodes)


def _count_opcodes(opcodes: Counter[str]) -> str:
    listed = [
        f"{opcode} ×{count}" if count > 1 else opcode for opcode, count in opcodes.most_common()
    ]
    return list_some(listed, _MOST_OPCODES)


def _elsewhere(node: OutlineNode) -> str:
    return ", listed where it runs first" if node.is_shown_elsewhere else ""


def _name_repeated(node: OutlineNode) -> str:
    return share_path(list(map(fold_numbers, node.scopes))) if node.scopes else "the same"


def _name_collective(node: OutlineNode) -> str:
    row = node.collectives[0]
    over = f" over {', '.join(row.axes)}" if row.axes else ""
    if node.kind == "wait":
        return f"done: {row.kind}{over}"
    if node.beside:
        return f"{row.kind}{over}, {row.dtype}, beside {_count_opcodes(node.beside)}"
    start = " starts" if row.is_async and not row.is_sync and not node.children else ""
    beside = ", beside:" if node.children else ""
    return f"{row.kind}{start}{over}, {row.dtype}{beside}"


class Own(Struct, frozen=True):
    """A part of one figure that is in no other step's part."""

    value: float

    def together(self, others: Iterable[Own]) -> float:
        """Return what the parts of several steps come to."""
        return sum(one.value for one in others)


class OwnFigures(Struct, frozen=True):
    """The parts of a step's figures that are in no step listed below it; None if unknown.

    Those of all listed steps come to the figures of the run. Of a conditional, which costs what
    its largest branch does, nothing is left where the branches are listed: they come to more.
    """

    seconds: Own | None
    exposed_seconds: Own | None
    share: Own | None
    flops: Own
    memory_bytes: Own
    wire_bytes: Own | None


def find_own(
    node: OutlineNode, listed: Sequence[OutlineNode], all_seconds: float, pricing: Pricing
) -> OwnFigures:
    """Return what of a node is in none of the nodes listed below it."""
    seconds = max(node.seconds - sum(each.seconds for each in listed), 0.0)
    flops = node.cost.total_flops - sum(each.cost.total_flops for each in listed)
    memory = node.cost.memory_bytes - sum(each.cost.memory_bytes for each in listed)
    below = {row.name for each in listed for row in list_collectives(each)}
    sent = [row for row in list_collectives(node) if row.name not in below]
    return OwnFigures(
        Own(seconds) if pricing.is_timed else None,
        _add_known([row.exposed_seconds for row in sent]) if pricing.is_timed else None,
        Own(seconds / all_seconds) if all_seconds and pricing.is_rated else None,
        Own(max(flops, 0)),
        Own(max(memory, 0)),
        _add_known([row.wire_bytes_per_run for row in sent]),
    )


def list_collectives(node: OutlineNode) -> Iterator[CollectiveRow]:
    """Yield the collectives that begin in a step, and in those that it holds."""
    if node.kind == "collective":
        yield from node.collectives
    for child in node.children:
        yield from list_collectives(child)


def _add_known(values: Sequence[float | None]) -> Own | None:
    known = [value for value in values if value is not None]
    return Own(sum(known)) if len(known) == len(values) else None
