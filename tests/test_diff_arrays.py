"""Programs that are sharded otherwise, and in nothing else: what a diff says of them first.

Texts of testdata/diff/sharded, and of two larger pairs that the project's own machine has.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from dump_files import PAIRS, TESTDATA, needs_shared

from hlotool.commands.diff.cause_text import write_cause
from hlotool.commands.diff.text import write_triage
from hlotool.compare.inputs import Argument, DiffSide, find_candidates, read_side
from hlotool.compare.report import DiffReport, compare_programs
from hlotool.dump.budget import DEFAULT_BUDGET

SHARDED = TESTDATA / "diff" / "sharded"
BACKENDS = ("gpu_h100", "tpu_v5e")
MESH = "the mesh is fsdp=2 × tp=4 instead of fsdp=4 × tp=2: the parts of "
# What is sharded otherwise, and the sentences of it.
SENTENCES = {
    "mesh": f"{MESH}3 parameters have other shapes (+8.0 KiB on a device)",
    "spec": (
        "state['down'] is sharded P('fsdp', 'tp') instead of P('tp', 'fsdp')\n"
        "state['up'] is sharded P('tp', 'fsdp') instead of P('fsdp', 'tp')"
    ),
    "constraint": "values in mlp are constrained to P('fsdp') instead of P('fsdp', 'tp')",
}


def load(path: Path) -> DiffSide:
    """Read a folder, or one file."""
    candidates, _ = find_candidates(Argument("", str(path)), "after", None, DEFAULT_BUDGET)
    return read_side(candidates[0], "")[0]


def check(report: DiffReport, sentences: str) -> None:
    """Say whether the first reasons are these, and nobody else is blamed."""
    expected = sentences.split("\n")
    assert [write_cause(one, "auto") for one in report.causes[: len(expected)]] == expected
    assert not {"dimension", "axes"} & {one.id for one in report.causes}
    assert report.triage is not None
    assert write_triage(report.triage, report.flags)[0] == "input program differs"


@pytest.mark.parametrize("variant", SENTENCES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_one_thing_is_sharded_otherwise(backend: str, variant: str) -> None:
    old, new = (load(SHARDED / f"{backend}.{each}") for each in ("base", variant))
    check(compare_programs(old, new), SENTENCES[variant])


@needs_shared
@pytest.mark.parametrize(
    ("old", "new", "sentences"),
    [
        (
            "gpu.base",
            "gpu.axisswap",
            f"{MESH}28 parameters have other shapes (+16.0 KiB on a device)",
        ),
        (
            "tpu.base",
            "tpu.mlpspec",
            (
                "state['mu']['layers']['down'], state['nu']['layers']['down'] and 1 more are "
                "sharded P(None, 'fsdp', 'tp') instead of P(None, 'tp', 'fsdp')\n"
                "state['mu']['layers']['gate'], state['mu']['layers']['up'] and 4 more are "
                "sharded P(None, 'tp', 'fsdp') instead of P(None, 'fsdp', 'tp')"
            ),
        ),
    ],
)
def test_larger_programs(old: str, new: str, sentences: str) -> None:
    check(compare_programs(load(PAIRS / old), load(PAIRS / new)), sentences)


@pytest.mark.parametrize(
    ("backend", "sentence"),
    [
        ("gpu_h100", "state['up'] is sharded [2@4, 4@1] instead of [4@2, 2@1]"),
        ("tpu_v5e", "x is sharded in parts of 32 instead of in parts of 16"),
    ],
)
def test_final_texts_alone(backend: str, sentence: str, tmp_path: Path) -> None:
    """GPU's has shardings, of axes that nobody names, and TPU's has none."""
    found = []
    for variant in ("base", "mesh"):
        (text,) = (SHARDED / f"{backend}.{variant}").glob("*after*")
        target = tmp_path / f"{variant}.txt.gz"
        target.write_bytes(text.read_bytes())
        found.append(load(target))
    old, new = found
    report = compare_programs(old, new)
    assert any(write_cause(one, "auto").startswith(sentence) for one in report.causes)
    assert report.triage is not None
    assert write_triage(report.triage, report.flags) == [
        "concluded only from the compiled programs"
    ]
