"""Does `diff` say what a user changed? Its verdicts on real edits, held against their truths.

    python tests/accuracy/true_edits.py [tune|judge]

The truths (testdata/edits/*/truths.toml) were written from the edits, before any verdict was read.
`judge` is run once, when all is done. The verdict is what stands before the first empty line, at 80
columns, its lines joined. A sentence that is false makes a verdict false, whatever else it names.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from msgspec import Struct

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from dump_files import ROOT

EDITS: Final = ROOT / "testdata" / "edits"
TABLE: Final = ROOT / "docs" / "edits_true.csv"
HEADING: Final = ("pair", "program", "backend", "edit", "outcome", "unexplained")
TUNE: Final = "tune"
RIGHT, PARTIAL, NOT_NAMED, FALSE, FAILED = "right", "partial", "not named", "false", "failed"
OUTCOMES: Final = (RIGHT, PARTIAL, NOT_NAMED, FALSE, FAILED)
Truth = Mapping[str, Any]
Wanted = str | Sequence[str]  # one of several


class Judged(Struct, frozen=True):
    """A pair, what came of it, what stood in the verdict, and which words of it were false."""

    name: str
    program: str
    backend: str
    edit: str
    outcome: str
    verdict: str
    false_words: tuple[str, ...] = ()
    unexplained: tuple[float, ...] = ()  # of the difference of each figure

    @property
    def worst(self) -> str:
        """The figure with the largest part that nothing explains."""
        return f"{max(self.unexplained):.3f}" if self.unexplained else ""


def read_verdict(old: Path, new: Path) -> tuple[str, int]:
    """Return the verdict as one line, and the exit code."""
    run = subprocess.run(
        [sys.executable, "-m", "hlotool", "diff", old, new],
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
    verdict = (run.stdout if run.returncode == 0 else run.stderr).strip().split("\n\n")[0]
    return " ".join(verdict.split()), run.returncode


def read_unexplained(old: Path, new: Path) -> tuple[float, ...]:
    """Return which part of each figure's difference has no reason."""
    run = subprocess.run(
        [
            *(sys.executable, "-m", "hlotool", "diff", old, new, "--rows", "account"),
            "--format=jsonl",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, float] = {}
    for line in run.stdout.splitlines() if run.returncode == 0 else ():
        row = json.loads(line)
        share = row["share"] if row["reason"] == "unexplained" else 0
        found[row["figure"]] = found.get(row["figure"], 0) + (share or 0)
    return tuple(map(abs, found.values()))


def finds(wanted: Wanted, verdict: str) -> str:
    """Return the words in which a verdict says what is wanted, empty where it does not."""
    for pattern in [wanted] if isinstance(wanted, str) else wanted:
        match = re.search(pattern, verdict, re.IGNORECASE)
        if match:
            return match[0]
    return ""


def judge(name: str, truth: Truth, folder: Path) -> Judged:
    """Hold the verdict on a pair against its truth."""
    verdict, code = read_verdict(folder / truth["old"], folder / truth["new"])
    false = tuple(filter(None, (finds(one, verdict) for one in truth["false"])))
    if code:
        outcome = FAILED
    elif false:
        outcome = FALSE
    elif all(finds(one, verdict) for one in truth["right"]):
        outcome = RIGHT
    elif any(finds(one, verdict) for one in truth["partial"]):
        outcome = PARTIAL
    else:
        outcome = NOT_NAMED
    shares = read_unexplained(folder / truth["old"], folder / truth["new"])
    what = truth["program"], truth["backend"], truth["edit"]
    return Judged(name, *what, outcome, verdict, false, shares)


def measure_true_edits(half: str = TUNE) -> Iterator[Judged]:
    """Judge every pair of a half."""
    folder = EDITS / half
    for name, truth in tomllib.loads((folder / "truths.toml").read_text("utf-8")).items():
        yield judge(name, truth, folder)


def write_true_edits(found: Iterable[Judged]) -> str:
    """Write the whole table."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(HEADING)
    table.writerows(
        (one.name, one.program, one.backend, one.edit, one.outcome, one.worst) for one in found
    )
    return out.getvalue()


def judge_true_edits(found: Sequence[Judged]) -> str:
    """Count outcomes by program and backend, and list what is not right."""
    lines = [f"{'':12}" + "".join(f"{one:>11}" for one in OUTCOMES)]
    titles = sorted({one.program for one in found}) + sorted({one.backend for one in found})
    for title in ("all", *titles):
        of_title = (one for one in found if title in {"all", one.program, one.backend})
        counts = Counter(one.outcome for one in of_title)
        lines.append(f"{title:12}" + "".join(f"{counts[one]:11}" for one in OUTCOMES))
    shares = sorted(share for one in found for share in one.unexplained)
    if shares:
        above = sum(share > 0.25 for share in shares)
        lines.append(
            f"unexplained: median {median(shares):.1%} of {len(shares)} figures that differ, "
            f"{above} above 25 %"
        )
    for one in found:
        if one.outcome != RIGHT:
            false = f" ({'; '.join(one.false_words)})" if one.false_words else ""
            lines += ["", f"{one.name}, {one.backend}: {one.outcome}{false}"]
            lines += [f"  edit:    {one.edit}", f"  verdict: {one.verdict}"]
    return "\n".join(lines)


def main() -> None:
    """Judge a half; the table is that of what is tuned on."""
    half = sys.argv[1] if len(sys.argv) > 1 else TUNE
    found = list(measure_true_edits(half))
    print(judge_true_edits(found))  # noqa: T201
    if half == TUNE:
        TABLE.write_text(write_true_edits(found), "utf-8")


if __name__ == "__main__":
    main()
