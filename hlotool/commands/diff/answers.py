"""The answers of `hlotool diff`: about a pair, several sides, or the modules of two directories.

Each `print_` function compares, prints, and says whether anything differs, and whether anything is
worse than --threshold allows: `command` makes the exit code of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import click
from msgspec import Struct
from msgspec.structs import replace

from hlotool.commands.diff.text import (
    MOST_WHY,
    count_changes,
    count_statuses,
    explain_flags,
    list_ambiguous,
    name_counterparts,
    note_several,
    point_to_pair,
    say_backends,
    say_difference,
    say_hidden,
    worse_line,
)
from hlotool.commands.shared.messages import say, say_all
from hlotool.commands.shared.options import RowOptions
from hlotool.commands.shared.output import print_document
from hlotool.commands.shared.request import progress
from hlotool.compare.answer import DIFF, DiffFacts, SideFacts, name_columns
from hlotool.compare.changes.figures import MetricRow, Threshold, changed_metrics, find_worse
from hlotool.compare.changes.instructions import InstructionChange
from hlotool.compare.changes.reasons import DIFF_WHY, compare_counterparts, find_pairs
from hlotool.compare.directory import ModuleDiff, choose_columns, describe_alone, describe_pair
from hlotool.compare.inputs import (
    Argument,
    Candidate,
    find_candidates,
    level_sides,
    read_pair,
    read_side,
)
from hlotool.compare.match.structure import compare_structure
from hlotool.compare.pairing import Pairing
from hlotool.compare.report import DiffOptions, DiffReport, compare_programs
from hlotool.compare.several import (
    DIFF_SEVERAL,
    NOT_LEVEL,
    SeveralFacts,
    compare_sides,
    list_figures,
    list_links,
    list_sides,
    spread,
)
from hlotool.dump.budget import ByteBudget
from hlotool.dump.files import StageChoice
from hlotool.dump.workers import Failure, map_inputs
from hlotool.errors import UsageError
from hlotool.hlo.opcodes import COLLECTIVES, FREE
from hlotool.program.program import Assumptions
from hlotool.table import Document, InputPaths, Line, quote_braces
from hlotool.table.words import list_some


class Asked(Struct, frozen=True):
    """Which programs, what of them is compared, and how much worse one may get."""

    stage: StageChoice
    module: str | None
    compared: DiffOptions
    assumptions: Assumptions
    threshold: Threshold | None
    unpacking: ByteBudget

    def for_several(self) -> Asked:
        """Return the same for several programs, of which a chip need not fit each."""
        return replace(self, assumptions=self.assumptions.for_several())


# So many rows of a list, the lines above the tables tell.
_TOLD = {"causes": MOST_WHY, "spaces": 1, "account": 1_000}


def diff_document(
    report: DiffReport,
    old: SideFacts,
    new: SideFacts,
    compared: DiffOptions,
    options: RowOptions,
) -> Document:
    """Make the document of one pair of programs.

    For eyes, unchanged figures are left out, and of the instructions those that other
    blocks tell of, unless `--rows instructions` asks for them.
    """
    is_brief = options.wants_overview
    others = (row for row in report.instructions if not (row.is_fused or _has_own_block(row)))
    rows = {  # in the order of the tables
        "causes": report.causes,
        "account": report.account,
        "metrics": changed_metrics(report.metrics) if is_brief else report.metrics,
        "spaces": report.spaces,
        "memory": report.memory,
        "collectives": report.collectives,
        "fusions": report.fusions,
        "instructions": tuple(others) if is_brief else report.instructions,
        "header": report.header,
        "flags": report.flags,
    }
    hidden = len(report.instructions) - len(rows["instructions"])
    hidden *= "instructions" in compared.only
    facts = describe_report(report)
    labels = old.label, new.label
    return Document(
        spec=name_columns(*labels, report.collectives) if options.is_for_eyes else DIFF,
        input=None,
        scalars=facts,
        blocks={
            "old": old,
            "new": new,
            **{name: getattr(report, name) for name in ("triage", "time", "order")},
        },
        rows={name: found for name, found in rows.items() if found or not is_brief},
        lines=tuple(say_difference(report, options.units)),
        notes=(
            *count_changes(facts, report, labels),
            *explain_flags(report.flags),
            *say_hidden(hidden),
        ),
        limits_all=True,
        shown=tuple(name for name, found in rows.items() if len(found) > _TOLD.get(name, 0)),
    )


def _has_own_block(row: InstructionChange) -> bool:
    """Say whether the tables of fusions or collectives tell of it, or it moves no data."""
    opcode = row.opcode.removesuffix("-start").removesuffix("-done")
    return opcode in COLLECTIVES or opcode in {"fusion", "async"} or opcode in FREE


def describe_report(report: DiffReport) -> DiffFacts:
    """Return what holds of a diff as a whole."""
    return DiffFacts(*(getattr(report, name) for name in DiffFacts.__struct_fields__))


def both_sides(pair: Pairing) -> tuple[Candidate, Candidate]:
    """Return both programs of a pair that was chosen because it has both."""
    if pair.old is None or pair.new is None:
        raise ValueError("both sides are needed")
    return pair.old, pair.new


def print_counterparts(
    pair: Pairing,
    arguments: tuple[Argument, Argument],
    name: str,
    asked: Asked,
    options: RowOptions,
) -> None:
    """Print what an instruction and its counterpart have in common."""
    labels = arguments[0].label, arguments[1].label
    old, new = (read_side(*each)[0] for each in zip(both_sides(pair), labels, strict=True))
    if not (old.program and old.module and new.program and new.module):
        raise UsageError("--why needs the text of both modules.")
    structure = compare_structure(old.program, new.program, is_strict=asked.compared.is_strict)
    pairs = find_pairs(structure, name)
    rows = [
        row
        for before, after in pairs
        if before and after
        for row in compare_counterparts(before, after, structure)
    ]
    document = Document(
        DIFF_WHY,
        InputPaths(arguments[1].path),
        rows={"evidence": rows},
        lines=tuple(Line(quote_braces(name_counterparts(*each, labels))) for each in pairs),
    )
    print_document(document, options)


# Several sides.

_MOST_LISTED = 8


def print_several(
    arguments: Sequence[Argument], asked: Asked, options: RowOptions
) -> tuple[bool, bool]:
    """Print the figures, and say whether any differs, and whether any is worse than allowed."""
    read = [read_side(_find_one(one, asked), one.label, asked.assumptions) for one in arguments]
    facts = [each for _, each in read]
    given = [side for side, _ in read]
    sides = level_sides(given)
    missing = () if sides == given else (NOT_LEVEL,)
    for side in sides:
        say_all(side.notes())
    compared = compare_sides(sides)
    figures = list_figures(compared, facts)
    differs = any(one.delta for one in figures)
    rows: dict[str, Sequence[object]] = {"figures": figures, "sides": list_sides(facts)}
    spec, hidden = DIFF_SEVERAL, 0
    if options.wants_overview:
        table, shown = spread(figures, [each.label for each in facts])
        spec = replace(DIFF_SEVERAL, row_lists=(table, *DIFF_SEVERAL.row_lists[1:]))
        rows["figures"] = shown
        hidden = len({one.metric for one in figures}) - len(shown)
    worse = [find_worse(each, asked.threshold) for each in compared]
    pairs = zip(worse, facts, strict=True)
    lines = [*say_backends(list_sides(facts))]
    lines += [worse_line(found, each.label) for found, each in pairs if found]
    document = Document(
        spec,
        InputPaths(arguments[0].path),
        scalars=SeveralFacts(differs, missing),
        rows=rows,
        lines=tuple(lines),
        notes=tuple(note_several(hidden, missing, figures, list_links(sides))),
    )
    print_document(document, options)
    return differs, any(worse)


def name_sides(arguments: Sequence[Argument]) -> None:
    """Refuse sides of one name: their columns could not be told apart."""
    labels = [one.label for one in arguments]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise UsageError(f"two sides are called {twice!r}; name each: base=PATH other=PATH.")


def _find_one(argument: Argument, asked: Asked) -> Candidate:
    """Find the one program of a side."""
    found, notes = find_candidates(argument, asked.stage, asked.module, asked.unpacking)
    say_all(notes)
    if len(found) > 1:
        names = list_some(sorted({one.key for one in found}), _MOST_LISTED, "")
        raise UsageError(
            f"more than two sides take one module each; choose with --module: {argument.path} "
            f"has {names}."
        )
    return found[0]


# Two directories.


class _Result(Struct, frozen=True):
    """A row, whether anything differs, and what of the files was not understood."""

    row: ModuleDiff
    differs: bool
    notes: tuple[str, ...] = ()
    worse: tuple[MetricRow, ...] = ()


def print_directory(
    pairs: Sequence[Pairing],
    arguments: tuple[Argument, Argument],
    asked: Asked,
    options: RowOptions,
) -> tuple[bool, bool]:
    """Compare every pair, print the table; say whether anything differs, and whether any is worse.

    A module that cannot be read costs one row; the exit code is then that of its error.
    """
    with progress("comparing", sum(pair.size_bytes for pair in pairs)) as advance:
        figures_only = replace(asked, compared=replace(asked.compared, has_causes=False))
        compare = partial(_compare, asked=figures_only)
        results = map_inputs(compare, pairs, progress=advance)
    done = [one for one in results if isinstance(one, _Result)]
    failures = [one for one in results if isinstance(one, Failure)]
    rows = []
    for pair, result in zip(pairs, results, strict=True):
        if isinstance(result, _Result):
            rows.append(result.row)
            continue
        sides = (pair.old, pair.new)
        old, new = (one.input.path if one and one.input else None for one in sides)
        row = ModuleDiff(pair.name, "error", pair.place, old, new, matched_by=pair.way)
        rows.append(replace(row, error=result.message.partition("\n")[0]))
    say_all(note for one in done for note in one.notes)
    worse = [worse_line(one.worse, one.row.module) for one in done if one.worse]
    for failure in failures:
        say(*failure.message.split("\n"))
    rows.sort(key=_rank)
    print_document(
        Document(
            choose_columns(rows),
            InputPaths(arguments[1].path),
            rows={"modules": rows},
            lines=(Line(quote_braces(count_statuses(rows, arguments))), *worse),
            notes=(*list_ambiguous(rows), *point_to_pair(rows)),
        ),
        options,
    )
    if failures:
        click.get_current_context().exit(failures[0].exit_code)
    return any(one.differs for one in done), bool(worse)


def _compare(pair: Pairing, *, asked: Asked) -> _Result:
    """Compare one pair; runs in a process of its own."""
    if pair.old is None or pair.new is None:
        found = pair.old or pair.new
        if found is None:
            raise ValueError("a pair has a side")
        row = describe_alone(pair, *read_side(found, "", asked.assumptions))
        return _Result(row, differs=True)
    sides = pair.old, pair.new
    (old, new), facts = read_pair(sides, ("", ""), asked.assumptions)
    report = compare_programs(old, new, asked.compared)
    worse = find_worse(report.metrics, asked.threshold)
    row = describe_pair(pair, facts, report)
    return _Result(row, report.differs, (*old.notes(), *new.notes()), worse)


def _rank(row: ModuleDiff) -> tuple[bool, bool, int, str]:
    return (
        row.status == "identical",
        row.status in {"added", "removed", "ambiguous"},
        -abs(row.delta_peak_bytes or 0),
        row.module,
    )
