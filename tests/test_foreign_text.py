"""Foreign text stays text: hostile names through every output, and as names of files."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_rows import SAMPLES, Sample

from hlotool.check.ci import render_github, render_junit, render_sarif
from hlotool.check.results import RuleResult, Status
from hlotool.cli import run
from hlotool.commands.shared.options import RowOptions
from hlotool.commands.shared.output import render_document
from hlotool.errors import InputError, ParseError
from hlotool.table import Block, Document, DocumentSpec, InputPaths, Line
from hlotool.table.cells import Look
from hlotool.text import Source, disarm_lines, encode_json, escape

HOSTILE = {
    "escape": "\x1b[2J\x1b]0;x\x07",
    "line feed": "a\nb",
    "carriage return": "a\r::error::b",
    "tab": "\t=1",
    "nul": "\x00",
    "delete": "\x7f",
    "c1": "\x9b31m\x85b",
    "right to left": "\u202egnp.exe",
    "isolate": "\u2066a\u2069",
    "zero width": "a\u200b\ufeffb",
    "line separator": "a\u2028b\u2029c",
    "command": "::error file=a::b",
    "command behind blanks": " \xa0::stop-commands::b",
    "old command": "##[error]b",
    "old command inside": "a ###[add-mask]b",
    "command in a second line": "a\n::warning::b",
    "formula": "=cmd|' /C calc'!A0",
    "plus": "+1+1",
    "minus": "-2+3",
    "at": "@SUM(1)",
    "wide formula": "\uff1d1+1",
    "apostrophe": "'=1",
    "undecodable byte": "a\udcffb",
    "half a character": "a\ud83d",
    "not a character": "a\uffff\U0010ffff",
    "markup": "<b>]]>&amp;</b>|`x`**y**",
    "comma and quote": 'a,"b"',
    "braces": "{name} {0} }{",
}
# The writers get all of them; through the whole program go some, of which each needs other care.
SOME = (
    "escape",
    "carriage return",
    "command in a second line",
    "old command inside",
    "right to left",
    "formula",
    "half a character",
    "braces",
)
names = pytest.mark.parametrize("name", [HOSTILE[key] for key in SOME], ids=SOME)
BLOCK = Block("sample", Sample, "a sample")
SPEC = DocumentSpec("sample", "a sample", row_lists=(SAMPLES,))
FORMATS = ("table", "markdown", "csv", "json", "jsonl")
APOSTROPHE = re.compile("'(?='*[=+@\uff1d\uff0b\uff0d\uff20-])")
FORMULA = re.compile("[=+@\uff1d\uff0b\uff0d\uff20\t\r-]")


def expect_harmless(text: str) -> None:
    """Expect what a terminal, a reader and the runner of GitHub take for nothing but text."""
    for line in text.split("\n"):
        assert line.isprintable(), ascii(line)
        assert not line.lstrip().startswith("::"), line
        assert "##[" not in line


def show(name: str, **options: Any) -> str:
    rows = {"samples": (Sample(name=name, size_bytes=3, flags=(name, "b"), note=name),)}
    lines = (Line(name), Line("{name} {note}", BLOCK, rows["samples"][0]))
    document = Document(SPEC, InputPaths(name), rows=rows, lines=lines, notes=(Line(name),))
    return disarm_lines("".join(render_document(document, RowOptions(**options), Look())))


@pytest.mark.parametrize("form", FORMATS)
def test_formats(form: str) -> None:
    for name in HOSTILE.values():
        for by in ("", "name"):
            expect_harmless(show(name, format=form, by=by, keeps_numbers=True))


def test_every_format_tells_the_name() -> None:
    for name in HOSTILE.values():
        shown = escape(name)
        assert shown in show(name)
        made = json.loads(show(name, format="json"))
        assert made["samples"][0]["name"] == made["input"]["path"] == name
        assert made["samples"][0]["flags"] == [name, "b"]
        assert json.loads(show(name, format="jsonl"))["name"] == name
        assert json.loads(show(name, format="json", by="name"))["groups"][0]["name"] == name
        for options in ({}, {"by": "name"}):
            (row,) = csv.DictReader(io.StringIO(show(name, format="csv", **options)))
            assert not FORMULA.match(row["name"])
            assert APOSTROPHE.sub("", row["name"], count=1) == shown


@pytest.mark.parametrize("number", ["-1", "+2.5", "-1e9", "-0"])
def test_numbers_in_csv_are_numbers(number: str) -> None:
    (row,) = csv.DictReader(io.StringIO(show(number, format="csv")))
    assert row["name"] == number


def test_conditions_find_the_name() -> None:
    for name in HOSTILE.values():
        quoted = name.replace("\\", "\\\\").replace('"', '\\"')
        made = json.loads(show(name, format="json", where=f'name == "{quoted}"'))
        assert [row["name"] for row in made["samples"]] == [name]


def test_formats_for_ci() -> None:
    for name in HOSTILE.values():
        file = name.replace("\ud83d", "")  # no file has such a name
        statuses: tuple[Status, ...] = ("pass", "fail", "error")
        results = [
            RuleResult(
                name=name,
                module=name,
                status=status,
                severity="error",
                expression=name,
                message=name,
                source_file=file,
                source_line=3,
            )
            for status in statuses
        ]
        expect_harmless(render_junit(results))
        root = ET.fromstring(render_junit(results))  # noqa: S314  our own output
        assert root[0].attrib["name"] == root[0][0].attrib["name"] == escape(name)
        expect_harmless(render_sarif(results, "1.0"))
        run = json.loads(render_sarif(results, "1.0"))["runs"][0]
        assert run["tool"]["driver"]["rules"][0]["shortDescription"] == {"text": escape(name)}
        for line in render_github(results).splitlines()[:-1]:
            command, message = re.fullmatch(r"::error ([^:]*)::(.*)", line).groups()  # type: ignore[union-attr]
            assert line.isprintable()
            assert "##[" not in line
            assert len(command.split(",")) == 3
            assert escape(name) in message.replace("%25", "%")
        assert not render_github(results).splitlines()[-1].startswith("::")


def test_a_line_break_of_the_author_stays_one() -> None:
    advice = "See docs.\n::error::Or \x1b ask."
    result = RuleResult(
        name="r", module="m", status="fail", severity="error", expression="t", message=advice
    )
    assert render_github([result]).splitlines()[0].endswith("docs.%0A::error::Or \\x1b ask.")
    root = ET.fromstring(render_junit([result]))  # noqa: S314  our own output
    assert root[0][0][0].text == "m: t. See docs.\n::error::Or \\x1b ask."


def test_messages() -> None:
    for name in HOSTILE.values():
        expect_harmless(f"hlotool: {InputError(f'{name}: no such file.', f'Try {name}.')}")
        source = Source(f'r = add("{name}", b)', name)
        start = source.text.index("b)")
        shown = str(ParseError(f"no {name}", source, start, start + 1, f"did you mean {name}?"))
        expect_harmless(f"hlotool: {shown}")
        *_, line, carets, _ = shown.split("\n")
        assert line[carets.index("^")] == "b"


@given(st.text(st.characters(codec=None)))
def test_whatever_a_text_holds(text: str) -> None:
    shown = escape(text)
    assert shown.isprintable()
    assert escape(shown) == shown
    assert json.loads(encode_json(text)) == text
    assert encode_json(text).isascii()
    expect_harmless(encode_json([text]))
    expect_harmless(disarm_lines(f" {shown}\n{shown}"))


MODULE = """HloModule jit_f, is_scheduled=true, num_partitions=4

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  p = f32[8]{0} parameter(0)
  q = f32[8]{0} custom-call(p), custom_call_target="NAME", metadata={op_name="jit(f)/NAME/q"}
  ROOT r = f32[8]{0} all-reduce(q), channel_id=1, replica_groups={{0,1,2,3}}, to_apply=add, \
