"""One command over many programs: the rows that each alone has, behind its name and place."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from shutil import copytree, make_archive

import pytest
from dump_files import ROOT

from hlotool.cli import run
from hlotool.dump import workers

DUMPS = ROOT / "testdata" / "dumps"
FIRST = "cpu/mlp_train"
SECOND = "gpu_h100/mlp_train"
COMMANDS = ("buffers", "fusions", "collectives", "shardings", "summary --rows opcodes")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two programs in folders of their own, below the current one."""
    for name in (FIRST, SECOND):
        copytree(DUMPS / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ask(capsys: pytest.CaptureFixture[str], line: str, expected: int = 0) -> str:
    assert run(line.split()) == expected
    return capsys.readouterr().out


def read_rows(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("least", [0, workers.MIN_PARALLEL_BYTES])
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("folder")
def test_the_rows_are_those_of_each(
    command: str, least: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process as in others."""
    monkeypatch.setattr(workers, "MIN_PARALLEL_BYTES", least)
    alone = []
    for path in (FIRST, SECOND):
        place = f"{path} #{0 if 'cpu' in path else 1}"
        found = read_rows(ask(capsys, f"{command} {path} --format jsonl"))
        alone += [{"place": place, **row} for row in found]
    rows = read_rows(ask(capsys, f"{command} {FIRST} {SECOND} --format jsonl"))
    for row in rows:
        assert row.pop("program") == f"{str(row['place']).split()[0]}/jit_train_step"
        assert row.pop("error") is None
    rows.sort(key=lambda row: str(row["place"]))
    assert rows == alone


@pytest.mark.usefixtures("folder")
def test_every_form_has_the_rows_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a directory, of several paths, of a pattern and of an archive; by the file's ending."""
    make_archive("packed", "tar", ".", "cpu")
    texts = "*/mlp_train/*_after_optimizations.txt"
    for paths in (".", f"{FIRST} {SECOND}", "*/mlp_train", texts):
        rows = read_rows(ask(capsys, f"fusions {paths} --format jsonl"))
        places = {str(row["place"]) for row in rows}
        assert {place.split("/")[0] for place in places} == {"cpu", "gpu_h100"}
        document = json.loads(ask(capsys, f"fusions {paths} --json"))
        assert document["command"] == "fusions"
        assert len(document["rows"]) == len(rows)
    ask(capsys, f"fusions {FIRST} {SECOND} -o out.csv")
    with Path("out.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == len(rows)
    packed = read_rows(ask(capsys, f"fusions packed.tar {SECOND} --format jsonl"))
    assert len(packed) == len(rows)
    ask(capsys, f"fusions {FIRST} {SECOND} -o out.md --by place")
    assert Path("out.md").read_text(encoding="utf-8").startswith("| place |")


@pytest.mark.usefixtures("folder")
def test_rows_are_chosen_among_all(capsys: pytest.CaptureFixture[str]) -> None:
    rows = read_rows(ask(capsys, "fusions . --format jsonl"))
    largest = read_rows(ask(capsys, "fusions . --format jsonl -n 3 --sort -traffic_bytes"))
    sizes = sorted((row["traffic_bytes"] for row in rows), reverse=True)  # type: ignore[type-var]
    assert [row["traffic_bytes"] for row in largest] == sizes[:3]
    kept = read_rows(ask(capsys, "fusions . --format jsonl --where place~'^gpu'"))
    assert kept == [row for row in rows if str(row["place"]).startswith("gpu")]
    groups = read_rows(ask(capsys, "fusions . --format jsonl --by place"))
    assert sum(int(str(one["count"])) for one in groups) == len(rows)


@pytest.mark.parametrize(
    "command",
    [
        "buffers --timeline",
        "buffers --peaks 2",
        "buffers --donation",
        "fusions --missed --recompute",
        "fusions --recompute",
        "collectives --operands",
    ],
)
@pytest.mark.usefixtures("folder")
def test_an_option_lists_of_many_what_it_lists_of_one(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = [
        row
        for path in (FIRST, SECOND)
        for row in read_rows(ask(capsys, f"{command} {path} --format jsonl"))
    ]
    rows = read_rows(ask(capsys, f"{command} . --format jsonl"))
    names = {"program", "place", "error"} - {name for row in alone for name in row}
    kept = [{name: value for name, value in row.items() if name not in names} for row in rows]
    assert sorted(map(str, kept)) == sorted(map(str, alone))


@pytest.mark.parametrize(
    ("line", "adds"),
    [
        ("buffers . --rows timeline", "--timeline adds it"),
        ("buffers . --rows relief -o none.csv", "--hbm SIZE adds it"),
        ("collectives . --rows operands", "--operands adds it"),
        ("summary . --rows instructions", "a profile adds it"),
    ],
)
def test_a_list_that_no_answer_has_is_a_mistake(
    line: str, adds: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    form = "" if " -o " in line else " --format jsonl"
    assert run((line + form).split()) == 2
    assert adds in capsys.readouterr().err
    assert not (folder / "none.csv").exists()


@pytest.mark.parametrize(
    "line",
    [
        "outline . --json",
        "show . add.1 --format csv",
        "fusions . --body fusion.1 --format jsonl",
        "shardings . --why add.1 --json",
        "buffers . --at 3 --json",
        "buffers . --format folded",
    ],
)
@pytest.mark.usefixtures("folder")
def test_one_of_several_is_never_shown_unsaid(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(line.split()) == 2
    captured = capsys.readouterr()
    said = captured.out + captured.err
    assert "has 2 programs; " in said
    assert "--module REGEX" in said
    assert "print the rows of all" in said


@pytest.mark.parametrize("form", ["jsonl", "csv", "json"])
def test_what_cannot_be_read_is_a_row(
    form: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A text that is cut, and a path that is not there; the exit code is that of the table."""
    text = next((folder / FIRST).glob("*after_optimizations.txt"))
    text.write_text(text.read_text(encoding="utf-8")[:3000] + "\n%broken = ]", encoding="utf-8")
    code = run(["summary", ".", "nothing"])
    capsys.readouterr()
    said = ask(capsys, f"collectives . nothing --format {form}", code)
    assert code == 3
    assert said.count("there is no such file or directory") == 1
    document = json.loads(ask(capsys, "fusions . nothing --json", code))
    failed = [row for row in document["rows"] if row["error"]]
    assert {row["program"] for row in failed} == {"cpu/mlp_train/jit_train_step", "nothing"}
    assert {row["name"] for row in failed} == {None}
    assert len(document["rows"]) > len(failed)


@pytest.mark.usefixtures("folder")
def test_a_word_that_no_program_holds_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["buffers", ".", "--format", "jsonl", "--where", 'opcode == "dott"']) == 2
    assert 'opcode is never "dott"' in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_screen_shows_one_as_before(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["collectives", "."]) == 0
    assert "2 modules match in ." in capsys.readouterr().err
