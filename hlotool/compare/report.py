"""What may be asked of two programs, and what does the answer hold?

Two programs compared in every respect: what `hlotool diff` shows.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.graph.backend import find_backend
from hlotool.compare.causes.cause import Cause, Evidence
from hlotool.compare.causes.find import find_causes
from hlotool.compare.causes.triage import InputPair, Triage
from hlotool.compare.changes.collectives import CollectiveChange, compare_collectives
from hlotool.compare.changes.figures import (
    DIFFED,
    MetricRow,
    TimeChange,
    by_path,
    changed_metrics,
    compare_metrics,
    compare_times,
)
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
from hlotool.compare.changes.reasons import Reasoner, make_reasoner
from hlotool.compare.inputs import DiffSide, level_sides
from hlotool.compare.match.matching import Pairs
from hlotool.compare.match.pairing_steps import compare_structure
from hlotool.compare.match.structure import Structure
from hlotool.compare.saved import SavedFigures, compare_kinds, kinds_of
from hlotool.hlo import Instruction

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
    options = options or DiffOptions()
    comparison = _Comparison(left, right, options)
    return comparison.report()


def estimate_times(left: DiffSide, right: DiffSide) -> TimeChange | None:
    """Estimate how long a run takes on both sides; None where one has no module, or no estimate."""
    here, there = left.program, right.program
    if here is None or here.module is None or there is None or there.module is None:
        return None
    return compare_times(here.run_time, there.run_time)


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
            self.reasoner = make_reasoner(structure)
            self.missing += structure.terms.not_compared
        else:
            self.missing.append("structure")

    def report(self) -> DiffReport:
        """Put the blocks together."""
        structure = self.structure
        wants = self.options.only
        found = None
        order = None
        header: tuple[HeaderChange, ...] = ()
        if structure is not None and self.reasoner is not None:
            header = compare_headers(structure.left, structure.right)
            headers = structure.left.header, structure.right.header
            if not self.is_one and all(one.is_scheduled for one in headers):
                order = compare_order(structure.computations)
            if "instructions" in wants:
                found = compare_instructions(
                    structure, self.reasoner, is_folded=self.options.is_folded
                )
        flags = self._flags() if "flags" in wants else ()
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
            flags=flags,
            spaces=self._spaces() if "memory" in wants and not self.is_one else (),
            not_compared=tuple(self.missing),
            structure=structure,
        )
        if not report.differs:
            return report
        report = replace(report, metrics=self._metrics())
        if not self.options.is_whole:
            return report
        report = replace(report, time=estimate_times(self.left, self.right))
        return self._explain(report) if self.options.wants_causes else report

    def _explain(self, report: DiffReport) -> DiffReport:
        """Add the reasons for what differs, and who did it."""
        left, right = self.left.program, self.right.program
        inputs = InputPair(self.left.before, self.right.before)
        causes: tuple[Cause, ...] = ()
        if left and right and self.reasoner is not None:
            causes = find_causes(
                Evidence(
                    (left, right),
                    self.reasoner,
                    inputs,
                    by_path(report.metrics),
                    collectives=report.collectives,
                    instructions=report.instructions,
                    header=report.header,
                )
            )
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

    def _metrics(self, *, has_equal: bool = True) -> tuple[MetricRow, ...]:
        """Compare figures; but for `has_equal` without those that equal programs have alike."""
        if self.is_one and not has_equal:
            return ()
        prefixes = tuple(one for block in self.options.only for one in _METRICS_OF.get(block, ()))
        skipped: tuple[str, ...] = ()
        if self.structure is not None and self.structure.is_equal:
            skipped = _PRINTED  # canonical prints repeat computations
            if not has_equal and not self.structure.terms.not_compared:
                skipped += _METRICS_OF["fusions"]
        paths = (one for one in DIFFED if one.startswith(prefixes) and not one.startswith(skipped))
        return compare_metrics(self.left.figures, self.right.figures, paths)

    def _memory(self) -> tuple[MemoryChange, ...]:
        programs = self.left.program, self.right.program
        if programs[0] is None or programs[1] is None:
            self.missing.append("values at the peak")
            return ()
        reports = programs[0].memory, programs[1].memory
        if reports[0] is None or reports[1] is None:
            self.missing.append("memory")
            return ()
        peaks = [one.figures.peak for one in reports if one]
        if peaks[0].position is None or peaks[1].position is None:
            self.missing.append("values at the peak")
            return ()
        pairs: Pairs = self.reasoner.pairs if self.reasoner else {}
        if programs[0].assignment and programs[1].assignment:  # which know names alone
            pairs = {one: other for one, other in pairs.items() if _are_told_apart(one, other)}
        if peaks[0].bytes == peaks[1].bytes and are_held_alike(
            programs[0].find_peak_holdings(), programs[1].find_peak_holdings(), pairs
        ):
            return ()
        return compare_memory(programs[0].peak_rows, programs[1].peak_rows, pairs)

    def _collectives(self) -> tuple[CollectiveChange, ...]:
        left, right = self.left.figures, self.right.figures
        if isinstance(left, SavedFigures) or isinstance(right, SavedFigures):
            here, there = kinds_of(left), kinds_of(right)
            if here is None or there is None:
                self.missing.append("collectives")
                return ()
            return compare_kinds(here, there)
        if left.module is None or right.module is None:
            self.missing.append("collectives")
            return ()
        return compare_collectives(left.collectives.rows, right.collectives.rows)

    def _fusions(self) -> tuple[FusionChange, ...]:
        left, right, structure = self.left.program, self.right.program, self.structure
        if left is None or right is None or self.reasoner is None:
            return ()
        if structure is None or structure.is_equal:
            return ()
        return compare_fusions(structure, self.reasoner, left, right)

    def _flags(self) -> tuple[FlagChange, ...]:
        left, right = self.left, self.right
        found: list[FlagChange] = []
        if left.flags is not None and right.flags is not None:
            found += compare_flags(left.flags, right.flags)
        if left.tpu_flags is not None and right.tpu_flags is not None:
            found += compare_flags(left.tpu_flags, right.tpu_flags, "tpu_comp_env")
        return tuple(sorted(found, key=lambda one: one.is_of_one_side))


def _are_told_apart(*instructions: Instruction) -> bool:
    """Whether each has a name that nothing else in its module has."""
    return all(one.name not in one.module.repeated_names for one in instructions)
