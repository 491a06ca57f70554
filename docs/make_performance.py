"""Write the tables of docs/performance.md from what `make bench` and `make bench-large` print.

    python docs/make_performance.py BENCH.txt [LARGE.txt] [--commit COMMIT]

`make performance` measures and writes. A figure that misses its limit says MISSED there.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

PAGE = Path(__file__).parent / "performance.md"
_ROW = re.compile(
    r"(?P<what>.+?)\s{2,}(?P<ours>[\d.]+ \w+)\s+(?P<theirs>[\d.]+ \w+)\s+"
    r"(?P<ratio>\+?[\d.]+(?: ms)?) ≤ (?P<limit>\+?[\d.]+(?: ms)?)\s+(?P<verdict>ok|MISSED)"
)
_HEADINGS = {
    "CPU time": "jaxlib's parser",
    "CPU of an answer from a proto": "the same from text",
    "CPU of `diff`": "the two summaries",
    "CPU of a whole diff": "jaxlib, both texts",
    "hlotool --version": "an empty Python",
    "hlotool report": "hlotool summary",
    r"summary of \d+": "in one process",
}


def make_table(text: str) -> Iterator[str]:
    """Yield a row for each figure, with what it is held against."""
    yield "| | hlotool | against | ratio | limit | |"
    yield "|---|---:|---|---:|---:|---|"
    against = ""
    for line in text.splitlines():
        heading = next((says for start, says in _HEADINGS.items() if re.match(start, line)), "")
        against = heading or against
        found = _ROW.fullmatch(line.rstrip())
        if found:
            verdict = "**MISSED**" if found["verdict"] == "MISSED" else "ok"
            what = found["what"].removesuffix(", whole process")
            yield (
                f"| {what} | {found['ours']} | {against}: {found['theirs']} | {found['ratio']} "
                f"| {found['limit']} | {verdict} |"
            )


def describe_machine(text: str, commit: str) -> str:
    """Say where, when and with which commit was measured."""
    cpu = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text("utf-8"))
    python = next(line for line in text.splitlines() if line.startswith("Python "))
    told = f"{python.rpartition(', ')[0]}, {cpu[1] if cpu else 'processor unknown'}"
    return f"{told}; {datetime.now(UTC):%Y-%m-%d}; commit {commit}."


def fill(page: str, name: str, made: str) -> str:
    """Put what was made between its marks."""
    mark = re.compile(
        rf"(<!-- made by make performance: {name} -->\n).*?(?=<!-- end -->)", re.DOTALL
    )
    return mark.sub(lambda found: f"{found[1]}{made}\n", page)


def main() -> None:
    """Write the page."""
    arguments = sys.argv[1:]
    commit = "unknown"
    if "--commit" in arguments:
        at = arguments.index("--commit")
        commit = arguments[at + 1]
        del arguments[at : at + 2]
    else:
        asked = ["git", "rev-parse", "--short", "HEAD"]
        done = subprocess.run(asked, capture_output=True, text=True, check=True)  # noqa: S603
        commit = done.stdout.strip()
    bench, *large = (Path(one).read_text(encoding="utf-8") for one in arguments)
    rows = "\n".join(make_table(bench))
    page = PAGE.read_text(encoding="utf-8")
    page = fill(page, "bench", f"{describe_machine(bench, commit)}\n\n{rows}")
    for text in large:
        lines = [line for line in text.splitlines() if line.startswith("| ") or line[:4] == "|---"]
        page = fill(page, "large", "\n".join(lines))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
