"""Causes of collectives are those that XLA warns of, and detours gain what they are told to.

`testdata/reshards/programs.tar.xz` holds small programs of random constraints: the texts around
the partitioner, the final text, and each "Involuntary full rematerialization" that XLA warned of.
The held-out ones were compiled once, after all rules were made.
"""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from dump_files import TESTDATA

import hlotool
from hlotool.analysis.shardings.rows import ReshardRow
from hlotool.hlo.attribute_values import parse_sharding
from hlotool.hlo.scanner import Scanner
from hlotool.program.program import Program
from hlotool.text import Source

FINAL = "*after_optimizations.txt"


class Case(NamedTuple):
    program: Program
    facts: dict[str, Any]


class Key(NamedTuple):
    """A warning: the value's op_name, the specs it had to go from and to."""

    value: str | None
    begin: str | None
    end: str | None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reshards")
    with tarfile.open(TESTDATA / "reshards" / "programs.tar.xz") as packed:
        packed.extractall(path, filter="data")
    return path


@pytest.fixture(scope="module")
def cases(folder: Path) -> list[Case]:
    return [*read_cases(folder / "tuned"), *read_cases(folder / "held_out")]


def read_cases(folder: Path) -> Iterator[Case]:
    for path in sorted(folder.glob("*.json")):
        facts = json.loads(path.read_text("utf-8"))
        (final,) = folder.glob(f"module_*.jit_{facts['name']}.{FINAL}")
        yield Case(hlotool.load(final).program, facts)


def find_involuntary(rows: tuple[ReshardRow, ...]) -> set[Key]:
    chosen = [row for row in rows if row.cause == "involuntary"]
    return {Key(row.value, row.from_text, row.to_text) for row in chosen}


def read_warnings(case: Case) -> set[Key]:
    reader = case.program.read_specs()

    def read(text: str) -> str | None:
        sharding = Scanner(Source(text)).parse_whole(parse_sharding)
        rank = len(sharding.tile_dims) - len(sharding.last_tile_dims)
        return reader.write(reader.read_rank(sharding, rank))

    return {Key(name, read(begin), read(end)) for name, begin, end, _ in case.facts["warnings"]}


def is_same(told: Key, warned: Key) -> bool:
    """Whether both are one; what XLA says of a group, a row may say of all devices on one side."""
    if told == warned:
        return True
    is_grouped = "in groups of" in f"{warned.begin} {warned.end}"
    same = told.begin == warned.begin or told.end == warned.end
    return told.value == warned.value and is_grouped and same


def test_involuntary_is_what_xla_warns_of(cases: list[Case]) -> None:
    counts = Counter[str]()
    for case in cases:
        told, warned = find_involuntary(case.program.reshards), read_warnings(case)
        counts["warned"] += len(warned)
        counts["exact"] += len(told & warned)
        for key in sorted(warned - told, key=str):
            same = next((one for one in sorted(told, key=str) if is_same(one, key)), None)
            assert same is not None, (case.facts["name"], key, told)
            told.discard(same)
        assert told <= warned, (case.facts["name"], told - warned)
    assert counts == {"warned": 118, "exact": 109}


def test_involuntary_on_tpu_is_what_xla_warns_of(folder: Path) -> None:
    """TPU's partitioner leaves out shardings; within groups of devices nothing is proved."""
    counts = Counter[str]()
    for case in read_cases(folder / "tpu"):
        told, warned = find_involuntary(case.program.reshards), read_warnings(case)
        assert told <= warned, case.facts["name"]
        counts.update(told=len(told), warned=len(warned))
    assert counts == {"told": 14, "warned": 17}


def test_final_text_alone_never_says_involuntary(cases: list[Case], tmp_path: Path) -> None:
    counts = Counter[str]()
    for case in cases:
        proved = {row.collective for row in case.program.reshards if row.cause == "involuntary"}
        alone = tmp_path / f"{case.facts['name']}.txt"
        alone.write_text(case.program.expect_module().source.text, "utf-8")
        for row in hlotool.load(alone).program.reshards:
            assert row.cause != "involuntary"
            counts[row.cause] += row.collective in proved
    assert counts["gathered-then-cut"] >= 0.95 * counts.total() > 0


def test_bytes_by_cause_add_up(cases: list[Case]) -> None:
    unknown = whole = 0
    for case in cases:
        rows = case.program.reshards
        sent = sum(row.known_sent_bytes_per_step for row in rows)
        assert sent == case.program.collectives.totals.sent_bytes_per_step
        unknown += sum(row.known_sent_bytes_per_step for row in rows if row.cause == "unknown")
        whole += sent
    assert unknown <= 0.1 * whole


def test_detours_gain_what_is_told(folder: Path) -> None:
    """A value constrained to `via_text` first is not gathered, and at least half is saved."""
    programs = {case.facts["name"]: case.program for case in read_cases(folder / "tuned")}
    shares = []
    for path in sorted((folder / "detours").glob("*.json")):
        facts = json.loads(path.read_text("utf-8"))
        base, value, begin, end, via = facts["detour"]
        rows = programs[base].reshards
        chosen = [
            row for row in rows if (row.value, row.from_text, row.to_text) == (value, begin, end)
        ]
        assert {row.via_text for row in chosen} == {via}
        told = sum(row.sent_bytes_per_step or 0 for row in chosen)
        told -= chosen[0].via_sent_bytes_per_step or 0
        before = programs[base].collectives.totals.sent_bytes_per_step
        after = hlotool.load(path.with_suffix(".txt")).collectives().totals.sent_bytes_per_step
        shares.append((before - after) / told)
    assert len(shares) == 20
    assert min(shares) > 0.7
