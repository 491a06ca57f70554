"""What made compilations new, against what was provoked, and against JAX's own words of it."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path

import pytest

from hlotool.analysis.summary.report import ReasonRow
from hlotool.compare.compilations import find_compilations
from hlotool.dump.find import resolve_inputs
from hlotool.table.sums import group_by

HOME = Path(__file__).parent.parent / "testdata" / "recompiled"
TRUTHS = {
    (half, name): truth
    for half in ("tune", "judge")
    for name, truth in tomllib.loads((HOME / half / "truths.toml").read_text("utf-8")).items()
}
WORDS = {
    "different input types": "types",
    "different input pytree": "tree",
    "Tracing context": "context",
    "never seen": "unseen",
}
ALONE = {"nothing", "constant", "program"}  # of which no argument is meant


@cache
def find(half: str) -> list[ReasonRow]:
    found = resolve_inputs(str(HOME / half / "dumps.tar.xz"))
    return find_compilations(found.inputs, found.path)


@cache
def hear(half: str) -> dict[str, list[str]]:
    said: dict[str, list[str]] = json.loads((HOME / half / "said.json").read_text("utf-8"))
    return said


@pytest.mark.parametrize(("half", "name"), TRUTHS)
def test_reasons(half: str, name: str) -> None:
    truth = TRUTHS[half, name]
    rows = [row for row in find(half) if row.place.startswith(f"{name} ")]
    found = [
        [
            f"{row.reason} {subject}".strip()
            for row in alike
            for subject in ([""] if row.reason in ALONE else row.subject.split(", "))
        ]
        for alike in group_by(rows, lambda row: row.compilation).values()
    ]
    assert found == truth["reasons"]
    assert {row.function for row in rows} == {truth["function"]}
    said = hear(half)[name][1:]
    heard = [next(kind for words, kind in WORDS.items() if words in each) for each in said]
    assert (heard or ["none"] * len(found)) == truth["jax"]
    for reasons, kind, each in zip(found, heard, said, strict=False):
        named = [reason.split(" ", 1)[1] for reason in reasons if kind == "types" and " " in reason]
        assert all(f"at {subject}, now" in each for subject in named)
