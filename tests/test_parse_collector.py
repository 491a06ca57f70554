"""Memory returns: what was read and let go is collected, and nothing global stays changed."""

from __future__ import annotations

import gc
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from dump_files import ROOT, TESTDATA

from hlotool.dump.workers import attempt
from hlotool.hlo import Computation
from hlotool.hlo.parser import parse_module
from hlotool.program.fleet import PathToRead
from hlotool.text import Source

_TEXT = TESTDATA / "hlo" / "gpu_train_step.txt"
# Prints how many of the modules are still there; `freeze` is what a program may have done itself.
_MANY_LOADS = """
import gc, sys
from pathlib import Path
from hlotool.hlo import Module
from hlotool.hlo.parser import parse_module
from hlotool.text import Source
source = Source(Path(sys.argv[1]).read_text())
if sys.argv[2] == "freeze":
    gc.freeze()
for _ in range(150):
    module = parse_module(source)
print(sum(isinstance(each, Module) for each in gc.get_objects()))
"""


@pytest.mark.hard
@pytest.mark.parametrize("before", ["", "freeze"])
def test_modules_that_nobody_holds_are_collected(before: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", _MANY_LOADS, str(_TEXT), before],
        check=True,
        capture_output=True,
        cwd=ROOT,
        text=True,
    )
    assert int(run.stdout) < 100


def test_it_collects_in_proportion_to_what_is_kept() -> None:
    """Else reading many and keeping them would take time in the square of their number."""
    source = Source(_TEXT.read_text(encoding="utf-8"))
    before = gc.get_stats()[2]["collections"]
    kept = [parse_module(source) for _ in range(25)]
    assert len(kept) == 25
    assert gc.get_stats()[2]["collections"] - before < 10


@pytest.mark.parametrize("started_with", [0, 375])  # frozen objects: 375 in Python 3.12
def test_a_program_is_let_go_before_the_next(
    started_with: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many in one process the largest sets the memory, not two or ten of them."""
    count_frozen = gc.get_freeze_count
    monkeypatch.setattr(gc, "get_freeze_count", lambda: max(started_with, count_frozen()))
    source = Source(_TEXT.read_text(encoding="utf-8"))
    alive: list[int] = []

    def read(_: PathToRead) -> str:
        alive.append(sum(isinstance(each, Computation) for each in gc.get_objects()))
        return parse_module(source).entry.name

    for _ in range(3):
        attempt(read, PathToRead("", 0))
    assert alive == [alive[0]] * 3
    assert not count_frozen()


@pytest.mark.parametrize("is_enabled", [True, False])
def test_threads_leave_the_collector_as_it_was(is_enabled: bool) -> None:
    source = Source(_TEXT.read_text(encoding="utf-8"))
    if not is_enabled:
        gc.disable()
    try:
        with ThreadPoolExecutor(4) as executor:
            assert len(list(executor.map(parse_module, [source] * 12))) == 12
        assert gc.isenabled() is is_enabled
    finally:
        gc.enable()
