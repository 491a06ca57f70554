"""The page of a program: it holds the figures of the commands, and nothing foreign acts in it."""

from __future__ import annotations

import html
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from dump_files import TESTDATA
from report_pages import (
    HOSTILE_NAMES,
    NEW,
    OLD,
    SMALL,
    write_hostile,
    write_large,
    write_page,
    write_pair,
)

import hlotool
from hlotool.analysis.memory.intervals import Curve
from hlotool.analysis.memory.timeline import choose_positions, list_moments
from hlotool.cli import run
from hlotool.page.data import _TREES, _grow_tree

MOST_BYTES = 8 << 20
PAGE = Path(hlotool.__file__).parent / "page"
DUMPS = sorted(path.parent for path in (TESTDATA / "dumps").glob("*/*/oracle.json"))


def read_data(page: Path) -> Any:
    """Return what the charts of a page are drawn from."""
    found = re.search(r'id="data">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert found
    return json.loads(found[1])


def test_the_page_holds_what_the_commands_say(tmp_path: Path) -> None:
    page = write_page(tmp_path, SMALL, "--chip", "h100")
    text, data = page.read_text("utf-8"), read_data(page)
    dump = hlotool.load(SMALL)
    peak = dump.buffers().memory.peak
    memory = data["memory"]
    assert max(memory["used_bytes"]) == peak.bytes
    assert memory["positions"][memory["peak"]] == peak.position
    for stack in memory["stacks"].values():
        assert list(map(sum, zip(*stack.values(), strict=True))) == memory["used_bytes"]
    assert sum(each["sent_bytes"] for each in data["work"]["transfers"]) == sum(
        row.known_sent_bytes_per_step for row in dump.collectives().rows
    )
    for row in dump.fusions().rows:
        assert html.escape(row.name) in text
    assert text.startswith("<!doctype html>")
    assert page.stat().st_size < MOST_BYTES


def test_no_peak_and_no_box_is_lost(tmp_path: Path) -> None:
    """Every position of a short schedule is drawn, and boxes hold all that they say they do."""
    data = read_data(write_page(tmp_path, SMALL))
    memory = hlotool.load(SMALL).program.memory
    assert memory
    curve = memory.map.curve(0)
    assert curve
    assert data["memory"]["used_bytes"] == [curve.at(one) for one in data["memory"]["positions"]]
    assert data["memory"]["positions"] == list(range(len(data["memory"]["positions"])))
    assert data["work"]["is_rated"]
    for rows in (3, 600):
        tree = _grow_tree(hlotool.load(SMALL).program.peak_rows, _TREES["scope"], rows)
        sums = Counter[object]()
        for parent, size in zip(tree["parents"], tree["sizes"], strict=True):
            sums[parent] += int(str(size))
        sizes = dict(zip(tree["paths"], tree["sizes"], strict=True))
        assert all(sizes[path] == total for path, total in sums.items() if path)


def test_scripts_find_what_they_read(tmp_path: Path) -> None:
    """No chart is empty: what the scripts ask of the data is there, and holds something."""
    text = write_page(tmp_path, SMALL, "--chip", "h100").read_text("utf-8")
    data = read_data(tmp_path / f"{SMALL.name}.html")
    script = "".join(path.read_text("utf-8") for path in PAGE.glob("*.js"))
    for name, held in {"memory": data["memory"], "work": data["work"]}.items():
        asked = set(re.findall(rf"\b{name}\.(\w+)\b(?!\()", script))
        assert len(asked) > 3
        assert asked <= set(held), name
        assert all(held[key] for key in asked - {"limit_bytes"}), name
    for each, held in {"grouping": data["memory"]["stacks"], "tree": data["trees"]}.items():
        choice = re.search(rf'<select id="{each}">(.*?)</select>', text)
        assert choice
        values = re.findall(r'<option(?: value="(\w+)")?>([\w ]+)<', choice[1])
        assert [value or said for value, said in values] == list(held)


def test_the_roof_has_what_no_fusion_computes(tmp_path: Path) -> None:
    data = read_data(write_page(tmp_path, TESTDATA / "hlo" / "gpu_train_step.txt"))
    cost = hlotool.load(TESTDATA / "hlo" / "gpu_train_step.txt").program.cost
    flops = sum(each["flops"] for each in data["work"]["operations"])
    assert 0.9 * cost.total_flops_per_step < flops <= cost.total_flops_per_step


def test_a_program_for_cpu_has_no_chip(tmp_path: Path) -> None:
    page = write_page(tmp_path, TESTDATA / "dumps" / "cpu" / "scan_train")
    assert not read_data(page)["work"]["is_rated"]


def test_nothing_is_asked_of_a_network(tmp_path: Path) -> None:
    text = write_page(tmp_path, SMALL).read_text("utf-8")
    own = re.sub(r'<script type="text/plain" id="plotly">.*?</script>', "", text, flags=re.DOTALL)
    assert "default-src 'none'" in own
    assert not re.findall(r"""(?:src|href)\s*=\s*["']?(?!#)[^"'> ]+""", own)
    assert not re.findall(r"@import|url\(|fetch\(|XMLHttpRequest|import\(", own)


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    text = write_page(tmp_path, write_hostile(tmp_path)).read_text("utf-8")
    assert text.lower().count("<script") == 3  # the data, the charts, the page's own
    assert text.lower().count("</script") == 3
    assert "<img" not in text
    assert "\u202e" not in text
    assert HOSTILE_NAMES[4] in html.unescape(text)


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_moments_hold_what_is_in_use(path: Path) -> None:
    for dump in hlotool.load_all(path):
        report = dump.program.memory
        if report is None or report.map.live_ranges is None:
            continue
        found = list_moments(report, dump.program.module, 0, 12)
        curve = report.map.curve(0)
        assert curve is not None
        assert [one.used_bytes for one in found.moments] == [
            curve.at(one.position) for one in found.moments
        ]
        assert max(one.used_bytes for one in found.moments) == curve.peak()[0]


def test_a_peak_between_two_moments_is_not_lost() -> None:
    curve = Curve((0, 70, 71), (1, 9, 1))
    assert 70 in choose_positions(curve, 99, 10)


@pytest.mark.hard
def test_a_large_program(tmp_path: Path) -> None:
    page = write_page(tmp_path, write_large(tmp_path))
    assert page.stat().st_size < MOST_BYTES
    assert len(read_data(page)["panels"][""]) <= 600


def test_dumps_of_all_kinds_have_a_page(tmp_path: Path) -> None:
    for name in ("hlo/tpu_train_step.txt", "dumps/cpu/nested_loops", "dumps/tpu_v5e/offload"):
        assert read_data(write_page(tmp_path, TESTDATA / name))["work"]["steps"]


def test_the_page_of_two_holds_what_diff_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = write_pair(tmp_path, OLD, NEW, "--chip", "h100")
    text, data = html.unescape(page.read_text("utf-8")), read_data(page)
    found = hlotool.diff(OLD, NEW)
    assert run(["diff", str(OLD), str(NEW), "--chip", "h100"]) == 0
    verdict = re.findall(r"^(?:memory|time \(|work|why).*", capsys.readouterr().out, re.MULTILINE)
    assert len(verdict) >= 3
    assert all(line in text for line in verdict)
    for memory, dump in zip(data["memories"], (OLD, NEW), strict=True):
        assert max(memory["used_bytes"]) == hlotool.load(dump).buffers().memory.peak.bytes
    added = text[text.index('id="new"') : text.index('id="figures"')]
    assert [row.value for row in found.memory if row.change == "added"] == re.findall(
        r'data-side="new">(.*?)</a>', added
    )
    assert page.stat().st_size < MOST_BYTES


def test_the_page_of_two_names_its_sides(tmp_path: Path) -> None:
    page = write_pair(tmp_path, f"main={OLD}", f"mine={NEW}")
    assert set(read_data(page)["panels"]) == {"main", "mine"}
    assert "</button>" in page.read_text("utf-8")
    assert '">mine</button>' in page.read_text("utf-8")


def test_a_saved_document_and_a_dump_have_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["summary", str(SMALL), "--format", "json"]) == 0
    saved = tmp_path / "old.json"
    saved.write_text(capsys.readouterr().out, "utf-8")
    data = read_data(write_pair(tmp_path, saved, NEW))
    assert data["memories"][0] is None
    assert set(data["panels"]) == {"new"}


def test_hostile_names_of_two_programs_stay_text(tmp_path: Path) -> None:
    hostile = write_hostile(tmp_path)
    other = tmp_path / "other.txt"
    other.write_text(hostile.read_text("utf-8").replace("512,512", "640,640"), "utf-8")
    label = "<b>x</b>"
    text = write_pair(tmp_path, f"{label}={hostile}", other).read_text("utf-8")
    assert text.lower().count("<script") == text.lower().count("</script") == 3
    assert not re.search("<img|\u202e|<b>x", text)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--buffers", "x"), "go with one program"),
        (("--budget", "buffers.peak_bytes < 1"), "goes with one program"),
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


@pytest.mark.parametrize("package", ["jinja2", "plotly.offline"])
def test_without_the_extra(
    package: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert run(["report", str(SMALL), "-o", str(tmp_path / "page.html")]) == 2
    said = capsys.readouterr().err
    name = package.partition(".")[0]
    assert said == f"hlotool: hlotool report needs {name}; install hlotool[report].\n"
    assert not list(tmp_path.iterdir())
