"""What the program really prints is what docs/schema promises; add a line a command."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hlotool.cli import run

ROOT = Path(__file__).parent.parent
SCHEMAS = ROOT / "docs" / "schema"
DUMPS = ("testdata/hlo/cpu_train_step.txt", "testdata/hlo/gpu_train_step.txt")
FAMILY = "testdata/fit/cpu-decode-sequence"
STEP = "testdata/dumps/gpu_h100/mlp_train"
CASES = [
    *(f"summary {dump}" for dump in (*DUMPS, "testdata/hlo/tpu_train_step.txt")),
    f"summary {DUMPS[0]} -n 2",
    f"summary {DUMPS[0]} --columns opcode,count",
    f"summary {DUMPS[0]} --by opcode,executions -n 1",
    f"summary {DUMPS[0]} --rows dtypes --sort -count --where count>1",
    *(f"buffers testdata/dumps/{place}/mlp_train" for place in ("cpu", "gpu_h100", "tpu_v5e")),
    "buffers testdata/dumps/cpu/mlp_train --all --timeline --peaks 3 --donation --hbm 1GiB",
    "buffers testdata/dumps/cpu/mlp_train --by allocation_type,dtype",
    f"buffers {DUMPS[0]}",
    *(f"buffers testdata/out_of_memory/{name}.txt" for name in ("tpu_compile", "gpu_bfc", "cut")),
    "buffers testdata/bad/bytes/padding_below_zero.log",
    "buffers testdata/out_of_memory/log_with_module.log",
    "summary testdata/logs/train.log",
    "summary testdata/out_of_memory/log_with_module.log",
    *(f"buffers testdata/usage_reports/{name}" for name in ("old.txt", "new.txt", "proto.pb")),
    "summary testdata/usage_reports/new.txt",
    *(f"fusions {dump}" for dump in DUMPS),
    f"fusions {DUMPS[1]} --missed --recompute --chip h100",
    "fusions testdata/dumps/gpu_h100/library_calls --rows custom_calls",
    f"fusions {DUMPS[1]} --by kind,root_opcode -n 2",
    "shardings testdata/shardings/cpu/module_0014.jit_three.cpu_after_optimizations.txt.gz",
    f"outline {DUMPS[1]}",
    f"outline {STEP} --chip h100 --clock --only collective",
    f"show {STEP} gemm_fusion_dot loop_add_fusion main.16",
    f"show {DUMPS[1]} all-reduce-start.3 --hops 2",
    *(f"diff {STEP} {STEP}.{other}" for other in ("batch2x", "bf16", "remat")),
    f"diff testdata/diff/summary.json {STEP} --by change",
    f"diff {STEP} {STEP}.remat --rows memory -n 2 --columns change,delta_bytes",
    "diff testdata/dumps/cpu testdata/dumps/tpu_v5e",
    "diff --passes testdata/folders/cpu.passes",
    "diff --passes testdata/folders/cpu.passes --trace opcode=='fusion'",
    f"diff {STEP} {STEP}.bf16 {STEP}.remat",
    f"diff {STEP} {STEP}.remat --why input_scatter_fusion",
    "passes testdata/passes/tpu_v5e.tar.xz -n 3",
    f"fit {FAMILY}/256.tar.zst {FAMILY}/512.tar.zst --hbm 1GiB",
    f"check {STEP} --config testdata/check/budgets.toml",
    "check --trend --history testdata/check/history.jsonl",
    "summary testdata/dumps/tpu_v5e",
    "collectives testdata/dumps/tpu_v5e",
    "summary testdata/dumps/tpu_v5e --rows opcodes --by program,place",
    "fields buffers",
    "summary testdata/dumps/cpu --by backend",
]
CHOOSING = {"--by", "-n", "--columns", "--where"}  # options that choose rows and columns


@cache
def validator(schema: str) -> jsonschema.Draft202012Validator:
    """Return the validator of a document's `schema` value."""
    name = schema.split("/")[1]
    written: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    assert written["$id"] == schema
    return jsonschema.Draft202012Validator(written)


@pytest.mark.parametrize("case", CASES)
def test_output_fits_its_schema(
    case: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert run([*case.split(), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    validator(made["schema"]).validate(made)
    known = json.loads((SCHEMAS / f"{made['schema'].split('/')[1]}.json").read_text("utf-8"))
    assert set(made) <= set(known["properties"])
