"""A program as it runs, as a list of steps: the answer of `hlotool outline`.

The tree of `tree` is made short so that what matters stands on one screen: steps alike in a row,
such as the layers of an unrolled model, become one (`list_repeats`), and work of less than a
hundredth of that of the step goes with the work beside it. Figures of a row are of all its
executions per step of the entry, and include the rows below it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.outline import tree
from hlotool.analysis.outline.clock import OutlineEvidence, StepKind
from hlotool.hlo.shape import sum_known
from hlotool.table import NUMBER, TIMES, DocumentSpec, RowList, Shown, column, figure
from hlotool.table.words import share_path


def _show_step(row: OutlineRow) -> object:
    return Shown(row.what, "  " * row.depth)


def _show_sent(row: OutlineRow) -> object:
    sent = row.sent_bytes_per_step
    return Shown(sent, "≤ " * row.is_sent_upper_bound) if sent else sent


class OutlineRow(Struct, frozen=True, kw_only=True):
    """One step. Figures are of all its executions per step, and include the steps inside.

    Several steps come to what `own` has of each: what stands in another counts once.
    """

    what: Annotated[
        str,
        column(
            "its work: loops with iterations, kinds of work, what a collective moves",
            shown=_show_step,
        ),
    ]
    count: Annotated[
        int, column("consecutive equal steps that this row represents", TIMES, is_exact=True)
    ]
    kind: Annotated[
        StepKind,
        figure(
            "loop, conditional, branch, call: contain steps; condition: of a loop, if it has "
            "collectives; repeat: consecutive steps that repeat; collective; wait: the end of a "
            "collective or of a copy that work needs; compute; memory: work without arithmetic"
        ),
    ]
    time_share: Annotated[
        float | None,
        column(
            "estimated share of the time of all work, at the peaks of the chip or of the "
            "reference chip; null without work",
            heading="of work",
            null_text="",
            is_summed=True,
            joint=lambda row: row.own.share,
        ),
    ]
    estimated_seconds: Annotated[
        float | None,
        figure(
            "with --chip: estimated time of its work, with waits for memory, at the peaks",
            null_text="",
            is_summed=True,
            joint=lambda row: row.own.seconds,
        ),
    ]
    measured_seconds: Annotated[
        float | None,
        figure(
            "from a profile: time per step on one device of what it runs, each instruction once",
            heading="measured/step",
            null_text="",
        ),
    ]
    start_seconds: Annotated[
        float | None,
        figure(
            "with --chip: start of its first step on the modelled clock, in the first "
            "iteration of its loop",
            heading="begins",
            null_text="",
        ),
    ]
    end_seconds: Annotated[
        float | None,
        figure("with --chip: end of its last step on that clock", heading="ends", null_text=""),
    ]
    exposed_seconds: Annotated[
        float | None,
        figure(
            "with --chip: estimated time per step in which work waits for its collectives",
            heading="gap/step",
            null_text="",
            is_summed=True,
            joint=lambda row: row.own.exposed_seconds,
        ),
    ]
    flops_per_step: Annotated[
        int | None,
        column(
            "floating-point operations, known ones of custom calls too",
            null_text="",
            lower_if="is_flops_lower_bound",
            joint=lambda row: row.own.flops,
        ),
    ]
    traffic_bytes_per_step: Annotated[
        int | None,
        column(
            "bytes that its work moves across memory space 0; only summary and show "
            "include collectives and overlapped copies",
            null_text="",
            lower_if="is_traffic_lower_bound",
            joint=lambda row: row.own.traffic_bytes,
        ),
    ]
    sent_bytes_per_step: Annotated[
        int | None,
        column(
            "bytes that a device sends; of rows with steps, the known bytes of all their steps",
            null_text="",
            shown=_show_sent,
            lower_if="is_sent_lower_bound",
            joint=lambda row: row.own.sent_bytes,
        ),
    ]
    exposed_share: Annotated[
        float | None,
        column(
            "estimated share of those bytes without overlapping work, 0 to 1; null if unknown",
            heading="exposed",
            null_text="",
        ),
    ]
    overlapped_flops: Annotated[
        int | None,
        column(
            "of a collective: flops computed until its done, in one execution; null if synchronous",
            null_text="",
            is_summed=False,
        ),
    ]
    executions: Annotated[
        int | None,
        figure(
            "executions of each per step; null under a loop of unknown trip count", is_summed=False
        ),
    ]
    scope: Annotated[
        str | None,
        column("common part of the module paths of its instructions", is_path=True, null_text=""),
    ]
    number: Annotated[int, figure("number in the list, from 0")]
    parent: Annotated[
        int | None,
        figure("number of the step that contains it; null for steps of the entry", NUMBER),
    ]
    depth: Annotated[int, figure("number of steps around it", NUMBER)]
    names: Annotated[tuple[str, ...], figure("the instructions, in schedule order")]
    is_shown_elsewhere: Annotated[
        bool, figure("whether its steps are left out here: listed at their first run, or too deep")
    ]
    is_flops_lower_bound: Annotated[bool, figure("whether some flops are unknown")]
    is_traffic_lower_bound: Annotated[bool, figure("whether some traffic is unknown")]
    is_sent_lower_bound: Annotated[bool, figure("whether some bytes sent are unknown")]
    is_upper_bound: Annotated[bool, figure("whether a branch that might not be taken is counted")]
    is_sent_upper_bound: Annotated[
        bool, figure("whether the sent size depends on a branch or on data")
    ]
    own: tree.OwnFigures


class Outline(Struct, frozen=True):
    """The steps of a program as it runs, those that hold others before these.

    `begins` says when each instruction first begins on the modelled clock, by its full name.
    """

    rows: tuple[OutlineRow, ...]
    begins: Mapping[str, float]


def outline_program(
    evidence: OutlineEvidence, only: Collection[StepKind] = (), nesting: int | None = None
) -> Outline:
    """Return how a program runs.

    `only` are the kinds of steps wanted, and what holds them; () are all. Steps that more than
    `nesting` others hold are left out. Times are those of work at the peaks of the chip that
    `evidence.pricing` names: no launch latency, no overlap of work with work.
    """
    builder = tree.TreeBuilder(evidence)
    nodes = builder.build(evidence.module.entry)
    all_seconds = sum(node.seconds for node in nodes)
    found: list[_Listed] = []

    def is_wanted(node: tree.OutlineNode) -> bool:
        return not only or node.kind in only or any(map(is_wanted, node.children))

    def add(nodes: Iterable[tree.OutlineNode], parent: int | None, depth: int) -> None:
        for node in filter(is_wanted, nodes):
            is_opened = nesting is None or depth < nesting
            below = list(filter(is_wanted, node.children)) if is_opened else []
            found.append(_Listed(node, below, len(found), parent, depth))
            add(below, len(found) - 1, depth + 1)

    add(_fold_tree(nodes, all_seconds), None, 0)
    return Outline(tuple(_make_row(each, all_seconds, evidence) for each in found), builder.begins)


class _Listed(NamedTuple):
    """A node that has a row, with those listed below it."""

    node: tree.OutlineNode
    below: list[tree.OutlineNode]
    number: int
    parent: int | None
    depth: int


def _list_names(node: tree.OutlineNode) -> Iterator[str]:
    yield from node.names
    for child in node.children:
        yield from _list_names(child)


def _make_row(listed: _Listed, all_seconds: float, evidence: OutlineEvidence) -> OutlineRow:
    pricing, measured = evidence.pricing, evidence.measured
    node, is_timed = listed.node, pricing.is_timed
    sent = list(tree.list_collectives(node))
    sent_bytes = sum(row.known_sent_bytes_per_step for row in sent) if sent else None
    exposed = sum(row.known_exposed_bytes_per_step for row in sent)
    is_known = all(row.exposed_share is not None for row in sent)
    waits = sum_known(row.exposed_seconds for row in sent) if sent and is_timed else None
    has_work = bool(node.cost.total_flops or node.cost.traffic_bytes)
    has_share = bool(node.seconds) and pricing.is_rated
    found = [measured[name] for name in dict.fromkeys(_list_names(node)) if name in measured]
    return OutlineRow(
        what=tree.write_step(node),
        count=node.count,
        kind=node.kind,
        time_share=node.seconds / all_seconds if has_share else None,
        estimated_seconds=node.seconds if has_share and is_timed else None,
        measured_seconds=sum_known(found) if found else None,
        start_seconds=node.start_seconds if is_timed else None,
        end_seconds=node.end_seconds if is_timed else None,
        exposed_seconds=waits,
        flops_per_step=node.cost.total_flops if has_work else None,
        traffic_bytes_per_step=node.cost.traffic_bytes if has_work else None,
        sent_bytes_per_step=sent_bytes,
        exposed_share=exposed / sent_bytes if sent_bytes and is_known else None,
        overlapped_flops=node.collectives[0].overlapped_flops
        if node.kind == "collective"
        else None,
        executions=node.runs,
        scope=share_path(node.scopes) if node.scopes else None,
        number=listed.number,
        parent=listed.parent,
        depth=listed.depth,
        names=tuple(node.names),
        is_shown_elsewhere=node.is_shown_elsewhere,
        is_flops_lower_bound=node.cost.is_total_lower_bound,
        is_traffic_lower_bound=node.cost.is_traffic_lower_bound,
        is_sent_lower_bound=any(one.sent_bytes_per_step is None for one in sent),
        is_upper_bound=node.cost.is_upper_bound,
        is_sent_upper_bound=any(one.is_upper_bound or one.is_conditional for one in sent),
        own=tree.own_figures(node, listed.below, all_seconds, pricing),
    )


def _fold_tree(nodes: Sequence[tree.OutlineNode], all_seconds: float) -> list[tree.OutlineNode]:
    """Return the same steps in fewer nodes; the nodes given are changed."""
    for node in nodes:
        node.children = _fold_tree(node.children, all_seconds)
        # A collective stands for the work beside it, where that is one step.
        if node.kind == "collective" and len(node.children) == 1 and tree.is_work(node.children[0]):
            work = node.children.pop()
            node.names += work.names
            node.beside = work.opcodes
    least = all_seconds * tree.SMALL
    joined = tree.join_work(nodes, lambda last, node: min(node.seconds, last.seconds) < least)
    folded = []
    for found in list_repeats([node.key for node in joined]):
        first = joined[found.start : found.start + found.length]
        for number in range(found.length, found.length * found.count):
            tree.merge_into(first[number % found.length], joined[found.start + number])
        if found.count > 1 and found.length > 1:
            first = [_repeat(first, found.count)]
        elif not tree.is_work(first[0]):  # work says itself of how many operations it consists
            first[0].count = found.count
        folded += first
    return folded


# Steps of what is repeated. A layer has a few dozen; every length is tried at every step, so that
# without a limit a long schedule would take quadratic time.
_LONGEST: Final = 200


class Repeat(Struct, frozen=True):
    """From `start` on, `length` keys stand `count` times in a row; once if `count` is 1."""

    start: int
    length: int
    count: int


def list_repeats(keys: Sequence[Hashable]) -> Iterator[Repeat]:
    """Cut a sequence into parts that are repeated, and keys that stand alone.

    From the left, the part is taken whose rounds cover most, of those the shortest.

    >>> [(one.start, one.length, one.count) for one in list_repeats("xababab")]
    [(0, 1, 1), (1, 2, 3)]
    """
    start = 0
    while start < len(keys):
        best = Repeat(start, 1, 1)
        for length in range(1, min(_LONGEST, (len(keys) - start) // 2) + 1):
            if keys[start] == keys[start + length]:
                matching = 0  # keys that equal the one a round before
                while (
                    start + length + matching < len(keys)
                    and keys[start + matching] == keys[start + length + matching]
                ):
                    matching += 1
                count = 1 + matching // length
                if count > 1 and count * length > best.count * best.length:
                    best = Repeat(start, length, count)
        yield best
        start += best.length * best.count


def _repeat(children: list[tree.OutlineNode], count: int) -> tree.OutlineNode:
    """Return a node for steps that stand several times in a row."""
    node = tree.OutlineNode(kind="repeat", names=[], count=count, children=children)
    for child in children:
        node.names += child.names
        node.scopes |= child.scopes
        child.opcodes = _divide(child.opcodes, count)
        child.beside = _divide(child.beside, count)
    node.start_seconds = min(child.start_seconds for child in children)
    node.end_seconds = max(child.end_seconds for child in children)
    tree.add_up(node)
    return node


def _divide(opcodes: Counter[str], rounds: int) -> Counter[str]:
    """Return what one of several rounds consists of; all of them where they are not alike."""
    if any(count % rounds for count in opcodes.values()):
        return opcodes
    return Counter({opcode: count // rounds for opcode, count in opcodes.items()})


STEPS: Final = RowList(
    "steps",
    OutlineRow,
    "steps in the order they run; a row that contains steps precedes them",
    size="time_share",
    key="number",
    upper_if=("is_upper_bound",),
    limit=0,
    screen="what,count,time_share,start_seconds,end_seconds,estimated_seconds,"
    "exposed_seconds,measured_seconds,sent_bytes_per_step,exposed_share,scope",
    wide_screen="flops_per_step,traffic_bytes_per_step",
)
OUTLINE: Final = DocumentSpec("outline", "a program in the order it runs", row_lists=(STEPS,))


def with_measured(spec: DocumentSpec, rows: Sequence[OutlineRow]) -> DocumentSpec:
    """Return the answer with a column for measured times, if there are any."""
    if all(row.measured_seconds is None for row in rows):
        return spec
    (steps,) = spec.row_lists
    return replace(spec, row_lists=(steps.showing(steps.shown() | {"measured_seconds"}),))


# Where no chip stands for the backend there are no shares of time: groups have those of traffic.
UNPRICED: Final = replace(
    OUTLINE,
    row_lists=(
        replace(
            STEPS.showing(STEPS.shown() - {"time_share"}),
            size="traffic_bytes_per_step",
            screen=STEPS.screen.replace("time_share", "traffic_bytes_per_step"),
            wide_screen="flops_per_step",
        ),
    ),
)
_CLOCK: Final = ("start_seconds", "end_seconds", "exposed_seconds", "estimated_seconds")
_LEFT_OUT: Final = {"flops_per_step", "traffic_bytes_per_step", "overlapped_flops", "time_share"}
# The same document with the modelled clock among the columns of its table.
ON_CLOCK: Final = replace(
    OUTLINE, row_lists=(STEPS.showing({*STEPS.shown(), *_CLOCK} - _LEFT_OUT),)
)
