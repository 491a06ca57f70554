"""How long does a whole diff take, beside jaxlib's parse of both texts?

In one process, in turns: reading both texts and comparing them in every respect, with reasons, for
a table, against `hlo_module_from_text` of both. Equal texts are read once, as equal files are. A
step under names of its own is repeated until the text is as large as asked; of its copies none, a
hundredth, a tenth or all have an opcode changed.
"""

from __future__ import annotations

import gc
import gzip
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.diff import STEP, one_opcode
from bench.measure import Comparison, cpu_seconds, take_turns
from bench.steps import write_steps
from diff_cases import renamed

from hlotool.compare.inputs import DiffSide
from hlotool.compare.report import DiffOptions, compare_programs
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.text import Source

UNCHANGED, EDITED, UNROLLED = 1.1, 1.35, 1.7


def compare_with_parser(pairs: Path, sizes: tuple[int, ...], rounds: int) -> Iterator[Comparison]:
    """Compare texts of some sizes, and a scan with what it is unrolled."""
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "steps.txt"
            write_steps(STEP, path, size)
            text = path.read_text(encoding="utf-8")
        about = f"diff {len(text) / 1e6:.1f} MB,"
        yield _compare(f"{about} unchanged", (text, text), rounds, UNCHANGED)
        yield _compare(f"{about} renamed", (text, renamed(text)), rounds, UNCHANGED)
        for share in (100, 10, 1):
            edited = _edit(text, share)
            yield _compare(f"{about} {100 // share} % edited", (text, edited), rounds, EDITED)
    scan, unrolled = (_read(pairs / name) for name in ("gpu.base", "gpu.unroll12"))
    yield _compare("diff of scan and unrolled", (scan, unrolled), rounds, UNROLLED)


def _edit(text: str, every: int) -> str:
    """Change an opcode in one of so many copies."""

    def edit(line: re.Match[str]) -> str:
        return one_opcode(line[0]) if int(line[1]) % every == 0 else line[0]

    return re.sub(r"^.* %[\w.\-]+\.s(\d+) = .* rsqrt\(.*$", edit, text, flags=re.MULTILINE)


def _read(folder: Path) -> str:
    path = next(folder.glob("*after_optimizations.txt.gz"))
    return gzip.decompress(path.read_bytes()).decode()


def _compare(name: str, texts: tuple[str, str], rounds: int, limit: float) -> Comparison:
    from jaxlib import _hlo  # noqa: PLC0415  (the other sections do without jaxlib)

    options = DiffOptions(has_equal_figures=False)

    def diff() -> float:
        gc.collect()
        old, new = texts

        def compare() -> None:
            side = _load(old)
            compare_programs(side, side if old == new else _load(new), options)

        return cpu_seconds(compare)[0]

    def parse() -> float:
        gc.collect()
        return cpu_seconds(lambda: [_hlo.hlo_module_from_text(text) for text in texts])[0]

    ours, theirs = take_turns(rounds, diff, parse)
    return Comparison(name, ours, theirs, "ms", limit)


def _load(text: str) -> DiffSide:
    module = parse_module(Source(text, "<bench>"))
    return DiffSide(Program(module.name, module))
