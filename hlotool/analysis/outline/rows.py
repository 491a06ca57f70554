"""What is said of one step of an outline?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.outline.fold import fold_tree
from hlotool.analysis.outline.steps import OutlineEvidence, StepKind
from hlotool.analysis.outline.tree import OutlineNode, grow_tree
from hlotool.fields import BYTES, COUNT, FLOPS, NUMBER, PERCENT, SECONDS, TIMES, column, figure
from hlotool.fields.paths import fold_numbers, share_path

_MOST_OPCODES: Final = 4  # named in a step
_LOWER_FLOPS: Final = "is_flops_lower_bound"
_LOWER_MEMORY: Final = "is_memory_lower_bound"


class OutlineRow(Struct, frozen=True, kw_only=True):
    """One step. Figures are of all its executions in one run, and include the steps inside."""

    step: Annotated[
        str,
        column(
            "what runs: loops with their rounds, what work consists of, what a collective moves",
            indent_by="depth",
            wants=36,
        ),
    ]
    count: Annotated[int, column("steps alike in a row that it stands for", TIMES, heading="×")]
    kind: Annotated[
        StepKind,
        figure(
            "loop, conditional, branch or call, which hold steps; repeat: steps that stand in a "
            "row several times; collective; wait: the end of a collective; compute; memory: work "
            "without arithmetic"
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
        ),
    ]
    estimated_seconds: Annotated[
        float | None,
        figure(
            "with --chip: estimated time of its work at the chip's peaks", SECONDS, null_text=""
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
        ),
    ]
    flops_per_run: Annotated[
        int | None,
        column(
            "floating-point operations, known ones of custom calls too",
            FLOPS,
            null_text="",
            lower_if=_LOWER_FLOPS,
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
    writer.write(fold_tree(nodes, all_seconds), None, 0)
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

    def write(self, nodes: Sequence[OutlineNode], parent: int | None, depth: int) -> None:
        """Add rows for nodes, and below each for what it holds."""
        for node in nodes:
            if not self._is_wanted(node):
                continue
            number = len(self.rows)
            self.rows.append(self._make_row(node, number, parent, depth))
            if self._nesting is None or depth < self._nesting:
                self.write(node.children, number, depth + 1)

    def _is_wanted(self, node: OutlineNode) -> bool:
        if not self._only or node.kind in self._only:
            return True
        return any(map(self._is_wanted, node.children))

    def _make_row(
        self, node: OutlineNode, number: int, parent: int | None, depth: int
    ) -> OutlineRow:
        sent = list(_list_collectives(node))
        wire_bytes = sum(row.known_wire_bytes_per_run for row in sent) if sent else None
        exposed = [row.known_exposed_wire_bytes_per_run for row in sent]
        is_known = all(row.exposed_share is not None for row in sent)
        alone = node.collectives[0] if node.kind == "collective" else None
        has_work = bool(node.seconds)
        is_timed = self._evidence.pricing.is_timed
        return OutlineRow(
            step=write_step(node),
            count=node.count,
            kind=node.kind,
            time_share=node.seconds / self._all_seconds if has_work else None,
            estimated_seconds=node.seconds if has_work and is_timed else None,
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
        )


def _list_collectives(node: OutlineNode) -> Iterator[CollectiveRow]:
    if node.kind == "collective":
        yield from node.collectives
    for child in node.children:
        yield from _list_collectives(child)


def _sum_exposed(rows: Sequence[CollectiveRow]) -> float | None:
    """Return the time that collectives are exposed; None where it is unknown of one of them."""
    known = [row.exposed_seconds for row in rows if row.exposed_seconds is not None]
    return sum(known) if len(known) == len(rows) else None


def write_step(node: OutlineNode) -> str:
    """Say what a node is, without names of instructions, which differ between compilations."""
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
    if node.kind in {"collective", "wait"}:
        return _name_collective(node)
    return _count_opcodes(node.opcodes)


def _count_opcodes(opcodes: Counter[str]) -> str:
    listed = [
        f"{opcode} ×{count}" if count > 1 else opcode
        for opcode, count in opcodes.most_common(_MOST_OPCODES)
    ]
    more = len(opcodes) - len(listed)
    return ", ".join(listed) + (f" and {more} more" if more > 0 else "")


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
