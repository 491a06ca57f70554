"""Rows of many programs: from paths, by executors, and from a cache of earlier runs."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import (
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from dump_files import ROOT
from msgspec import to_builtins

import hlotool
from hlotool.cli import run
from hlotool.dump.budget import DEFAULT_BUDGET
from hlotool.dump.workers import Failure, _attempt_each, choose_context
from hlotool.program import fleet
from hlotool.program.fleet import PathToRead, find_members
from hlotool.program.load import load_program

DUMPS = ROOT / "testdata/dumps/cpu"
TEXT = """HloModule m{number}, is_scheduled=true

ENTRY e {{
  p = f32[{number},8] parameter(0)
  ROOT n = f32[{number},8] negate(p)
}}
"""


def write_dumps(folder: Path, count: int = 5) -> list[Path]:
    """Write small programs, each of its own size."""
    folder.mkdir(exist_ok=True)
    paths = [folder / f"module_{n:04}.m{n}.after_optimizations.txt" for n in range(1, count + 1)]
    for number, path in enumerate(paths, 1):
        path.write_text(TEXT.format(number=number), encoding="utf-8")
    return paths


def as_json(path: Path, *options: str) -> Any:
    """Return the rows that the command prints of a directory, by path."""
    made = subprocess.run(
        [sys.executable, "-m", "hlotool", "summary", str(path), "--json", *options],
        cwd=ROOT,
        check=False,
        capture_output=True,
        timeout=60,
    )
    return sorted(json.loads(made.stdout)["modules"], key=lambda row: str(row["path"]))


def read_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no program be read any more."""

    def refuse(*_arguments: object, **_named: object) -> None:
        raise AssertionError("this was read again")

    monkeypatch.setattr(fleet, "load_program", refuse)


def test_rows_are_those_of_the_command() -> None:
    rows = sorted(hlotool.summarize(DUMPS), key=lambda row: row.path)
    assert len(rows) > 3
    assert json.loads(json.dumps([to_builtins(row) for row in rows])) == as_json(DUMPS)


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_executors_make_the_same_rows(kind: type[Executor], tmp_path: Path) -> None:
    paths = [*write_dumps(tmp_path), DUMPS, tmp_path / "none.txt"]
    expected = hlotool.summarize(paths)
    options = {"mp_context": choose_context()} if kind is ProcessPoolExecutor else {}
    with kind(2, **options) as executor:  # type: ignore[call-arg]
        assert hlotool.summarize(paths, executor=executor) == expected
    assert [row.module for row in expected[:5]] == ["m1", "m2", "m3", "m4", "m5"]
    assert expected[-1].module == "none"
    assert expected[-1].error == f"{tmp_path}/none.txt: there is no such file or directory."


QUESTIONS: dict[str, Callable[[hlotool.Dump], Sequence[object]]] = {
    "buffers": lambda dump: dump.buffers().rows,
    "fusions": lambda dump: dump.fusions().rows,
    "fusions --rows custom_calls": hlotool.Dump.custom_calls,
    "collectives": lambda dump: dump.collectives().rows,
    "shardings": lambda dump: dump.shardings().parameters,
    "shardings --rows reshards": lambda dump: dump.program.reshards,
    "summary --rows opcodes": lambda dump: dump.summary().opcodes,
    "summary --rows findings": lambda dump: dump.program.findings,
}


@pytest.mark.parametrize("command", QUESTIONS)
def test_answers_of_many_are_the_rows_of_the_command(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command.split(), str(DUMPS), "--format", "jsonl"]) == 0
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    with ThreadPoolExecutor(2) as executor:
        found = [*hlotool.ask_all(DUMPS, QUESTIONS[command], executor=executor)]
    told = [(one.program, one.place, row) for one in found for row in one.answer or ()]
    assert sorted(map(str, (list(row.values())[:2] for row in shown))) == sorted(
        str([program, place]) for program, place, _ in told
    )
    for program, place, record in told:
        row = json.loads(json.dumps(to_builtins(record)))
        assert any(
            (program, place) == (one["program"], one["place"])
            and all(row[name] == one[name] for name in row.keys() & one.keys())
            for one in shown
        )


