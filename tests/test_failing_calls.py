"""The n-th open, read, write or fork fails: each ends in an answer or in a sentence.

A disk may be full, a descriptor missing, a file on a share that went away: whichever call it is
that fails, no command says that it has a bug, none hangs, and none answers as if nothing were.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from dump_files import ROOT, TESTDATA

from hlotool.cli import run
from hlotool.dump import workers

_ERRORS: Final = {
    "open": errno.EMFILE,
    "read": errno.EIO,
    "write": errno.ENOSPC,
    "fork": errno.EAGAIN,
}
_MOST: Final = 400  # calls of one kind; a command makes some dozens
_FINE: Final = frozenset({0, 1, 2, 3, 4})
_DUMP: Final = TESTDATA / "folders" / "cpu.several"
_ASKED: Final = (
    "summary {dump} --json -o {folder}/out.json",
    "summary {dump}/module_0002.jit_train_step.cpu_after_optimizations.txt",
    "diff {dump} {dump} --json",
    "check {dump} --budget buffers.peak_bytes<=1GiB --history {folder}/history.jsonl",
    "check {dump} --update-baseline --baseline {folder}/baseline.json --budget cost.flops>=0",
)
_REACHED: Final = {
    *((kind, asked) for kind in ("open", "read") for asked in _ASKED),
    *(("fork", asked) for asked in (_ASKED[0], _ASKED[2])),
}


class Failing:
    """Counts the calls of a kind, and lets the n-th of them fail."""

    def __init__(self, kind: str, number: int) -> None:
        self.kind = kind
        self.number = number
        self.calls = 0

    def check(self, kind: str) -> None:
        """Raise OSError if it is this call's turn."""
        if kind == self.kind:
            self.calls += 1
            if self.calls == self.number:
                code = _ERRORS[kind]
                raise OSError(code, os.strerror(code))


class FailingFile(io.FileIO):
    """A file whose reads and writes are counted."""

    failing: Failing

    def readinto(self, buffer: Any) -> int | None:
        self.failing.check("read")
        return super().readinto(buffer)

    def readall(self) -> bytes:
        self.failing.check("read")
        return super().readall()

    def read(self, size: int | None = -1) -> bytes:
        self.failing.check("read")
        return super().read(-1 if size is None else size)

    def write(self, data: Any) -> int:
        self.failing.check("write")
        return super().write(data)


def make_open(failing: Failing) -> Callable[..., Any]:
    """Return what stands for `open`: files that count, as text or bytes, buffered or not."""

    def open_file(file: Any, mode: str = "r", buffering: int = -1, *rest: Any, **more: Any) -> Any:
        failing.check("open")
        plain = mode.replace("b", "").replace("t", "")
        raw = FailingFile(file, plain, opener=more.get("opener"))
        raw.failing = failing
        if buffering == 0:
            return raw
        if "+" in mode:
            buffered: Any = io.BufferedRandom(raw)
        elif "r" in mode:
            buffered = io.BufferedReader(raw)
        else:
            buffered = io.BufferedWriter(raw)
        if "b" in mode:
            return buffered
        names = ("encoding", "errors", "newline")
        given = dict(zip(names, rest, strict=False)) | {
            name: more[name] for name in names if name in more
        }
        return io.TextIOWrapper(buffered, **given)

    return open_file


@dataclass(frozen=True)
class Ending:
    """What became of a command whose n-th call failed: its answer is on stdout and in files."""

    number: int
    code: int
    said: str
    answer: str


def list_endings(asked: str, kind: str, folder: Path) -> Iterator[Ending]:
    """Yield what becomes of a command whose n-th call fails, and last what does where none does."""
    for number in count(1):
        assert number < _MOST, f"{asked}: {kind} never stops"
        failing = Failing(kind, number)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch:
            opening = make_open(failing)
            patch.setattr(builtins, "open", opening)
            patch.setattr(io, "open", opening)
            fork = os.fork

            def fork_or_fail(fork: Callable[[], int] = fork, failing: Failing = failing) -> int:
                failing.check("fork")
                return fork()

            patch.setattr(os, "fork", fork_or_fail)
            with redirect_stdout(out), redirect_stderr(err):
                code = run(asked.format(dump=_DUMP, folder=folder).split())
        written = [path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())]
        yield Ending(number, code, err.getvalue(), "\n".join([out.getvalue(), *written]))
        if failing.calls < number:
            return


@pytest.mark.hard
@pytest.mark.parametrize("kind", _ERRORS)
@pytest.mark.parametrize("asked", _ASKED, ids=lambda asked: asked.partition(" {")[0])
def test_each_call_may_fail(
    asked: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HLOTOOL_DEBUG", "1")
    if kind != "fork":
        check_calls(asked, kind, tmp_path / "out")
        return
    # In a process with threads, as those of pytest-xdist are, nothing is forked.
    words = [sys.executable, __file__, asked, str(tmp_path / "out")]
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    done = subprocess.run(
        words,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def check_calls(asked: str, kind: str, folder: Path) -> None:
    """Let each call of a kind fail in turn, and look at what becomes of the command."""
    *endings, whole = list_endings(asked, kind, folder)
    assert whole.code in {0, 1}
    assert endings or (kind, asked) not in _REACHED
    for one in endings:
        assert one.code in _FINE, one
        is_same = (one.code, _leave_flags_out(one)) == (whole.code, _leave_flags_out(whole))
        assert is_same or one.said != whole.said, one


def _leave_flags_out(ending: Ending) -> str:
    """Return an answer without the flags: unknown where their file cannot be read."""
    return re.sub(r"(?m)^flags: .*\n", "", ending.answer)


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as small:  # small dumps as well are read in processes
        small.setattr(workers, "MIN_PARALLEL_BYTES", 0)
        small.setattr(workers, "available_processors", lambda: 2)
        check_calls(sys.argv[1], "fork", Path(sys.argv[2]))
