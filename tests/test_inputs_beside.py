"""Work in a second process: the same result, whatever becomes of that process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hlotool.errors import InputError
from hlotool.inputs import beside
from hlotool.inputs.beside import start_beside
from hlotool.inputs.parallel import MIN_PARALLEL_BYTES

ROOT = Path(__file__).parents[1]
LARGE = MIN_PARALLEL_BYTES

needs_fork = pytest.mark.skipif(sys.platform != "linux", reason="processes are not copied here")


@pytest.fixture
def _two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that a copy pays and is safe; the tests' own threads hold no lock we need."""
    monkeypatch.setattr(beside, "available_processors", lambda: 2)
    monkeypatch.setattr(beside, "can_fork", lambda: True)


@needs_fork
@pytest.mark.usefixtures("_two_processors")
def test_large_work_is_done_beside() -> None:
    result = start_beside(os.getpid, LARGE)
    assert result() != os.getpid()


@needs_fork
@pytest.mark.usefixtures("_two_processors")
def test_a_result_larger_than_a_pipe_comes_back() -> None:
    assert start_beside(lambda: "x" * 10_000_000, LARGE)() == "x" * 10_000_000


@needs_fork
@pytest.mark.usefixtures("_two_processors")
def test_an_error_is_raised_here() -> None:
    def fail() -> int:
        raise InputError("this is no dump.")

    result = start_beside(fail, LARGE)
    with pytest.raises(InputError, match="no dump"):
        result()


@needs_fork
@pytest.mark.usefixtures("_two_processors")
@pytest.mark.parametrize(
    "end",
    [
        lambda: os._exit(7),
        lambda: os.kill(os.getpid(), signal.SIGKILL),
        lambda: sys.exit(0),
        lambda: os.kill(os.getpid(), signal.SIGINT),
    ],
    ids=["exits", "is-killed", "leaves", "is-interrupted"],
)
def test_a_process_that_dies_is_made_up_for(end: Callable[[], None]) -> None:
    here = os.getpid()

    def work() -> str:
        if os.getpid() != here:
            end()
        return "done"

    assert start_beside(work, LARGE)() == "done"


@needs_fork
@pytest.mark.usefixtures("_two_processors")
def test_what_cannot_be_sent_is_made_here() -> None:
    made = object()
    assert start_beside(lambda: made, LARGE)() is made


@pytest.mark.usefixtures("_two_processors")
def test_no_process_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse, raising=False)
    assert start_beside(os.getpid, LARGE)() == os.getpid()


@pytest.mark.usefixtures("_two_processors")
@pytest.mark.parametrize("size_bytes", [0, LARGE - 1, 1 << 40])
def test_small_and_huge_work_stays_here(size_bytes: int) -> None:
    assert start_beside(os.getpid, size_bytes)() == os.getpid()


@pytest.mark.parametrize(("name", "value"), [("available_processors", 1), ("can_fork", False)])
@pytest.mark.usefixtures("_two_processors")
def test_where_it_does_not_pay_it_stays_here(
    name: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, name, lambda: value)
    assert start_beside(os.getpid, LARGE)() == os.getpid()


@needs_fork
@pytest.mark.parametrize("name", ["gpu_train_step", "tpu_train_step", "cpu_train_step"])
def test_a_summary_is_the_same_either_way(name: str) -> None:
    """In processes of their own, without the threads of a test run."""
    script = (
        "import sys; from hlotool.inputs import beside; from hlotool.cli import main; "
        "beside.MIN_PARALLEL_BYTES = 0; beside.available_processors = lambda: int(sys.argv[1]); "
        "main(sys.argv[2:])"
    )
    path = ROOT / "testdata" / "hlo" / f"{name}.txt"
    answers = [
        subprocess.run(
            [sys.executable, "-c", script, processors, "summary", "--json", str(path)],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        for processors in ("1", "2")
    ]
    assert answers[0].stdout == answers[1].stdout
    assert [one.stderr for one in answers] == [b"", b""]


@needs_fork
def test_no_second_process_is_left_behind(tmp_path: Path) -> None:
    """The other process ends by itself when nobody reads what it has to say."""
    script = (
        "import os, sys, time; from hlotool.inputs import beside; "
        "beside.available_processors = lambda: 2; "
        "beside.start_beside(lambda: (time.sleep(0.3), open(sys.argv[1], 'w').close(), "
        f"'x' * 10_000_000), {LARGE}); os._exit(5)"
    )
    mark = tmp_path / "mark"
    done = subprocess.run(
        [sys.executable, "-c", script, str(mark)],
        cwd=ROOT,
        capture_output=True,
        check=False,
        timeout=30,
    )  # returns when the second process has closed its ends, too
    assert (done.returncode, done.stdout, done.stderr) == (5, b"", b"")
    assert mark.exists()
