"""`hlotool diff OLD_DIR NEW_DIR`: one row a module, compared in parallel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from shlex import quote

import click
from msgspec import Struct
from msgspec.structs import replace

from hlotool.commands.diff.programs import Asked
from hlotool.commands.diff.text import worse_line
from hlotool.commands.shared.messages import say, say_all
from hlotool.commands.shared.options import RowOptions
from hlotool.commands.shared.output import print_document
from hlotool.commands.shared.request import progress
from hlotool.compare.changes.figures import MetricRow, find_worse
from hlotool.compare.directory import ModuleDiff, choose_columns, describe_alone, describe_pair
from hlotool.compare.inputs import Argument, read_pair, read_side
from hlotool.compare.pairing import Pairing
from hlotool.compare.report import compare_programs
from hlotool.dump.workers import Failure, map_inputs
from hlotool.table import Document, InputPaths, Line, quote_braces


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
    rows = [
        _failed(pair, result) if isinstance(result, Failure) else result.row
        for pair, result in zip(pairs, results, strict=True)
    ]
    say_all(note for one in results if isinstance(one, _Result) for note in one.notes)
    worse = [
        worse_line(one.worse, one.row.module)
        for one in results
        if isinstance(one, _Result) and one.worse
    ]
    failures = [result for result in results if isinstance(result, Failure)]
    for failure in failures:
        say(*failure.message.split("\n"))
    rows.sort(key=_rank)
    print_document(
        Document(
            choose_columns(rows),
            InputPaths(arguments[1].path),
            rows={"modules": rows},
            lines=(Line(quote_braces(_count(rows, arguments))), *worse),
            notes=(*_list_ambiguous(rows), *_say_deeper(rows)),
        ),
        options,
    )
    if failures:
        click.get_current_context().exit(failures[0].exit_code)
    return any(isinstance(one, _Result) and one.differs for one in results), bool(worse)


def _compare(pair: Pairing, *, asked: Asked) -> _Result:
    """Compare one pair; runs in a process of its own."""
    if pair.left is None or pair.right is None:
        found = pair.left or pair.right
        if found is None:
            raise ValueError("a pair has a side")
        row = describe_alone(pair, *read_side(found, "", asked.assumptions))
        return _Result(row, differs=True)
    sides = pair.left, pair.right
    (left, right), facts = read_pair(sides, ("", ""), asked.assumptions)
    report = compare_programs(left, right, asked.compared)
    worse = find_worse(report.metrics, asked.threshold)
    row = describe_pair(pair, facts, report)
    return _Result(row, report.differs, (*left.notes(), *right.notes()), worse)


def _failed(pair: Pairing, failure: Failure) -> ModuleDiff:
    """Make the row of a pair that could not be compared."""
    left, right = (one.input.path if one and one.input else None for one in (pair.left, pair.right))
    error = failure.message.partition("\n")[0]
    return ModuleDiff(pair.name, "error", pair.place, left, right, paired_by=pair.way, error=error)


def _rank(row: ModuleDiff) -> tuple[bool, bool, int, str]:
    return (
        row.status == "identical",
        row.status in {"added", "removed", "ambiguous"},
        -abs(row.peak_delta_bytes or 0),
        row.module,
    )


def _count(rows: Sequence[ModuleDiff], arguments: tuple[Argument, Argument]) -> str:
    counts = {status: sum(row.status == status for row in rows) for status in _WORDS}
    left, right = (argument.label for argument in arguments)
    words = {**_WORDS, "removed": f"only in {left}", "added": f"only in {right}"}
    return ", ".join(f"{count} {words[status]}" for status, count in counts.items() if count)


def _list_ambiguous(rows: Sequence[ModuleDiff]) -> Iterator[Line]:
    """List the programs that could have several partners, with their paths."""
    paths = [row.left_path or row.right_path or "" for row in rows if row.status == "ambiguous"]
    if paths:
        yield Line("ambiguous, pair two with --map OLD_PATH=NEW_PATH:")
        yield from (Line(quote_braces(f"  {path}")) for path in paths)


def _say_deeper(rows: Sequence[ModuleDiff]) -> Iterator[Line]:
    """Say what to type to see why a pair differs: the one that differs most."""
    changed = next((row for row in rows if row.status == "changed"), None)
    if changed is None or changed.left_path is None or changed.right_path is None:
        return
    if Path(changed.left_path).is_file() and Path(changed.right_path).is_file():
        typed = f"hlotool diff {quote(changed.left_path)} {quote(changed.right_path)}"
        yield Line(f"{quote_braces(typed)}  # why the first differs", is_typed=True)


_WORDS = {
    "changed": "changed",
    "removed": "removed",
    "added": "added",
    "ambiguous": "ambiguous",
    "error": "not readable",
    "identical": "identical",
}
