"""Many inputs in several processes: order, failures, progress, and what ends a run."""

from __future__ import annotations

import errno
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest
from dump_files import ROOT
from hypothesis import given
from hypothesis import strategies as st
from worker_tasks import (
    Item,
    answer_unspeakably,
    break_unspeakably,
    die,
    die_elsewhere,
    die_once,
    divide,
    fail_at_three,
    first_line,
    process_id,
    square,
)

from hlotool.dump import workers
from hlotool.dump.find import resolve_inputs
from hlotool.dump.workers import Failure, Result, choose_context, map_inputs

ITEMS = [Item(number, (7 * number) % 5 * 100) for number in range(20)]

Work = Callable[[Item], int]
Mapped = list[int | Failure]


def _here(function: Work, items: Sequence[Item], report: Callable[[int], None]) -> Mapped:
    return map_inputs(function, items, progress=report)


def map_in_processes(
    function: Callable[[workers.Item], Result],
    items: Sequence[workers.Item],
    processes: int,
    report: Callable[[workers.Item, Result | Failure], None],
) -> list[Result | Failure]:
    """Do as `map_inputs` in so many processes, however small the items are."""
    found = {}
    for number, result in workers.Work(function, items).map_in_processes(processes):
        found[number] = result
        report(items[number], result)
    return [found[number] for number in range(len(items))]


def _in_processes(function: Work, items: Sequence[Item], report: Callable[[int], None]) -> Mapped:
    return map_in_processes(function, items, 2, lambda item, _: report(item.size_bytes))


def _in_threads(function: Work, items: Sequence[Item], report: Callable[[int], None]) -> Mapped:
    with ThreadPoolExecutor(3) as executor:
        return map_inputs(function, items, executor=executor, progress=report)


def _report(*_finished: object) -> None:
    """Nobody looks."""


ways = pytest.mark.parametrize("way", [_here, _in_processes, _in_threads])


@ways
def test_results_are_in_order(way: Callable[..., Mapped]) -> None:
    assert way(square, ITEMS, _report) == [n * n for n in range(20)]


@ways
def test_an_error_becomes_a_value(way: Callable[..., Mapped]) -> None:
    results = way(fail_at_three, ITEMS[:6], _report)
    assert results[:3] == [0, 1, 2]
    failure = results[3]
    assert isinstance(failure, Failure)
    assert failure.message.startswith("dump.txt:1:5: expected a shape\n")
    assert len(failure.message) < 500
    assert failure.exit_code == 3
    assert results[4] == Failure("no such thing.", 2)
    assert results[5] == 5


@ways
def test_a_bug_is_raised(way: Callable[..., Mapped]) -> None:
    with pytest.raises(ZeroDivisionError):
        way(divide, ITEMS, _report)


@ways
def test_progress_adds_up_in_this_process(way: Callable[..., Mapped]) -> None:
    seen: list[int] = []
    way(square, ITEMS, seen.append)
    assert sum(seen) == sum(item.size_bytes for item in ITEMS)
    assert len(seen) > 3


def test_a_process_that_dies_costs_its_items_only() -> None:
    results = map_in_processes(die, ITEMS[:5], 2, _report)
    failure = results[1]
    assert isinstance(failure, Failure)
    assert "died" in failure.message
    assert failure.exit_code == 3
    assert results == [0, failure, 2, 3, 4]


def test_what_a_killed_process_was_at_is_done_again(tmp_path: Path) -> None:
    seen: list[int] = []
    work = partial(die_once, tmp_path / "mark")

    def see(item: Item, _result: int | Failure) -> None:
        seen.append(item.size_bytes)

    assert map_in_processes(work, ITEMS, 2, see) == list(range(20))
    assert sum(seen) == sum(item.size_bytes for item in ITEMS)


