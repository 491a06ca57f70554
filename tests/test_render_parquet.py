"""Rows as Parquet: the same values as JSON Lines has, typed, with units beside them."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from dump_files import ROOT
from sample_rows import SAMPLES, Sample
from test_schema_outputs import CASES, CHOOSING

from hlotool import __version__
from hlotool.cli import run
from hlotool.errors import HlotoolError
from hlotool.export.parquet import render_parquet
from hlotool.table import DocumentSpec
from hlotool.table.select import Query, select_rows

pytest.importorskip("pyarrow")

import pyarrow as pa
from pyarrow import parquet

SPEC = DocumentSpec("one", "one list", row_lists=(SAMPLES,))
DUMP = "testdata/hlo/gpu_train_step.txt"


def render(rows: list[Sample], by: str = "") -> Any:
    selection = select_rows(SAMPLES, rows, Query(is_wide=True, by=by))
    return parquet.read_table(io.BytesIO(render_parquet(SPEC, selection, __version__)))


@pytest.mark.parametrize("case", [one for one in CASES if set(one.split()) & CHOOSING])
def test_chosen_rows_are_those_of_json_lines(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    output = tmp_path / "rows.parquet"
    assert run([*case.split(), "--format", "jsonl"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert run([*case.split(), "--format", "parquet", "--output", str(output)]) == 0
    table = parquet.read_table(output)
    assert table.to_pylist() == lines
    assert capsys.readouterr().out == ""


def test_types_are_those_of_the_units() -> None:
    kinds = {field.name: str(field.type) for field in render([]).schema}
    assert kinds["name"] == "string"
    assert kinds["is_async"] == "bool"
    assert {kinds[name] for name in ("count", "position", "size_bytes", "flops")} == {"int64"}
    floats = ("ratio", "share_of_peak", "estimated_seconds")
    assert {kinds[name] for name in floats} == {"double"}
    lists = {
        field.name: kinds[field.name] for field in SAMPLES.fields if field.unit.value == "list"
    }
    assert lists
    assert all(kind.startswith("list<") for kind in lists.values())


def test_units_are_in_the_schema() -> None:
    schema = render([]).schema
    assert schema.field("size_bytes").metadata == {b"unit": b"bytes", b"meaning": b"its size"}
    assert schema.metadata[b"schema"] == b"hlotool/one/v2"
    assert schema.metadata[b"hlotool_version"] == __version__.encode()
    assert schema.metadata[b"rows"] == b"samples"
    units = json.loads(schema.metadata[b"units"])
    assert units == {field.name: field.unit.value for field in SAMPLES.fields}


def test_unknown_is_null_and_nothing_else_is() -> None:
    table = render([Sample(sent_bytes=None), Sample(sent_bytes=0)])
    assert sorted(table["sent_bytes"].to_pylist(), key=str) == [0, None]


def test_groups_have_counts_and_sums() -> None:
    rows = [Sample(kind="loop", size_bytes=3), Sample(kind="input", size_bytes=1)]
    table = render(rows, by="kind")
    assert table["kind"].to_pylist() == ["loop", "input"]
    assert table["size_bytes"].to_pylist() == [3, 1]
    assert table["share"].to_pylist() == [0.75, 0.25]


@pytest.mark.parametrize("number", [(1 << 63) - 1, -(1 << 63), 1 << 63, 10**38 - 1])
def test_numbers_are_exact_at_any_size(number: int) -> None:
    column = render([Sample(flops=number), Sample(flops=None)])["flops"]
    assert [None if each is None else int(each) for each in column.to_pylist()] == [number, None]
    assert (column.type == pa.int64()) == (-(1 << 63) <= number < 1 << 63)


def test_what_has_no_place_is_said() -> None:
    with pytest.raises(HlotoolError, match="Parquet cannot store flops"):
        render([Sample(flops=10**38)])


def test_a_pipe_gets_the_file() -> None:
    made = _run("--format", "parquet", stdout=subprocess.PIPE)
    assert made.returncode == 0
    assert parquet.read_table(io.BytesIO(made.stdout)).num_rows > 3


def test_a_terminal_does_not() -> None:
    ours, theirs = pty.openpty()
    made = _run("--format", "parquet", stdout=theirs)
    os.close(theirs)
    os.close(ours)
    assert made.returncode == 2
    assert made.stderr.startswith(b"hlotool: --format parquet is binary:")


def test_what_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert run(["summary", "no such file", "--format", "parquet"]) == 2
    expected = "hlotool: --format parquet needs pyarrow; install hlotool[parquet].\n"
    assert capsys.readouterr().err == expected


def _run(*arguments: str, stdout: int) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "hlotool", "summary", DUMP, *arguments],
        cwd=ROOT,
        stdout=stdout,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
