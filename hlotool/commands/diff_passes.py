"""`hlotool diff --passes DIR`: what each pass changed, or where two compilations part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from hlotool.commands.shared.command import RowOptions, print_document, track
from hlotool.diff.passes import (
    DIFF_PASSES,
    MEMORY,
    RESPECTS,
    PassRow,
    Snapshot,
    compare_snapshots,
    find_first,
    lone_row,
)
from hlotool.errors import InputError, NothingCheckedError, UsageError
from hlotool.fields import Document, InputPaths, Line
from hlotool.inputs import DumpedProgram, DumpFile, find_programs, parse_module_pattern
from hlotool.parse import parse_module
from hlotool.program.program import Program

_Step = tuple[int | None, str, str, DumpFile]  # step, pass, pipeline, text
_Key = tuple[str, str, int]
_MOST_LISTED = 8


def print_passes(
    directories: tuple[str, ...], module: str | None, options: RowOptions, *, is_strict: bool
) -> bool:
    """Walk the passes of one compilation, or of two in step, and name where they change."""
    walks = [_find_steps(directory, module) for directory in directories]
    if len(walks) == 1:
        rows = list(_walk(walks[0], is_strict=is_strict))
        lines = tuple(_first_lines(rows, "first changes after"))
    else:
        rows = list(_walk_both(walks[0], walks[1], is_strict=is_strict))
        lines = tuple(_first_lines(rows, "first differs after"))
    print_document(
        Document(DIFF_PASSES, InputPaths(directories[-1]), rows={"passes": rows}, lines=lines),
        options,
    )
    return any(row.what for row in rows)


def _find_steps(directory: str, module: str | None) -> list[_Step]:
    """Return the texts of one program's passes, with those before and after all of them."""
    program = _choose(directory, module)
    steps: list[_Step] = []
    if program.before:
        steps.append((None, "before optimizations", "", program.before))
    steps += [
        (each.step, each.after_pass.removeprefix("after_"), each.pipeline, each.file)
        for each in program.passes
    ]
    if program.after:
        steps.append((None, "after optimizations", "", program.after))
    return steps


def _choose(directory: str, module: str | None) -> DumpedProgram:
    programs, _ = find_programs(directory)
    pattern = parse_module_pattern(module)
    matching = [one for one in programs if pattern is None or pattern.is_found(one.name)]
    found = [one for one in matching if one.passes]
    if not matching:
        raise NothingCheckedError(f"{directory}: --module {module!r} matches no module.")
    if not found:
        raise InputError(
            f"{directory}: there are no dumps of passes; add --xla_dump_hlo_pass_re=.* to "
            "XLA_FLAGS and compile again."
        )
    if len(found) > 1:
        names = ", ".join(sorted({one.name for one in found})[:_MOST_LISTED])
        raise UsageError(f"--passes takes one module; choose with --module: {names}.")
    return found[0]


def _read(step: _Step) -> Snapshot:
    number, name, pipeline, file = step
    module = parse_module(file.read())
    return Snapshot(number, name, pipeline, file.path, Program(module.name, module))


def _walk(steps: Sequence[_Step], *, is_strict: bool) -> Iterator[PassRow]:
    """Compare every step with the one before."""
    before: Snapshot | None = None
    for step in track(steps, "passes", len(steps)):
        snapshot = _read(step)
        yield compare_snapshots(before, snapshot, is_strict=is_strict)
        before = snapshot


def _walk_both(
    left: Sequence[_Step], right: Sequence[_Step], *, is_strict: bool
) -> Iterator[PassRow]:
    """Compare steps of the same pass; what only one side ran stands where it ran."""
    there = dict(zip(_keys(right), right, strict=True))
    here = dict(zip(_keys(left), left, strict=True))
    for key in track(_merge(list(here), list(there)), "passes", len({*here, *there})):
        if key in here and key in there:
            yield compare_snapshots(_read(here[key]), _read(there[key]), is_strict=is_strict)
        elif key in here:
            yield lone_row(_read(here[key]), "OLD")
        else:
            yield lone_row(_read(there[key]), "NEW")


def _keys(steps: Sequence[_Step]) -> list[_Key]:
    """Name each step by its pass, and which run of it this is."""
    seen: Counter[tuple[str, str]] = Counter()
    keys = []
    for _, name, pipeline, _ in steps:
        keys.append((pipeline, name, seen[pipeline, name]))
        seen[pipeline, name] += 1
    return keys


def _merge(left: Sequence[_Key], right: Sequence[_Key]) -> list[_Key]:
    """Put the keys of both into one order that both have."""
    known = set(left)
    behind: dict[_Key | None, list[_Key]] = {}
    last: _Key | None = None
    for key in right:
        if key in known:
            last = key
        else:
            behind.setdefault(last, []).append(key)
    merged = list(behind.get(None, ()))
    for key in left:
        merged += [key, *behind.get(key, ())]
    return merged


def _first_lines(rows: Sequence[PassRow], verb: str) -> Iterator[Line]:
    for respect in RESPECTS:
        row = find_first(rows, respect)
        if row is None:
            known = sum(one.right_peak_bytes is not None for one in rows)
            is_late = respect == MEMORY and known < len(rows)
            when = f"in the {known} scheduled steps" if is_late else "throughout"
            yield Line(f"{respect}: the same {when}")
        else:
            step = f" (step {row.step})" if row.step is not None else ""
            pipeline = f" of {row.pipeline}" if row.pipeline else ""
            yield Line(f"{respect} {verb} {row.pass_name}{pipeline}{step}")
