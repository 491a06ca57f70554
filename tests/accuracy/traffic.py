"""How near does memory traffic come to a count on paper, for the transformers of `../shared`?"""

from __future__ import annotations

from collections.abc import Iterator

from dump_files import SHARED
from test_analysis_cost_memory_transformer import PROGRAMS, count_on_paper

import hlotool


def compare_with_paper() -> Iterator[str]:
    """Write a line a program: bytes on paper, bytes as counted, the difference."""
    for name in PROGRAMS:
        folder = SHARED / "dumps" / name
        if folder.is_dir():
            text = next(folder.glob("*after_optimizations.txt"))
            ours = hlotool.load(text).summary().cost.traffic_bytes_per_step
            paper = count_on_paper(name, folder)
            off = ours / paper - 1
            yield f"memory of {name}: {paper:.4g} on paper, {ours:.4g} counted, {off:+.1%}"
