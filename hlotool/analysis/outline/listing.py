"""How does the tree of steps become a list, in the order in which they run?"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.outline.fold import fold_tree
from hlotool.analysis.outline.own import find_own, list_collectives
from hlotool.analysis.outline.rows import OutlineRow
from hlotool.analysis.outline.steps import OutlineEvidence, StepKind
from hlotool.analysis.outline.tree import OutlineNode, grow_tree
from hlotool.analysis.outline.wording import write_step
from hlotool.fields.paths import share_path


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
