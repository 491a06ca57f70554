"""What may be asked of two programs, and what does the answer hold?"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from hlotool.compare.blocks.collectives import CollectiveChange
from hlotool.compare.blocks.flags import FlagChange
from hlotool.compare.blocks.fold import InstructionChange
from hlotool.compare.blocks.fusions import FusionChange
from hlotool.compare.blocks.header import HeaderChange
from hlotool.compare.blocks.memory import MemoryChange
from hlotool.compare.blocks.metrics import MetricRow, changed_metrics
from hlotool.compare.blocks.order import OrderChange
from hlotool.compare.blocks.run_time import TimeChange
from hlotool.compare.blocks.spaces import SpaceChange
from hlotool.compare.causes.cause import Cause
from hlotool.compare.causes.triage import Triage
from hlotool.compare.match.structure import Structure

BLOCKS: Final = ("memory", "collectives", "fusions", "instructions", "flags")


class DiffOptions(Struct, frozen=True):
    """`only` are the blocks to compare; `is_folded` false lists every change by itself.

    `has_causes` false looks for no reasons, and does not read what XLA was given.
    `has_equal_figures` false leaves out figures that are known to be equal where nothing differs:
    all where both sides are the same bytes, those of fusions where the structure is the same.
    """

    only: tuple[str, ...] = BLOCKS
    is_strict: bool = False
    is_folded: bool = True
    has_causes: bool = True
    has_equal_figures: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether all blocks are compared, which an estimate of time takes."""
        return self.only == BLOCKS

    @property
    def wants_causes(self) -> bool:
        """Whether to look for causes, which takes all blocks."""
        return self.has_causes and self.is_whole


class DiffReport(Struct, frozen=True):
    """What differs. `identical` is about structure alone; null where it was not compared.

    `not_compared` says what one side does not hold. The counts are of instructions.
    """

    identical: bool | None
    not_compared: tuple[str, ...]
    matched_count: int | None
    changed_count: int | None
    left_only_count: int | None
    right_only_count: int | None
    order: OrderChange | None
    metrics: tuple[MetricRow, ...]
    memory: tuple[MemoryChange, ...]
    collectives: tuple[CollectiveChange, ...]
    fusions: tuple[FusionChange, ...]
    instructions: tuple[InstructionChange, ...]
    header: tuple[HeaderChange, ...]
    flags: tuple[FlagChange, ...]
    spaces: tuple[SpaceChange, ...] = ()
    causes: tuple[Cause, ...] = ()
    triage: Triage | None = None
    time: TimeChange | None = None
    structure: Structure | None = None

    @property
    def differs(self) -> bool:
        """Whether anything does, but for the order of instructions."""
        lists = (self.memory, self.collectives, self.fusions, self.instructions, self.header)
        return any((*lists, self.flags, self.spaces, changed_metrics(self.metrics)))
