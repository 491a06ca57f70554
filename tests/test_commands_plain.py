"""Plain command lines: answered without click, and exactly as with it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from hlotool import cli
from hlotool.commands.plain import find_plain

ROOT = Path(__file__).parents[1]
TESTDATA = ROOT / "testdata"
INPUTS = (
    *sorted((TESTDATA / "hlo").glob("*.txt")),
    *sorted((TESTDATA / "bad").glob("*"))[::8],
    *sorted((TESTDATA / "dumps").rglob("*buffer-assignment.txt"))[:3],
    TESTDATA / "dumps" / "cpu",
    TESTDATA,
    Path("no/such/file.txt"),
)
NOT_PLAIN = (
    (),
    ("--version",),
    ("--json", "summary", "a.txt"),
    ("summary",),
    ("summary", "--json"),
    ("summary", "--help"),
    ("summary", "-h"),
    ("summary", "a.txt", "b.txt"),
    ("summary", "-"),
    ("summary", "--", "--json"),
    ("summary", "a.txt", "--no-findings"),
    ("summary", "a.txt", "-n", "5"),
    ("summary", "a.txt", "--js"),
    ("buffers", "a.txt"),
    ("planets", "a.txt"),
)


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["table", "json"])
def test_click_gives_the_same_answer(
    path: Path,
    form: Sequence[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = ["summary", str(path), *form]
    assert find_plain(arguments) is not None
    plain = (cli.run(arguments), *capsys.readouterr())
    monkeypatch.setattr(cli, "find_plain", lambda _: None)
    assert (cli.run(arguments), *capsys.readouterr()) == plain


@pytest.mark.parametrize("arguments", NOT_PLAIN, ids=" ".join)
def test_everything_else_is_for_click(arguments: tuple[str, ...]) -> None:
    assert find_plain(arguments) is None


def test_the_order_does_not_matter() -> None:
    for arguments in (["summary", "--json", "a"], ["summary", "a", "--json"], ["summary", "a"]):
        assert find_plain(arguments) is not None


def test_completion_is_for_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_HLOTOOL_COMPLETE", "bash_complete")
    assert find_plain(["summary", "a.txt"]) is None


def test_a_plain_summary_imports_no_click() -> None:
    script = (
        "import sys; from hlotool.cli import run; code = run(sys.argv[1:]); "
        "print('|', code, 'click' in sys.modules)"
    )
    path = next(iter(sorted((TESTDATA / "hlo").glob("*.txt"))))
    done = subprocess.run(
        [sys.executable, "-c", script, "summary", "--json", str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.rpartition("|")[2].split() == ["0", "False"]
