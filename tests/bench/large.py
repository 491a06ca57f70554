"""How do CPU and memory grow with the text, up to a gigabyte?

    python tests/bench/large.py [--wide] [MEGABYTES ...]

Whole processes, each run once a size: at these sizes a run is its own average. The texts are
steps run in a row, or with --wide side by side (`bench/steps.py`), the measure is a process that
has jaxlib parse the same text. Prints a table and a chart, as docs/performance.md shows them.
"""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # run as a script, from anywhere
os.environ["PYTHONPATH"] = str(ROOT)

from bench.run import find_text  # noqa: E402
from bench.steps import write_steps  # noqa: E402

JAXLIB: Final = "jaxlib's parser"
_THEIRS = (
    "import sys; from jaxlib import _hlo; "
    "_hlo.hlo_module_from_text(open(sys.argv[1], encoding='utf-8').read())"
)
_RUNS: Final[Mapping[str, tuple[str, ...]]] = {
    JAXLIB: ("-c", _THEIRS),
    "summary": ("-m", "hlotool", "summary", "--json"),
    "buffers": ("-m", "hlotool", "buffers", "--json"),
    "fusions": ("-m", "hlotool", "fusions", "--json"),
    "collectives": ("-m", "hlotool", "collectives", "--json"),
    "shardings": ("-m", "hlotool", "shardings", "--json"),
    "check": ("-m", "hlotool", "check", "--budget", "cost.total_flops_per_step >= 0"),
}
_SIZES: Final = (30, 100, 300, 1000)
_BAR_SECONDS: Final = 0.15  # of CPU per 100 MB, one character of the chart


@dataclass(frozen=True, slots=True)
class Run:
    """What one process took; `seconds` of CPU, `size_bytes` of memory at most."""

    seconds: float
    size_bytes: int


def main() -> None:
    """Measure every size, and say what came of each run as soon as it is done."""
    compileall.compile_dir(ROOT / "hlotool", quiet=2)  # as pip does with what it installs
    found: dict[str, dict[int, Run]] = {name: {} for name in _RUNS}
    sizes = [int(one) for one in sys.argv[1:] if one.isdecimal()] or _SIZES
    with tempfile.TemporaryDirectory() as folder:
        for megabytes in sizes:
            path = Path(folder) / "steps.txt"
            is_wide = "--wide" in sys.argv
            count = write_steps(find_text(), path, megabytes * 1_000_000, is_wide=is_wide)
            sys.stderr.write(f"{path.stat().st_size / 1e6:.0f} MB, {count} steps\n")
            for name, arguments in _RUNS.items():
                found[name][megabytes] = one = run([*arguments, str(path)])
                sys.stderr.write(f"{name}: {one.seconds:.1f} s, {one.size_bytes >> 20:,} MiB\n")
    sys.stdout.writelines(f"{line}\n" for line in (*table(found), "", *chart(found)))


def run(arguments: Sequence[str]) -> Run:
    """Run Python with these arguments; a failure is an error."""
    with subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, list(arguments))
    return Run(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def table(found: Mapping[str, Mapping[int, Run]]) -> Iterator[str]:
    """Yield a table: for each size the seconds and the memory, and both against jaxlib's."""
    theirs = found[JAXLIB]
    yield "| | " + " | ".join(f"{size} MB" for size in theirs) + " |"
    yield "|---|" + "---:|" * len(theirs)
    for name, runs in found.items():
        cells = []
        for size, one in runs.items():
            cell = f"{one.seconds:.1f} s, {one.size_bytes / 2**20:,.0f} MiB"
            if name != JAXLIB:
                against = theirs[size]
                cell += f" ({one.seconds / against.seconds:.2f}, "
                cell += f"{one.size_bytes / against.size_bytes:.2f})"
            cells.append(cell)
        yield f"| {name} | " + " | ".join(cells) + " |"


def chart(found: Mapping[str, Mapping[int, Run]]) -> Iterator[str]:
    """Yield bars: the CPU seconds of 100 MB, which stay the same where growth is linear."""
    for name, runs in found.items():
        for size, one in runs.items():
            each = one.seconds * 100 / size
            bar = "█" * round(each / _BAR_SECONDS)
            yield f"{name:<16} {size:>5} MB {each:>5.1f} s {bar}"
        yield ""


if __name__ == "__main__":
    main()
