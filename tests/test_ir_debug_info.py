"""Stack frames: resolved to the innermost line, whatever the tables say."""

from __future__ import annotations

from hlotool.hlo import DebugInfo, SourceLocation, StackFrame
from hlotool.hlo.parser import parse_module
from hlotool.text import Source

A, B = SourceLocation("a.py", 1), SourceLocation("b.py", 2)


def test_the_innermost_line() -> None:
    info = DebugInfo({1: A, 2: B}, {1: StackFrame(1, 0), 2: StackFrame(2, 1)})
    assert info.find_location(2) == B


def test_unknown_frames_and_locations() -> None:
    info = DebugInfo({1: A}, {1: StackFrame(7, 9)})
    assert info.find_location(0) is None
    assert info.find_location(1) is None


def test_printed_parents_are_one_too_high() -> None:
    module = parse_module(
        Source(
            'HloModule m\n\nFileNames\n1 "a.py"\n\nFileLocations\n'
            "1 {file_name_id=1 line=1}\n2 {file_name_id=1 line=2}\n\nStackFrames\n"
            "1 {file_location_id=1 parent_frame_id=1}\n2 {file_location_id=2 parent_frame_id=2}\n\n"
            "ENTRY e {\n  ROOT p = f32[] parameter(0), metadata={stack_frame_id=2}\n}\n"
        )
    )
    assert module.debug_info.frames == {1: StackFrame(1, 0), 2: StackFrame(2, 1)}
    line = module.debug_info.find_location(module.entry.root.metadata().stack_frame_id)
    assert line == SourceLocation("a.py", 2)
