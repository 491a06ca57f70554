"""The figures in docs/accuracy.md: rows of its tables, worked out from the tables of figures.

A row of the page is known by its first cell; what is behind it is written anew, but for cells
that hold words (what is promised).
"""

from __future__ import annotations

import csv
from pathlib import Path

from accuracy.pairing import TABLE as PAIRS
from buffer_accuracy import TABLE as BUFFERS
from dump_files import ROOT

PAGE = ROOT / "docs" / "accuracy.md"
_SHARES = ("pair precision", "pair recall", "change precision", "change recall")


def write_page(page: str) -> str:
    """Put the figures into the page."""
    figures = {**_list_buffers(), **_list_pairs()}
    found: set[str] = set()
    lines = []
    for line in page.splitlines():
        cells = line.split(" | ")
        title = cells[0].removeprefix("| ")
        if title in figures and line.startswith("| "):
            found.add(title)
            new = figures[title]
            words = cells[len(new) + 1 :]
            lines.append(" | ".join([cells[0], *new, *words]) + " |" * (not words))
        else:
            lines.append(line)
    missing = figures.keys() - found
    if missing:
        raise ValueError(f"the page has no row for {', '.join(sorted(missing))}")
    return "".join(f"{line}\n" for line in lines)


def _list_buffers() -> dict[str, tuple[str, ...]]:
    """Count the figures that are right to the byte, and find the worst, by backend."""
    rows = _read(BUFFERS)
    tpu = [row for row in rows if row["dump"].startswith("tpu")]
    others = [row for row in rows if not row["dump"].startswith("tpu")]
    temp = "temp_peak_bytes", "estimated_temp_bytes"
    allocated = "allocated_bytes", "estimated_allocated_bytes"
    return {
        "peak": _compare(rows, "peak_bytes", "estimated_bytes"),
        "temp peak, CPU and GPU": _compare(others, *temp),
        "temp peak, TPU": _compare(tpu, *temp),
        "allocated, CPU and GPU": _compare(others, *allocated),
        "allocated, TPU": _compare(tpu, *allocated),
    }


def _compare(rows: list[dict[str, str]], real: str, estimated: str) -> tuple[str, str]:
    exact = sum(row[real] == row[estimated] for row in rows)
    errors = [int(row[estimated]) / int(row[real]) - 1 for row in rows if int(row[real])]
    return f"{exact} of {len(rows)}", f"{max(errors, key=abs):+.2%}"


def _list_pairs() -> dict[str, tuple[str, ...]]:
    """Return the sums of the table of edits."""
    sums = [row for row in _read(PAIRS) if row["edit"].startswith("all: ")]
    return {
        row["edit"].removeprefix("all: "): tuple(f"{float(row[share]):.3f}" for share in _SHARES)
        for row in sums
    }


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))