@pytest.mark.parametrize("kind", [None, ThreadPoolExecutor, ProcessPoolExecutor])
def test_executors_give_the_same_answers(kind: type[Executor] | None, tmp_path: Path) -> None:
    """One for each program, whose reports travel; what cannot be read says why."""
    paths = [*write_dumps(tmp_path), DUMPS, tmp_path / "none.txt"]
    options = {"mp_context": choose_context()} if kind is ProcessPoolExecutor else {}
    with kind(2, **options) if kind else nullcontext() as executor:  # type: ignore[call-arg]
        found = [*hlotool.ask_all(paths, hlotool.Dump.buffers, executor=executor)]
    alone = [dump.buffers() for path in paths[:-1] for dump in hlotool.load_all(path)]
    assert sorted(map(repr, alone)) == sorted(repr(one.answer) for one in found if one.answer)
    assert len(found) == len(alone) + 1 == len({one.program for one in found})
    failed = [one for one in found if one.error]
    assert [(one.program, one.answer, one.error) for one in failed] == [
        ("none", None, f"{tmp_path}/none.txt: there is no such file or directory.")
    ]


def test_what_is_no_dump_is_a_row(tmp_path: Path) -> None:
    good, bad = write_dumps(tmp_path, 2)
    bad.write_text("HloModule broken\n\nENTRY e {\n  p = f32[ parameter(0)\n}\n")
    (tmp_path / "empty").mkdir()
    rows = hlotool.summarize([good, bad, tmp_path / "empty"])
    assert [bool(row.error) for row in rows] == [False, True, True]
    assert rows[0].total_flops_per_step == 8
    assert rows[1].instruction_count is None