metadata={op_name="jit(f)/NAME/r" source_file="NAME" source_line=7}
}
"""
Shown = tuple[int, str, str]
Program = Callable[..., Shown]


def write_module(name: str, path: Path, *, opcode: str = "custom-call") -> str:
    """Write a module in which targets, scopes and files have the name; return its path."""
    quoted = "".join(f"\\{byte:03o}" for byte in name.encode("utf-8", "replace"))
    text = MODULE.replace("NAME", quoted).replace("custom-call(", f"{opcode}(")
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.fixture
def program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Program:
    """Return a function that runs the program in an empty directory, and expects no harm.

    What has the name `{name}` is shown as it is: nothing takes its braces for a template's.
    """
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step.md"))
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)

    def call(*args: str) -> Shown:
        code = run(list(args))
        out, err = capsys.readouterr()
        expect_harmless(err)
        if "github" not in args:
            expect_harmless(out)
        assert "{{name}" not in out
        return code, out, err

    return call


COMMANDS = (
    ("summary",),
    ("summary", "-w", "--json"),
    ("buffers", "-w"),
    ("fusions", "--rows", "custom_calls", "-w"),
    ("fusions", "--rows", "custom_calls", "--format", "csv"),
    ("collectives", "-w", "--columns", "+source_file,+scope"),
    ("collectives", "--by", "source_file"),
    ("collectives", "--by", "source_file", "--format", "csv"),
    ("collectives", "--by", "scope", "--format", "markdown"),
    ("collectives", "--stack"),
    ("collectives", "--format", "jsonl"),
)


@names
def test_commands(name: str, program: Program) -> None:
    path = write_module(name, Path("{name} m.txt"))
    for command, *options in COMMANDS:
        code, out, err = program(command, path, *options)
        assert (code, err) == (0, ""), (command, options)
        assert out


@names
def test_comparisons(name: str, program: Program) -> None:
    old = write_module(name, Path("{name} old.txt"))
    new = write_module(name, Path("{name} new.txt"), opcode="negate")
    label = f"x{name}".replace("\0", "").replace("=", "")
    for options in ([], ["--json"], ["--text"], ["-w"]):
        assert program("diff", f"{label}={old}", new, *options)[0] == 0
    Path("a").mkdir()
    write_module(name, Path("a/m.txt"))
    assert program("diff", f"{label}=a", "a")[0] == 0


@names
def test_budgets(name: str, program: Program) -> None:
    path = write_module(name, Path("m.txt"))
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    budget = f'collectives.count(source_file != "{quoted}") > 3'
    for form in ("table", "json", "csv", "markdown", "junit", "sarif"):
        code, out, _ = program("check", path, "--budget", budget, "--format", form)
        assert code in {1, 4}, form
        assert out, form
    out = program("check", path, "--budget", budget, "--format", "github")[1]
    commands = [line for line in out.splitlines() if line.lstrip().startswith("::")]
    assert len(commands) == 1
    expect_harmless(Path("step.md").read_text(encoding="utf-8"))


@names
def test_options(name: str, program: Program) -> None:
    path = write_module(name, Path("m.txt"))
    name = name.replace("\0", "").replace("\ud83d", "") or "x"  # no argument holds these
    for options in (
        ["--where", name],
        ["--where", f"kind == {name}"],
        ["--by", name],
        ["--columns", name],
        ["--sort", name],
        ["--rows", name],
        ["--format", name],
        ["--at", name],
        ["--chip", name],
        ["--budget", name],
        [f"--{name}"],
        ["--module", f"{name}("],
        ["--buffers", f"no{name}"],
        ["--output", f"none/x{name}"],
        ["--module-text", f"no{name}"],
    ):
        code, out, err = program("buffers", path, *options)
        assert code in {2, 3, 4}, options
        assert not out
        assert err.startswith(("hlotool: ", "Usage: ")), options
    for arguments in (
        [f"x{name}"],
        ["summary", f"x{name}"],
        ["diff", f"x{name}", path],
        ["collectives", path, "--mesh", name],
        ["diff", path, path, "--blocks", f"x{name}"],
        ["diff", path, path, "--map", f"x{name}"],
        ["diff", "--passes", f"x{name}"],
        ["check", path, "--config", f"x{name}"],
        ["check", path, "--update-baseline", "--baseline", f"none/x{name}"],
    ):
        code, out, err = program(*arguments)
        assert code in {1, 2, 3, 4}, arguments
        assert err


FILE_NAMES = {key: HOSTILE[key] for key in (*SOME, "undecodable byte") if key != "half a character"}


@pytest.mark.parametrize("name", FILE_NAMES.values(), ids=FILE_NAMES)
def test_files(name: str, program: Program) -> None:
    """A file may have any name: it is read, it is found in a directory, and JSON names it."""
    name = name.replace("/", "|")
    Path("dump").mkdir()
    path = write_module("x", Path("dump") / f"{name}.txt")
    assert json.loads(program("summary", path, "--json")[1])["input"]["module_path"] == path
    for place in (path, "dump"):
        rows = "findings" if place == path else "modules"
        for options in ([], ["--json"], ["--format", "csv", "--rows", rows]):
            assert program("summary", place, *options)[0] == 0, (place, options)
        for form in ("table", "json", "sarif", "junit", "github"):
            budget = ["--budget", "collectives.count() == 1"]
            assert program("check", place, *budget, "--format", form)[0] == 0
    rows = program("summary", "dump", "--json", "--rows", "modules")[1]
    (row,) = json.loads(rows)["modules"]
    assert row["path"] == path
    Path(path).write_text("HloModule m\n\nENTRY e {\n  p = f32[8] parametr(0)\n}\n")
    for command in ("summary", "buffers"):
        for place in (path, "dump"):
            code, _, err = program(command, place)
            assert code == 3
            assert escape(path) in err


def test_documents_of_files_with_odd_names(program: Program) -> None:
    path = write_module("x", Path("a\n\x1b\udcff.txt"))
    for options in ([path], ["."]):
        Path("saved.json").write_text(program("summary", *options, "--json")[1], encoding="utf-8")
        code, out, _ = program("diff", "saved.json", path)
        assert code == 0
        assert out
        Path("saved.json").unlink()
    assert program("check", path, "--update-baseline", "--baseline", "b\n.json")[0] == 0
    assert program("diff", "b\n.json", path)[0] == 0


def test_a_dump_of_xla_below_a_folder_with_a_line_break(program: Program) -> None:
    Path("a\nb").mkdir()
    path = write_module("x", Path("a\nb/module_0001.jit_f.cpu_after_optimizations.txt"))
    (row,) = json.loads(program("summary", "a\nb", "--json", "--rows", "modules")[1])["modules"]
    assert (row["path"], row["place"]) == (path, "#1")
