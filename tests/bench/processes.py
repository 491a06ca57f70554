"""Whole runs of the program, from the shell's point of view."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter

from bench.measure import Comparison, best_of

_OPEN = "open(sys.argv[1], encoding='utf-8').read()"
_OURS = (
    "import sys; from hlotool.parse import parse_module; from hlotool.source import Source; "
    f"parse_module(Source({_OPEN}))"
)
_THEIRS = f"import sys; from jaxlib import _hlo; _hlo.hlo_module_from_text({_OPEN})"


def compare_processes(path: Path, rounds: int = 12) -> Iterator[Comparison]:
    """Time what users start, in turns with what it faces."""
    program = [sys.executable, "-m", "hlotool"]
    commands = (
        [sys.executable, "-c", _OURS, str(path)],
        [*program, "summary", "--json", str(path)],
        [sys.executable, "-c", _THEIRS, str(path)],
        [*program, "--version"],
        [sys.executable, "-c", "pass"],
    )
    seconds: list[list[float]] = [[] for _ in commands]
    for _ in range(rounds):
        for command, times in zip(commands, seconds, strict=True):
            times.append(time_process(command))
    reading, summary, jaxlib, version, nothing = map(best_of, seconds)
    yield Comparison("import and parse, whole process", reading, jaxlib, "ms", 0.6)
    yield Comparison("hlotool summary --json, whole process", summary, jaxlib, "ms", 0.6)
    yield Comparison("hlotool --version", version, nothing, "ms", 0.060, is_difference=True)


def time_process(command: Sequence[str]) -> float:
    """Return the seconds a process takes from start to end."""
    begin = perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return perf_counter() - begin
