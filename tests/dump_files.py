"""Where dumps stand, and how a file of one is read: plain, or compressed as in testdata/packed.

Beside those of testdata there may be more in `../shared`, which only the project's own machine
has: CONTRIBUTING.md lists what they show. What `../shared/dumps/odd` holds is shown by the golden
sessions of that name.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from tables import ENDING, TableCase, find_cases, is_case, read_case

ROOT = Path(__file__).resolve().parents[1]
TESTDATA = ROOT / "testdata"
SHARED = ROOT.parent / "shared"
SEEDS = SHARED / "seeds"  # what users sent
ODD = SHARED / "dumps" / "odd"
PAIRS = SHARED / "dumps" / "pairs"

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared")


def read_text(path: Path) -> str:
    """Read a file, whether it is compressed or not, or a case of a table: TABLE/NAME."""
    if is_case(path):
        return read_case(path).text
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")


def read_json(path: Path) -> Any:
    """Read JSON, whether it is compressed or not."""
    return json.loads(read_text(path))


def find_file(folder: Path, ending: str) -> Path | None:
    """Find the one file of a folder whose name ends so, or so and `.gz`."""
    found = [*folder.glob(f"*{ending}"), *folder.glob(f"*{ending}.gz")]
    assert len(found) < 2, found
    return found[0] if found else None


def find_folders() -> list[Path]:
    """Find the dumps that have XLA's own figures beside them, one folder each."""
    folders = [
        *sorted(TESTDATA.glob("dumps/*/*")),
        *sorted(TESTDATA.glob("packed/*/*")),
        *sorted((SHARED / "dumps").glob("*/*")),
    ]
    return [one for one in folders if one.is_dir() and find_file(one, "oracle.json")]


def find_texts(folder: Path) -> list[Path]:
    """Find the texts of a dump: before optimizations, if it was kept, and after."""
    found = (find_file(folder, f"{stage}_optimizations.txt") for stage in ("before", "after"))
    return [path for path in found if path]


def split_modules(*roots: Path) -> list[Path]:
    """Find every HLO text below some folders, cases too; large ones in pairs are left out."""
    left_out = {ODD, PAIRS}
    found = {path for root in roots for path in root.rglob("*.txt*")}
    found |= {case.path for root in roots for case in find_table_cases(root)}
    return [
        path
        for path in sorted(found)
        if left_out.isdisjoint(path.parents) and _begin(path) == b"HloModule "
    ]


def find_table_cases(root: Path) -> list[TableCase]:
    """Find the cases of every table below a folder."""
    return [case for table in sorted(root.rglob(f"*{ENDING}")) for case in find_cases(table)]


def _begin(path: Path) -> bytes:
    if is_case(path):
        return read_text(path)[:10].encode()
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        return file.read(10)


def list_styles(folders: Iterable[Path]) -> list[Path]:
    """List modules printed in XLA's styles: `BACKEND.PROGRAM.STYLE.txt`."""
    return [path for folder in folders for path in sorted(folder.glob("*.*.*.txt"))]


def as_parameters(
    paths: Iterable[Path], name: Callable[[Path], str] = lambda path: path.stem
) -> list[Any]:
    """Make tests of dumps: those of `../shared`, which show the same at length, are hard."""
    return [
        pytest.param(
            path, id=name(path), marks=pytest.mark.hard if path.is_relative_to(SHARED) else ()
        )
        for path in paths
    ]


PRINTED = list_styles((TESTDATA / "printed", SHARED / "dumps" / "printed"))
