"""How long does `hlotool diff` take, beside the two `summary --json` that it contains?

Whole processes. Small pairs are the dumps beside the project as XLA wrote them; large ones
their texts repeated under names of their own (`bench/diff.py`): two that differ much, one
against itself under other names, and two files of the same bytes.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.diff import repeat
from bench.measure import Comparison, process_seconds, take_turns
from diff_cases import renamed

_COMMAND: Final = (sys.executable, "-m", "hlotool")
_SMALL: Final = (
    ("gpu90.base", "gpu102old.base"),
    ("gpu.unroll12", "gpu.unroll13"),
    ("cpu.base", "cpu.noremat"),
    ("tpu.base", "tpu.nolhs"),
)
_REPEATED: Final = _SMALL[0]
_SMALL_LIMIT, _UNLIKE_LIMIT, _RENAMED_LIMIT, _SAME_LIMIT = 1.6, 1.5, 1.2, 0.5


def compare_pairs(folder: Path, size: int, rounds: int) -> Iterator[Comparison]:
    """Compare `diff` of each pair with the two summaries."""
    for old, new in _SMALL:
        name = f"diff {old} {new}"
        yield _compare(name, folder / old, folder / new, rounds, _SMALL_LIMIT)
    with tempfile.TemporaryDirectory() as place:
        old, new = (_repeat(folder / name, size) for name in _REPEATED)
        base = _write(place, "base", old)
        unlike, other, same = (
            _write(place, name, text)
            for name, text in (("unlike", new), ("renamed", renamed(old)), ("same", old))
        )
        about = f"diff {len(old) / 1e6:.0f} MB,"
        yield _compare(f"{about} unlike", base, unlike, rounds, _UNLIKE_LIMIT)
        yield _compare(f"{about} renamed", base, other, rounds, _RENAMED_LIMIT)
        yield _compare(f"{about} the same bytes", base, same, rounds, _SAME_LIMIT)


def _compare(name: str, old: Path, new: Path, rounds: int, limit: float) -> Comparison:
    sides = str(old), str(new)
    ours, theirs = take_turns(
        rounds,
        lambda: process_seconds((*_COMMAND, "diff", *sides)),
        lambda: sum(process_seconds((*_COMMAND, "summary", "--json", one)) for one in sides),
    )
    return Comparison(name, ours, theirs, "ms", limit)


def _repeat(dump: Path, size: int) -> str:
    path = next(dump.glob("*after_optimizations.txt.gz"))
    return repeat(gzip.decompress(path.read_bytes()).decode(), size)


def _write(folder: str, name: str, text: str) -> Path:
    path = Path(folder) / f"{name}.txt"
    path.write_text(text, encoding="utf-8")
    return path
