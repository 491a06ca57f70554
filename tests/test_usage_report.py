"""XLA's memory-usage reports in their three forms, alone and beside a dump."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
from each import for_each

from hlotool.analysis.memory.told_twice import contradict_report
from hlotool.analysis.memory_text import compare_totals
from hlotool.cli import run
from hlotool.dump.find import resolve_inputs
from hlotool.dump.read import read_source
from hlotool.errors import HlotoolError, InputError, ParseError
from hlotool.hlo.assignment_parser import parse_buffer_assignment
from hlotool.oom.usage_report import UsageReport, parse_usage_report
from hlotool.proto.kind import is_usage_report
from hlotool.text import Source

ROOT = Path(__file__).parent.parent
ALONE = ROOT / "testdata" / "usage_reports"
REPORTS = sorted((ROOT / "testdata").glob("[dfp]*/**/*-memory-usage-report.*"))


def read(path: Path) -> UsageReport:
    return parse_usage_report(read_source(str(path)))


@for_each(REPORTS)
def test_totals_are_those_of_the_allocations(path: Path) -> None:
    """Of every report of testdata that has its assignment beside it."""
    report = read(path)
    assert report.spaces
    stem = path.name.partition("-memory-usage-report")[0]
    buffers = next(path.parent.glob(f"{stem}-buffer-assignment.txt*"), None)
    assert buffers is not None
    assignment = parse_buffer_assignment(read_source(str(buffers)))
    assert compare_totals(report, assignment) == ()
    known = {each.number: each.size_bytes for each in assignment.allocations}
    for each in report.allocations:
        if each.number is not None and path.suffix == ".pb":
            assert known[each.number] == (each.size and each.size.bytes)  # exact there
    # Of many allocations XLA leaves the small ones out, and does not say how many.
    assert 0 < len(report.allocations) <= len(assignment.allocations)


@for_each([*REPORTS, *sorted(ALONE.iterdir())])
def test_no_report_contradicts_itself(path: Path) -> None:
    assert contradict_report(read(path)) == ()


@pytest.mark.parametrize(
    ("written", "instead", "phrase"),
    [
        ("3906260 (3.72MiB)", "3906260 (3.71MiB)", "a total of 3,906,260 bytes contradicts 3,89"),
        ("3906260 (3.72MiB)", "3806260 (3.63MiB)", "but its total is 3,806,260"),
        ("1.53MiB, parameter 0", "1.43MiB, parameter 0", "the allocations do not add up to 3,481,"),
        ("3.72MiB(100%);        36B", "3.72MiB(100%);       90.0KiB", "belong to different totals"),
        ("allocation 2: size 20.0KiB", "allocation 2: size 19.0KiB", "2 differs in list and desc"),
        ("allocation 39: ", "allocation 38: ", "40 allocations are listed, but 41 described"),
        (
            "  1867776; ",
            "  1967776; ",
            "allocation 40 has 1,876,951 bytes, but its values use 1,97",
        ),
        (
            "262144;                2;",
            "262144;                3;",
            "is used by 3 values, but lists",
        ),
        ("2; f32[4,10], f32[128,512]", "2; f32[4,10], f32[128,544]", "but a value of 278,528"),
        (
            "2; f32[4,10], f32[128,512]",
            "2; f32[4,10], big[128,512]",
            "the invalid shape 'big[128,512]'",
        ),
    ],
)
def test_what_is_told_twice_is_held_together(written: str, instead: str, phrase: str) -> None:
    text = (ALONE / "old.txt").read_text(encoding="utf-8")
    assert written in text
    report = parse_usage_report(Source(text.replace(written, instead, 1)))
    assert any(phrase in each for each in contradict_report(report)), contradict_report(report)


def test_a_proto_has_the_slots_of_its_text() -> None:
    pairs = [path for path in REPORTS if path.suffix == ".pb"]
    assert pairs
    for path in pairs:
        proto, text = read(path), read(path.with_suffix(".txt"))
        assert [each.slots for each in proto.allocations] == [
            each.slots for each in text.allocations
        ]
        assert [each.total_bytes for each in proto.spaces] == [
            each.total_bytes for each in text.spaces
        ]


def test_what_is_left_out_is_counted() -> None:
    path = next(path for path in REPORTS if path.parent.name == "transformer_train")
    assert sum(each.left_out_count for each in read(path).allocations) > 0


def test_beside_a_dump_it_is_a_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "dump"
    shutil.copytree(ROOT / "testdata" / "dumps" / "cpu" / "mlp_train", folder)
    assert run(["buffers", str(folder)]) == 0
    assert not capsys.readouterr().err
    path = next(folder.glob("*-memory-usage-report.txt"))
    text = path.read_text(encoding="utf-8")
    total = text.partition("Total bytes: ")[2].partition(" ")[0]
    path.write_text(text.replace(total, "77"), encoding="utf-8")
    assert run(["buffers", str(folder)]) == 0
    err = capsys.readouterr().err
    assert "77 bytes (77 B) in space 0" in err
    assert f"{int(total):,}" in err
    assert run(["buffers", str(path)]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("jit_train_step (cpu): peak")
    assert "next to it" in shown.err
    path.write_text("Memory Space: x (color=0)\nhello\n", encoding="utf-8")
    assert run(["buffers", str(folder)]) == 0
    assert "this line does not belong to a memory-usage report" in capsys.readouterr().err


def test_alone_it_is_no_dump(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(ALONE / "new.txt")
    assert run(["summary", path, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["schema"] == "hlotool/memory-usage-report/v2"
    with pytest.raises(InputError, match="buffers and summary show it"):
        resolve_inputs(path)
    assert run(["fusions", path]) == 3
    assert run(["buffers", path, "--timeline"]) == 2
    assert "this is a memory-usage report" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["old.txt", "new.txt", "proto.pb"])
def test_damaged_reports_are_sentences(name: str, tmp_path: Path) -> None:
    data, path = (ALONE / name).read_bytes(), tmp_path / "x"
    chance = random.Random(3)  # noqa: S311
    for number in range(300):
        broken = bytearray(data)
        if number % 3 == 0:
            del broken[chance.randrange(len(data)) :]
        else:
            broken[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(broken)
        try:
            source = read_source(str(path))
            if is_usage_report(bytes(broken)) or "cumulative_size" in source.text:
                parse_usage_report(source)
        except HlotoolError as error:
            assert str(error)  # noqa: PT017  not all are damaged


def test_other_lines_are_errors_with_their_place() -> None:
    with pytest.raises(
        ParseError, match="this line does not belong to a memory-usage report"
    ) as raised:
        parse_usage_report(Source("Memory Space: a (color=0)\nhello\n", "r.txt"))
    assert str(raised.value).startswith("r.txt:2:1: ")
    with pytest.raises(ParseError):
        parse_usage_report(Source("  1B(100%);  1B;   0;   1; f32[]\n"))
