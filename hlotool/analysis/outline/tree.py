"""The steps of a program in the order in which they run: a tree, their labels and own figures.

Loops, branches and calls hold what they run; a collective under way holds the work beside it; work
of one scope in a row is one node. Labels name no instructions, whose names differ between
compilations. A node's figures include those of its children; its own figures (`OwnFigures`) leave
out what is listed below it, so that all listed steps come to the figures of the step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from hlotool.analysis.collectives.machine import Pricing
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.cost.cost import NOTHING, Cost, add_costs, largest_cost
from hlotool.analysis.graph.calls import list_branches
from hlotool.analysis.origin import read_origin
from hlotool.analysis.outline.clock import Duration, OutlineEvidence, StepKind, find_kind
from hlotool.hlo import Computation, Instruction
from hlotool.hlo.shape import sum_known
from hlotool.table.words import fold_numbers, list_some, share_path

SMALL: Final = 0.01  # of all seconds: what takes less is no step of its own
MOST_LEVELS: Final = 32  # of loops, branches and calls in one another; what is deeper is left out


class OutlineNode(Struct, eq=False, kw_only=True):
    """One step, or several alike.

    Costs are of all executions per step of the entry, and include those of `children`. `seconds`
    are those of its work, and of waiting for memory; `own_cost` and `own_seconds` are no child's:
    a loop's condition without collectives, memory that a collective waits for. `scopes`
    are those of the instructions, `opcodes` counts them; `collectives` are the rows it stands for.
    `beside` counts the opcodes of work that runs while a collective is under way, where that is no
    step of its own. `start_seconds` and `end_seconds` are the modelled clock's when the first of
    them begins and the last ends, in the first round of what holds them; `spans` are the times of
    each, where it stands for several. `trip_count` are the rounds of a loop, `count` says for how
    many alike it stands.
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
    start_seconds: float = 0.0
    end_seconds: float = 0.0
    spans: list[tuple[float, float]] = field(default_factory=list)
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


class TreeBuilder:
    """Makes nodes of the steps of computations, in schedule order.

    What is run twice stands where it is run first. Where an asynchronous copy ends, work may wait
    for memory: that is a step, or part of the work beside it. `Clock` says how long each takes; a
    part that nobody knows takes no time.
    """

    def __init__(self, evidence: OutlineEvidence) -> None:
        self._evidence = evidence
        self._clock = evidence.clock
        self._built: set[Computation] = set()
        self.begins: dict[str, float] = {}  # of every instruction, where it is run first

    def build(
        self, computation: Computation, level: int = 0, now: float = 0.0
    ) -> list[OutlineNode]:
        """Return the steps of a computation that first runs at a time."""
        self._built.add(computation)
        steps = []
        evidence = self._evidence
        runs = evidence.costs.executions.of(computation)
        known = evidence.costs.executions.lower_bound(computation)
        for one in computation.instructions:
            taken = self._clock.of(one)
            self.begins[one.full_name] = now
            own_kind = find_kind(one, evidence)
            kind = own_kind or self._find_wait(taken, known)
            if kind is None:
                continue
            node = OutlineNode(kind=kind, names=[one.full_name], runs=runs, start_seconds=now)
            body = one.callee() if one.opcode == "fusion" else None
            origin = read_origin(one, body.instructions if body else ())
            if origin.scope:
                node.scopes[origin.scope] = None
            node.opcodes[one.custom_call_target or one.opcode] += 1
            if kind in {"loop", "conditional", "call"}:
                self._attach_children(node, one, level)
            elif kind in {"collective", "wait"}:
                found = evidence.begins if kind == "collective" else evidence.ends
                if one.full_name in found:
                    node.collectives.append(found[one.full_name])
                node.own_seconds = taken.work * known
                add_up(node)
            else:
                node.seconds = taken.work * known
                if own_kind is not None:  # what runs beside the work has time alone
                    node.cost = self._count(evidence.costs.of(one), computation)
            now += taken.total
            node.end_seconds = now
            steps.append(node)
        return _nest_windows(steps)

    def _find_wait(self, taken: Duration, known_runs: int) -> StepKind | None:
        """Say what the end of a copy is: a wait, with other work where it is short, or nothing."""
        if not taken.total:
            return None
        run = self._clock.of_run(self._evidence.module.entry)
        return "wait" if taken.total * known_runs >= run.total * SMALL else "memory"

    def _count(self, once: Cost, computation: Computation) -> Cost:
        """Return the cost of all executions; at most that where branches might not be taken."""
        runs = self._evidence.costs.executions.runs_of(computation)
        cost = once.times(runs.known, is_exact=runs.is_exact)
        return replace(cost, is_upper_bound=True) if runs.is_conditional else cost

    def _attach_children(self, node: OutlineNode, one: Instruction, level: int) -> None:
        """Add what an instruction runs; a loop's condition is its own but where it communicates."""
        evidence = self._evidence
        if one.opcode == "conditional":
            for number, branch in enumerate(list_branches(one)):
                child = self._hold(branch, node, "branch", level)
                child.branch = number
                node.children.append(child)
        else:
            called = one.callees("body") or one.called_computations()
            node.trip_count = evidence.costs.trips.get(one, 1)
            node.children = [
                step for each in called for step in self._build_once(each, node, level)
            ]
            for condition in () if node.is_shown_elsewhere else one.callees("condition"):
                if any(each.full_name in evidence.begins for each in condition.instructions):
                    node.children.insert(0, self._hold(condition, node, "condition", level))
                    continue
                known = evidence.costs.executions.lower_bound(condition)
                node.own_cost = self._count(evidence.costs.of_computation(condition), condition)
                node.own_seconds = self._clock.of_run(condition).work * known
        add_up(node)

    def _hold(
        self, held: Computation, above: OutlineNode, kind: StepKind, level: int
    ) -> OutlineNode:
        """Return a node for a computation that runs first when what is above it begins."""
        now = above.start_seconds
        node = OutlineNode(
            kind=kind,
            names=[held.name],
            runs=self._evidence.costs.executions.of(held),
            start_seconds=now,
            end_seconds=now + self._clock.of_run(held).total,
        )
        node.children = self._build_once(held, node, level)
        add_up(node)
        return node

    def _build_once(
        self, computation: Computation, above: OutlineNode, level: int
    ) -> list[OutlineNode]:
        if computation in self._built or level >= MOST_LEVELS:
            above.is_shown_elsewhere = True
            return []
        return self.build(computation, level + 1, above.start_seconds)


