"""Progress: on stderr, on a terminal, after a second."""

from __future__ import annotations

import io
import re
import sys
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace

import pytest

from hlotool.cli import run
from hlotool.commands.shared import request as module
from hlotool.commands.shared.request import progress, track

TEXT = str(Path(__file__).parent.parent / "testdata" / "hlo" / "gpu_train_step.txt")
RECURSION = """\
HloModule m

f {
  p = f32[] parameter(0)
  ROOT r = f32[] call(p), to_apply=f
}

ENTRY e {
  p = f32[] parameter(0)
  ROOT r = f32[] call(p), to_apply=f
}
"""


class Terminal(io.StringIO):
    """A stderr that is a terminal."""

    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch, patience: float) -> Terminal:
    """Make stderr a terminal; not in a fixture, after which pytest puts its own back."""
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(module, "PATIENCE_SECONDS", patience)
    return shown


def test_quick_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch, 1.0)
    assert list(track(range(5), "reading", 5)) == [0, 1, 2, 3, 4]
    assert terminal.getvalue() == ""


def test_slow_work_shows_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch, -1.0)
    assert list(track(iter("abc"), "reading", 3)) == ["a", "b", "c"]
    assert "reading" in terminal.getvalue()
    assert "100%" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K\x1b[?25h")


def test_time_left_counts_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of four steps took ten seconds: the others take thirty."""
    terminal = on_terminal(monkeypatch, 1.0)
    clock = chain([0.0], repeat(10.0))
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    with progress("reading", 4) as advance:
        advance(1)
    assert " 25%  00:00:30" in terminal.getvalue()


def test_one_text_shows_that_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch, -1.0)
    assert run(["summary", TEXT]) == 0
    assert re.fullmatch(r"(\rreading [|/-])+\r {9}\r", terminal.getvalue())


def test_a_text_that_is_read_at_once_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch, 60.0)
    assert run(["summary", TEXT]) == 0
    assert terminal.getvalue() == ""


def test_errors_are_those_of_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """An error stands behind what the spinner wiped away."""
    path = tmp_path / "module.txt"
    path.write_text(RECURSION)
    code = run(["fusions", str(path)])
    expected = capsys.readouterr().err
    assert "calls itself" in expected
    terminal = on_terminal(monkeypatch, -1.0)
    assert run(["fusions", str(path)]) == code
    assert terminal.getvalue().endswith("\r" + expected)


def fail_half_way() -> None:
    with progress("reading", 2) as advance:
        advance(1)
        raise KeyError


def test_an_error_leaves_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch, -1.0)
    with pytest.raises(KeyError):
        fail_half_way()
    assert " 50%" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K\x1b[?25h")


def test_a_pipe_shows_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", -1.0)
    assert list(track([1, 2], "reading", 2)) == [1, 2]
    assert capsys.readouterr() == ("", "")


def test_no_stderr_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert list(track([1], "reading", 1)) == [1]
