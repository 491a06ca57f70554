"""A diff as a document: the headline first, then the blocks that have something to say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hlotool.commands.diffing.verdict import MOST_WHY, write_verdict
from hlotool.commands.shared.command import RowOptions
from hlotool.compare.answer import DIFF, FACTS, ORDER, DiffFacts, SideFacts, name_columns
from hlotool.compare.blocks.flags import FlagChange
from hlotool.compare.blocks.fold import InstructionChange
from hlotool.compare.blocks.metrics import changed_metrics
from hlotool.compare.comparison import DiffOptions, DiffReport
from hlotool.fields import Document, Line, quote_braces
from hlotool.ir.opcodes import COLLECTIVES, FREE

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
        be = "is" if count == 1 else "are"
        yield Line(
            f"{count:,} of {len(flags):,} flags {be} printed on one side alone: XLA prints no "
            "default, and a release no flag of another; --rows flags -n 0 lists all"
        )


def _hidden(report: DiffReport, shown: Sequence[object], compared: DiffOptions) -> Iterator[Line]:
    hidden = len(report.instructions) - len(shown)
    if hidden and "instructions" in compared.only:
        rows = "1 row is" if hidden == 1 else f"{hidden:,} rows are"
        yield Line(
            f"{rows} not shown: instructions inside fusions, fusions and collectives themselves, "
            "instructions that move no data; see --rows instructions"
        )
