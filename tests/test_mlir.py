"""MLIR is read through jaxlib's converter, where that is installed."""

from __future__ import annotations

import gzip
from importlib.util import find_spec
from pathlib import Path

import pytest
from dump_files import TESTDATA

from hlotool import cli
from hlotool.dump import mlir, text_kind
from hlotool.dump.find import resolve_inputs
from hlotool.errors import MissingPackageError
from hlotool.program.load import load_program

PLAIN = """\
module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8xf32>, %arg1: tensor<8x4xf32>) -> tensor<4x4xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] :
      (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}
"""
needs_jaxlib = pytest.mark.skipif(find_spec("jaxlib") is None, reason="needs jaxlib")
DUMPED = sorted(TESTDATA.glob("shardings/*/*/module.mlir.gz"))


def test_without_jaxlib_the_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mlir, "find_spec", lambda _: None)
    path = tmp_path / "f.mlir"
    path.write_text(PLAIN, encoding="utf-8")
    with pytest.raises(MissingPackageError, match=r"pip install 'hlotool\[mlir\]'"):
        resolve_inputs(str(path))
    path.write_bytes(text_kind.MLIR_BYTECODE + b"...")
    with pytest.raises(MissingPackageError, match="MLIR"):
        resolve_inputs(str(path))


@needs_jaxlib
def test_text_becomes_hlo_without_places_of_the_mlir(tmp_path: Path) -> None:
    path = tmp_path / "f.mlir"
    path.write_text(PLAIN, encoding="utf-8")
    found = resolve_inputs(str(path))
    assert "before any optimization" in found.notes[0]
    program = load_program(found.inputs[0], str(path))
    facts = program.counts.module
    assert (facts.name, facts.num_partitions, facts.parameter_count) == ("jit_f", 8, 2)
    assert program.metric("cost.total_flops_per_step") == 2 * 4 * 8 * 4
    assert all(one.source_location() is None for one in program.expect_module().instructions())


@needs_jaxlib
@pytest.mark.parametrize("path", DUMPED[:3], ids=lambda path: path.parent.name)
def test_a_dumped_program_answers(path: Path, tmp_path: Path) -> None:
    given = tmp_path / "module.mlir"
    given.write_bytes(gzip.decompress(path.read_bytes()))
    for command in ("summary", "fusions", "collectives", "shardings", "outline"):
        assert cli.run([command, str(given)]) == 0
    assert cli.run(["diff", str(given), str(given)]) == 0
    assert cli.run(["buffers", str(given)]) == 3
    program = load_program(resolve_inputs(str(given)).inputs[0], str(given))
    assert any(row.spec for row in program.shardings.parameters)


def write_dump(folder: Path, name: str) -> Path:
    """Write a program after optimization, and its MLIR, without the text before."""
    source = next((TESTDATA / "shardings/cpu").glob(f"*.{name}.cpu_after_optimizations.txt.gz"))
    stem = source.name.removesuffix(".cpu_after_optimizations.txt.gz")
    for path in (source, source.parent / stem / "module.mlir.gz"):
        given = folder / path.relative_to(source.parent).with_suffix("")
        given.parent.mkdir(parents=True, exist_ok=True)
        given.write_bytes(gzip.decompress(path.read_bytes()))
    return folder


@pytest.mark.parametrize(
    ("has_jaxlib", "said"),
    [
        (False, ("concluded only from the compiled programs", "pip install 'hlotool[mlir]'")),
        pytest.param(
            True,
            ("input program differs", "the unoptimized module.mlir is read instead"),
            marks=needs_jaxlib,
        ),
    ],
)
def test_a_diff_takes_mlir_for_the_text_before(
    has_jaxlib: bool,
    said: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if not has_jaxlib:
        monkeypatch.setattr(mlir, "find_spec", lambda _: None)
    sides = [str(write_dump(tmp_path / name, name)) for name in ("jit_fsdp", "jit_tensor")]
    assert cli.run(["diff", *sides]) == 0
    printed = capsys.readouterr().out
    assert [one for one in said if one not in printed] == []


@needs_jaxlib
def test_what_the_converter_refuses_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "f.mlir"
    path.write_text("module @x { nonsense", encoding="utf-8")
    assert cli.run(["summary", str(path)]) == 3
    assert "XLA's converter cannot convert this MLIR to HLO" in capsys.readouterr().err
