"""Messages of logs: the cases of testdata/logs, one a sentence, and what they are about.

--update-golden rewrites the answers.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dump_files import ROOT
from tables import TableCase, find_cases, hold_answer

from hlotool.cli import run
from hlotool.dump.text_kind import TextKind, detect_kind
from hlotool.oom.log import parse_duration, parse_log
from hlotool.oom.wordings import find_wording, list_wordings
from hlotool.text import Source

LOGS = ROOT / "testdata" / "logs"
CASES = find_cases(LOGS)
MESSAGES = [*CASES, *find_cases(ROOT / "testdata" / "out_of_memory")]


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, list[dict[str, object]]]:
    assert run(["summary", *words, "--json"]) == 0
    made: dict[str, list[dict[str, object]]] = json.loads(capsys.readouterr().out)
    return made


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_messages(
    case: TableCase,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "log.txt"
    path.write_text(case.text, encoding="utf-8")
    assert detect_kind(case.text).kind is TextKind.LOG
    made = ask(capsys, str(path))
    rows = {name: made[name] for name in ("rows", "chunks")}
    hold_answer(case, rows, is_update=request.config.getoption("--update-golden"))


def test_each_sentence_has_a_source_and_a_case() -> None:
    lines = [line for case in MESSAGES for line in case.text.split("\n")]
    found = {match[0].id for line in lines if (match := find_wording(line))}
    assert {one.id for one in list_wordings()} - found == set()


def test_what_messages_are_about_is_found_in_a_dump(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By op_name, for names of instructions are those of another pass."""
    path = tmp_path / "log.txt"
    path.write_text(
        "Constant folding an instruction is taking > 1s:\n\n"
        '  %d.9 = f32[1]{0} dot(%a), metadata={op_name="jit(train_step)/jvp()/dot_general"}\n'
        "[Compiling module jit_train_step] Very slow compile?\n"
    )
    dump = str(ROOT / "testdata" / "dumps" / "gpu_h100" / "mlp_train")
    first, second = ask(capsys, str(path), "--dump", dump)["rows"]
    assert first["program"] == second["program"] == "jit_train_step"
    assert first["instructions"]
    assert second["instructions"] == []
    assert run(["summary", dump, "--dump", dump]) == 2


def test_a_message_that_is_said_again_is_counted() -> None:
    text = "PERSISTENT COMPILATION CACHE MISS for 'jit_f' with key 'a'\nfor jit_f\n"
    (message,) = parse_log(Source(text * 3)).messages
    assert (message.count, message.line) == (3, 1)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2m3.5s", 123.5), ("1h0m1s", 3601.0), ("1.770259602s", 1.770259602), ("20ms", 0.02)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)
    assert parse_duration(text + "x") is None