@pytest.mark.parametrize("started", [0, 1, 2])
@pytest.mark.parametrize(
    "error",
    [
        BlockingIOError(errno.EAGAIN, "a limit is reached"),
        PermissionError(errno.EPERM, "not permitted"),
        OSError(errno.ENOMEM, "no memory"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_without_processes_the_work_is_done_here(
    started: int, error: OSError, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No right to start one, or a limit that is reached early or late."""
    _let_start(started, error, monkeypatch)
    assert map_in_processes(square, ITEMS, 4, _report) == [n * n for n in range(20)]
    _await_no_children()
    here = map_in_processes(process_id, ITEMS, 4, _report)  # none is left to start
    assert here == [os.getpid()] * 20


def test_work_of_dead_processes_is_done_here_when_no_more_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _let_start(2, BlockingIOError(errno.EAGAIN, "a limit is reached"), monkeypatch)
    assert map_in_processes(die_elsewhere, ITEMS, 2, _report) == list(range(20))


def _await_no_children() -> None:
    """Wait for the end of processes of a pool that could not start all it was to have."""
    end = time.monotonic() + 5
    while multiprocessing.active_children():
        assert time.monotonic() < end
        time.sleep(0.01)


def _let_start(count: int, error: OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let so many processes start, and refuse others."""
    start = multiprocessing.process.BaseProcess.start
    left = [count]

    def refuse(process: multiprocessing.process.BaseProcess) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise error
        start(process)

    monkeypatch.setattr(multiprocessing.process.BaseProcess, "start", refuse)


def test_without_semaphores_the_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without /dev/shm there are none."""

    def refuse(*_args: object) -> NoReturn:
        raise FileNotFoundError(errno.ENOENT, "no /dev/shm")

    monkeypatch.setattr("_multiprocessing.SemLock", refuse)
    assert map_in_processes(process_id, ITEMS, 2, _report) == [os.getpid()] * 20


def test_without_threads_the_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_thread: threading.Thread) -> NoReturn:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert map_in_processes(process_id, ITEMS, 2, _report) == [os.getpid()] * 20


def test_a_process_of_a_pool_starts_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python forbids it to those that are daemons."""
    daemon = SimpleNamespace(daemon=True)
    monkeypatch.setattr(multiprocessing, "current_process", lambda: daemon)
    assert map_in_processes(process_id, ITEMS, 2, _report) == [os.getpid()] * 20


def test_a_bug_in_a_process_says_where_it_is() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        map_in_processes(divide, ITEMS, 2, _report)
    assert "return 1 // item.number" in caught.value.__notes__[0]
    with pytest.raises(RuntimeError, match="in break_unspeakably"):
        map_in_processes(break_unspeakably, ITEMS, 2, _report)
    with pytest.raises(TypeError, match="cannot pickle"):
        map_in_processes(answer_unspeakably, ITEMS, 2, _report)
    assert not multiprocessing.active_children()


def test_a_worker_of_the_caller_that_dies_costs_what_was_not_finished() -> None:
    with ProcessPoolExecutor(1, choose_context()) as executor:
        assert map_inputs(square, ITEMS, executor=executor) == [n * n for n in range(20)]
        results = map_inputs(die, ITEMS, executor=executor)
        assert isinstance(results[1], Failure)
        assert all(isinstance(each, Failure) or each == n for n, each in enumerate(results))
        again = map_inputs(square, ITEMS, executor=executor)
    assert again == [results[1]] * 20


class _Refusing(Executor):
    """Starts nothing; counts what it is asked for."""

    asked = 0

    def submit(self, *_args: object, **_named: object) -> NoReturn:
        self.asked += 1
        raise KeyboardInterrupt


def test_a_given_executor_gets_few_and_small_items_too() -> None:
    executor = _Refusing()
    with pytest.raises(KeyboardInterrupt):
        map_inputs(square, [Item(0, 1)], executor=executor)
    assert executor.asked == 1


def test_nothing_stays_in_the_queue_of_a_given_executor() -> None:
    """A bug ends the work at once: what waits behind it is never begun."""
    begun: list[int] = []
    went_wrong = threading.Event()

    def work(item: Item) -> int:
        begun.append(item.number)
        if len(begun) == 1:
            raise ZeroDivisionError
        went_wrong.wait(10)
        return 0

    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(ZeroDivisionError):
            map_inputs(work, ITEMS, executor=executor)
        went_wrong.set()
    assert len(begun) <= 4


def test_few_and_small_items_start_no_process() -> None:
    small, large = Item(0, 10), Item(1, workers.MIN_PARALLEL_BYTES)
    assert map_inputs(process_id, []) == []
    assert map_inputs(process_id, [small] * 9) == [os.getpid()] * 9
    assert map_inputs(process_id, [large]) == [os.getpid()]


@pytest.mark.skipif(workers.available_processors() < 2, reason="one processor")
def test_large_items_go_to_other_processes() -> None:
    large = Item(1, workers.MIN_PARALLEL_BYTES)
    assert os.getpid() not in map_inputs(process_id, [large, large])


def test_threads_forbid_a_fork() -> None:
    """A lock that another thread holds would stay locked in the child."""
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, daemon=True)
    thread.start()
    assert choose_context().get_start_method() == "spawn"
    stop.set()
    thread.join()


@given(st.lists(st.integers(0, 10**6), min_size=1), st.integers(1, 8))
def test_chunks_hold_each_item_once_largest_first(sizes: list[int], processes: int) -> None:
    chunks = workers.make_chunks([Item(0, size) for size in sizes], processes)
    flat = [number for chunk in chunks for number in chunk]
    assert sorted(flat) == list(range(len(sizes)))
    assert [sizes[number] for number in flat] == sorted(sizes, reverse=True)
    share = sum(sizes) / (processes * 8)
    assert all(sum(sizes[number] for number in chunk[:-1]) < share for chunk in chunks if share)


def test_inputs_of_a_directory_can_be_sent(tmp_path: Path) -> None:
    for number in range(4):
        text = f"HloModule m{number}, is_scheduled=true\n"
        (tmp_path / f"module_000{number}.m{number}.after_optimizations.txt").write_text(text)
    inputs = resolve_inputs(str(tmp_path)).inputs
    assert map_in_processes(first_line, inputs, 2, _report) == [
        f"HloModule m{number}, is_scheduled=true" for number in range(4)
    ]


_SCRIPT = """
import os
import sys
import threading
import time
from dataclasses import dataclass

from hlotool.dump.workers import Work


@dataclass
class Item:
    size_bytes: int = 1


def wait(item):
    os.write(1, b"started\\n")
    time.sleep(60)


def work(item):
    os.write(1, b"started\\n")
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pass


if __name__ == "__main__":
    if sys.argv[2] == "spawn":  # which a second thread leads to
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    try:
        list(Work(globals()[sys.argv[1]], [Item()] * 4).map_in_processes(2))
    except KeyboardInterrupt:
        print("interrupted")
"""


@contextmanager
def _run_script(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start the script above, and wait until its two processes are at work."""
    script = folder / "script.py"
    script.write_text(_SCRIPT, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, str(script), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as run:
        assert run.stdout
        assert [run.stdout.readline() for _ in range(2)] == ["started\n"] * 2
        try:
            yield run
        finally:
            with suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)


@pytest.mark.usefixtures("children_hear_signals")
def test_interrupt_ends_the_run_at_once(tmp_path: Path) -> None:
    """As Ctrl-C does: the signal goes to all processes, and no worker shows a traceback."""
    with _run_script(tmp_path, "wait", "fork") as run:
        os.killpg(run.pid, signal.SIGINT)
        out, errors = run.communicate(timeout=30)
    assert out.endswith("interrupted\n")
    assert errors == ""


@pytest.mark.usefixtures("children_hear_signals")
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize("arguments", [("wait", "fork"), ("work", "fork"), ("work", "spawn")])
def test_processes_end_with_their_parent(
    ending: signal.Signals, arguments: tuple[str, str], tmp_path: Path
) -> None:
    """Whoever reads the pipe that they hold open comes to its end."""
    with _run_script(tmp_path, *arguments) as run:
        os.kill(run.pid, ending)
        _, errors = run.communicate(timeout=5)
    assert run.returncode == -ending
    if "spawn" in arguments:  # Python's tracker of resources gives the pool's semaphores back
        errors = re.sub(r".*leaked semaphore.*\n.*warnings\.warn.*\n", "", errors)
    assert errors == ""
