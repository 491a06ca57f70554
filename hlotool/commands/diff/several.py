"""`hlotool diff base=A x=B y=C`: the figures of more than two programs, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from hlotool.commands.diff.programs import Asked
from hlotool.commands.diff.text import worse_line, write_links
from hlotool.commands.shared.messages import say_all
from hlotool.commands.shared.options import RowOptions
from hlotool.commands.shared.output import print_document
from hlotool.compare.changes.figures import ESTIMATED_TIME, find_worse
from hlotool.compare.inputs import Argument, Candidate, find_candidates, level_sides, read_side
from hlotool.compare.several import (
    DIFF_SEVERAL,
    NOT_LEVEL,
    SeveralFacts,
    SideFigure,
    SideRow,
    compare_sides,
    list_figures,
    list_links,
    list_sides,
    spread,
)
from hlotool.errors import UsageError
from hlotool.table import Document, InputPaths, Line
from hlotool.table.words import join_words, list_some

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
    lines = [*_say_backends(list_sides(facts))]
    lines += [worse_line(found, each.label) for found, each in pairs if found]
    document = Document(
        spec,
        InputPaths(arguments[0].path),
        scalars=SeveralFacts(differs, missing),
        rows=rows,
        lines=tuple(lines),
        notes=tuple(_notes(hidden, missing, figures, list_links(sides))),
    )
    print_document(document, options)
    return differs, any(worse)


def name_sides(arguments: Sequence[Argument]) -> None:
    """Refuse sides of one name: their columns could not be told apart."""
    labels = [one.label for one in arguments]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise UsageError(f"two sides are called {twice!r}; name each: base=PATH other=PATH.")


def _say_backends(sides: Sequence[SideRow]) -> Iterator[Line]:
    """Say which side was compiled for which backend, where these differ."""
    labels: dict[str, list[str]] = {}
    for side in sides:
        if side.backend is not None:
            labels.setdefault(side.backend, []).append(side.label)
    if len(labels) > 1:
        parts = [f"for {backend} ({', '.join(these)})" for backend, these in labels.items()]
        yield Line(f"compiled {join_words(parts, 'and')}")


def _find_one(argument: Argument, asked: Asked) -> Candidate:
    """Find the one program of a side."""
    found, notes = find_candidates(argument, asked.stage, asked.module)
    say_all(notes)
    if len(found) > 1:
        names = list_some(sorted({one.key for one in found}), _MOST_LISTED, "")
        raise UsageError(
            f"more than two sides take one module each; choose with --module: {argument.path} "
            f"has {names}."
        )
    return found[0]


def _notes(
    hidden_count: int,
    missing: Sequence[str],
    figures: Sequence[SideFigure],
    links: Sequence[str],
) -> Iterator[Line]:
    at = write_links(links)
    times = [one.figure for one in figures if one.metric == ESTIMATED_TIME]
    if any(times):
        yield Line(f"{ESTIMATED_TIME} is rough: all steps at the chip's peaks{at}")
    elif times:
        yield Line(
            f"{ESTIMATED_TIME} is rough: all steps at the ratios of the reference chip{at}; "
            "--chip gives seconds"
        )
    if missing:
        yield Line(f"not compared: {', '.join(missing)}")
    if hidden_count:
        yield Line(
            f"{hidden_count:,} figures that are the same on all sides not shown; "
            "--rows figures has all"
        )
