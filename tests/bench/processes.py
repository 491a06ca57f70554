"""Whole runs of the program, from the shell's point of view."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.measure import Comparison, process_seconds, take_turns

_OPEN = "open(sys.argv[1], encoding='utf-8').read()"
_OURS = (
    "import sys; from hlotool.hlo.parser import parse_module; from hlotool.text import Source; "
    f"parse_module(Source({_OPEN}))"
)
_THEIRS = f"import sys; from jaxlib import _hlo; _hlo.hlo_module_from_text({_OPEN})"


def compare_reading(path: Path, rounds: int) -> Iterator[Comparison]:
    """Measure what users start, in turns with a process that has jaxlib parse the text."""
    reading, summary, jaxlib = take_turns(
        rounds,
        _run("-c", _OURS, str(path)),
        _run("-m", "hlotool", "summary", "--json", str(path)),
        _run("-c", _THEIRS, str(path)),
    )
    yield Comparison("import and parse, whole process", reading, jaxlib, "ms", 0.6)
    yield Comparison("hlotool summary --json, whole process", summary, jaxlib, "ms", 0.8)


def compare_start(rounds: int) -> Comparison:
    """Measure the start of the program against that of an interpreter that does nothing."""
    version, nothing = take_turns(rounds, _run("-m", "hlotool", "--version"), _run("-c", "pass"))
    return Comparison("hlotool --version", version, nothing, "ms", 0.060, is_difference=True)


def _run(*arguments: str) -> partial[float]:
    """Return what runs Python with these arguments and says how long it took."""
    return partial(process_seconds, [sys.executable, *arguments])
