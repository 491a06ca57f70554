"""The page of a program: it holds the figures of the commands, and nothing foreign acts in it."""

from __future__ import annotations

import html
import json
import os
import re
import sys
from pathlib import Path

import pytest
from dump_files import TESTDATA
from report_pages import (
    HOSTILE_NAMES,
    NEW,
    OLD,
    PAGE,
    SMALL,
    read_data,
    write_hostile,
    write_large,
    write_page,
    write_pair,
)

import hlotool
from hlotool.cli import run
from hlotool.page.html import SCRIPTS

MOST_BYTES = 8 << 20


def test_the_page_holds_what_the_commands_say(tmp_path: Path) -> None:
    page = write_page(tmp_path, SMALL, "--chip", "h100")
    text, data = page.read_text("utf-8"), read_data(page)
    dump = hlotool.load(SMALL)
    peak = dump.buffers().memory.peak
    side = data["sides"][0]
    space = side["spaces"][0]
    assert max(space["levels"]) == peak.bytes
    assert space["peak"] == peak.position
    assert sum(side["transfers"]["sent_bytes"]) == sum(
        row.known_sent_bytes_per_step for row in dump.collectives().rows
    )
    for row in dump.fusions().rows:
        assert html.escape(row.name) in text
    assert text.startswith("<!doctype html>")
    assert page.stat().st_size < MOST_BYTES


def test_scripts_find_what_they_read(tmp_path: Path) -> None:
    """No lane is empty: what the scripts ask of the data is there, and holds something."""
    data = read_data(write_page(tmp_path, SMALL, "--chip", "h100"))
    side = data["sides"][0]
    space = side["spaces"][0]
    scripts = "".join((PAGE / name).read_text("utf-8") for name in SCRIPTS)
    asked = set(re.findall(r"\braw\.(\w+)", scripts))
    assert len(asked) > 15
    assert asked <= set(side) | set(space)
    assert side["ridge"] > 1
    columns = {**side, "allocations": space["allocations"], "values": space["values"]}
    for group, key in re.findall(r"\braw\.(\w+)\.(\w+)\b(?!\()", scripts):
        assert group == "spaces" or key in columns[group], (group, key)
    told = set(re.findall(r"\btold\.(\w+)", scripts))
    assert told <= set(side["outline"]) | set(side["instructions"])
    for column in re.findall(r"for \(const key of \[(.*?)\]\)", scripts):
        keys = set(re.findall(r'"(\w+)"', column))
        assert keys <= set(side["instructions"]) or keys <= set(space["values"])
    for held in (side["instructions"], side["transfers"], side["outline"], space["values"]):
        assert all(len(column) for column in held.values())
    assert len(side["times"]["begins"]) == side["steps"] + 1
    assert side["chip"]["is_rated"]


def test_a_page_offers_what_the_scripts_know() -> None:
    """Each choice of a list has a word that a script has for it."""
    text, scripts = (PAGE / "page.html").read_text("utf-8"), (PAGE / "charts.js").read_text("utf-8")
    choice = re.search(r'<select id="measure">(.*?)</select>', text)
    assert choice
    measures = re.search(r"const MEASURES = \{(.*?)\};", scripts)
    assert measures
    assert re.findall(r'value="(\w+)"', choice[1]) == re.findall(r"(\w+): \[", measures[1])


def test_a_program_for_cpu_has_no_chip(tmp_path: Path) -> None:
    page = write_page(tmp_path, TESTDATA / "dumps" / "cpu" / "scan_train")
    assert not read_data(page)["sides"][0]["chip"]["is_rated"]


def test_nothing_is_asked_of_a_network(tmp_path: Path) -> None:
    text = write_page(tmp_path, SMALL).read_text("utf-8")
    assert "default-src 'none'" in text
    assert not re.findall(r"""(?:src|href)\s*=\s*["']?(?!#)[^"'> ]+""", text)
    assert not re.findall(r"@import|url\(|fetch\(|XMLHttpRequest|import\(", text)


def test_scripts_and_style_are_small() -> None:
    """Plain text that nobody else made: 300 kB at most."""
    assert sum((PAGE / name).stat().st_size for name in (*SCRIPTS, "page.css")) < 300_000


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    page = write_page(tmp_path, write_hostile(tmp_path))
    text = page.read_text("utf-8")
    assert text.lower().count("<script") == 2  # the data, and the page's own
    assert text.lower().count("</script") == 2
    assert "<img" not in text
    assert "\u202e" not in text
    assert HOSTILE_NAMES[4] in "".join(read_data(page)["sides"][0]["words"])


@pytest.mark.hard
def test_a_large_program(tmp_path: Path) -> None:
    page = write_page(tmp_path, write_large(tmp_path))
    assert page.stat().st_size < MOST_BYTES
    assert len(read_data(page)["sides"][0]["instructions"]["name"]) > 10_000


