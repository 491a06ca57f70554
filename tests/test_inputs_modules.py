"""Modules in company: of a log, of a test file, several in one text.

Each is a file of testdata/inputs/company. The table beside them has the notes, and for each
module its name, stage, first and last line, and instructions; --update-golden rewrites it.
"""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from input_cases import INPUTS
from tables import TableCase, find_cases, format_json, rewrite

import hlotool
from hlotool.dump.files import Input
from hlotool.dump.find import resolve_inputs
from hlotool.dump.modules import split_modules
from hlotool.dump.siblings import NamedFiles
from hlotool.dump.text_kind import TextKind, detect_kind
from hlotool.errors import HlotoolError, InputError, NothingCheckedError, ParseError, UsageError
from hlotool.hlo.parser import parse_module
from hlotool.text import Source

COMPANY = INPUTS / "company"
CASES = find_cases(COMPANY)
TEXTS = [case.path for case in CASES]
ONE = "HloModule m, is_scheduled=true\nENTRY e {\n  ROOT p = f32[2] parameter(0)\n}\n"
OTHER = "HloModule n\nENTRY e {\n  p = f32[2] parameter(0)\n  ROOT q = f32[2] negate(p)\n}\n"
VLOG = "I0000 00:00:1700000000.000002   12345 hlo_pass_pipeline.cc:87] "


