"""Lines that newer compilers print: passed over and counted where the rest adds up."""

from __future__ import annotations

from pathlib import Path

import pytest
from buffer_dumps import read_ranges
from test_parse_buffers import BUFFERS, SMALL, everything, read, split

from hlotool.analysis.memory.report import analyze_memory
from hlotool.errors import ParseError
from hlotool.hlo.assignment_parser import parse_buffer_assignment
from hlotool.hlo.buffers import BufferAssignment
from hlotool.hlo.parser import parse_module
from hlotool.program.load import note_files
from hlotool.program.program import Program
from hlotool.text import Source

NEWER = BUFFERS / "newer"
(TEXT,) = NEWER.glob("*_optimizations.txt")
STEM = str(TEXT).removesuffix(".txt")
INSIDE_A_STRING = "exp\n"  # how the line ends behind which none can be told apart
LINES = [
    "Something new: 7\n",
    " something new: 7\n",
    "  something new: 7\n",
    "    something new: 7\n",
]


def read_newer(live_range: Path) -> BufferAssignment:
    """Read the assignment of testdata/buffers/newer with one of its live ranges."""
    allocations, values = (
        read(Path(f"{STEM}-buffer-assignment{part}.txt")) for part in ("", "-values")
    )
    return parse_buffer_assignment(allocations, values, read(live_range))


def test_reuse_across_colors() -> None:
    """The value keeps its own color, and takes memory of the allocation it lies in."""
    assignment = read_newer(Path(f"{STEM}-live-range.txt"))
    (allocation,) = (one for one in assignment.allocations if one.color == 1)
    assert [(one.name, one.color) for one in allocation.values] == [
        ("negate", 1),
        ("all-reduce", 1),
        ("tanh", 0),
    ]
    assert assignment.unknown_line_count == 0
    memory = analyze_memory(parse_module(read(TEXT)), assignment)
    assert memory.peak_of(1).bytes == 2048
    assert memory.map.curve(1)
    assert [value.name for _, value, _ in memory.map.live_at(3, 1)] == ["all-reduce", "tanh"]


def test_a_peak_that_xla_cannot_tell() -> None:
    assignment = read_newer(NEWER / "no_peak.txt")
    live = assignment.live_ranges
    assert live is not None
    assert (live.peak_position, live.peak_entries, len(read_ranges(assignment))) == (None, (), 6)
    assert assignment.unknown_line_count == 0
    peak = analyze_memory(None, assignment).figures.peak
    assert (peak.bytes, peak.position) == (2048, 4)
    assert (peak.xla_bytes, peak.xla_position, peak.bytes_at_xla_position) == (None, None, None)


def test_the_note_counts() -> None:
    assignment = read_newer(NEWER / "unknown_lines.txt")
    (note,) = note_files(Program("m", None, assignment))
    assert "2 lines are of an unknown kind" in note
    assert note_files(Program("m", None, read_newer(Path(f"{STEM}-live-range.txt")))) == ()


@pytest.mark.parametrize("new", LINES, ids=repr)
def test_one_line_anywhere_changes_nothing(new: str) -> None:
    """Or is refused: in a list of the peak that states no sum."""
    text = SMALL.read_text(encoding="utf-8")
    whole = everything(parse_buffer_assignment(Source(text)))
    lines = text.splitlines(keepends=True)
    at_the_peak = next(at for at, line in enumerate(lines, 1) if "(peak)" in line)
    for at in range(1, len(lines) + 1):
        if lines[at - 1].endswith(INSIDE_A_STRING):
            continue
        source = Source("".join([*lines[:at], new, *lines[at:]]))
        if at < at_the_peak:
            found = parse_buffer_assignment(source)
            assert found.unknown_line_count == 1
            assert everything(found) == whole
        elif at < len(lines) or new.startswith("    "):
            with pytest.raises(ParseError):
                parse_buffer_assignment(source)


@pytest.mark.parametrize("before", [" positions:", " uses:", " from instruction:"])
def test_a_heading_takes_what_stands_below(before: str) -> None:
    """Lines that look like uses are none of the value where they have a heading of their own."""
    source = read(SMALL)
    text = source.text.replace(f"{before}", f" layouts:\n  add {{0}}\n  add, operand 0\n{before}")
    found = parse_buffer_assignment(Source(text))
    assert found.unknown_line_count == 3 * source.text.count(before)
    assert everything(found) == everything(parse_buffer_assignment(source))


@pytest.mark.parametrize("new", LINES, ids=repr)
def test_at_a_peak_that_states_its_sum(new: str) -> None:
    allocations, values = (
        read(Path(f"{STEM}-buffer-assignment{part}.txt")) for part in ("", "-values")
    )
    lines = Path(f"{STEM}-live-range.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    whole = everything(read_newer(Path(f"{STEM}-live-range.txt")))
    at_the_breakdown = next(at for at, line in enumerate(lines, 1) if "breakdown" in line)
    for at in range(1, len(lines) + 1):
        text = "".join([*lines[:at], new, *lines[at:]])
        found = parse_buffer_assignment(allocations, values, Source(text))
        assert everything(found) == whole
        assert at >= at_the_breakdown or found.unknown_line_count == 1


def test_a_last_line_cut_short_is_refused() -> None:
    allocations, values, live_range = split(read(SMALL))
    for parts in (
        (Source(f"{allocations.text}somethi"), values, live_range),
        (allocations, Source(f"{values.text}somethi"), live_range),
        (allocations, values, Source(f"{live_range.text}somethi")),
    ):
        with pytest.raises(ParseError, match="found 'somethi'"):
            parse_buffer_assignment(*parts)


def test_lines_between_the_total_and_the_values() -> None:
    source = read(SMALL)
    text = source.text.replace("\nUsed values:", "Peak: 7\n\nUsed values:")
    found = parse_buffer_assignment(Source(text))
    assert found.unknown_line_count == 1
    assert everything(found) == everything(parse_buffer_assignment(source))