def test_dumps_of_all_kinds_have_a_page(tmp_path: Path) -> None:
    for name in ("hlo/tpu_train_step.txt", "dumps/cpu/nested_loops", "dumps/tpu_v5e/offload"):
        assert read_data(write_page(tmp_path, TESTDATA / name))["sides"][0]["outline"]["what"]


def test_a_program_that_does_not_fit_has_ways_to(tmp_path: Path) -> None:
    text = write_page(tmp_path, SMALL, "--hbm", "1GiB").read_text("utf-8")
    assert "does not fit in 1.0 GiB" in text
    assert 'id="relief"' in text
    assert 'id="relief"' not in write_page(tmp_path, SMALL, "--hbm", "4GiB").read_text("utf-8")


def test_each_way_to_fit_has_its_curve(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first is the program as it is; the most of each is what it allocates."""
    dump = TESTDATA / "advice" / "gpu_h100.scanned"
    (side,) = read_data(write_page(tmp_path, dump, "--hbm", "160MiB"))["sides"]
    assert run(["buffers", str(dump), "--hbm", "160MiB", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    options = {row["option"]: row["option_saves_bytes"] for row in told["relief"]}
    size = told["fit"]["allocated_bytes"]
    wanted = [size, *(size - saved for saved in options.values() if saved is not None)]
    assert [max(way["levels"]) for way in side["ways"]] == wanted
    assert [way["name"] for way in side["ways"]] == ["as it is", "donate, checkpoint each layer"]


def test_a_message_and_its_dump_have_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page is about the program of the message, and begins with what the message says."""
    message = TESTDATA / "out_of_memory" / "tpu_e1000.txt"
    page = write_page(tmp_path, message, "--dump", str(TESTDATA / "dumps" / "tpu_v5e"))
    text = page.read_text("utf-8")
    assert "matches jit_multiply" in capsys.readouterr().err
    assert text.index("31.50 GiB asked") < text.index("does not fit in 15.8 GiB")
    (side,) = read_data(page)["sides"]
    assert side["spaces"][0]["limit_bytes"] == 15.75 * 2**30
    assert len(side["ways"]) > 1


# Dumps of testdata name their source /home/user/program.py.
SOURCES: tuple[tuple[tuple[str, ...], str | None], ...] = (
    (("program.py",), "program.py"),
    (("a/program.py", "b/program.py"), None),  # nobody knows which
    (("a/program.py", "user/program.py"), "user/program.py"),
    (("other.py",), None),
)


@pytest.mark.parametrize(("files", "chosen"), SOURCES)
def test_source_text_comes_from_below_a_directory(
    files: tuple[str, ...], chosen: str | None, tmp_path: Path
) -> None:
    below = tmp_path / "below"
    for name in files:
        path = below / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"line {number} of <b>{name}</b>\n" for number in range(1, 999)))
    dump = TESTDATA / "advice" / "gpu_h100.scanned"
    page = write_page(tmp_path, dump, "--source", str(below))
    texts = read_data(page)["sides"][0]["texts"]
    assert set(texts.get("path", ())) == ({chosen} if chosen else set())
    assert ("This page has source lines" in page.read_text("utf-8")) == bool(chosen)
    for first, text in zip(texts.get("first_line", ()), texts.get("text", ()), strict=True):
        lines = text.split("\n")
        assert len(lines) >= 11
        assert lines == [f"line {first + at} of <b>{chosen}</b>" for at in range(len(lines))]


def test_source_text_is_never_from_elsewhere(tmp_path: Path) -> None:
    """Links that lead out, pipes and large files are left out; without the option, so is all."""
    below, outside = tmp_path / "below", tmp_path / "program.py"
    below.mkdir()
    outside.write_text("secret\n" * 999)
    (below / "program.py").symlink_to(outside)
    dump = TESTDATA / "advice" / "gpu_h100.scanned"
    assert read_data(write_page(tmp_path, dump))["sides"][0]["texts"] == {}
    assert read_data(write_page(tmp_path, dump, "--source", str(below)))["sides"][0]["texts"] == {}
    (below / "program.py").unlink()
    os.mkfifo(below / "program.py")
    assert read_data(write_page(tmp_path, dump, "--source", str(below)))["sides"][0]["texts"] == {}
    (below / "program.py").unlink()
    (below / "program.py").write_text(f"{'x' * 50_000}\n" * 999)
    texts = read_data(write_page(tmp_path, dump, "--source", str(below)))["sides"][0]["texts"]
    assert sum(map(len, texts.get("text", ()))) <= 200_000


def test_a_buffer_assignment_alone_has_a_page(tmp_path: Path) -> None:
    (dump,) = SMALL.glob("*buffer-assignment.txt")
    alone = tmp_path / "a-buffer-assignment.txt"
    alone.write_bytes(dump.read_bytes())
    page = tmp_path / "page.html"
    assert run(["report", str(alone), "-o", str(page)]) == 0
    assert 'id="buffers"' in page.read_text("utf-8")
    assert "live ranges are unknown" in read_data(page)["sides"][0]["problem"]


