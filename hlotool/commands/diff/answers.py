"""The answers of `hlotool diff`: about a pair, several sides, or the modules of two directories.

Each `print_` function compares, prints, and says whether anything differs, and whether anything is
worse than --threshold allows: `command` makes the exit code of that.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import click
from msgspec import Struct
from msgspec.structs import replace

from hlotool.commands.diff import text
from hlotool.commands.shared.messages import quote_command, say, say_all
from hlotool.commands.shared.options import RowOptions, repeat_command
from hlotool.commands.shared.output import print_document
from hlotool.commands.shared.request import progress
from hlotool.compare import directory, inputs, several
from hlotool.compare.answer import DIFF, METRICS, DiffFacts, SideFacts, name_columns
from hlotool.compare.changes.figures import MetricRow, Threshold, changed_metrics, find_worse
from hlotool.compare.changes.instructions import InstructionChange
from hlotool.compare.changes.reasons import DIFF_WHY, compare_counterparts, find_pairs
from hlotool.compare.match.structure import Structure, compare_structure
from hlotool.compare.pairing import Pairing, find_divisions
from hlotool.compare.report import DiffOptions, DiffReport, compare_programs
from hlotool.dump.budget import ByteBudget
from hlotool.dump.files import StageChoice
from hlotool.dump.workers import Failure, map_inputs
from hlotool.errors import UsageError
from hlotool.hlo.opcodes import COLLECTIVES, FREE
from hlotool.program.program import Assumptions
from hlotool.table import Document, InputPaths, Line, quote_braces
from hlotool.table.units import render_line
from hlotool.table.words import list_some
from hlotool.text import parse_pattern


class Asked(Struct, frozen=True):
    """Which programs, what of them is compared and shown, and how much worse one may get."""

    stage: StageChoice
    module: str | None
    compared: DiffOptions
    assumptions: Assumptions
    threshold: Threshold | None
    unpacking: ByteBudget
    options: RowOptions
    is_full: bool = False
    is_stat: bool = False
    sides: Sequence[inputs.Argument] = ()

    @property
    def labels(self) -> tuple[str, str]:
        """What the user calls both sides."""
        return self.sides[0].label, self.sides[1].label

    def for_several(self) -> Asked:
        """Return the same for several programs, of which a chip need not fit each."""
        return replace(self, assumptions=self.assumptions.for_several())


_TABLES: Final = (
    *("causes", "metrics", "measured", "spaces", "memory", "collectives", "fusions"),
    *("instructions", "header", "flags", "account"),
)
_MOST_ROWS: Final = 24  # of the terminal, behind the verdict
_LIMITS: Final = (12, 8, 6, 5, 4, 3, 2)  # of a list, as there is room


def diff_document(report: DiffReport, sides: tuple[SideFacts, SideFacts], asked: Asked) -> Document:
    """Make the document of one pair of programs.

    For eyes, unchanged figures are left out, and of the instructions those that other
    blocks tell of, unless `--rows instructions` asks for them; and all for which there is no room,
    unless `--full` does.
    """
    options, labels = asked.options, asked.labels
    is_overview = options.wants_overview
    others = (row for row in report.instructions if not (row.is_fused or _has_own_block(row)))
    rows = {name: getattr(report, name) for name in _TABLES}
    changed = changed_metrics(report.metrics)
    if is_overview:
        rows |= {"metrics": changed, "instructions": tuple(others)}
    facts = describe_report(report)
    counts = tuple(text.count_changes(facts, report, labels))
    missing = tuple(text.say_missing(report))
    time = tuple(text.say_time(report))
    lines = tuple(text.say_difference(report, options.units))
    untold = tuple(text.list_untold(report.causes, lines))
    document = Document(
        spec=name_columns(*labels, report.collectives) if options.is_for_eyes else DIFF,
        input=None,
        scalars=facts,
        blocks={
            "old": sides[0],
            "new": sides[1],
            **{name: getattr(report, name) for name in ("triage", "time", "order")},
        },
        rows={name: found for name, found in rows.items() if found or not is_overview},
        lines=lines,
        notes=(*counts, *missing, *time),
        limits_all=True,
        shown=tuple(
            name
            for name, found in rows.items()
            if (untold if name == "causes" else found[name == "spaces" :])
        ),
    )
    if not is_overview or (asked.is_full and options.format != "comment"):
        return document
    figures = text.list_headlines(report.metrics)
    shown = tuple(name for name in document.shown if name != "metrics")
    if options.format == "comment":
        rows = {**document.rows, "metrics": figures}
        return replace(document, rows=rows, shown=("metrics", *shown))
    told = [row for row in figures if row.delta] if shown else list(changed)
    if shown and all(any(row.metric in one.template for one in lines) for row in told):
        told = []
    rows = {**document.rows, "metrics": told, "causes": untold}
    brief = replace(
        document,
        rows={name: found for name, found in rows.items() if found},
        shown=("metrics", *shown) if told else shown,
        notes=(*counts[:1], *missing, *time),
        is_brief=True,
    )
    rest = len(changed) - len(told)
    most = _MOST_ROWS + sum(text.count_rows(render_line(one)) for one in lines)
    hidden = tuple(text.explain_rest({METRICS.title.lower(): rest}))
    shorten = partial(_list_shorter, rest=rest, told=hidden)
    return replace(brief, notes=(*brief.notes, *hidden), shorten=shorten, most_rows=most)


def _list_shorter(document: Document, rest: int, told: Sequence[Line]) -> Iterator[Document]:
    """List documents with ever fewer lists, and rows of each, but for the figures.

    Most lists count more than most rows of one. `rest` are figures that differ and have no row,
    of which notes `told` alone.
    """
    kept_notes = tuple(one for one in document.notes if one not in told)
    kept = tuple(name for name in document.shown if name == "metrics")
    shown = document.shown[len(kept) :]
    titles = {one.name: one.title.lower() for one in document.spec.row_lists}
    for number in range(len(shown), -1, -1):
        hidden = {titles[name]: len(document.rows[name]) for name in shown[number:]}
        notes = (*kept_notes, *text.explain_rest({titles["metrics"]: rest, **hidden}))
        for limit in _LIMITS:
            lists = (
                one if one.name in kept else replace(one, limit=limit)
                for one in document.spec.row_lists
            )
            spec = replace(document.spec, row_lists=tuple(lists))
            yield replace(document, spec=spec, shown=(*kept, *shown[:number]), notes=notes)


def _has_own_block(row: InstructionChange) -> bool:
    """Say whether the tables of fusions or collectives tell of it, or it moves no data."""
    opcode = row.opcode.removesuffix("-start").removesuffix("-done")
    return opcode in COLLECTIVES or opcode in {"fusion", "async"} or opcode in FREE


def describe_report(report: DiffReport) -> DiffFacts:
    """Return what holds of a diff as a whole."""
    return DiffFacts(*(getattr(report, name) for name in DiffFacts.__struct_fields__))


def both_sides(pair: Pairing) -> tuple[inputs.Candidate, inputs.Candidate]:
    """Return both programs of a pair that was chosen because it has both."""
    if pair.old is None or pair.new is None:
        raise ValueError("both sides are needed")
    return pair.old, pair.new


def read_structure(pair: Pairing, asked: Asked, option: str) -> Structure:
    """Pair the instructions of two programs, of which an option needs the texts."""
    old, new = (inputs.read_side(one, "")[0] for one in both_sides(pair))
    if not (old.program and old.module and new.program and new.module):
        raise UsageError(f"{option} needs the text of both modules.")
    return compare_structure(old.program, new.program, is_strict=asked.compared.is_strict)


def print_counterparts(pair: Pairing, name: str, asked: Asked) -> None:
    """Print what an instruction and its counterpart have in common."""
    structure = read_structure(pair, asked, "--why")
    pairs = find_pairs(structure, name)
    rows = [
        row
        for before, after in pairs
        if before and after
        for row in compare_counterparts(before, after, structure)
    ]
    named = (text.name_counterparts(*each, asked.labels) for each in pairs)
    lines, paths = tuple(map(Line, map(quote_braces, named))), InputPaths(asked.sides[1].path)
    print_document(Document(DIFF_WHY, paths, rows={"evidence": rows}, lines=lines), asked.options)


# Several sides.

_MOST_LISTED = 8


def print_several(asked: Asked) -> tuple[bool, bool]:
    """Print the figures, and say whether any differs, and whether any is worse than allowed."""
    read = [
        inputs.read_side(_find_one(one, asked), one.label, asked.assumptions) for one in asked.sides
    ]
    facts = [each for _, each in read]
    given = [side for side, _ in read]
    sides = inputs.level_sides(given)
    missing = () if sides == given else (several.NOT_LEVEL,)
    for side in sides:
        say_all(side.notes())
    compared = several.compare_sides(sides)
    figures = several.list_figures(compared, facts)
    differs = any(one.delta for one in figures)
    rows: dict[str, Sequence[object]] = {"figures": figures, "sides": several.list_sides(facts)}
    spec, hidden = several.DIFF_SEVERAL, 0
    if asked.options.wants_overview:
        table, shown = several.spread(figures, [each.label for each in facts])
        spec = replace(several.DIFF_SEVERAL, row_lists=(table, *several.DIFF_SEVERAL.row_lists[1:]))
        rows["figures"] = shown
        hidden = len({one.metric for one in figures}) - len(shown)
    worse = [find_worse(each, asked.threshold) for each in compared]
    pairs = zip(worse, facts, strict=True)
    lines = [*text.say_backends(several.list_sides(facts))]
    lines += [text.worse_line(found, each.label) for found, each in pairs if found]
    every_figure = repeat_command((*_KEPT, "module"), "--rows", "figures")
    notes = text.note_several(hidden, missing, figures, several.list_links(sides), every_figure)
    document = Document(
        spec,
        InputPaths(asked.sides[0].path),
        scalars=several.SeveralFacts(differs, missing),
        rows=rows,
        lines=tuple(lines),
        notes=tuple(notes),
    )
    print_document(document, asked.options)
    return differs, any(worse)


def name_sides(arguments: Sequence[inputs.Argument]) -> None:
    """Refuse sides of one name: their columns could not be told apart."""
    labels = [one.label for one in arguments]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise UsageError(f"two sides have the name {twice!r}; name each: base=PATH other=PATH.")


def _find_one(argument: inputs.Argument, asked: Asked) -> inputs.Candidate:
    """Find the one program of a side."""
    found, notes = inputs.find_candidates(argument, asked.stage, asked.module, asked.unpacking)
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

    row: directory.ModuleDiff
    differs: bool
    notes: tuple[str, ...] = ()
    worse: tuple[MetricRow, ...] = ()


def print_directory(pairs: Sequence[Pairing], asked: Asked) -> tuple[bool, bool]:
    """Compare every pair, print them; say whether anything differs, and whether any is worse.

    A module that cannot be read costs one row; the exit code is then that of its error. Eyes get
    the pair that differs most as if it were alone, and of others a line with what to type to see
    as much; the table of all is `--stat`, worst first, or what row options ask for.
    """
    with progress("comparing", sum(pair.size_bytes for pair in pairs)) as advance:
        figures_only = replace(asked, compared=replace(asked.compared, has_causes=False))
        compare = partial(_compare, asked=figures_only)
        results = map_inputs(compare, pairs, progress=advance)
    done = [one for one in results if isinstance(one, _Result)]
    failures = [one for one in results if isinstance(one, Failure)]
    found = []
    for pair, result in zip(pairs, results, strict=True):
        if isinstance(result, _Result):
            found.append((pair, result.row))
            continue
        sides = (pair.old, pair.new)
        old, new = (one.input.path if one and one.input else None for one in sides)
        row = directory.ModuleDiff(
            pair.function, "error", pair.place, old, new, matched_by=pair.way, program=pair.name
        )
        found.append((pair, replace(row, error=result.message.partition("\n")[0])))
    say_all(note for one in done for note in one.notes)
    for failure in failures:
        say(*failure.message.split("\n"))
    found = _rank(found, by_worst=asked.is_stat)
    rows = [row for _, row in found]
    unlike = [pair for pair, row in found if row.status not in {"identical", "ambiguous"}]
    worse = [text.worse_line(one.worse, one.row.program) for one in done if one.worse]
    options = asked.options
    is_overview = options.wants_overview and not asked.is_stat
    lines = [
        *text.count_statuses(rows, asked.labels, is_told=is_overview),
        *text.say_names(rows, find_divisions(unlike), asked.labels),
        *text.say_devices(rows),
    ]
    ambiguous = tuple(text.list_ambiguous(rows))
    if is_overview:
        document = _show_most(found, asked)
        if document.lines:
            lines.append(Line(""))
        document = replace(document, notes=(*document.notes, *ambiguous))
    else:
        means = text.say_means(rows, options.units) if asked.is_stat else ()
        document = Document(
            directory.choose_columns(rows, is_stat=asked.is_stat),
            InputPaths(asked.sides[1].path),
            rows={"modules": rows},
            notes=(*ambiguous, *means),
        )
    print_document(replace(document, lines=(*lines, *document.lines, *worse)), options)
    if failures:
        click.get_current_context().exit(failures[0].exit_code)
    return any(one.differs for one in done), bool(worse)


def _show_most(found: Sequence[tuple[Pairing, directory.ModuleDiff]], asked: Asked) -> Document:
    """Return the answer to the pair that differs most, with a line for each of the others.

    A comment has the table of all in their place.
    """
    most = next((pair for pair, row in found if row.status == "changed"), None)
    rows = [row for _, row in found]
    spec, options = directory.choose_columns(rows, is_stat=True), asked.options
    document = Document(spec, InputPaths(asked.sides[1].path))
    if most is not None:
        *_, document = compare_pair(most, asked)
        first = Line(f"{most.name}, which differs most:")
        document = replace(document, lines=(first, *document.lines))
    if options.format == "comment":
        spec = replace(document.spec, row_lists=(*spec.row_lists, *document.spec.row_lists))
        every, shown = {"modules": rows, **document.rows}, ("modules", *document.shown)
        return replace(document, spec=spec, rows=every, shown=shown)
    words = {**text.name_statuses(asked.labels), "changed": ""}
    told = [
        text.say_pair(
            row, words[row.status], _type_pair(pair, [one for one, _ in found]), options.units
        )
        for pair, row in found
        if pair is not most and row.status not in {"identical", "ambiguous"}
    ]
    if not told:
        return document
    rest = 0 if asked.is_full else len(told) - _MOST_ROWS
    if rest > 0:
        told[_MOST_ROWS:] = [Line(f"… and {rest:,} others; --stat lists every one")]
    blank = [Line("")] if document.notes else []
    return replace(document, notes=(*document.notes, *blank, Line("others:"), *told))


def compare_pair(pair: Pairing, asked: Asked) -> tuple[DiffReport, tuple[str, ...], Document]:
    """Compare two programs in every respect; return also the notes about their files."""
    (old, new), read = inputs.read_pair(both_sides(pair), asked.labels, asked.assumptions)
    compared = replace(asked.compared, has_equal_figures=not asked.options.wants_overview)
    report = compare_programs(old, new, compared)
    facts = inputs.name_files(read[0], old), inputs.name_files(read[1], new)
    document = diff_document(report, facts, asked)
    document = replace(document, find_words=lambda: old.find_words() | new.find_words())
    return report, (*old.notes(), *new.notes()), document


# What an overview of directories was made from, and goes for one of its pairs as well.
_KEPT: Final = ("sides", "stage", "renamed", "blocks", "strict", "config", "chip", "chip_file")


def _type_pair(pair: Pairing, pairs: Sequence[Pairing]) -> str:
    """Return what to type to see more of a pair, or of a program alone; '' if nothing names it."""
    sides = [one for one in (pair.old, pair.new) if one]
    paths = [one.input.path for one in sides if one.input and not one.saved]
    is_read = len(paths) == len(sides) and all(map(os.path.isfile, paths))
    if len(sides) == 1:
        return quote_command("summary", *paths) if is_read else ""
    every = [one for each in pairs for one in (each.old, each.new) if one]
    name = "|".join(dict.fromkeys(re.escape(one.name) for one in sides))
    for typed in (name, f"^({name})$"):
        pattern = parse_pattern(typed)
        if all(pattern.is_found(one.name) == (one in sides) for one in every):
            return repeat_command(_KEPT, "--module", typed)
    return quote_command("diff", *paths) if is_read else ""


def _compare(pair: Pairing, *, asked: Asked) -> _Result:
    """Compare one pair; runs in a process of its own."""
    if pair.old is None or pair.new is None:
        found = pair.old or pair.new
        if found is None:
            raise ValueError("a pair has a side")
        row = directory.describe_alone(pair, *inputs.read_side(found, "", asked.assumptions))
        return _Result(row, differs=True)
    sides = pair.old, pair.new
    (old, new), facts = inputs.read_pair(sides, ("", ""), asked.assumptions)
    report = compare_programs(old, new, asked.compared)
    worse = find_worse(report.metrics, asked.threshold)
    row = directory.describe_pair(pair, facts, report)
    return _Result(row, report.differs, (*old.notes(), *new.notes()), worse)


def _rank(
    found: Sequence[tuple[Pairing, directory.ModuleDiff]], *, by_worst: bool
) -> list[tuple[Pairing, directory.ModuleDiff]]:
    """Order pairs: what differs most first, or what is worst; then what is alone, or the same."""
    weights = directory.weigh_rows([row for _, row in found])

    def key(place: int) -> tuple[object, ...]:
        row, weight = found[place][1], weights[place]
        is_alone = row.status in {"added", "removed", "ambiguous"}
        size = weight if by_worst else abs(weight)
        return row.status == "identical", is_alone, -size, -(row.time_change or 0), row.module

    return [found[place] for place in sorted(range(len(found)), key=key)]
