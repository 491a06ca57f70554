"""Two programs compared in every respect, as asked: what `hlotool diff` shows."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.graph.backend import find_backend
from hlotool.compare.causes.cause import Cause, Evidence, InputPair, Triage
from hlotool.compare.causes.find import find_causes
from hlotool.compare.changes import figures
from hlotool.compare.changes.collectives import CollectiveChange, compare_collectives, compare_kinds
from hlotool.compare.changes.fusions import FusionChange, compare_fusions
from hlotool.compare.changes.header import FlagChange, HeaderChange, compare_flags, compare_headers
from hlotool.compare.changes.instructions import (
    InstructionChange,
    OrderChange,
    compare_instructions,
    compare_order,
)
from hlotool.compare.changes.memory import (
    MemoryChange,
    SpaceChange,
    are_held_alike,
    compare_memory,
    compare_spaces,
)
from hlotool.compare.changes.reasons import Reasoner
from hlotool.compare.inputs import DiffSide, SavedFigures, level_sides
from hlotool.compare.match.matching import Pairs
from hlotool.compare.match.structure import Structure, compare_structure

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
    metrics: tuple[figures.MetricRow, ...]
    memory: tuple[MemoryChange, ...]
    collectives: tuple[CollectiveChange, ...]
    fusions: tuple[FusionChange, ...]
    instructions: tuple[InstructionChange, ...]
    header: tuple[HeaderChange, ...]
    flags: tuple[FlagChange, ...]
    spaces: tuple[SpaceChange, ...] = ()
    causes: tuple[Cause, ...] = ()
    triage: Triage | None = None
    time: figures.TimeChange | None = None
    structure: Structure | None = None

    @property
    def differs(self) -> bool:
        """Whether anything does, but for the order of instructions."""
        lists = (self.memory, self.collectives, self.fusions, self.instructions, self.header)
        return any((*lists, self.flags, self.spaces, figures.changed_metrics(self.metrics)))


_METRICS_OF: Final = {
    "memory": ("buffers.",),
    "collectives": ("collectives.",),
    "fusions": ("fusions.",),
    "instructions": ("cost.", "module.", "run_time."),
}
_PRINTED: Final = ("module.instruction_count", "module.computation_count")
_NOT_LEVEL: Final = "the buffer assignment that one side has; memory is estimated on both"


def compare_programs(
    left: DiffSide, right: DiffSide, options: DiffOptions | None = None
) -> DiffReport:
    """Compare two programs, block by block.

    Structure is compared where both sides have a module, the values at the peaks where both
    know their memory, collectives and fusions where both have a module; of a saved document
    the figures alone. Raises what the analyses raise.
    """
    return _Comparison(left, right, options or DiffOptions()).report()


def estimate_times(left: DiffSide, right: DiffSide) -> figures.TimeChange | None:
    """Estimate how long a run takes on both sides; None where one has no module, or no estimate."""
    here, there = left.program, right.program
    if here is None or here.module is None or there is None or there.module is None:
        return None
    return figures.compare_times(here.run_time, there.run_time)


class _Comparison:
    """One comparison; each block is worked out if it was asked for and can be."""

    def __init__(self, left: DiffSide, right: DiffSide, options: DiffOptions) -> None:
        self.left, self.right = level_sides((left, right))
        self.options = options
        self.missing: list[str] = []
        if self.left is not left:
            self.missing.append(_NOT_LEVEL)
        self.is_one = left.program is not None and left.program is right.program
        self.structure: Structure | None = None
        self.reasoner: Reasoner | None = None
        if left.program and left.module and right.program and right.module:
            structure = compare_structure(left.program, right.program, is_strict=options.is_strict)
            self.structure = structure
            self.reasoner = Reasoner(structure)
            self.missing += structure.terms.not_compared
        else:
            self.missing.append("structure")

    def report(self) -> DiffReport:
        """Put the blocks together."""
        structure = self.structure
        wants, is_folded = self.options.only, self.options.is_folded
        found = order = None
        header: tuple[HeaderChange, ...] = ()
        if structure is not None and self.reasoner is not None:
            header = compare_headers(structure.left, structure.right)
            headers = structure.left.header, structure.right.header
            if not self.is_one and all(one.is_scheduled for one in headers):
                order = compare_order(structure.computations)
            if "instructions" in wants:
                found = compare_instructions(structure, self.reasoner, is_folded=is_folded)
        report = DiffReport(
            identical=None if structure is None else structure.is_equal and not header,
            matched_count=found.matched_count if found else None,
            changed_count=found.changed_count if found else None,
            left_only_count=found.left_only_count if found else None,
            right_only_count=found.right_only_count if found else None,
            order=order,
            metrics=self._metrics(has_equal=self.options.has_equal_figures),
            memory=self._memory() if "memory" in wants and not self.is_one else (),
            collectives=self._collectives() if "collectives" in wants and not self.is_one else (),
            fusions=self._fusions() if "fusions" in wants else (),
            instructions=found.rows if found else (),
            header=header if "instructions" in wants else (),
            flags=self._flags() if "flags" in wants else (),
            spaces=self._spaces() if "memory" in wants and not self.is_one else (),
            not_compared=tuple(self.missing),
            structure=structure,
        )
        if not report.differs:
            return report
        # Figures that were left out as known to be equal are wanted now, beside those that differ.
        report = replace(report, metrics=self._metrics())
        if not self.options.is_whole:
            return report
        report = replace(report, time=estimate_times(self.left, self.right))
        return self._explain(report) if self.options.has_causes else report

    def _explain(self, report: DiffReport) -> DiffReport:
        """Add the reasons for what differs, and who did it."""
        left, right = self.left.program, self.right.program
        inputs = InputPair(self.left.before, self.right.before)
        causes: tuple[Cause, ...] = ()
        if left and right and self.reasoner is not None:
            lists = report.collectives, report.instructions, report.header
            metrics = figures.by_path(report.metrics)
            causes = find_causes(Evidence(left, right, self.reasoner, inputs, metrics, *lists))
        has_flags = self.left.flags is not None and self.right.flags is not None
        triage = Triage(
            inputs.is_same,
            inputs.has_same_operations,
            len(report.flags) if has_flags else None,
            self.left.build,
            self.right.build,
            *(find_backend(one.module) if one and one.module else None for one in (left, right)),
        )
        return replace(report, causes=causes, triage=triage)

    def _spaces(self) -> tuple[SpaceChange, ...]:
        left, right = self.left.program, self.right.program
        if left is None or right is None or left.memory is None or right.memory is None:
            return ()
        return compare_spaces(left.memory.figures, right.memory.figures)

    def _metrics(self, *, has_equal: bool = True) -> tuple[figures.MetricRow, ...]:
        """Compare figures; but for `has_equal` without those that equal programs have alike."""
        if self.is_one and not has_equal:
            return ()
        prefixes = tuple(one for block in self.options.only for one in _METRICS_OF.get(block, ()))
        skipped: tuple[str, ...] = ()
        if self.structure is not None and self.structure.is_equal:
            skipped = _PRINTED  # canonical prints repeat computations
            if not has_equal and not self.structure.terms.not_compared:
                skipped += _METRICS_OF["fusions"]
        paths = (
            one
            for one in figures.DIFFED
            if one.startswith(prefixes) and not one.startswith(skipped)
        )
        return figures.compare_metrics(self.left.figures, self.right.figures, paths)

    def _memory(self) -> tuple[MemoryChange, ...]:
        left, right = self.left.program, self.right.program
        if left is None or right is None:
            self.missing.append("values at the peak")
            return ()
        if left.memory is None or right.memory is None:
            self.missing.append("memory")
            return ()
        here, there = left.memory.figures.peak, right.memory.figures.peak
        if here.position is None or there.position is None:
            self.missing.append("values at the peak")
            return ()
        pairs: Pairs = self.reasoner.pairs if self.reasoner else {}
        if left.assignment and right.assignment:
            # These know values by names alone, so one that stands twice in a module tells nothing.
            pairs = {
                one: other
                for one, other in pairs.items()
                if not any(each.name in each.module.repeated_names for each in (one, other))
            }
        # Describing every value at a peak is most of the cost of comparing equal programs.
        if here.bytes == there.bytes and are_held_alike(
            left.find_peak_holdings(), right.find_peak_holdings(), pairs
        ):
            return ()
        return compare_memory(left.peak_rows, right.peak_rows, pairs)

    def _collectives(self) -> tuple[CollectiveChange, ...]:
        left, right = self.left.figures, self.right.figures
        if isinstance(left, SavedFigures) or isinstance(right, SavedFigures):
            here, there = self.left.kinds(), self.right.kinds()
            if here is None or there is None:
                self.missing.append("collectives")
                return ()
            return compare_kinds(here, there)
        if left.module is None or right.module is None:
            self.missing.append("collectives")
            return ()
        return compare_collectives(left.collectives.rows, right.collectives.rows)

    def _fusions(self) -> tuple[FusionChange, ...]:
        structure = self.structure
        if structure is None or structure.is_equal or self.reasoner is None:
            return ()
        return compare_fusions(structure, self.reasoner)

    def _flags(self) -> tuple[FlagChange, ...]:
        left, right = self.left, self.right
        found: list[FlagChange] = []
        if left.flags is not None and right.flags is not None:
            found += compare_flags(left.flags, right.flags)
        if left.tpu_flags is not None and right.tpu_flags is not None:
            found += compare_flags(left.tpu_flags, right.tpu_flags, "tpu_comp_env")
        return tuple(sorted(found, key=lambda one: one.is_of_one_side))
