"""Many inputs in several processes: order, failures, progress, and what ends a run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from input_cases import ROOT

from hlotool.errors import ParseError, UsageError
from hlotool.inputs import find_inputs, parallel, pool
from hlotool.inputs.parallel import Failure, map_inputs
from hlotool.source import Source


@dataclass(frozen=True, slots=True)
class Item:
    """Something to work on."""

    number: int
    size_bytes: int = 1


def _square(item: Item) -> int:
    return item.number**2


def _process(_item: Item) -> int:
    return os.getpid()


def _fail_at_three(item: Item) -> int:
    if item.number == 3:
        raise ParseError("expected a shape", Source("abc " * 1000, "dump.txt"), 4, 7)
    if item.number == 4:
        raise UsageError("no such thing.")
    return item.number


def _break(item: Item) -> int:
    return 1 // item.number


def _die(item: Item) -> int:
    if item.number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return item.number


ITEMS = [Item(number, (7 * number) % 5 * 100) for number in range(20)]


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_results_are_in_order(processes: int) -> None:
    assert map_inputs(_square, ITEMS, processes=processes) == [n * n for n in range(20)]


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_becomes_a_value(processes: int) -> None:
    results = map_inputs(_fail_at_three, ITEMS[:6], processes=processes)
    assert results[:3] == [0, 1, 2]
    failure = results[3]
    assert isinstance(failure, Failure)
    assert failure.message.startswith("dump.txt:1:5: expected a shape\n")
    assert len(failure.message) < 500
    assert failure.exit_code == 3
    assert results[4] == Failure("no such thing.", 2)
    assert results[5] == 5


@pytest.mark.parametrize("processes", [1, 2])
def test_a_bug_is_raised(processes: int) -> None:
    with pytest.raises(ZeroDivisionError):
        map_inputs(_break, ITEMS, processes=processes)


@pytest.mark.parametrize("processes", [1, 2])
def test_progress_adds_up_in_this_process(processes: int) -> None:
    seen: list[int] = []
    map_inputs(_square, ITEMS, processes=processes, progress=seen.append)
    assert sum(seen) == sum(item.size_bytes for item in ITEMS)
    assert len(seen) > 3


def test_a_process_that_dies_costs_its_items_only() -> None:
    results = map_inputs(_die, ITEMS, processes=2)
    failure = results[1]
    assert isinstance(failure, Failure)
    assert "died" in failure.message
    assert results == [0, failure, *range(2, 20)]


def test_few_and_small_items_start_no_process() -> None:
    small, large = Item(0, 10), Item(1, parallel.MIN_PARALLEL_BYTES)
    assert map_inputs(_process, []) == []
    assert map_inputs(_process, [small] * 9) == [os.getpid()] * 9
    assert map_inputs(_process, [large]) == [os.getpid()]
    assert map_inputs(_process, [large] * 2, processes=1) == [os.getpid()] * 2


@pytest.mark.skipif(parallel.available_processors() < 2, reason="one processor")
def test_large_items_go_to_other_processes() -> None:
    large = Item(1, parallel.MIN_PARALLEL_BYTES)
    assert os.getpid() not in map_inputs(_process, [large, large])


def test_threads_forbid_a_fork() -> None:
    """A lock that another thread holds would stay locked in the child."""
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, daemon=True)
    thread.start()
    assert pool.choose_context().get_start_method() == "spawn"
    stop.set()
    thread.join()


@given(st.lists(st.integers(0, 10**6), min_size=1), st.integers(1, 8))
def test_chunks_hold_each_item_once_largest_first(sizes: list[int], processes: int) -> None:
    chunks = pool.make_chunks(sizes, processes)
    flat = [number for chunk in chunks for number in chunk]
    assert sorted(flat) == list(range(len(sizes)))
    assert [sizes[number] for number in flat] == sorted(sizes, reverse=True)
    share = sum(sizes) / (processes * 8)
    assert all(sum(sizes[number] for number in chunk[:-1]) < share for chunk in chunks if share)


def test_inputs_of_a_directory_can_be_sent(tmp_path: Path) -> None:
    for number in range(4):
        text = f"HloModule m{number}, is_scheduled=true\n"
        (tmp_path / f"module_000{number}.m{number}.after_optimizations.txt").write_text(text)
    inputs = find_inputs(str(tmp_path)).inputs
    assert map_inputs(_first_line, inputs, processes=2) == [
        f"HloModule m{number}, is_scheduled=true" for number in range(4)
    ]


def _first_line(one: object) -> str:
    module = getattr(one, "module")  # noqa: B009  (any input of a directory has one)
    return str(module.read().text.splitlines()[0])


def test_interrupt_ends_the_run_at_once(tmp_path: Path) -> None:
    """As Ctrl-C does: the signal goes to all processes, and no worker shows a traceback."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os\n"
        "import time\n"
        "from dataclasses import dataclass\n"
        "from hlotool.inputs.parallel import map_inputs\n"
        "@dataclass\n"
        "class Item:\n"
        "    size_bytes: int = 1\n"
        "def wait(item):\n"
        "    os.write(1, b'started\\n')\n"
        "    time.sleep(60)\n"
        "if __name__ == '__main__':\n"
        "    try:\n"
        "        map_inputs(wait, [Item()] * 4, processes=2)\n"
        "    except KeyboardInterrupt:\n"
        "        print('interrupted')\n",
        encoding="utf-8",
    )
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as run:
        assert run.stdout
        assert run.stdout.readline() == "started\n"
        os.killpg(run.pid, signal.SIGINT)
        out, errors = run.communicate(timeout=30)
    assert out.endswith("interrupted\n")
    assert errors == ""
