"""Work in a second process: the same result, whatever becomes of that process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
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
    with start_beside(os.getpid, LARGE) as work:
        assert work.result() != os.getpid()


@needs_fork
@pytest.mark.usefixtures("_two_processors")
def test_a_result_larger_than_a_pipe_comes_back() -> None:
    with start_beside(lambda: "x" * 10_000_000, LARGE) as work:
        assert work.result() == "x" * 10_000_000


@needs_fork
@pytest.mark.usefixtures("_two_processors")
def test_an_error_is_raised_here() -> None:
    def fail() -> int:
        raise InputError("this is no dump.")

    with start_beside(fail, LARGE) as work, pytest.raises(InputError, match="no dump"):
        work.result()


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

    with start_beside(work, LARGE) as beside_us:
        assert beside_us.result() == "done"


@needs_fork
@pytest.mark.usefixtures("_two_processors")
def test_what_cannot_be_sent_is_made_here() -> None:
    made = object()
    with start_beside(lambda: made, LARGE) as work:
        assert work.result() is made


@pytest.mark.usefixtures("_two_processors")
def test_no_process_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse, raising=False)
    with start_beside(os.getpid, LARGE) as work:
        assert work.result() == os.getpid()


@pytest.mark.usefixtures("_two_processors")
@pytest.mark.parametrize("size_bytes", [0, LARGE - 1, 1 << 40])
def test_small_and_huge_work_stays_here(size_bytes: int) -> None:
    with start_beside(os.getpid, size_bytes) as work:
        assert work.result() == os.getpid()


@pytest.mark.parametrize(("name", "value"), [("available_processors", 1), ("can_fork", False)])
@pytest.mark.usefixtures("_two_processors")
def test_where_it_does_not_pay_it_stays_here(
    name: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, name, lambda: value)
    with start_beside(os.getpid, LARGE) as work:
        assert work.result() == os.getpid()


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
@pytest.mark.usefixtures("_two_processors")
@pytest.mark.parametrize("is_wanted", [True, False])
def test_no_process_is_left_behind(*, is_wanted: bool) -> None:
    """Neither running nor unburied, and soon, though its work would last a minute."""
    here = os.getpid()

    def work() -> int:
        if not is_wanted:
            time.sleep(60)
        return os.getpid()

    with start_beside(work, LARGE) as beside_us:
        process = beside_us._process  # noqa: SLF001
        assert process not in (None, here)
        if is_wanted:
            assert beside_us.result() == process
    with pytest.raises(ProcessLookupError):
        os.kill(process or 0, 0)
    with pytest.raises(ChildProcessError):
        os.waitpid(process or 0, os.WNOHANG)


@needs_fork
@pytest.mark.usefixtures("_two_processors")
def test_an_error_of_ours_ends_the_other_process() -> None:
    started: list[int | None] = []

    def fail_beside() -> None:
        with start_beside(lambda: time.sleep(60), LARGE) as work:
            started.append(work._process)  # noqa: SLF001
            raise InputError("this is no dump.")

    with pytest.raises(InputError):
        fail_beside()
    with pytest.raises(ProcessLookupError):
        os.kill(started[0] or 0, 0)
