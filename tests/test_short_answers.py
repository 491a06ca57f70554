"""--max-chars: the length holds, rows stay whole and in order, totals are those of the whole.

And `next`, which every answer in JSON has: each of its commands runs as it stands.
"""

from __future__ import annotations

import json
import random
import shlex
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, Final

import pytest
from dump_files import PAIRS, ROOT, TESTDATA, needs_shared
from each import for_each
from msgspec.structs import replace
from tables import is_case
from test_every_format import STEP, ask, find_programs, write, write_case, write_lines
from test_schema_outputs import CASES, validator

from hlotool.cli import run
from hlotool.commands.shared.options import LEAST_CHARS, RowOptions
from hlotool.errors import HlotoolError
from hlotool.table import Document
from hlotool.table.short import cut_text

MOST: Final = 50_000
PARTS: Final = 8  # half an hour in all, for several processors
COUNTED: Final = {"lists", "left_out", "columns", "units", "next"}
NO_DOCUMENTS: Final = (
    "text testdata/hlo/cpu_train_step.txt",
    "schema diff",
    "schema check-history",
    "explain",
    "explain sent_bytes",
    "fields diff",
    "diff --text testdata/hlo/cpu_train_step.txt testdata/hlo/gpu_train_step.txt",
)


@pytest.fixture(autouse=True)
def _from_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def expect_part(short: dict[str, Any], full: dict[str, Any]) -> None:
    """Expect that a short answer says nothing but what the full one says, its first row too."""
    counts = short["lists"]
    for key, count in counts.items():
        assert count == {"shown": len(short[key]), "total": len(full[key])}
        for row, whole in zip(short[key], full[key], strict=False):
            assert "columns" in short or set(row) == set(whole)
            assert all(is_same(row[name], whole[name]) for name in row)
    assert not any(map(full.get, counts)) or any(map(short.get, counts))
    assert not full.get("findings") or short["findings"]
    for key in set(short) - set(counts) - COUNTED:
        assert short[key] == full[key], key
    assert set(full) - set(short) <= {*short.get("left_out", full)}


def is_same(shown: Any, whole: Any) -> bool:
    """Whether a value is shown, or where nothing else found room, what is left of a text."""
    start, cut, end = shown.partition("…") if isinstance(shown, str) else ("", "", "")
    return bool(shown == whole or (cut and whole.startswith(start) and whole.endswith(end)))


def check_lengths(document: Document, options: RowOptions, lengths: list[int]) -> None:
    full = json.loads(write(document, replace(options, format="json")))
    tables = {form: replace(options, format=form) for form in ("table", "markdown")}
    for most in lengths:
        text = write(document, replace(options, format="json", max_chars=most))
        made = json.loads(text)
        assert len(text) <= most
        expect_part(made, full)
        validator(made["schema"]).validate(made)
        for chosen in tables.values():
            text = write(document, replace(chosen, max_chars=most))
            assert len(text) <= most
            assert text.endswith("\n")
        whole = write(document, tables["table"])
        assert (
            len(whole) > most or write(document, replace(tables["table"], max_chars=most)) == whole
        )


def check_program(path: Path, lengths: list[int]) -> None:
    for line in write_lines(path, STEP):
        asked = ask(f"{line} --format json")
        if asked is not None:
            check_lengths(*asked, lengths)


@for_each(["dumps/gpu_h100/mlp_train.remat", "questions/55-slow-sharded-loop/problem"])
def test_lengths_of_some_programs(name: str) -> None:
    check_program(TESTDATA / name, [LEAST_CHARS, 2_000, 12_000])


@for_each([one for one in CASES if "-n" not in one])
def test_lengths_of_all_answers(line: str) -> None:
    asked = ask(f"{line} --format json")
    assert asked is not None
    check_lengths(*asked, [LEAST_CHARS, 5_000])


def test_rows_that_are_asked_for_come_before_figures() -> None:
    line = f"diff {TESTDATA}/dumps/gpu_h100/mlp_train {TESTDATA}/dumps/gpu_h100/mlp_train.bf16"
    shown = []
    for more in ("", " --rows metrics"):
        asked = ask(f"{line}{more} -n 0 --format json")
        assert asked is not None
        document, options = asked
        made = json.loads(write(document, replace(options, format="json", max_chars=12_000)))
        shown.append(made["lists"]["metrics"]["shown"])
    assert shown[1] > shown[0] + 10


