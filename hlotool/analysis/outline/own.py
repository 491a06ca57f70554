"""What of a step's figures is in no step that is listed below it, so that steps add up?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from hlotool.analysis.collectives.overlap.pricing import Pricing
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.outline.tree import OutlineNode


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
