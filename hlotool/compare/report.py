"""Two programs compared in every respect, as asked: what `hlotool diff` shows."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.graph.backend import find_backend
from hlotool.compare.answer import DiffFacts
from hlotool.compare.causes.account import AccountRow
from hlotool.compare.causes.cause import Cause, Evidence, InputPair, Triage
from hlotool.compare.causes.find import Findings, find_causes
from hlotool.compare.causes.memory import find_undone
from hlotool.compare.causes.structure import find_metadata
from hlotool.compare.changes import figures
from hlotool.compare.changes import instructions as listed
from hlotool.compare.changes.collectives import CollectiveChange, compare_collectives, compare_kinds
from hlotool.compare.changes.fusions import FusionChange, compare_fusions
from hlotool.compare.changes.header import FlagChange, HeaderChange, compare_flags, compare_headers
from hlotool.compare.changes.memory import MemoryChange, SpaceChange, compare_memory, compare_spaces
from hlotool.compare.changes.reasons import Reasoner
from hlotool.compare.inputs import DiffSide, SavedFigures, count_devices, level_sides, take_lowered
from hlotool.compare.match.matching import Pairs
from hlotool.compare.match.structure import Structure, compare_structure
from hlotool.table.words import join_words

BLOCKS: Final = ("memory", "collectives", "fusions", "instructions", "flags")


class DiffOptions(Struct, frozen=True):
    """`only` are the blocks to compare; `is_folded` false lists every change by itself.

    `has_causes` false looks for no reasons, and does not read what XLA was given.
    `has_equal_figures` false leaves out figures that are known to be equal where nothing differs:
    all where both sides are the same bytes, or the same instructions in the same order, those of
    fusions where the structure is the same.
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


class DiffReport(DiffFacts, frozen=True, kw_only=True):
    """What differs, whether anything does but for the order of instructions, and why."""

    order: listed.OrderChange | None
    metrics: tuple[figures.MetricRow, ...]
    memory: tuple[MemoryChange, ...]
    collectives: tuple[CollectiveChange, ...]
    fusions: tuple[FusionChange, ...]
    instructions: tuple[listed.InstructionChange, ...]
    header: tuple[HeaderChange, ...]
    flags: tuple[FlagChange, ...]
    spaces: tuple[SpaceChange, ...] = ()
    measured: tuple[listed.MeasuredChange, ...] = ()
    causes: tuple[Cause, ...] = ()
    account: tuple[AccountRow, ...] = ()
    triage: Triage | None = None
    time: figures.TimeChange | None = None
    structure: Structure | None = None


_METRICS_OF: Final = {
    "memory": ("buffers.",),
    "collectives": ("collectives.",),
    "fusions": ("fusions.",),
    "instructions": ("cost.", "module.", "step_time."),
}
_COUNTS: Final = (
    *("matched_count", "changed_count", "old_only_count", "new_only_count", "copied_count"),
)
_PRINTED: Final = ("module.instruction_count", "module.computation_count")
_NOT_LEVEL: Final = "the buffer assignment that one side has; memory is estimated on both"


def compare_programs(
    old: DiffSide, new: DiffSide, options: DiffOptions | None = None
) -> DiffReport:
    """Compare two programs, block by block.

    Structure is compared where both sides have a module, the values at the peaks where both
    know their memory, collectives and fusions where both have a module; of a saved document
    the figures alone. Raises what the analyses raise.
    """
    return _Comparison(old, new, options or DiffOptions()).report()


def estimate_times(old: DiffSide, new: DiffSide) -> figures.TimeChange | None:
    """Estimate how long a step takes on both sides; None where one has no module or estimate."""
    here, there = old.program, new.program
    if here is None or here.module is None or there is None or there.module is None:
        return None
    return figures.compare_times(here.step_time, there.step_time)