@pytest.mark.hard
@pytest.mark.parametrize("part", range(PARTS))
def test_lengths_of_every_program(part: int, tmp_path: Path) -> None:
    dice = random.Random(part)  # noqa: S311  it hides nothing
    for path in find_programs()[part::PARTS]:
        program = write_case(path, tmp_path) if is_case(path) else path
        lengths = [LEAST_CHARS, MOST, *(int(1000 * 50 ** dice.random()) for _ in range(6))]
        try:
            check_program(program, lengths)
        except HlotoolError:  # some forms are there to be refused
            continue


@needs_shared
def test_the_longest_answer() -> None:
    """Of two programs that differ in much 12,000 characters have the first of every list."""
    asked = ask(f"diff {PAIRS / 'gpu.base'} {PAIRS / 'gpu.noremat'} --format json")
    assert asked is not None
    made = json.loads(write(*asked[:1], replace(asked[1], max_chars=12_000)))
    assert all(count["shown"] for count in made["lists"].values())
    assert made["causes"][0]["id"] == "rematerialization-lost"


@for_each(NO_DOCUMENTS)
def test_what_is_no_document_is_cut(line: str) -> None:
    for most in (1_000, 3_000):
        code, text = run_quietly([*line.split(), "--max-chars", str(most)])
        assert code == 0
        assert len(text) <= most
        assert not line.startswith("schema") or json.loads(text)["$id"]


@pytest.mark.parametrize(
    "line",
    [
        f"summary {STEP} --max-chars 999",
        f"buffers {STEP} --max-chars 5000 --format csv",
        f"check {STEP} --budget buffers.temp_bytes<=1GiB --max-chars 5000 --format junit",
        f"report {STEP} --max-chars 5000 -o page.html",
    ],
)
def test_what_cannot_be_short_is_a_mistake(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line.split()) == 2
    said = capsys.readouterr()
    assert not said.out
    assert "--max-chars" in said.err


def test_a_text_is_cut_where_a_line_ends() -> None:
    assert cut_text("a\nb\n", 4) == "a\nb\n"
    assert cut_text("a\n" * 20, 24) == "a\n" * 4 + "… 16 more lines\n"
    assert cut_text("a" * 50, 30) == "a" * 14 + "\n… 1 more lines\n"


# The commands to go on with.

NO_ANSWERS: Final = (  # to some of the commands that follow others
    "buffers testdata/buffers/tuple_fusion.txt",
    f"summary {STEP} --stage before",
    f"buffers {STEP} --rows spaces",
    f"buffers {STEP} --where value==''",
    "shardings testdata/hlo/cpu_train_step.txt --rows results",
)


def test_each_command_of_next_runs() -> None:
    """Of those alike, as of `show` after `fusions`, one is run."""
    seen: set[tuple[str, ...]] = set()
    for line in (*CASES, *NO_ANSWERS, "summary nowhere.txt", "fit"):
        asked = line.split()
        more = [] if (asked[0],) in seen or line in NO_ANSWERS else ["--max-chars", "1500"]
        for command in print_next([*asked, "--json", *more]):
            name, *words = shlex.split(command)
            options = (word for word in words if word.startswith("-"))
            alike = (asked[0], words[0], *options)
            assert name == "hlotool"
            is_seen = alike in seen and line not in NO_ANSWERS
            assert is_seen or run_quietly(words)[0] in {0, 1}, command
            seen |= {(asked[0],), alike}


def run_quietly(words: list[str]) -> tuple[int, str]:
    printed = StringIO()
    with redirect_stdout(printed), redirect_stderr(StringIO()):
        return run(words), printed.getvalue()


def print_next(words: list[str]) -> list[str]:
    commands: list[str] = json.loads(run_quietly(words)[1])["next"]
    assert commands
    return commands


def test_next_keeps_what_chose_the_dump() -> None:
    dump = "testdata/dumps/gpu_h100/mlp_train --module"
    line = f"buffers {dump} jit_train_step$ --json --max-chars 4000"
    longer, first, *_ = print_next(line.split())
    typed = f"{dump} 'jit_train_step$'"
    assert longer == f"hlotool buffers {typed} --json --max-chars 16000"
    assert first.startswith(f"hlotool show {typed} ")


def test_next_follows_what_was_asked_for() -> None:
    dump = "testdata/dumps/gpu_h100/library_calls"
    asked = f"fusions {dump} --rows custom_calls --json"
    assert print_next(asked.split())[0] == f"hlotool show {dump} cublas-lt-matmul.2"
    shown = f"show {dump} cublas-lt-matmul.2"
    assert f"hlotool {shown}" not in print_next([*shown.split(), "--json"])