def _nest_windows(steps: list[OutlineNode]) -> list[OutlineNode]:
    """Hang what runs between start and done of a collective below its start, and drop the done.

    Where two such windows cross, neither in the other, the second keeps its done as a step: of
    `start a, start b, done a, done b` the window of `a` holds `start b`, and `done b` stands below.
    """
    waits = ((place, step) for place, step in enumerate(steps) if step.kind == "wait")
    ends = {row.name: place for place, step in waits for row in step.collectives}
    open_lists: list[list[OutlineNode]] = [[]]
    closing: list[int] = []  # where the open windows end, the innermost last
    for place, step in enumerate(steps):
        if closing and closing[-1] == place:
            closing.pop()
            inside = join_work(open_lists.pop(), _is_of_scope)
            window = open_lists[-1][-1]
            window.children = inside
            window.end_seconds = step.end_seconds
            window.own_seconds += step.own_seconds
            add_up(window)
            continue
        open_lists[-1].append(step)
        end = ends.get(step.collectives[0].name, -1) if step.kind == "collective" else -1
        if place < end and (not closing or end < closing[-1]):
            closing.append(end)
            open_lists.append([])
    return join_work(open_lists[0], _is_of_scope)


def _is_of_scope(last: OutlineNode, step: OutlineNode) -> bool:
    """Whether work goes on in the same scope; what has none goes with what is before it."""
    return not step.scopes or not last.scopes or step.scopes.keys() <= last.scopes.keys()


def is_work(node: OutlineNode) -> bool:
    """Whether a node is work of one scope, and runs nothing else."""
    return node.kind in {"compute", "memory"}


def join_work(
    steps: Iterable[OutlineNode], goes_with: Callable[[OutlineNode, OutlineNode], bool]
) -> list[OutlineNode]:
    """Make one node of work in a row where the later `goes_with` the one before it."""
    joined: list[OutlineNode] = []
    for step in steps:
        last = joined[-1] if joined else None
        if last and is_work(last) and is_work(step) and goes_with(last, step):
            merge_into(last, step)
        else:
            joined.append(step)
    return joined


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
    node.spans = node.spans or [(node.start_seconds, node.end_seconds)]
    node.spans += other.spans or [(other.start_seconds, other.end_seconds)]
    node.start_seconds = min(node.start_seconds, other.start_seconds)
    node.end_seconds = max(node.end_seconds, other.end_seconds)
    node.collectives += other.collectives
    node.runs = None if node.runs is None or other.runs is None else max(node.runs, other.runs)
    for mine, theirs in zip(node.children, other.children, strict=False):
        merge_into(mine, theirs)


