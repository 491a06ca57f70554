"""Progress: on stderr, on a terminal, after a second."""

from __future__ import annotations

import io
import sys

import pytest

from hlotool.commands.shared import progress as module
from hlotool.commands.shared.progress import progress, track


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
    assert terminal.getvalue().endswith("\n")


def fail_half_way() -> None:
    with progress("reading", 2) as advance:
        advance(1)
        raise KeyError


def test_an_error_leaves_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch, -1.0)
    with pytest.raises(KeyError):
        fail_half_way()
    assert " 50%" in terminal.getvalue()
    assert terminal.getvalue().endswith("\n")


def test_a_pipe_shows_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", -1.0)
    assert list(track([1, 2], "reading", 2)) == [1, 2]
    assert capsys.readouterr() == ("", "")


def test_no_stderr_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert list(track([1], "reading", 1)) == [1]
