"""A text beside a refused file is used in its place, and a note says so."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from hlotool.cli import run
from hlotool.dump.find import resolve_inputs
from hlotool.dump.siblings import NamedFiles
from hlotool.errors import InputError

TEXT = "HloModule {name}\nENTRY e {{\n  ROOT p = f32[2] parameter(0)\n}}\n"
LLVM = "; ModuleID = '__compute_module'\nsource_filename = \"m\"\n"


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text(TEXT.format(name=name.split(".")[1]), encoding="utf-8")


CASES = {
    "kernel": (
        "module_0007.jit_g.3.ir-no-opt.ll",
        LLVM.encode(),
        ["module_0007.jit_g.before_optimizations.txt", "module_0008.jit_g.after_codegen.txt"],
        "module_0007.jit_g.before_optimizations.txt",
    ),
    "options": (
        "module_0008.jit_h.debug_options",
        b"xla_cpu_enable: true\n",
        [
            "module_0008.jit_h.before_optimizations.txt",
            "module_0008.jit_h.cpu_after_optimizations.txt",
        ],
        "module_0008.jit_h.cpu_after_optimizations.txt",
    ),
    "no UTF-8": (
        "module_0001.f.cpu_after_optimizations.txt",
        b"HloModule f\n\xff\xfe",
        ["module_0001.f.before_optimizations.txt"],
        "module_0001.f.before_optimizations.txt",
    ),
    "a snapshot": (
        "module_0001.f.execution_0001.hlo_snapshot.pb",
        b"\x00\x01\x02\x03",
        ["module_0001.f.before_optimizations.txt"],
        "module_0001.f.before_optimizations.txt",
    ),
    "a damaged proto": (
        "module_0001.f.cpu_after_optimizations.hlo.pb",
        b"\x00\x01\x02\x03",
        [
            "module_0001.f.before_optimizations.txt",
            "module_0001.f.cpu_after_optimizations.txt",
        ],
        "module_0001.f.cpu_after_optimizations.txt",
    ),
    "the same stage of the module that a name goes on from": (
        "module_0001.f.part.before_optimizations.txt",
        b"HloModule f\n\xff\xfe",
        [
            "module_0001.f.before_optimizations.txt",
            "module_0001.f.cpu_after_optimizations.txt",
        ],
        "module_0001.f.before_optimizations.txt",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_nearest_text_is_used(
    case: tuple[str, bytes, list[str], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    typed, content, beside, used = case
    write(tmp_path, *beside)
    (tmp_path / typed).write_bytes(content)
    found = resolve_inputs(str(tmp_path / typed))
    assert [each.path for each in found.inputs] == [str(tmp_path / used)]
    assert found.notes[0].startswith(f"{tmp_path / typed}: ")
    assert found.notes[0].endswith(f"The answer uses {tmp_path / used}, next to it.")
    assert run(["summary", str(tmp_path / typed)]) == 0
    printed = capsys.readouterr()
    assert f"The answer uses {tmp_path / used}, next to it." in printed.err
    assert printed.out.startswith(f"{used.split('.')[1]}:")


def test_the_same_file_compressed_is_used_whatever_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "step.txt").write_bytes(b"HloModule f\n\xff\xfe")
    (tmp_path / "step.txt.gz").write_bytes(gzip.compress(TEXT.format(name="f").encode()))
    (tmp_path / "other.txt").write_text(TEXT.format(name="g"), encoding="utf-8")
    found = resolve_inputs(str(tmp_path / "step.txt"))
    assert [each.path for each in found.inputs] == [str(tmp_path / "step.txt.gz")]


def test_what_is_refused_too_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "module_0001.f.before_optimizations.txt")
    cut = gzip.compress(TEXT.format(name="f").encode())[:-9]
    (tmp_path / "module_0001.f.cpu_after_optimizations.txt.gz").write_bytes(cut)
    (tmp_path / "module_0001.f.ir-no-opt.ll").write_text(LLVM, encoding="utf-8")
    found = resolve_inputs(str(tmp_path / "module_0001.f.ir-no-opt.ll"))
    assert found.inputs[0].path.endswith("before_optimizations.txt")


def test_what_is_missing_or_alone_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "module_0001.f.before_optimizations.txt")
    with pytest.raises(InputError, match="there is no such file"):
        resolve_inputs(str(tmp_path / "module_0001.f.cpu_after_optimizations.txt"))
    (tmp_path / "module_0002.f.ir-no-opt.ll").write_text(LLVM, encoding="utf-8")
    with pytest.raises(InputError, match="this is LLVM IR"):
        resolve_inputs(str(tmp_path / "module_0002.f.ir-no-opt.ll"))
    named = NamedFiles(module_text=str(tmp_path / "none.txt"))
    with pytest.raises(InputError, match="this is LLVM IR"):
        resolve_inputs(str(tmp_path / "module_0002.f.ir-no-opt.ll"), named=named)


def test_a_text_cut_short_gives_way_to_its_twin_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not to a text of another stage, which has other figures."""
    text = TEXT.format(name="f")
    stem = "module_0001.f.cpu_after_optimizations.txt"
    write(tmp_path, "module_0001.f.before_optimizations.txt")
    (tmp_path / stem).write_text(text[:-3], encoding="utf-8")
    assert run(["summary", str(tmp_path / stem)]) == 0
    assert "this is part of a program" in capsys.readouterr().err
    (tmp_path / f"{stem}.gz").write_bytes(gzip.compress(text.encode()))
    assert run(["summary", str(tmp_path / stem)]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("f: ")
    assert printed.err.startswith(f"hlotool: {tmp_path / stem}:")
    assert f"The answer uses {tmp_path / stem}.gz, next to it." in printed.err
