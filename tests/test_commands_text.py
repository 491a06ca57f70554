"""`hlotool text`: what is printed is the text as it stands, or one computation of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from dump_files import TESTDATA

from hlotool.cli import run

PROTOS = TESTDATA / "protos"
TEXT = """HloModule m

%half (p: f32[4]) -> f32[4] {  // a comment
  ROOT %n = f32[4] negate(%p), metadata={op_name="}"}
}, execution_thread="other"

ENTRY %main (x: f32[4]) -> f32[4] {
  this is no HLO
}
"""


@pytest.fixture
def text(tmp_path: Path) -> str:
    path = tmp_path / "a.txt"
    path.write_text(TEXT)
    return str(path)


def test_a_proto_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["text", str(PROTOS / "train_step.hlo.pb.gz")]) == 0
    assert capsys.readouterr().out == (PROTOS / "train_step.txt").read_text(encoding="utf-8")


def test_a_text_stays_as_it_is(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["text", text]) == 0
    assert capsys.readouterr() == (TEXT, "")


@pytest.mark.parametrize(
    ("length", "what"),
    [
        (TEXT.index(", metadata"), "cannot be read to its end"),
        (TEXT.index("ENTRY"), "has no ENTRY"),
    ],
)
def test_a_text_that_is_cut(
    length: int, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TEXT[:length])
    assert run(["text", str(path)]) == 0
    out, err = capsys.readouterr()
    assert out.strip() == TEXT[:length].strip()
    assert f"hlotool: {path}: the text {what}" in err


@pytest.mark.parametrize("name", ["half", "%half"])
def test_one_computation(name: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["text", text, "--computation", name]) == 0
    assert capsys.readouterr().out == TEXT[TEXT.index("%half") : TEXT.index("\n\nENTRY") + 1]


def test_a_name_that_is_not_there(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["text", text, "--computation", "hafl"]) == 2
    assert "has no computation 'hafl'; did you mean half?" in capsys.readouterr().err


def test_several_modules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("f", "g"):
        path = tmp_path / f"module_0001.jit_{name}.after_optimizations.txt"
        path.write_text(TEXT.replace("HloModule m", f"HloModule jit_{name}"))
    assert run(["text", str(tmp_path)]) == 2
    assert "2 modules match; choose one with --module." in capsys.readouterr().err
    assert run(["text", str(tmp_path), "--module", "jit_g"]) == 0
    assert capsys.readouterr().out.startswith("HloModule jit_g\n")


def test_output(text: str, tmp_path: Path) -> None:
    assert run(["text", text, "-o", str(tmp_path / "b.txt")]) == 0
    assert (tmp_path / "b.txt").read_text() == TEXT
