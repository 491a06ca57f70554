"""Buffer assignments: both forms give one IR; files cut short or mixed up are refused."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest
from buffer_dumps import read_ranges
from tables import TableCase, find_cases

from hlotool.errors import HlotoolError, ParseError
from hlotool.hlo.assignment_parser import parse_buffer_assignment
from hlotool.hlo.buffers import BufferAssignment, LiveRange, UsedValue
from hlotool.text import Source

BUFFERS = Path(__file__).parent.parent / "testdata" / "buffers"
BAD = find_cases(BUFFERS / "bad")
SMALL = BUFFERS / "tuple_fusion.txt"
VALUES_START = "\nTotal bytes used"
LIVE_RANGE_START = "HloLiveRange"


def read(path: Path) -> Source:
    return Source(path.read_text(encoding="utf-8"), path.name)


def split(source: Source) -> tuple[Source, Source, Source]:
    """Cut an old single file into the three files of newer dumps."""
    values = source.text.index(VALUES_START)
    live_range = source.text.index(LIVE_RANGE_START)
    return (
        Source(source.text[:values], "allocations"),
        Source(source.text[values:live_range], "values"),
        Source(source.text[live_range:], "live-range"),
    )


def everything(assignment: BufferAssignment) -> list[object]:
    """Flatten an assignment into comparable values, places left out."""
    flat: list[object] = [assignment.reported_total_bytes]
    for allocation in assignment.allocations:
        flat += [allocation.number, allocation.size_bytes, allocation.color, allocation.other]
        flat += [allocation.allocation_type, allocation.is_donated, allocation.parameter]
        for value in allocation.values:
            flat += [value.number, value.name, value.is_phi, value.color, value.shape]
            flat += [value.size_bytes, value.offset, value.live]
    used = assignment.used or {}
    flat += [(one.name, one.use_count, text_of(one)) for one in used.values()]
    live = assignment.live_ranges
    if live:
        flat += [live.sequence, live.end, live.peak_position, live.peak_entries]
    return flat


def text_of(used: UsedValue) -> str:
    """Return the defining instruction as printed."""
    return used.source.text[used.start : used.end]


def test_allocations() -> None:
    allocations = parse_buffer_assignment(read(SMALL)).allocations
    assert [one.allocation_type for one in allocations] == [
        "parameter", "parameter", "output", "output", "constant", "thread-local", "temp", "temp",
    ]  # fmt: skip
    assert [one.is_donated for one in allocations].index(True) == 1
    assert allocations[1].parameter_index == (0,)
    assert allocations[7].color == 4
    assert allocations[7].other == ("page 0", "some-new-field 7", "|new, shape|")


def test_values() -> None:
    values = parse_buffer_assignment(read(SMALL)).allocations[6].values
    assert [one.name for one in values] == [
        "fusion.1{}", "fusion.1{0}", "fusion.1{1}", "while{0}", "exponential",
    ]  # fmt: skip
    assert [one.index for one in values] == [(), (0,), (1,), (0,), None]
    assert [one.is_phi for one in values] == [False, False, False, True, False]
    assert values[0].shape.is_tuple
    assert (values[2].size_bytes, values[2].offset) == (4096, 4096)


def test_used_values() -> None:
    used = parse_buffer_assignment(read(SMALL)).used
    assert used is not None
    assert [used[number].use_count for number in (10, 12, 13, 18)] == [1, 0, 2, 0]
    assert text_of(used[17]).endswith('exp\nwith a raw newline"}')
    assert used[18].name == "add"


def test_live_ranges() -> None:
    assignment = parse_buffer_assignment(read(SMALL))
    live = assignment.live_ranges
    assert live is not None
    assert assignment.reported_total_bytes == 33824
    assert (live.end, live.peak_position, live.sequence[4]) == (9, 7, "fusion.1")
    assert read_ranges(assignment)["fusion.1", (1,)] == LiveRange(4, 7)
    assert sum(entry.size_bytes for entry in live.peak_entries) == 15532


def test_both_forms_give_the_same() -> None:
    source = read(SMALL)
    allocations, values, live_range = split(source)
    joined = parse_buffer_assignment(source)
    assert everything(parse_buffer_assignment(allocations, values, live_range)) == everything(
        joined
    )
    alone = parse_buffer_assignment(allocations)
    assert (alone.reported_total_bytes, alone.used, alone.live_ranges) == (None, None, None)


def test_windows_line_ends() -> None:
    source = read(SMALL)
    windows = Source(source.text.replace("\n", "\r\n"))
    ours, theirs = parse_buffer_assignment(source), parse_buffer_assignment(windows)
    ours.used = theirs.used = None  # instruction texts keep their line ends
    assert everything(theirs) == everything(ours)


def test_live_ranges_that_are_gone() -> None:
    allocations, values, _ = split(read(SMALL))
    gone = Source("HloLiveRange not available (finalized or constructed from proto)\n")
    assert parse_buffer_assignment(allocations, values, gone).live_ranges is None
    text = allocations.text + values.text + gone.text
    assert parse_buffer_assignment(Source(text)).live_ranges is None


def test_files_of_two_programs_are_refused() -> None:
    allocations, values, live_range = split(read(SMALL))
    renamed = Source(values.text.replace("exponential", "logarithm"), "values")
    with pytest.raises(ParseError, match=r"used value 17, 'logarithm', is in no allocation"):
        parse_buffer_assignment(allocations, renamed, live_range)
    shorter = Source(live_range.text.replace("    multiply{}:7-9\n", ""), "live-range")
    with pytest.raises(ParseError, match=r"value 19, 'multiply', has no live range"):
        parse_buffer_assignment(allocations, values, shorter)


def test_every_truncation_is_read_or_refused() -> None:
    """A file cut anywhere gives an error, or what an honest shorter file would give."""
    text = SMALL.read_text(encoding="utf-8")
    whole = parse_buffer_assignment(Source(text))
    refused = 0
    for end in range(0, len(text), 7):
        try:
            part = parse_buffer_assignment(Source(text[:end]))
        except HlotoolError:
            refused += 1
            continue
        numbers = [one.number for one in part.allocations]
        assert numbers == [one.number for one in whole.allocations][: len(numbers)]
    assert refused > 0.9 * len(text) / 7


def test_mutated_dumps_never_crash() -> None:
    text = SMALL.read_text(encoding="utf-8")
    chance = random.Random(7)  # noqa: S311  (which bytes change does not matter)
    for _ in range(300):
        at = chance.randrange(len(text))
        cut = text[:at] + chance.choice(("", "9", "{", "\n", "é", "<", " ")) + text[at + 1 :]
        with contextlib.suppress(HlotoolError):
            parse_buffer_assignment(Source(cut))


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_bad_dump(case: TableCase) -> None:
    text, _, expectation = case.text.rpartition("// expect ")
    place, _, message = expectation.strip().partition(" ")
    with pytest.raises(ParseError) as caught:
        parse_buffer_assignment(Source(text, case.name))
    assert str(caught.value).splitlines()[0] == f"{case.name}:{place}: {message}"


def test_bad_dumps_are_there() -> None:
    assert len(BAD) > 20