class _Comparison:
    """One comparison; each block is worked out if it was asked for and can be."""

    def __init__(self, old: DiffSide, new: DiffSide, options: DiffOptions) -> None:
        self.old, self.new = level_sides((old, new))
        self.options = options
        self.missing: list[str] = []
        if self.old is not old:
            self.missing.append(_NOT_LEVEL)
        if options.has_causes and options.is_whole:
            (self.old, self.new), told = take_lowered((self.old, self.new))
            self.missing += [told] if told else []
        self.inputs = InputPair(self.old.before, self.new.before)
        self.devices = count_devices(self.old, self.new)
        self.is_one = old.program is not None and old.program is new.program
        self.structure: Structure | None = None
        self.reasoner: Reasoner | None = None
        self.is_alike = self.is_one  # in all figures that a text tells
        if old.program and old.module and new.program and new.module:
            structure = compare_structure(old.program, new.program, is_strict=options.is_strict)
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
            header = compare_headers(structure.old, structure.new)
            if not self.is_one:
                order = listed.compare_order(structure.computations)
                self.is_alike = self._find_alike(structure) and not (header or order)
            if not (structure.old.header.is_scheduled and structure.new.header.is_scheduled):
                order = None
            if "instructions" in wants:
                found = listed.compare_instructions(structure, self.reasoner, is_folded=is_folded)
        metrics = self._metrics(has_equal=self.options.has_equal_figures)
        counts: dict[str, Any] = {name: getattr(found, name, None) for name in _COUNTS}
        lists: dict[str, Any] = {
            "memory": self._memory() if "memory" in wants else (),
            "collectives": self._collectives() if "collectives" in wants else (),
            "fusions": self._fusions() if "fusions" in wants else (),
            "instructions": found.rows if found else (),
            "header": header if "instructions" in wants else (),
            "flags": self._flags() if "flags" in wants else (),
            "spaces": self._spaces() if "memory" in wants else (),
        }
        report = DiffReport(
            identical=None if structure is None else structure.is_equal and not header,
            differs=any((*lists.values(), figures.changed_metrics(metrics))),
            **counts,
            order=order,
            metrics=metrics,
            **lists,
            measured=listed.compare_measured(structure) if structure and not self.is_one else (),
            not_compared=tuple(self.missing),
            structure=structure,
            stages=self._find_stages(),
            old_devices=self.devices[0],
            new_devices=self.devices[1],
        )
        if not report.differs:
            return self._explain_given(report)
        # Figures that were left out as known to be equal are wanted now, beside those that differ.
        report = replace(report, metrics=self._metrics())
        # Between two stages, what the compiler did to the program is no reason.
        if not self.options.is_whole or report.stages:
            return report
        report = replace(report, time=estimate_times(self.old, self.new))
        times = [side.program and side.program.step_time for side in (self.old, self.new)]
        chips = [one.chip for one in times if one]
        if len(set(chips)) > 1:
            told = f"time, as the sides are for {join_words(chips, 'and')}"
            report = replace(report, not_compared=(*report.not_compared, told))
        return self._explain(report) if self.options.has_causes else report

    def _find_alike(self, structure: Structure) -> bool:
        """Say whether equal computations in equal order come to the same on both sides."""
        if not structure.is_equal or structure.terms.not_compared:
            return False
        return structure.programs[0].pricing == structure.programs[1].pricing

    @property
    def _holds_alike(self) -> bool:
        """Whether memory is the same as well, of which no buffer assignment says something else."""
        given = (side.program and side.program.assignment for side in (self.old, self.new))
        return self.is_one or (self.is_alike and not any(given))

    def _find_stages(self) -> tuple[str, ...]:
        """Return the stages of both texts, where they are known and differ."""
        stages = tuple(side.stage.value for side in (self.old, self.new) if side.stage)
        return stages if len(set(stages)) > 1 else ()

    def _explain_given(self, report: DiffReport) -> DiffReport:
        """Add what was changed in the program, where XLA made the same of two."""
        has_causes = self.options.has_causes and self.options.is_whole and not self.is_one
        if not has_causes or self.structure is None:
            return report
        if self.options.is_strict:
            other = find_metadata(self.structure.counterparts())
            report = replace(report, causes=tuple(filter(None, (other,))))
        inputs = self.inputs
        undone = find_undone(inputs, self.structure.new) if inputs.is_whole else None
        if undone is None and inputs.is_same is not False:
            return report
        explained = self._explain(report)
        causes = (*filter(None, (undone,)), *explained.causes)
        is_told = any(one.id != "other" for one in causes)
        return replace(explained, causes=causes) if is_told else report

    def _explain(self, report: DiffReport) -> DiffReport:
        """Add the reasons for what differs, and who did it."""
        old, new = self.old.program, self.new.program
        inputs, found = self.inputs, Findings()
        if old and new and self.reasoner is not None:
            lists = report.collectives, report.instructions, report.header
            metrics = figures.by_path(report.metrics)
            found = find_causes(Evidence(old, new, self.reasoner, inputs, metrics, *lists))
        elif inputs.is_whole and not inputs.is_same:
            before, after = inputs.programs
            old_input = DiffSide(before, before=self.old.before)
            given = compare_programs(old_input, DiffSide(after, before=self.new.before))
            found = Findings(given.causes)
        has_flags = self.old.flags is not None and self.new.flags is not None
        triage = Triage(
            inputs.is_same,
            len(report.flags) if has_flags else None,
            self.old.build,
            self.new.build,
            *(find_backend(one.module) if one and one.module else None for one in (old, new)),
        )
        return replace(report, causes=found.causes, account=found.account, triage=triage)

    def _spaces(self) -> tuple[SpaceChange, ...]:
        old, new = self.old.program, self.new.program
        if self._holds_alike or not (old and new and old.memory and new.memory):
            return ()
        return compare_spaces(old.memory.figures, new.memory.figures)

    def _metrics(self, *, has_equal: bool = True) -> tuple[figures.MetricRow, ...]:
        """Compare figures; but for `has_equal` without those that equal programs have alike."""
        if self._holds_alike and not has_equal:
            return ()
        prefixes = tuple(one for block in self.options.only for one in _METRICS_OF.get(block, ()))
        skipped: tuple[str, ...] = ()
        if self.structure is not None and self.structure.is_equal:
            skipped = _PRINTED  # canonical prints repeat computations
            if not has_equal and self.is_alike:
                skipped += tuple(one for one in figures.DIFFED if not one.startswith("buffers."))
            elif not has_equal and not self.structure.terms.not_compared:
                skipped += _METRICS_OF["fusions"]
        paths = (
            one
            for one in figures.DIFFED
            if one.startswith(prefixes) and not one.startswith(skipped)
        )
        other = self.old if self._holds_alike else self.new
        return figures.compare_metrics(self.old.figures, other.figures, paths, self.devices)

    def _memory(self) -> tuple[MemoryChange, ...]:
        if self._holds_alike:
            return ()
        old, new = self.old.program, self.new.program
        if old is None or new is None:
            self.missing.append("buffers-at-peak-changed")
            return ()
        if old.memory is None or new.memory is None:
            self.missing.append("memory")
            return ()
        here, there = old.memory.figures.peak, new.memory.figures.peak
        if here.position is None or there.position is None:
            self.missing.append("buffers-at-peak-changed")
            return ()
        if self.is_alike and here.bytes == there.bytes:
            return ()
        pairs: Pairs = self.reasoner.pairs if self.reasoner else {}
        if old.assignment and new.assignment:
            # These know values by names alone, so one that stands twice in a module tells nothing.
            pairs = {
                one: other
                for one, other in pairs.items()
                if not any(each.name in each.module.repeated_names for each in (one, other))
            }
        return compare_memory(old.peak_rows, new.peak_rows, pairs)

    def _collectives(self) -> tuple[CollectiveChange, ...]:
        if self.is_alike:
            return ()
        old, new = self.old.figures, self.new.figures
        if isinstance(old, SavedFigures) or isinstance(new, SavedFigures):
            here, there = self.old.kinds(), self.new.kinds()
            if here is not None and there is not None:
                return compare_kinds(here, there)
        elif old.module is not None and new.module is not None:
            return compare_collectives(old.collectives.rows, new.collectives.rows)
        self.missing.append("collectives")
        return ()

    def _fusions(self) -> tuple[FusionChange, ...]:
        structure = self.structure
        if structure is None or structure.is_equal or self.reasoner is None:
            return ()
        return compare_fusions(structure, self.reasoner)

    def _flags(self) -> tuple[FlagChange, ...]:
        old, new = self.old, self.new
        found: list[FlagChange] = []
        if old.flags is not None and new.flags is not None:
            found += compare_flags(old.flags, new.flags)
        if old.tpu_flags is not None and new.tpu_flags is not None:
            found += compare_flags(old.tpu_flags, new.tpu_flags, "tpu_comp_env")
        return tuple(sorted(found, key=lambda one: None in (one.old, one.new)))  # these come last