def describe(one: Input) -> dict[str, object]:
    """Say what a module is, and in which lines of the file it stands."""
    assert one.module
    source = one.module.read()
    module = parse_module(source)
    return {
        "path": one.path.removeprefix(f"{COMPANY}/"),
        "name": one.name,
        "stage": one.stage.value if one.stage else None,
        "lines": [source.first_line, source.location(len(source.text.rstrip()))[0]],
        "instructions": [each.name for each in module.instructions()],
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_modules(case: TableCase, request: pytest.FixtureRequest) -> None:
    found = resolve_inputs(str(case.path), "all")
    notes = [note.removeprefix(f"{case.path}: ") for note in found.notes]
    described = {"notes": notes, "modules": [describe(one) for one in found.inputs]}
    if request.config.getoption("--update-golden"):
        rewrite(case, modules=format_json(described))
    assert described == json.loads(case.parts["modules"])
    assert found.is_directory == (len(found.inputs) > 1)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_places_are_those_of_the_file(path: Path) -> None:
    """Every instruction stands where its place says, column and all."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for one in resolve_inputs(str(path), "all").inputs:
        assert one.module
        source = one.module.read()
        for each in parse_module(source).instructions():
            line, column = source.location(each.start - 1)
            assert lines[line - 1][column - 1] == ")"
            assert f"{each.name} = " in lines[line - 1]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_a_mistake_has_its_place(path: Path) -> None:
    """An opcode that is garbled is named with its line and column in the file."""
    text = path.read_text(encoding="utf-8")
    *_, last = re.finditer(r"(?m)^[^/\n]* (parameter)\(", text)
    at = last.start(1)
    garbled = text[:at] + "?" + text[at:]
    source = Source(garbled, "a")
    with pytest.raises(ParseError) as raised:
        parse_module(split_modules(source, detect_kind(garbled)).modules[-1])
    line, column = source.location(at)
    assert str(raised.value).startswith(f"a:{line}:{column}: ")


def test_a_dump_comes_back_as_it_is() -> None:
    source = Source(ONE, "a")
    found = split_modules(source, detect_kind(ONE))
    assert found.modules[0] is source
    assert found.notes() == ()


@pytest.mark.parametrize(
    ("pattern", "lines"), [("^m$", [1]), ("n", [5]), ("#1$", [1]), ("n#2", [5]), ("", [1, 5])]
)
def test_a_pattern_chooses(pattern: str, lines: list[int], tmp_path: Path) -> None:
    path = tmp_path / "two.txt"
    path.write_text(ONE + OTHER, encoding="utf-8")
    found = resolve_inputs(str(path), module_pattern=pattern).inputs
    assert [one.module.read().first_line for one in found if one.module] == lines


def test_a_number_chooses_among_equal_names(tmp_path: Path) -> None:
    path = tmp_path / "two.txt"
    path.write_text(ONE * 12, encoding="utf-8")
    (found,) = resolve_inputs(str(path), module_pattern="m#2$").inputs
    assert found.path == f"{path}#2"
    assert found.module
    assert found.module.read() == Source(ONE, str(path), first_line=5)
    with pytest.raises(NothingCheckedError, match=r"--module 'm#13' matches no module"):
        resolve_inputs(str(path), module_pattern="m#13")


def test_stages(tmp_path: Path) -> None:
    path = tmp_path / "two.txt"
    path.write_text(ONE + OTHER, encoding="utf-8")
    assert [one.name for one in resolve_inputs(str(path), "after").inputs] == ["m", "n"]
    assert [one.name for one in resolve_inputs(str(path), "before").inputs] == ["n"]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((ONE + OTHER).encode())))
    found = resolve_inputs("-")
    assert [one.path for one in found.inputs] == ["<stdin>#1", "<stdin>#2"]
    assert [describe(one)["instructions"] for one in found.inputs] == [["p"], ["p", "q"]]


def test_in_a_directory(tmp_path: Path) -> None:
    (tmp_path / "a.hlo").write_text(ONE + OTHER, encoding="utf-8")
    (tmp_path / "b.hlo").write_text(f"a log\n{ONE}", encoding="utf-8")
    found = resolve_inputs(str(tmp_path))
    places = [one.path.removeprefix(f"{tmp_path}/") for one in found.inputs]
    assert places == ["b.hlo", "a.hlo#1", "a.hlo#2"]
    assert found.notes == (f"{tmp_path}/b.hlo: 1 line before the HLO are skipped.",)


def test_files_beside_several_modules_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "two.txt"
    path.write_text(ONE + OTHER, encoding="utf-8")
    with pytest.raises(UsageError, match="has whole programs"):
        resolve_inputs(str(path), named=NamedFiles(buffers="x"))


def test_several_modules_under_a_name_of_xla(tmp_path: Path) -> None:
    """XLA writes one module into a file; such a text is an error of its row."""
    path = tmp_path / "module_0001.jit_f.cpu_after_optimizations.txt"
    path.write_text(ONE + OTHER, encoding="utf-8")
    (found,) = resolve_inputs(str(tmp_path)).inputs
    assert found.module
    with pytest.raises(InputError, match="expected the text of an HLO module, but this holds 2"):
        found.module.read()


def test_in_python(tmp_path: Path) -> None:
    path = tmp_path / "two.txt"
    path.write_text(ONE + OTHER, encoding="utf-8")
    for dump in (path, ONE + OTHER):
        with pytest.raises(NothingCheckedError, match=r"holds several modules \(m#1, n#2\)"):
            hlotool.load(dump)
        assert hlotool.load(dump, module="n").module.instruction_count() == 2
        assert [one.module.name for one in hlotool.load_all(dump)] == ["m", "n"]


TAILS = {
    "a computation": "\nENTRY f {\n  ROOT p = f32[2] parameter(0)\n}\n",
    "a broken header": "%f (p: f32[2]) - > f32[2] {\n  ROOT %p = f32[2] parameter(0)\n}\n",
    "an instruction": "log\n  %q = f32[2] negate(%p)\n",
    "the same line": " and more\n",
}


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
def test_what_looks_like_hlo_is_not_passed_over(tail: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(ONE.rstrip("\n") + tail, encoding="utf-8")
    (found,) = resolve_inputs(str(path)).inputs
    assert found.module
    with pytest.raises(ParseError):
        parse_module(found.module.read())


def test_a_section_that_does_not_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(f"{ONE}// -----\nbroken\nENTRY e {{\n  p = f32[2] parameter(0)\n}}\n", "utf-8")
    first, second = resolve_inputs(str(path)).inputs
    assert describe(first)["instructions"] == ["p"]
    assert second.module
    with pytest.raises(HlotoolError):
        parse_module(second.module.read())


MENTIONS = [
    "the HloModule is good.\n",
    f"{VLOG}running dce on HloModule jit_f\n{VLOG}done\n",
    "x = 'HloModule m, is_scheduled=true'\n",
    '{"text": "HloModule m, is_scheduled=true\\n\\nENTRY e {}"}\n',
    "/* HloModule m, is_scheduled=true\nENTRY e {}\n",
    "wrote HloModule m",
]


@pytest.mark.parametrize("text", MENTIONS)
def test_a_mention_is_no_module(text: str) -> None:
    assert detect_kind(text).kind is not TextKind.MODULE


@given(st.lists(st.sampled_from([ONE, OTHER, VLOG, "// -----\n", "log\n", "}\n", "/*", '"', "{"])))
def test_any_mixture_has_an_answer(pieces: list[str]) -> None:
    text = "".join(pieces)
    detection = detect_kind(text)
    if detection.kind is not TextKind.MODULE:
        return
    found = split_modules(Source(text), detection)
    assert found.modules
    lines = text.splitlines()
    for module in found.modules:
        first = module.text.split("\n", 1)[0].strip()
        assert lines[module.first_line - 1].endswith(first)


@pytest.mark.hard
@pytest.mark.parametrize(
    "piece",
    [
        *(ONE, VLOG, f"{VLOG}{ONE}", "// -----\n", "HloModule m\n", "x HloModule m, a=1\n"),
        *("/* ", "{", "HloModule m\nENTRY e { x =\n", "HloModule m, a={\n"),
    ],
)
def test_adversarial_texts_take_linear_time(piece: str) -> None:
    """Quadratic behaviour would not end here within the hour."""
    text = ONE + piece * (2_000_000 // len(piece))
    assert split_modules(Source(text), detect_kind(text)).modules
