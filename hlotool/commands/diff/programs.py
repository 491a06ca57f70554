"""What the options of `hlotool diff` ask, beside rows and output.

A diff as a document: the headline first, then the blocks that have something to say.

`hlotool diff OLD NEW --why NAME`: what speaks for a pair of instructions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hlotool.commands.diff.text import MOST_WHY, write_verdict
from hlotool.commands.shared.options import RowOptions
from hlotool.commands.shared.output import print_document
from hlotool.compare.answer import DIFF, FACTS, ORDER, DiffFacts, SideFacts, name_columns
from hlotool.compare.changes.figures import Threshold, changed_metrics
from hlotool.compare.changes.header import FlagChange
from hlotool.compare.changes.instructions import InstructionChange
from hlotool.compare.inputs import Argument, read_side
from hlotool.compare.match.structure import compare_structure
from hlotool.compare.pairing import Pairing
from hlotool.compare.partners import DIFF_WHY, compare_partners, find_pairs
from hlotool.compare.report import DiffOptions, DiffReport
from hlotool.dump.files import StageChoice
from hlotool.errors import UsageError
from hlotool.hlo import Instruction
from hlotool.hlo.opcodes import COLLECTIVES, FREE
from hlotool.program.program import Assumptions
from hlotool.table import Document, InputPaths, Line, quote_braces
from hlotool.table.words import count_noun, plural


class Asked(Struct, frozen=True):
    """Which programs, what of them is compared, and how much worse one may get."""

    stage: StageChoice
    module: str | None
    compared: DiffOptions
    assumptions: Assumptions
    threshold: Threshold | None

    def for_several(self) -> Asked:
        """Return the same for several programs, of which a chip need not fit each."""
        return replace(self, assumptions=self.assumptions.for_several())


_SHOWN = (
    *("causes", "metrics", "spaces", "memory", "collectives", "fusions", "instructions"),
    *("header", "flags"),
)
# So many rows of a list, the lines above the tables tell.
_TOLD = {"causes": MOST_WHY, "spaces": 1}


def diff_document(
    report: DiffReport,
    left: SideFacts,
    right: SideFacts,
    compared: DiffOptions,
    options: RowOptions,
) -> Document:
    """Make the document of one pair of programs.

    For eyes, unchanged figures are left out, and of the instructions those that other
    blocks tell of, unless `--rows instructions` asks for them.
    """
    is_brief = options.wants_overview
    rows = {
        "instructions": _others(report.instructions) if is_brief else report.instructions,
        "causes": report.causes,
        "spaces": report.spaces,
        "memory": report.memory,
        "collectives": report.collectives,
        "fusions": report.fusions,
        "metrics": changed_metrics(report.metrics) if is_brief else report.metrics,
        "header": report.header,
        "flags": report.flags,
    }
    facts = _facts(report)
    labels = left.label, right.label
    return Document(
        spec=name_columns(*labels, report.collectives) if options.is_for_eyes else DIFF,
        input=None,
        scalars=facts,
        blocks={
            "left": left,
            "right": right,
            "triage": report.triage,
            "time": report.time,
            "order": report.order,
        },
        rows={name: found for name, found in rows.items() if found or not is_brief},
        lines=tuple(say_difference(report, options.units)),
        notes=(
            *count_changes(report, labels),
            *_explain_flags(report.flags),
            *(_hidden(report, rows["instructions"], compared) if is_brief else ()),
        ),
        limits_all=True,
        shown=tuple(name for name in _SHOWN if len(rows[name]) > _TOLD.get(name, 0)),
    )


def _facts(report: DiffReport) -> DiffFacts:
    return DiffFacts(
        report.identical,
        report.differs,
        report.matched_count,
        report.changed_count,
        report.left_only_count,
        report.right_only_count,
        report.not_compared,
    )


def _others(rows: Sequence[InstructionChange]) -> tuple[InstructionChange, ...]:
    """Keep the instructions that neither the fusions nor the collectives tell of."""
    return tuple(row for row in rows if not row.is_fused and not _has_own_block(row))


def _has_own_block(row: InstructionChange) -> bool:
    opcode = row.opcode.removesuffix("-start").removesuffix("-done")
    return opcode in COLLECTIVES or opcode in {"fusion", "async"} or opcode in FREE


def say_difference(report: DiffReport, units: str) -> Iterator[Line]:
    """Say what differs, why, and what was not compared."""
    if report.identical and not report.differs:
        yield Line("identical: the same program except for names, numbering and metadata")
    elif report.identical is None and not report.differs:
        yield Line("no difference in the figures that both sides have")
    else:
        yield from write_verdict(report, units)
    if report.not_compared:
        yield Line(f"not compared: {', '.join(report.not_compared)}")


def count_changes(report: DiffReport, labels: tuple[str, str]) -> Iterator[Line]:
    """Say how much of the programs is the same."""
    facts = _facts(report)
    if report.identical is False and facts.matched_count is not None:
        yield Line(
            "{matched_count:instruction} matched, {changed_count} of them differ; "
            f"{{left_only_count}} are only in {quote_braces(labels[0])}, "
            f"{{right_only_count}} only in {quote_braces(labels[1])}",
            FACTS,
            facts,
        )
    elif report.identical and report.differs:
        yield Line("the structure is identical")
    if report.order is not None:
        yield Line(
            "order: {moved_count} of {paired_count:instruction} moved, "
            "most of them in {computation}",
            ORDER,
            report.order,
        )


def _explain_flags(flags: Sequence[FlagChange]) -> Iterator[Line]:
    """Say what it means that a side does not print a flag."""
    count = sum(one.is_of_one_side for one in flags)
    if count:
        be = plural(count, "is", "are")
        yield Line(
            f"{count:,} of {len(flags):,} flags {be} printed on one side alone: XLA prints no "
            "default, and a release no flag of another; --rows flags -n 0 lists all"
        )


def _hidden(report: DiffReport, shown: Sequence[object], compared: DiffOptions) -> Iterator[Line]:
    hidden = len(report.instructions) - len(shown)
    if hidden and "instructions" in compared.only:
        rows = count_noun(hidden, "row is", "rows are")
        yield Line(
            f"{rows} not shown: instructions inside fusions, fusions and collectives themselves, "
            "instructions that move no data; see --rows instructions"
        )


def print_partners(
    pair: Pairing,
    arguments: tuple[Argument, Argument],
    name: str,
    asked: Asked,
    options: RowOptions,
) -> None:
    """Print what an instruction and its partner have in common."""
    if pair.left is None or pair.right is None:
        raise ValueError("both sides are needed")
    left, _ = read_side(pair.left, arguments[0].label)
    right, _ = read_side(pair.right, arguments[1].label)
    if not (left.program and left.module and right.program and right.module):
        raise UsageError("--why needs the text of both modules.")
    structure = compare_structure(left.program, right.program, is_strict=asked.compared.is_strict)
    labels = arguments[0].label, arguments[1].label
    pairs = find_pairs(structure, name)
    rows = [
        row for old, new in pairs if old and new for row in compare_partners(old, new, structure)
    ]
    document = Document(
        DIFF_WHY,
        InputPaths(arguments[1].path),
        rows={"evidence": rows},
        lines=tuple(Line(quote_braces(_tell(*each, labels))) for each in pairs),
    )
    print_document(document, options)


def _tell(old: Instruction | None, new: Instruction | None, labels: tuple[str, str]) -> str:
    """Name the pair."""
    left = f"{old.full_name} of {labels[0]}" if old else ""
    right = f"{new.full_name} of {labels[1]}" if new else ""
    if left and right:
        return f"{left} is {right}"
    return f"{left or right} has no partner in {labels[1] if left else labels[0]}"