def test_a_message_has_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    message = TESTDATA / "out_of_memory" / "gpu_bfc.txt"
    assert run(["report", str(message), "-o", str(page)]) == 0
    assert "27.94 GiB asked" in page.read_text("utf-8")
    assert read_data(page)["sides"] == []


def test_a_profile_has_measured_times(tmp_path: Path) -> None:
    page = write_page(tmp_path, TESTDATA / "profiles" / "cpu")
    assert max(read_data(page)["sides"][0]["instructions"]["measured"]) > 0


def test_a_directory_has_an_index(tmp_path: Path) -> None:
    """Each program has a page; one that cannot be read is a row with its sentence."""
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    for path in (TESTDATA / "dumps" / "cpu").glob("mlp_train/*.txt"):
        (dumps / path.name).write_bytes(path.read_bytes())
    (dumps / "module_0007.bad.cpu_after_optimizations.txt").write_text("HloModule bad\n\nx y {")
    assert run(["report", str(dumps), "-o", f"{tmp_path}/pages/"]) == 0
    text = (tmp_path / "pages" / "index.html").read_text("utf-8")
    links = re.findall(r'href="(.*?)"', text)
    assert links
    assert all((tmp_path / "pages" / link).exists() for link in links)
    assert "3.7 MiB" in text
    assert ">jit_train_step<" in text
    assert text.count("colspan") == 1


def test_the_page_of_two_holds_what_diff_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = write_pair(tmp_path, OLD, NEW, "--chip", "h100")
    text, data = html.unescape(page.read_text("utf-8")), read_data(page)
    found = hlotool.diff(OLD, NEW)
    assert run(["diff", str(OLD), str(NEW), "--chip", "h100"]) == 0
    verdict = re.findall(
        r"^(?:memory|time \(\w+\)|work|why): .*", capsys.readouterr().out, re.MULTILINE
    )
    assert len(verdict) >= 3
    assert all(line in text for line in verdict)
    for side, dump in zip(data["sides"], (OLD, NEW), strict=True):
        peak = hlotool.load(dump).buffers().memory.peak
        assert max(side["spaces"][0]["levels"]) == peak.bytes
    added = text[text.index('id="new"') : text.index('id="figures"')]
    assert [row.value for row in found.memory if row.change == "added"] == re.findall(
        r'class="key">(.*?)</td>', added
    )
    assert set(re.findall(r'<tr data-side="(.*?)"', added)) == {"new"}
    assert page.stat().st_size < MOST_BYTES


def test_the_page_of_two_names_its_sides(tmp_path: Path) -> None:
    page = write_pair(tmp_path, f"main={OLD}", f"mine={NEW}")
    assert read_data(page)["labels"] == ["main", "mine"]
    assert "</button>" in page.read_text("utf-8")
    assert '">mine</button>' in page.read_text("utf-8")


def test_a_saved_document_and_a_dump_have_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["summary", str(SMALL), "--format", "json"]) == 0
    saved = tmp_path / "old.json"
    saved.write_text(capsys.readouterr().out, "utf-8")
    data = read_data(write_pair(tmp_path, saved, NEW))
    assert data["sides"][0] is None
    assert data["sides"][1]["steps"]


def test_hostile_names_of_two_programs_stay_text(tmp_path: Path) -> None:
    hostile = write_hostile(tmp_path)
    other = tmp_path / "other.txt"
    other.write_text(hostile.read_text("utf-8").replace("512,512", "640,640"), "utf-8")
    label = "<b>x</b>"
    text = write_pair(tmp_path, f"{label}={hostile}", other).read_text("utf-8")
    assert text.lower().count("<script") == text.lower().count("</script") == 2
    assert not re.search("<img|\u202e|<b>x", text)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--buffers", "x"), "need a single program"),
        (("--budget", "buffers.peak_bytes < 1"), "needs a single program"),
        (("--source", "."), "need a single program"),
    ],
)
def test_what_a_page_of_two_does_not_take(
    options: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert run(["report", str(OLD), str(NEW), "-o", str(page), *options]) == 2
    assert said in capsys.readouterr().err
    assert not page.exists()


def test_the_input_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_hostile(tmp_path)
    before = path.read_bytes()
    assert run(["report", str(path), "-o", str(path)]) == 2
    assert "it was not overwritten" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_without_the_extra(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert run(["report", str(SMALL), "-o", str(tmp_path / "page.html")]) == 2
    said = capsys.readouterr().err
    assert said == "hlotool: hlotool report needs jinja2; install hlotool[report].\n"
    assert not list(tmp_path.iterdir())