def add_up(node: OutlineNode) -> None:
    """Give a node its own work, and that of what it holds: of a conditional the largest branch."""
    if node.kind == "conditional":
        node.cost = largest_cost(child.cost for child in node.children)
        node.seconds = max((child.seconds for child in node.children), default=0.0)
    else:
        node.cost = add_costs((node.own_cost, *(child.cost for child in node.children)))
        node.seconds = node.own_seconds + sum(child.seconds for child in node.children)


_MOST_OPCODES: Final = 4  # named in a step


def write_step(node: OutlineNode) -> str:
    """Say what a node is."""
    elsewhere = ", listed at its first run" if node.is_shown_elsewhere else ""
    if node.kind == "loop":
        rounds = "?" if node.trip_count is None else f"{node.trip_count:,}"
        return f"loop, {rounds} iterations{elsewhere}"
    if node.kind == "conditional":
        return f"conditional, {len(node.children)} branches"
    if node.kind == "branch":
        return f"branch {node.branch}{elsewhere}"
    if node.kind in {"call", "condition"}:
        return f"{node.kind}{elsewhere}"
    if node.kind == "repeat":
        shared = share_path(list(map(fold_numbers, node.scopes))) if node.scopes else "the same"
        return f"{node.count} in a row: {shared}"
    if not node.collectives:
        return _count_opcodes(node.opcodes)
    row = node.collectives[0]
    over = f" over {', '.join(row.axes)}" if row.axes else ""
    if node.kind == "wait":
        return f"done: {row.kind}{over}"
    if node.beside:
        return f"{row.kind}{over}, {row.dtype}, beside {_count_opcodes(node.beside)}"
    start = " starts" if row.is_async and not row.is_sync and not node.children else ""
    beside = ", beside:" if node.children else ""
    return f"{row.kind}{start}{over}, {row.dtype}{beside}"


def _count_opcodes(opcodes: Counter[str]) -> str:
    listed = [
        f"{opcode} ×{count}" if count > 1 else opcode for opcode, count in opcodes.most_common()
    ]
    return list_some(listed, _MOST_OPCODES)


class Own(Struct, frozen=True):
    """A part of one figure that is in no other step's part."""

    value: float

    def together(self, others: Iterable[Own]) -> float:
        """Return what the parts of several steps come to."""
        return sum(one.value for one in others)


class OwnFigures(Struct, frozen=True):
    """The parts of a step's figures that are in no step listed below it; None if unknown.

    Those of all listed steps come to the figures of the step. Of a conditional, which costs what
    its largest branch does, nothing is left where the branches are listed: they come to more.
    `spans` are when each that it stands for begins and ends on the clock; what touches is one.
    """

    seconds: Own | None
    exposed_seconds: Own | None
    share: Own | None
    flops: Own
    traffic_bytes: Own
    sent_bytes: Own
    spans: tuple[tuple[float, float], ...]


def own_figures(
    node: OutlineNode, listed: Sequence[OutlineNode], all_seconds: float, pricing: Pricing
) -> OwnFigures:
    """Return what of a node is in none of the nodes listed below it."""
    seconds = max(node.seconds - sum(each.seconds for each in listed), 0.0)
    flops = node.cost.total_flops - sum(each.cost.total_flops for each in listed)
    memory = node.cost.traffic_bytes - sum(each.cost.traffic_bytes for each in listed)
    below = {row.name for each in listed for row in list_collectives(each)}
    sent = [row for row in list_collectives(node) if row.name not in below]
    exposed = sum_known(row.exposed_seconds for row in sent) if pricing.is_timed else None
    return OwnFigures(
        Own(seconds) if pricing.is_timed else None,
        None if exposed is None else Own(exposed),
        Own(seconds / all_seconds) if all_seconds and pricing.is_rated else None,
        Own(max(flops, 0)),
        Own(max(memory, 0)),
        Own(sum(row.known_sent_bytes_per_step for row in sent)),
        _join_spans(node) if pricing.is_timed else (),
    )


def _join_spans(node: OutlineNode) -> tuple[tuple[float, float], ...]:
    joined: list[tuple[float, float]] = []
    for start, end in node.spans or [(node.start_seconds, node.end_seconds)]:
        touches = bool(joined) and joined[-1][1] == start
        joined.append((joined.pop()[0] if touches else start, end))
    return tuple(joined)


def list_collectives(node: OutlineNode) -> Iterator[CollectiveRow]:
    """Yield the collectives that begin in a step, and in those that it holds."""
    if node.kind == "collective":
        yield from node.collectives
    for child in node.children:
        yield from list_collectives(child)
