"""What is said of one step of an outline?

What stands in a row several times? Layers of an unrolled model do.

How is a long tree made short? Alike steps in a row become one, and small work goes with large.

Work that takes less than a hundredth of the work of the run goes with the work beside it, so that
what matters stands on one screen.

How does the tree of steps become a list, in the order in which they run?

What `hlotool outline` answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Sequence
from typing import Annotated, Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.outline.clock import OutlineEvidence, StepKind
from hlotool.analysis.outline.tree import (
    SMALL,
    OutlineNode,
    OwnFigures,
    add_up,
    find_own,
    grow_tree,
    list_collectives,
    merge_into,
    write_step,
)
from hlotool.table import (
    BYTES,
    COUNT,
    FLOPS,
    NUMBER,
    PERCENT,
    SECONDS,
    TIMES,
    DocumentSpec,
    RowList,
    column,
    figure,
)
from hlotool.table.names import share_path

_LOWER_FLOPS: Final = "is_flops_lower_bound"
_LOWER_MEMORY: Final = "is_memory_lower_bound"


class OutlineRow(Struct, frozen=True, kw_only=True):
    """One step. Figures are of all its executions in one run, and include the steps inside.

    Several steps come to what `own` has of each: what stands in another counts once.
    """

    step: Annotated[
        str,
        column(
            "what runs: loops with their rounds, what work consists of, what a collective moves",
            indent_by="depth",
            wants=36,
        ),
    ]
    count: Annotated[
        int,
        column("steps alike in a row that it stands for", TIMES, heading="×", is_exact=True),
    ]
    kind: Annotated[
        StepKind,
        figure(
            "loop, conditional, branch or call, which hold steps; repeat: steps that stand in a "
            "row several times; collective; wait: the end of a collective, or of a copy that work "
            "waits for; compute; memory: work without arithmetic"
        ),
    ]
    time_share: Annotated[
        float | None,
        column(
            "estimated share of the time of all work, at the chip's peaks, else at the ratios of "
            "the reference chip; null for what does no work, and where there is none",
            PERCENT,
            heading="of work",
            null_text="",
            is_summed=True,
            joint_from="own.share",
        ),
    ]
    estimated_seconds: Annotated[
        float | None,
        figure(
            "with --chip: estimated time of its work, and of waiting for memory, at the peaks",
            SECONDS,
            null_text="",
            is_summed=True,
            joint_from="own.seconds",
        ),
    ]
    begins_seconds: Annotated[
        float | None,
        figure(
            "with --chip: when the first of them begins on the modelled clock, in the first round "
            "of what holds it",
            SECONDS,
            heading="begins",
            null_text="",
        ),
    ]
    ends_seconds: Annotated[
        float | None,
        figure(
            "with --chip: when the last of them ends there", SECONDS, heading="ends", null_text=""
        ),
    ]
    exposed_seconds: Annotated[
        float | None,
        figure(
            "with --chip: estimated time in one run in which work waits for its collectives",
            SECONDS,
            heading="gap/run",
            null_text="",
            is_summed=True,
            joint_from="own.exposed_seconds",
        ),
    ]
    flops_per_run: Annotated[
        int | None,
        column(
            "floating-point operations, known ones of custom calls too",
            FLOPS,
            null_text="",
            lower_if=_LOWER_FLOPS,
            joint_from="own.flops",
            give_way=3,
        ),
    ]
    memory_bytes_per_run: Annotated[
        int | None,
        column(
            "bytes that its work moves across memory space 0; what collectives, and copies beside "
            "the work, move is in the figures of summary and show alone",
            BYTES,
            heading="memory/run",
            null_text="",
            lower_if=_LOWER_MEMORY,
            joint_from="own.memory_bytes",
            give_way=2,
        ),
    ]
    wire_bytes_per_run: Annotated[
        int | None,
        column(
            "bytes a device sends; of what holds steps, the known ones of all in it",
            BYTES,
            heading="wire/run",
            null_text="",
            joint_from="own.wire_bytes",
            give_way=1,
        ),
    ]
    exposed_share: Annotated[
        float | None,
        column(
            "estimated part of those bytes that no work scheduled meanwhile hides, 0 to 1; null "
            "where nobody knows",
            PERCENT,
            heading="exposed",
            null_text="",
        ),
    ]
    overlap_flops: Annotated[
        int | None,
        column(
            "of a collective: flops computed until it is done, in one execution; null if it is "
            "synchronous",
            FLOPS,
            heading="flops meanwhile",
            null_text="",
            is_summed=False,
            give_way=5,
        ),
    ]
    executions: Annotated[
        int | None,
        figure(
            "how often each of them runs in one run; null under a loop of unknown trip count",
            COUNT,
            is_summed=False,
        ),
    ]
    scope: Annotated[
        str | None,
        column("what the module paths of its instructions share", is_path=True, null_text=""),
    ]
    number: Annotated[int, figure("place in the list, from 0", NUMBER)]
    parent: Annotated[
        int | None, figure("number of the step that holds it; null for the entry's", NUMBER)
    ]
    depth: Annotated[int, figure("steps that hold it", NUMBER)]
    names: Annotated[tuple[str, ...], figure("the instructions, in schedule order")]
    is_shown_elsewhere: Annotated[
        bool, figure("whether what it runs is listed where it runs first, or is too deep")
    ]
    is_flops_lower_bound: Annotated[bool, figure("whether the flops of something are unknown")]
    is_memory_lower_bound: Annotated[bool, figure("whether the traffic of something is unknown")]
    is_upper_bound: Annotated[bool, figure("whether a branch that may not be taken is counted")]
    own: OwnFigures


_LONGEST: Final = 200  # steps of what is repeated; a layer has a few dozen


class Repeat(Struct, frozen=True):
    """From `start` on, `length` keys stand `count` times in a row; once if `count` is 1."""

    start: int
    length: int
    count: int


def find_repeats(keys: Sequence[Hashable]) -> Iterator[Repeat]:
    """Cut a sequence into parts that are repeated, and keys that stand alone.

    From the left, the part is taken whose rounds cover most, of those the shortest.

    >>> [(one.start, one.length, one.count) for one in find_repeats("xababab")]
    [(0, 1, 1), (1, 2, 3)]
    """
    start = 0
    while start < len(keys):
        best = Repeat(start, 1, 1)
        longest = min(_LONGEST, (len(keys) - start) // 2)
        for length in range(1, longest + 1):
            if keys[start] != keys[start + length]:
                continue
            count = _count_rounds(keys, start, length)
            if count > 1 and count * length > best.count * best.length:
                best = Repeat(start, length, count)
        yield best
        start += best.length * best.count


def _count_rounds(keys: Sequence[Hashable], start: int, length: int) -> int:
    """Return how often the part at `start` stands there in a row."""
    matching = 0  # keys that equal the one a round before
    while (
        start + length + matching < len(keys)
        and keys[start + matching] == keys[start + length + matching]
    ):
        matching += 1
    return 1 + matching // length


_WORK: Final = frozenset(("compute", "memory"))


def fold_tree(nodes: Sequence[OutlineNode], all_seconds: float) -> list[OutlineNode]:
    """Return the same steps in fewer nodes; the nodes given are changed."""
    for node in nodes:
        node.children = fold_tree(node.children, all_seconds)
        if node.kind == "collective":
            _take_in(node)
    return _fold_repeats(_join_small(nodes, all_seconds * SMALL))


def _take_in(collective: OutlineNode) -> None:
    """Let a collective stand for the work beside it, where that is one step."""
    if len(collective.children) == 1 and collective.children[0].kind in _WORK:
        work = collective.children.pop()
        collective.names += work.names
        collective.beside = work.opcodes


def _join_small(nodes: Sequence[OutlineNode], least_seconds: float) -> list[OutlineNode]:
    joined: list[OutlineNode] = []
    for node in nodes:
        last = joined[-1] if joined else None
        if (
            last is not None
            and node.kind in _WORK
            and last.kind in _WORK
            and min(node.seconds, last.seconds) < least_seconds
        ):
            merge_into(last, node)
        else:
            joined.append(node)
    return joined


def _fold_repeats(nodes: Sequence[OutlineNode]) -> list[OutlineNode]:
    folded = []
    for found in find_repeats([node.key for node in nodes]):
        first = list(nodes[found.start : found.start + found.length])
        for number in range(found.length, found.length * found.count):
            merge_into(first[number % found.length], nodes[found.start + number])
        if found.count > 1 and found.length > 1:
            first = [_repeat(first, found.count)]
        elif first[0].kind not in _WORK:  # work says itself of how many operations it consists
            first[0].count = found.count
        folded += first
    return folded


def _repeat(children: list[OutlineNode], count: int) -> OutlineNode:
    """Return a node for steps that stand several times in a row."""
    node = OutlineNode(kind="repeat", names=[], count=count, children=children)
    for child in children:
        node.names += child.names
        node.scopes |= child.scopes
        child.opcodes = _divide(child.opcodes, count)
        child.beside = _divide(child.beside, count)
    node.begins_seconds = min(child.begins_seconds for child in children)
    node.ends_seconds = max(child.ends_seconds for child in children)
    add_up(node)
    return node


def _divide(opcodes: Counter[str], rounds: int) -> Counter[str]:
    """Return what one of several rounds consists of; all of them where they are not alike."""
    if any(count % rounds for count in opcodes.values()):
        return opcodes
    return Counter({opcode: count // rounds for opcode, count in opcodes.items()})


def outline_program(
    evidence: OutlineEvidence, only: Collection[StepKind] = (), nesting: int | None = None
) -> tuple[OutlineRow, ...]:
    """Return the steps of a program as it runs, those that hold others before these.

    `only` are the kinds of steps wanted, and what holds them; () are all. Steps that more than
    `nesting` others hold are left out. Times are those of work at the peaks of the chip that
    `evidence.pricing` names: no launch latency, no overlap of work with work.
    """
    nodes = grow_tree(evidence)
    all_seconds = sum(node.seconds for node in nodes)
    writer = _Writer(evidence, all_seconds, frozenset(only), nesting)
    writer.write_wanted(fold_tree(nodes, all_seconds))
    return tuple(writer.rows)


class _Writer:
    """Writes nodes as rows, one below the other."""

    def __init__(
        self,
        evidence: OutlineEvidence,
        all_seconds: float,
        only: frozenset[StepKind],
        nesting: int | None,
    ) -> None:
        self.rows: list[OutlineRow] = []
        self._evidence = evidence
        self._all_seconds = all_seconds
        self._only = only
        self._nesting = nesting

    def write_wanted(self, nodes: Sequence[OutlineNode]) -> None:
        """Add rows for what is wanted of the steps of the entry."""
        self._write(list(filter(self._is_wanted, nodes)), None, 0)

    def _write(self, nodes: Sequence[OutlineNode], parent: int | None, depth: int) -> None:
        """Add rows for nodes, and below each for what is wanted of what it holds."""
        for node in nodes:
            number = len(self.rows)
            is_opened = self._nesting is None or depth < self._nesting
            listed = list(filter(self._is_wanted, node.children)) if is_opened else []
            self.rows.append(self._make_row(node, listed, number, parent, depth))
            self._write(listed, number, depth + 1)

    def _is_wanted(self, node: OutlineNode) -> bool:
        if not self._only or node.kind in self._only:
            return True
        return any(map(self._is_wanted, node.children))

    def _make_row(
        self,
        node: OutlineNode,
        listed: Sequence[OutlineNode],
        number: int,
        parent: int | None,
        depth: int,
    ) -> OutlineRow:
        sent = list(list_collectives(node))
        wire_bytes = sum(row.known_wire_bytes_per_run for row in sent) if sent else None
        exposed = [row.known_exposed_wire_bytes_per_run for row in sent]
        is_known = all(row.exposed_share is not None for row in sent)
        alone = node.collectives[0] if node.kind == "collective" else None
        has_work = bool(node.cost.total_flops or node.cost.memory_bytes)
        is_timed = self._evidence.pricing.is_timed
        has_share = bool(node.seconds) and self._evidence.pricing.is_rated
        return OutlineRow(
            step=write_step(node),
            count=node.count,
            kind=node.kind,
            time_share=node.seconds / self._all_seconds if has_share else None,
            estimated_seconds=node.seconds if has_share and is_timed else None,
            begins_seconds=node.begins_seconds if is_timed else None,
            ends_seconds=node.ends_seconds if is_timed else None,
            exposed_seconds=_sum_exposed(sent) if sent and is_timed else None,
            flops_per_run=node.cost.total_flops if has_work else None,
            memory_bytes_per_run=node.cost.memory_bytes if has_work else None,
            wire_bytes_per_run=wire_bytes,
            exposed_share=sum(exposed) / wire_bytes if wire_bytes and is_known else None,
            overlap_flops=alone.overlap_flops if alone else None,
            executions=node.runs,
            scope=share_path(node.scopes) if node.scopes else None,
            number=number,
            parent=parent,
            depth=depth,
            names=tuple(node.names),
            is_shown_elsewhere=node.is_shown_elsewhere,
            is_flops_lower_bound=node.cost.is_total_lower_bound,
            is_memory_lower_bound=node.cost.is_memory_lower_bound,
            is_upper_bound=node.cost.is_upper_bound,
            own=find_own(node, listed, self._all_seconds, self._evidence.pricing),
        )


def _sum_exposed(rows: Sequence[CollectiveRow]) -> float | None:
    """Return the time that collectives are exposed; None where it is unknown of one of them."""
    known = [row.exposed_seconds for row in rows if row.exposed_seconds is not None]
    return sum(known) if len(known) == len(rows) else None


STEPS: Final = RowList(
    "steps",
    OutlineRow,
    "what runs, in the order in which it runs; what holds steps stands before them",
    size="time_share",
    key="number",
    upper_if=("is_upper_bound",),
    limit=0,
)

OUTLINE: Final = DocumentSpec("outline", "a program as it runs", row_lists=(STEPS,))

# Where no chip stands for the backend there are no shares of time: groups have those of traffic.
UNPRICED: Final = replace(
    OUTLINE,
    row_lists=(
        replace(STEPS.showing(STEPS.shown() - {"time_share"}), size="memory_bytes_per_run"),
    ),
)

_CLOCK: Final = ("begins_seconds", "ends_seconds", "exposed_seconds", "estimated_seconds")
_LEFT_OUT: Final = {"flops_per_run", "memory_bytes_per_run", "overlap_flops", "time_share"}

# The same document with the modelled clock among the columns of its table.
ON_CLOCK: Final = replace(
    OUTLINE, row_lists=(STEPS.showing({*STEPS.shown(), *_CLOCK} - _LEFT_OUT),)
)
