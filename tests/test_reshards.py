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
from hlotool.hlo.parser import parse_module
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


MOVES = """\
HloModule f, is_scheduled=true, num_partitions=8

body {
  s = (s32[], f32[8,4], f32[8,4], f32[8,4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  kept = f32[8,4] get-tuple-element(s), index=1
  made = f32[8,4] get-tuple-element(s), index=2
  round = f32[8,4] get-tuple-element(s), index=3
  kept.g = f32[64,4] all-gather(kept), replica_groups={}, dimensions={0}
  made.g = f32[64,4] all-gather(made), replica_groups={}, dimensions={0}
  round.g = f32[64,4] all-gather(round), replica_groups={}, dimensions={0}
  twice = f32[8,4] add(made, made)
  handed = f32[8,4] collective-permute(round), source_target_pairs={{0,1},{1,0}}
  ROOT t = (s32[], f32[8,4], f32[8,4], f32[8,4]) tuple(next, kept, twice, handed)
}

cond {
  s = (s32[], f32[8,4], f32[8,4], f32[8,4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  most = s32[] constant(3)
  ROOT less = pred[] compare(i, most), direction=LT
}

ENTRY main_spmd {
  w = f32[8,4]{1,0} parameter(0), sharding={devices=[8,1]<=[8]}, metadata={op_name="w"}
  stack = f32[6,8,4] parameter(1), sharding={devices=[1,8,1]<=[8]}, metadata={op_name="stack"}
  n = s32[] parameter(2), metadata={op_name="n"}
  zero = s32[] constant(0)
  narrow = bf16[8,4]{1,0} convert(w)
  narrow.g = bf16[64,4] all-gather(narrow), replica_groups={}, dimensions={0}
  turned = f32[4,8]{1,0} transpose(w), dimensions={1,0}
  turned.g = f32[4,64] all-gather(turned), replica_groups={}, dimensions={1}
  seen = f32[4,8]{0,1} bitcast(w)
  seen.g = f32[4,64] all-gather(seen), replica_groups={}, dimensions={1}
  layer = f32[1,8,4]{2,1,0} dynamic-slice(stack, n, zero, zero), dynamic_slice_sizes={1,8,4}
  flat = f32[8,4]{1,0} bitcast(layer)
  flat.g = f32[64,4] all-gather(flat), replica_groups={}, dimensions={0}
  id = u32[] partition-id()
  at = s32[] convert(id)
  own = f32[1,8,4]{2,1,0} dynamic-slice(stack, at, zero, zero), dynamic_slice_sizes={1,8,4}
  own.g = f32[1,64,4] all-gather(own), replica_groups={}, dimensions={1}
  part = f32[6,2,4] slice(stack), slice={[0:6], [0:2], [0:4]}
  part.g = f32[6,16,4] all-gather(part), replica_groups={}, dimensions={1}
  joined = f32[32]{0} bitcast(w)
  joined.g = f32[256] all-gather(joined), replica_groups={}, dimensions={0}
  sum = f32[8,4]{1,0} add(w, w)
  sum.g = f32[64,4] all-gather(sum), replica_groups={}, dimensions={0}
  state = (s32[], f32[8,4], f32[8,4], f32[8,4]) tuple(zero, w, w, w)
  ROOT loop = (s32[], f32[8,4], f32[8,4], f32[8,4]) while(state), condition=cond, body=body
}
"""


def test_specs_from_a_final_text_reach_as_far_as_each_dimension_is_followed() -> None:
    program = Program("", parse_module(Source(MOVES)))
    found = {one.collective: (one.from_text, list(one.arguments)) for one in program.reshards}
    assert found == {
        "kept.g": ("[8@1, _]", ["w"]),
        "made.g": ("[8@1, _]", []),  # what a round makes
        "round.g": (None, []),  # devices hand it round
        "handed": (None, []),
        "narrow.g": ("[8@1, _]", ["w"]),
        "turned.g": ("[_, 8@1]", ["w"]),
        "seen.g": ("[_, 8@1]", ["w"]),
        "flat.g": ("[8@1, _]", ["stack"]),
        "own.g": (None, ["stack"]),  # each device takes another slice
        "part.g": (None, ["stack"]),  # a part of what is sharded
        "joined.g": (None, ["w"]),
        "sum.g": (None, []),
    }


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
