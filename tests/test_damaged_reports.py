"""Reports of which a line is missing, stands twice, or says something else.

Whatever is done to one line of a small dump's buffer assignment, of a memory-usage report or of an
out-of-memory message: the answer stays as it was, is refused, or a note says so. Nothing is left
out of a sum in silence. What a message says stands in it once mostly; of its lists no entry is
lost, and its sums add up. A memory-usage report is damaged beside its dump, whose totals it
repeats, and alone: there each figure is changed in its first digit, as what it says is rounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
from dump_files import TESTDATA

from hlotool.cli import run

_WORD = re.compile(r"[A-Za-z][\w.\-]*|\d+")
_RANGE_END = re.compile(r" {4}\S+:\d+(?=-\d+$)")
_FIGURE = re.compile(r"(?<![.\d])\d+")
_TOLD_ONCE = re.compile(r"(?<=; )[^;]*\n|shape .*|Memory Space.*")  # shapes, and spaces
_SPARSE = 23  # of so many changes `make test` tries one


@dataclass(frozen=True)
class Report:
    """A file that is damaged, and those beside it; `asked` is the one that is asked about."""

    path: Path
    beside: tuple[Path, ...]
    asked: str

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}/{self.path.name}"


def list_reports() -> list[Report]:
    """List the reports of some small dumps, each to be damaged with the others beside it."""
    found = []
    for folder, stem in (
        ("folders/cpu.several", "module_0002"),
        ("folders/tpu_v5e.plain", "module_0000"),
        ("buffers/newer", "module_0001"),
    ):
        files = sorted((TESTDATA / folder).glob(f"{stem}*after_optimizations*.txt"))
        module = min(files, key=lambda path: len(path.name))
        for path in files:
            if path == module:
                continue
            is_usage = "memory-usage" in path.name
            found.append(Report(path, tuple(files), path.name if is_usage else module.name))
    return found


REPORTS = list_reports()


def list_changes(text: str) -> Iterator[str]:
    """Yield a text with each line dropped, doubled, and each of its words changed."""
    lines = text.splitlines(keepends=True)
    for at, line in enumerate(lines):
        before, after = "".join(lines[:at]), "".join(lines[at + 1 :])
        yield before + after
        yield before + line + line + after
        end = _RANGE_END.match(line)  # when a value is no longer needed stands nowhere else
        for match in _WORD.finditer(line, 0, end.end() if end else len(line)):
            word = match.group()
            other = str(int(word) + 1) if word.isdecimal() else f"odd-{word}"
            yield before + line[: match.start()] + other + line[match.end() :] + after


def list_other_figures(text: str) -> Iterator[str]:
    """Yield a text with each line dropped, doubled, and each of its figures changed."""
    lines = text.splitlines(keepends=True)
    for at, line in enumerate(lines):
        before, after = "".join(lines[:at]), "".join(lines[at + 1 :])
        yield before + after
        yield before + line + line + after
        for match in _FIGURE.finditer(_TOLD_ONCE.sub("", line)):
            figure = f"{int(match.group()[0]) % 9 + 1}{match.group()[1:]}"
            yield before + line[: match.start()] + figure + line[match.end() :] + after


def answer(path: Path) -> tuple[int, str, str]:
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(["buffers", str(path), "--json", "-n", "0"])
    return code, out.getvalue(), err.getvalue()


def find_silent(
    report: Report,
    folder: Path,
    *,
    step: int,
    change: Callable[[str], Iterator[str]] = list_changes,
) -> list[str]:
    """Return the changes that change the answer, and of which nothing is said."""
    for path in report.beside:
        (folder / path.name).write_bytes(path.read_bytes())
    whole = answer(folder / report.asked)
    text = report.path.read_text(encoding="utf-8")
    silent = []
    for number, changed in enumerate(change(text)):
        if number % step:
            continue
        (folder / report.path.name).write_text(changed, encoding="utf-8")
        found = answer(folder / report.asked)
        assert found[0] in {0, 3}, found
        if found[0] == 0 and found[1] != whole[1] and found[2] == whole[2]:
            silent.append(describe_change(text, changed))
    return silent


def describe_change(text: str, changed: str) -> str:
    """Return the first line that differs, as it was and as it is."""
    old, new = text.splitlines(), changed.splitlines()
    at = next((n for n, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), -1)
    kind = {-1: "dropped", 0: "changed", 1: "doubled"}[len(new) - len(old)]
    return f"{kind}: {old[at]!r} -> {new[at]!r}"


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.name)
def test_a_few_changes_of_lines_are_not_silent(report: Report, tmp_path: Path) -> None:
    """Some of those below."""
    assert find_silent(report, tmp_path, step=_SPARSE) == []


@pytest.mark.hard
@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.name)
def test_no_change_of_a_line_is_silent(report: Report, tmp_path: Path) -> None:
    assert find_silent(report, tmp_path, step=1) == []


ALONE = [one.path for one in REPORTS if "memory-usage" in one.path.name]


@pytest.mark.parametrize("path", ALONE, ids=lambda path: path.parent.name)
def test_no_figure_of_a_report_alone_is_silent(path: Path, tmp_path: Path) -> None:
    alone = Report(path, (path,), path.name)
    assert find_silent(alone, tmp_path, step=1, change=list_other_figures) == []
