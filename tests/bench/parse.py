"""Reading HLO text against jaxlib's parser: the seed in one process, 100 MB in fresh ones."""

from __future__ import annotations

import gc
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from bench.measure import Comparison, Effort, cpu_seconds, take_turns

from hlotool.hlo.parser import parse_module
from hlotool.text import Source

# What a fresh process runs; it prints seconds of CPU and the peak of its memory.
_CHILD = r"""
import json, re, sys, time
from pathlib import Path
{setup}
text = Path(sys.argv[1]).read_text(encoding="utf-8")
begin = time.process_time()
module = {parse}
seconds = time.process_time() - begin
status = Path("/proc/self/status").read_text()
peak = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024
print(json.dumps([seconds, peak]))
"""
OURS = _CHILD.format(
    setup="from hlotool.hlo.parser import parse_module\nfrom hlotool.text import Source",
    parse="parse_module(Source(text))",
)
THEIRS = _CHILD.format(setup="from jaxlib import _hlo", parse="_hlo.hlo_module_from_text(text)")


def compare_parsing(path: Path, effort: Effort) -> Iterator[Comparison]:
    """Compare parsing one text, and many copies of it, with what jaxlib takes."""
    yield compare_seed(path, effort.parse_rounds)
    yield from compare_large(path, effort.large_bytes, effort.large_rounds)


def compare_seed(path: Path, rounds: int) -> Comparison:
    """Parse one text again and again in this process."""
    from jaxlib import _hlo  # noqa: PLC0415  (the other sections do without jaxlib)

    text = path.read_text(encoding="utf-8")
    ours, theirs = take_turns(
        rounds,
        lambda: time_once(lambda: parse_module(Source(text))),
        lambda: time_once(lambda: _hlo.hlo_module_from_text(text)),
    )
    return Comparison(f"parse {path.name[:20]}, {len(text) / 1e6:.1f} MB", ours, theirs, "ms", 0.4)


def time_once(parse: Callable[[], object]) -> float:
    """Return the seconds of one call; nobody pays for what the round before left behind."""
    gc.collect()
    return cpu_seconds(parse)[0]


def compare_large(path: Path, size: int, rounds: int) -> Iterator[Comparison]:
    """Parse copies of one text with names of their own, in fresh processes, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder) / "large.txt"
        large.write_text(multiply(path.read_text(encoding="utf-8"), size), encoding="utf-8")
        megabytes = large.stat().st_size / 1e6
        runs = [(run_child(OURS, large), run_child(THEIRS, large)) for _ in range(rounds)]
    for number, (what, unit, limit) in enumerate((("time", "s", 0.5), ("memory", "MiB", 0.3))):
        yield Comparison(
            f"parse {megabytes:.0f} MB, {what}",
            median(ours[number] for ours, _ in runs),
            median(theirs[number] for _, theirs in runs),
            unit,
            limit,
        )


def run_child(program: str, path: Path) -> tuple[float, float]:
    """Run a program of this file in a fresh process; return seconds and bytes."""
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], check=True, stdout=subprocess.PIPE, text=True
    )
    seconds, peak = json.loads(done.stdout)
    return seconds, peak


def multiply(text: str, size: int) -> str:
    """Repeat the computations of a module, each time under new names; the last has the entry."""
    head, body = split_text(text)
    count = max(1, round(size / len(body)))
    copies = []
    for number in range(count):
        copy = re.sub(r"%([A-Za-z_][\w.\-]*)", rf"%\1.c{number}", body)
        copies.append(copy if number == count - 1 else copy.replace("\nENTRY ", "\n"))
    return head + "\n".join(copies)


def split_text(text: str) -> tuple[str, str]:
    """Split a text before its first computation."""
    start = re.search(r"^(?:%|ENTRY)", text, re.MULTILINE)
    assert start is not None
    return text[: start.start()], text[start.start() :]
