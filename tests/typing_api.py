"""The types of the public API, as its users' type checkers see them: `make lint` reads this file.

Nothing here runs. A change that breaks a line breaks the code of users.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import assert_type

import hlotool
from hlotool.analysis.collectives.report import CollectiveReport
from hlotool.analysis.summary.report import ProgramRow, Summary
from hlotool.api import Buffers
from hlotool.compare.report import DiffReport
from hlotool.testing import assert_budget, assert_collectives


class _Compiled:
    """What `jax.jit(f).lower(x).compile()` returns, as far as hlotool asks."""

    def as_text(self) -> str:
        return ""


def read_one(path: Path) -> None:
    """Ask a dump for everything, and load one from everything that `load` takes."""
    dump = hlotool.load(path, stage="before", chip="h100")
    assert_type(dump, hlotool.Dump)
    assert_type(hlotool.load("HloModule m"), hlotool.Dump)
    assert_type(hlotool.load(_Compiled()), hlotool.Dump)
    assert_type(dump.summary(), Summary)
    assert_type(dump.buffers(), Buffers)
    assert_type(dump.collectives(), CollectiveReport)
    assert_type([row.sent_bytes_per_step for row in dump.collectives().rows], list[int | None])
    hlotool.load(path, stage="later")  # type: ignore[arg-type]


def read_many(paths: Iterable[Path]) -> None:
    """Ask many programs."""
    assert_type(hlotool.load_all("dumps", module="train"), list[hlotool.Dump])
    rows = hlotool.summarize(paths, executor=ThreadPoolExecutor(), cache="rows.jsonl")
    assert_type(rows, list[ProgramRow])
    for each in hlotool.ask_all(paths, hlotool.Dump.collectives, executor=ThreadPoolExecutor()):
        assert_type(each.answer, CollectiveReport | None)


def compare(old: hlotool.Dump, new: str) -> None:
    """Compare a dump with what `load` takes."""
    assert_type(hlotool.diff(old, new), DiffReport)


def judge(compiled: _Compiled) -> None:
    """Assert; what is no number of collectives is refused."""
    assert_budget(compiled, "buffers.temp_bytes <= 8GiB", module="train")
    assert_collectives(compiled, {"all-gather": 2})
    assert_collectives(compiled, {"all-gather": "two"})  # type: ignore[dict-item]


def refuse(error: hlotool.HlotoolError) -> int:
    """Return the exit code of the program, which every error has."""
    return error.exit_code