def test_several_modules_of_one_text_are_a_row_each(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("".join(TEXT.format(number=n) for n in (1, 2)), encoding="utf-8")
    rows = hlotool.summarize(log)
    assert [(row.module, row.place) for row in rows] == [("m1", "#1"), ("m2", "#2")]


def test_no_text_is_kept_or_sent(tmp_path: Path) -> None:
    (path,) = write_dumps(tmp_path, 1)
    (member,) = find_members(PathToRead(str(path), 0), "after", DEFAULT_BUDGET)
    assert member.chosen.module
    assert member.chosen.module.source is None


class _Lost(Executor):
    """Takes work, and gives it up in a way of its own."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def submit(self, *_arguments: Any, **_named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(self.error)
        return future


@pytest.mark.parametrize("error", [OSError("no\nroute"), CancelledError(), ImportError("hlotool")])
def test_what_an_executor_gives_up_is_a_row(error: Exception, tmp_path: Path) -> None:
    (row,) = hlotool.summarize(write_dumps(tmp_path, 1), executor=_Lost(error))
    said = f": {str(error).partition(chr(10))[0]}" if str(error) else ""
    assert row.error == f"the executor gave this up: {type(error).__name__}{said}"


def test_a_worker_with_another_version_is_refused() -> None:
    found = _attempt_each(str, [PathToRead("a", 1), PathToRead("b", 1)], "0.0.1", b"")
    assert isinstance(found, list)
    assert [each.exit_code for each in found if isinstance(each, Failure)] == [3, 3]
    assert str(found[0]).count("the worker for this file has hlotool") == 1


# -- the cache


def test_a_second_run_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "rows"
    expected = hlotool.summarize(DUMPS)
    assert hlotool.summarize(DUMPS, cache=cache) == expected
    read_none(monkeypatch)
    assert hlotool.summarize(DUMPS, cache=cache) == expected


def test_rows_are_known_by_content_wherever_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_dumps(tmp_path / "old")
    cache = tmp_path / "rows"
    hlotool.summarize(tmp_path / "old", cache=cache)
    (tmp_path / "old").rename(tmp_path / "new")
    expected = hlotool.summarize(tmp_path / "new")
    read_none(monkeypatch)
    rows = hlotool.summarize(tmp_path / "new", cache=cache)
    assert rows == expected
    assert {Path(row.path).parent.name for row in rows} == {"new"}


def test_what_changed_is_read_again(tmp_path: Path) -> None:
    first, *_ = write_dumps(tmp_path / "dump")
    cache = tmp_path / "rows"
    before = hlotool.summarize(tmp_path / "dump", cache=cache)
    first.write_text(TEXT.format(number=1).replace("8]", "16]"))
    after = hlotool.summarize(tmp_path / "dump", cache=cache)
    assert after[0].total_flops_per_step == 16
    assert after[1:] == before[1:]
    assert len(cache.read_text().splitlines()) == 6


def test_every_file_of_a_program_counts(tmp_path: Path) -> None:
    folder = shutil.copytree(DUMPS / "mlp_train", tmp_path / "dump")
    cache = tmp_path / "rows"
    (known,) = hlotool.summarize(folder, cache=cache)
    assert known.allocated_bytes
    assert not known.is_estimate
    for path in folder.glob("*buffer-assignment*"):
        path.unlink()
    (estimated,) = hlotool.summarize(folder, cache=cache)
    assert estimated.is_estimate
    assert estimated.allocated_bytes
    assert estimated.temp_bytes is None


def test_what_the_user_says_of_custom_calls_counts(tmp_path: Path) -> None:
    text = TEXT.format(number=2).replace("negate(p)", 'custom-call(p), custom_call_target="mine"')
    (tmp_path / "m.txt").write_text(text, encoding="utf-8")
    config = tmp_path / "hlotool.toml"
    flops = []
    for count in (7, 9):
        config.write_text(f'[[custom_call]]\ntarget = "mine"\nflops = "{count}"\n')
        (row,) = hlotool.summarize(tmp_path / "m.txt", config=config, cache=tmp_path / "rows")
        flops.append(row.total_flops_per_step)
    assert flops == [7, 9]


def test_other_code_reads_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = write_dumps(tmp_path, 1)
    hlotool.summarize(path, cache=tmp_path / "rows")
    monkeypatch.setattr("hlotool.program.fleet.hash_code", lambda: "other")
    hlotool.summarize(path, cache=tmp_path / "rows")
    assert len((tmp_path / "rows").read_text().splitlines()) == 2


def test_a_file_that_changes_while_it_is_read_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = write_dumps(tmp_path, 1)

    def load_and_write(*arguments: Any, **named: Any) -> Any:
        path.write_text(TEXT.format(number=2))
        return load_program(*arguments, **named)

    monkeypatch.setattr(fleet, "load_program", load_and_write)
    hlotool.summarize(path, cache=tmp_path / "rows")
    assert not (tmp_path / "rows").exists()


def test_failures_are_tried_again(tmp_path: Path) -> None:
    (path,) = write_dumps(tmp_path, 1)
    path.write_text("HloModule m\n\nENTRY e {")
    for _ in range(2):
        assert hlotool.summarize(path, cache=tmp_path / "rows")[0].error
    assert not (tmp_path / "rows").exists()


def test_notes_are_said_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = shutil.copytree(DUMPS / "mlp_train", tmp_path / "dump")
    (buffers,) = folder.glob("*buffer-assignment.txt")
    buffers.write_text(buffers.read_text() + "\nSomething new: 12\n")
    write_dumps(folder, 1)
    said = []
    for name in ("dump", "dump", "moved"):
        if name == "moved":
            folder.rename(tmp_path / name)
        command = ["summary", str(tmp_path / name), "--cache", str(tmp_path / "rows")]
        assert run(command) == 0
        said.append(capsys.readouterr().err)
    assert "Something" not in said[0]
    assert "skipped" in said[0]
    assert said[1] == said[0]
    assert said[2] == said[0].replace("/dump/", "/moved/")


@pytest.mark.parametrize(
    ("line", "note"),
    [
        (b'{"schema": "hlotool/summ', "1 line is"),
        (b"\xff\xfe\n{}\n[1]\n", "3 lines are"),
        (b'{"schema": "hlotool/summary-cache/v2", "key": "k", "row": {"module": 7}}\n', "1 line"),
        (b"[" * 100_000, "1 line is"),
    ],
)
def test_a_broken_line_is_passed_over(
    line: bytes, note: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_dumps(tmp_path / "dump")
    cache = tmp_path / "rows"
    command = ["summary", str(tmp_path / "dump"), "--cache", str(cache), "--json"]
    assert run(command) == 0
    expected = capsys.readouterr().out
    first, *_ = cache.read_bytes().splitlines(keepends=True)
    cache.write_bytes(first + line)
    assert run(command) == 0
    shown = capsys.readouterr()
    assert shown.out == expected
    assert shown.err.startswith(f"hlotool: --cache {cache}: {note}")
    assert "skipped" in shown.err
    assert cache.read_bytes().count(b'"key"') >= 5
    read_lines = [each for each in cache.read_bytes().split(b"\n") if each.startswith(b'{"schema"')]
    assert len([each for each in read_lines if each.endswith(b"}")]) >= 5


def test_a_line_cut_off_at_the_very_start_is_no_harm(tmp_path: Path) -> None:
    write_dumps(tmp_path / "dump")
    (tmp_path / "rows").write_bytes(b'{"sch')
    assert len(hlotool.summarize(tmp_path / "dump", cache=tmp_path / "rows")) == 5
    assert len((tmp_path / "rows").read_text().splitlines()) == 6


@pytest.mark.parametrize("name", ["dump", "notes.txt", "none/rows", "/dev/null", "a\0b"])
def test_what_is_no_cache_is_left_as_it_is(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_dumps(tmp_path / "dump")
    notes = tmp_path / "notes.txt"
    notes.write_text("not to be lost")
    assert run(["summary", str(tmp_path / "dump"), "--cache", str(tmp_path / name)]) == 2
    assert capsys.readouterr().err.startswith("hlotool: --cache ")
    assert notes.read_text() == "not to be lost"


def test_a_full_disk_loses_the_cache_alone(tmp_path: Path) -> None:
    write_dumps(tmp_path / "dump")
    limit = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    limit += "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); "
    code = f"{limit}import runpy; runpy.run_module('hlotool', run_name='__main__')"
    options = ("--json", "--cache", str(tmp_path / "rows"))
    made = subprocess.run(
        [sys.executable, "-c", code, "summary", str(tmp_path / "dump"), *options],
        cwd=ROOT,
        check=False,
        capture_output=True,
        timeout=60,
    )
    assert made.returncode == 0
    assert len(json.loads(made.stdout)["modules"]) == 5
    assert made.stderr.decode().endswith("File too large; not all rows were kept.\n")
    assert len(hlotool.summarize(tmp_path / "dump", cache=tmp_path / "rows")) == 5


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    paths = write_dumps(tmp_path / "dump", 30)
    script = (
        "import os, signal, hlotool; from hlotool.program import fleet; "
        "add = fleet.RowCache.add; left = [10]\n"
        "def end(*arguments):\n"
        "    add(*arguments); left[0] -= 1\n"
        "    if not left[0]: os.kill(os.getpid(), signal.SIGKILL)\n"
        "fleet.RowCache.add = end\n"
        f"hlotool.summarize({str(tmp_path / 'dump')!r}, cache={str(tmp_path / 'rows')!r})\n"
    )
    made = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False, timeout=60)
    assert made.returncode == -signal.SIGKILL
    kept = (tmp_path / "rows").read_bytes()
    assert kept.count(b"\n") == 10
    rows = hlotool.summarize(tmp_path / "dump", cache=tmp_path / "rows")
    assert rows == hlotool.summarize(paths)
    assert (tmp_path / "rows").read_bytes().startswith(kept)
    assert (tmp_path / "rows").read_bytes().count(b"\n") == 30


@pytest.mark.parametrize("option", ["--cache", "--dask"])
def test_a_single_program_needs_neither(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (path,) = write_dumps(tmp_path, 1)
    assert run(["summary", str(path), option, str(tmp_path / "rows")]) == 2
    assert f"{option} needs a directory" in capsys.readouterr().err
    assert not (tmp_path / "rows").exists()


def test_a_name_that_is_no_text_can_be_kept(tmp_path: Path) -> None:
    folder = tmp_path / "\udcff"
    write_dumps(folder)
    cache = tmp_path / "rows\udcfe"
    rows = hlotool.summarize(folder, cache=cache)
    assert hlotool.summarize(folder, cache=cache) == rows
    assert rows[0].path.startswith(str(folder))
    pytest.importorskip("pyarrow")
    output = tmp_path / "rows.parquet"
    command = ["summary", str(folder), "--format", "parquet", "--output", str(output)]
    assert run(command) == 0
    assert rb"\udcff/module_0001" in output.read_bytes()
