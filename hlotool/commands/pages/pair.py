"""`hlotool report OLD NEW`: two programs side by side, as one page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from hlotool import __version__
from hlotool.commands.diffing.programs import count_changes, say_difference
from hlotool.commands.pages.tables import Listed, list_tables, no_link
from hlotool.commands.prose.headroom import say_headroom
from hlotool.commands.shared.request import Request
from hlotool.commands.shared.say import say
from hlotool.compare.answer import name_columns
from hlotool.compare.blocks.fold import InstructionChange
from hlotool.compare.blocks.fusions import FusionChange
from hlotool.compare.blocks.memory import MemoryChange
from hlotool.compare.blocks.spaces import SpaceChange, list_spaces
from hlotool.compare.comparison import DiffReport
from hlotool.compare.page import make_pair_page
from hlotool.compare.pairing import Pairing, pair_candidates
from hlotool.compare.report import compare_programs
from hlotool.compare.side import DiffSide, level_sides
from hlotool.compare.sides import Candidate, find_candidates, parse_argument, read_pair
from hlotool.errors import NothingCheckedError, UsageError
from hlotool.fields import InputPaths, Line, quote_braces
from hlotool.inputs import NamedFiles
from hlotool.render.report.page import PageTables, PageText, render_page
from hlotool.render.report.tables import FindLink, Link

_Sides = tuple[DiffSide, DiffSide]
_Labels = tuple[str, str]


def write_pair(request: Request, new: str, limit_bytes: int | None) -> tuple[str, set[str]]:
    """Return the page about two programs, and the paths of what it was made from."""
    if request.named != NamedFiles():
        raise UsageError("--buffers, --live-range and --module-text go with one program.")
    if request.budgets:
        raise UsageError("--budget goes with one program; hlotool check compares two.")
    arguments = parse_argument(request.path, "old"), parse_argument(new, "new")
    labels = arguments[0].label, arguments[1].label
    if labels[0] == labels[1]:
        raise UsageError(f"both sides are called {labels[0]!r}.")
    found = [find_candidates(one, request.stage, request.module) for one in arguments]
    pair = _choose(pair_candidates(found[0][0], found[1][0]))
    sides, facts = read_pair(pair, labels, request.assumptions)
    request.tell((*found[0][1], *found[1][1], *sides[0].notes(), *sides[1].notes()))
    report = compare_programs(*sides)
    machine = request.assumptions.machine
    if limit_bytes is None and machine and machine.chip:
        limit_bytes = machine.chip.hbm_bytes
    said = tuple(say_difference(report, "auto"))
    paths = tuple(path for one in facts for path in _list_paths(one.input))
    text = PageText(
        " → ".join(dict.fromkeys(one.name for one in pair)),
        (
            *said[:1],
            *_fit(sides, labels, limit_bytes),
            *said[1:],
            *count_changes(report, labels),
        ),
        paths,
        __version__,
        labels,
    )
    page = make_pair_page(*sides, report, labels, limit_bytes)
    return render_page(text, _list_tables(report, sides, labels), page), {*paths}


def _choose(pairs: Sequence[Pairing]) -> tuple[Candidate, Candidate]:
    """Choose the programs with most to read, and say so where there are others."""
    whole = [(one.left, one.right) for one in pairs if one.left and one.right]
    if not whole:
        raise NothingCheckedError("no module has the same name on both sides.")
    chosen = max(whole, key=lambda pair: pair[0].size_bytes + pair[1].size_bytes)
    if len(whole) > 1:
        say(f"{len(whole)} modules match; this shows {chosen[1].name}. Choose with --module.")
    return chosen


def _list_paths(found: InputPaths) -> Iterator[str]:
    yield found.module_path or found.path
    if found.buffers_path:
        yield found.buffers_path


def _fit(sides: _Sides, labels: _Labels, limit_bytes: int | None) -> Iterator[Line]:
    """Say of each side whether it fits."""
    for side, label in zip(sides, labels, strict=True):
        if side.program and limit_bytes is not None:
            headroom = side.program.summarize(limit_bytes=limit_bytes).headroom
            if headroom is not None:
                line = say_headroom(headroom)
                yield replace(line, template=f"{quote_braces(label)}: {line.template}")


def _list_tables(report: DiffReport, sides: _Sides, labels: _Labels) -> PageTables:
    """List what is new at the peak and the figures first, then all that changed."""
    lists = {one.name: one for one in name_columns(*labels, report.collectives).row_lists}
    memory = lists["memory"]
    added = [row for row in report.memory if row.change == "added"]
    others = [row for row in report.memory if row.change != "added"]
    to_memory, to_fusion, to_instruction = _links(labels)
    spaces = _list_spaces(sides)
    return PageTables(
        list_tables(
            Listed("new", "New at the peak", memory, added, to_memory),
            Listed("figures", "Figures", lists["metrics"], report.metrics, no_link),
            Listed("spaces", "Memory spaces", lists["spaces"], spaces, no_link),
        ),
        list_tables(
            Listed("why", "Why", lists["causes"], report.causes, no_link),
            Listed("gone", "Gone from the peak, or of another size", memory, others, to_memory),
            Listed("collectives", "Collectives", lists["collectives"], report.collectives, no_link),
            Listed("fusions", "Fusions", lists["fusions"], report.fusions, to_fusion),
            Listed(
                *("instructions", "Instructions", lists["instructions"], report.instructions),
                to_instruction,
            ),
            Listed("header", "Header", lists["header"], report.header, no_link),
            Listed("flags", "Flags", lists["flags"], report.flags, no_link),
        ),
    )


def _list_spaces(sides: _Sides) -> tuple[SpaceChange, ...]:
    """List all memory spaces, where there are several."""
    left, right = (one.program.memory if one.program else None for one in level_sides(*sides))
    spaces = list_spaces(left.figures, right.figures) if left and right else ()
    return spaces if len(spaces) > 1 else ()


def _links(labels: _Labels) -> tuple[FindLink, FindLink, FindLink]:
    """Return what a click tells of: the new instruction, of what is gone the old one."""

    def memory(row: object) -> Link | None:
        if not isinstance(row, MemoryChange):
            return None
        return Link(row.value, row.instruction, labels[row.change != "removed"])

    def fusion(row: object) -> Link | None:
        if not isinstance(row, FusionChange):
            return None
        names = row.right_names or row.left_names
        return Link(row.name, names[0], labels[bool(row.right_names)]) if names else None

    def instruction(row: object) -> Link | None:
        if not isinstance(row, InstructionChange):
            return None
        name = row.right_name or row.left_name
        return Link(row.name, name, labels[bool(row.right_name)]) if name else None

    return memory, fusion, instruction
