"""Help fits a screen, every word is explained, and the shell completes values."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from hlotool.cli import cli, run
from hlotool.commands import COMMANDS, load_command
from hlotool.commands.explain import collect_meanings
from hlotool.commands.shared.command import PURPOSES, all_documents
from hlotool.errors import EXIT_CODES, HlotoolError

ROOT = Path(__file__).parent.parent
DUMPS = ROOT / "testdata" / "dumps" / "cpu"
SCHEMAS = sorted((ROOT / "docs" / "schema").iterdir())
MOST_LINES, WIDTH = 40, 80
OPTIONS = [
    (name, one)
    for name in COMMANDS
    for one in load_command(name).params
    if isinstance(one, click.Option)
]


def show(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> str:
    assert run(list(args)) == code
    shown = capsys.readouterr()
    return shown.err if code else shown.out


def complete(*args: str) -> list[str]:
    """Return what the shell would offer for the last of the words."""
    *before, incomplete = args
    shell = ShellComplete(cli, {}, "hlotool", "_HLOTOOL_COMPLETE")
    return [item.value for item in shell.get_completions(before, incomplete)]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_a_screen(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    lines = show(capsys, name, "--help").splitlines()
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= WIDTH
    assert sum(line.startswith(f"  hlotool {name} ") for line in lines) == 3
    for command, option in OPTIONS:
        if command == name:
            assert option.opts[0] in " ".join(lines)


def test_every_shared_option_is_one_of_some_command() -> None:
    known = {one.name for _, one in OPTIONS}
    assert {name for names in PURPOSES.values() for name in names} <= known


def test_an_option_means_one_thing_in_all_commands() -> None:
    """Its kind, its value and its name in the code are the same.

    `--at` is a place of a program's run in `buffers`, and of a family of programs in `fit`.
    """
    seen: dict[str, set[tuple[object, ...]]] = {}
    for command, one in OPTIONS:
        for name in one.opts if (command, one.name) != ("fit", "at") else ():
            seen.setdefault(name, set()).add((one.is_flag, one.metavar, one.name))
    assert {name: kinds for name, kinds in seen.items() if len(kinds) > 1} == {}


@pytest.mark.parametrize(
    ("args", "new"),
    [
        (("fusions", "x", "--expand", "y"), "--body"),
        (("collectives", "x", "--expand"), "--operands"),
        (("diff", "x", "y", "--only", "memory"), "--blocks"),
    ],
)
def test_an_old_name_is_refused_with_the_new_one(
    args: tuple[str, ...], new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    old = next(one for one in args if one.startswith("--"))
    assert show(capsys, *args, code=2) == f"hlotool: {old} is called {new} now.\n"


def test_everything_is_explained() -> None:
    known = collect_meanings()
    terms = {opt for _, one in OPTIONS for opt in one.opts} | {str(code) for code in EXIT_CODES}
    for spec in all_documents():
        terms |= {rows.name for rows in spec.row_lists}
        fields = [field for rows in spec.row_lists for field in rows.fields]
        fields += [field for block in spec.blocks for field in block.fields]
        terms |= {field.name for field in fields} | {field.title for field in fields if field.title}
        terms |= {word for field in fields for word in field.values}
    assert {term for term in terms if term.lower() not in known} == set()
    assert all(meaning.says for found in known.values() for meaning in found)


def test_all_meanings_of_a_term_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    shown = show(capsys, "explain", "--computation")
    assert "--computation NAME of diff\n" in shown
    assert "--computation NAME of text\n" in shown
    assert show(capsys, "explain", "exit", "code", "3").startswith("3: exit code\n    an input")
    assert show(capsys, "explain", "EXPOSED-collective").startswith("exposed-collective: finding\n")


@pytest.mark.parametrize("term", ["wire_byts", "--thresold", "exposed-colective"])
def test_an_unknown_term_has_candidates(term: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = show(capsys, "explain", term, code=2)
    assert shown.startswith(f"hlotool: nothing is called {term!r}; did you mean ")


def test_exit_codes_are_those_of_errors() -> None:
    kinds: list[type[HlotoolError]] = [HlotoolError, *HlotoolError.__subclasses__()]
    assert {kind.exit_code for kind in kinds} <= set(EXIT_CODES)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs" / "schema").iterdir()), ids=lambda one: one.stem
)
def test_a_schema_is_printed(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(capsys, "schema", path.stem) == path.read_text(encoding="utf-8")


def test_fields_are_listed_as_rows_too(capsys: pytest.CaptureFixture[str]) -> None:
    shown = show(capsys, "fields", "buffers", "--json", "--where", 'name == "live_bytes"')
    (row,) = json.loads(shown)["fields"]
    assert (row["holder"], row["unit"], row["heading"]) == ("rows", "bytes", "size at peak")
    assert "is_nullable" in show(capsys, "fields", "fields")
    message = show(capsys, "fields", "bufers", code=2)
    assert message.startswith("hlotool: no command 'bufers' has fields; did you mean buffers")


@pytest.mark.parametrize(
    ("args", "offered"),
    [
        (("collectives", "x", "--by", "inter"), ["interconnect"]),
        (("collectives", "x", "--by", "axes,ki"), ["axes,kind"]),
        (("buffers", "x", "--columns", "+use_"), ["+use_count"]),
        (
            ("buffers", "x", "--rows", "donation", "--columns", "size_bytes,stat"),
            ["size_bytes,status"],
        ),
        (("buffers", "x", "--sort", "live_b"), ["live_bytes"]),
        (("fusions", "x", "--rows", "m"), ["missed"]),
        (("summary", "x", "--chip", "h1"), ["h100"]),
        (("buffers", "x", "--space", "vm"), ["vmem"]),
        (("summary", str(DUMPS), "--module", "jit_train"), ["jit_train_step"]),
        (("summary", str(ROOT / "missing"), "--module", ""), []),
        (("diff", str(DUMPS), f"new={DUMPS}", "--module", "jit_train"), ["jit_train_step"]),
        (("fields", "coll"), ["collectives"]),
        (("schema", "summary-"), ["summary-directory"]),
        (("explain", "exposed-c"), ["exposed-collective"]),
    ],
)
def test_the_shell_completes(args: tuple[str, ...], offered: list[str]) -> None:
    assert complete(*args) == offered
