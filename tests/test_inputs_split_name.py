"""File names and their parts: the table in testdata/inputs/names.txt, and round trips."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from input_cases import INPUTS

from hlotool.dump.names import (
    COMPANIONS,
    COMPRESSIONS,
    DumpFileName,
    Stage,
    find_dump_file_name,
)
from hlotool.dump.text_kind import TextKind

BLOCKS = [
    block.splitlines()
    for block in (INPUTS / "names.txt").read_text(encoding="utf-8").split("\n\n")
    if not block.startswith("# File names")
]
TABLE = [[line.strip() for line in block if not line.startswith("#")] for block in BLOCKS]


def _role(name: DumpFileName) -> str:
    """Say what the file is to its module, as the table does."""
    if name.kind is None:
        return "OTHER"
    kind = "PROTO" if name.is_proto else name.kind.name
    return "BUFFERS" if kind == "ALLOCATIONS" else kind


def _format(name: DumpFileName) -> str:
    fields = [
        ("prefix", name.prefix),
        ("number", name.number),
        ("name", name.name),
        ("build", name.build),
        ("suffix", name.suffix),
        ("role", _role(name)),
        ("stage", name.stage.name if name.stage else None),
        ("step", name.step),
        ("pipeline", name.pipeline),
        ("after_pass", name.after_pass),
        ("before_pass", name.before_pass),
    ]
    return ", ".join(f"{key} {value}" for key, value in fields if value not in ("", None))


@pytest.mark.parametrize(("filename", "expected"), TABLE, ids=[row[0] for row in TABLE])
def test_names_of_the_table(filename: str, expected: str) -> None:
    found = find_dump_file_name(filename)
    assert ("none" if found is None else _format(found)) == expected


def test_the_table_has_every_stage_and_role() -> None:
    found = [name for name in map(find_dump_file_name, [row[0] for row in TABLE]) if name]
    assert {name.stage for name in found} == {None, *Stage}
    assert {_role(name) for name in found} == {
        "MODULE",
        "PROTO",
        "BUFFERS",
        "VALUES",
        "LIVE_RANGE",
        "MEMORY_REPORT",
        "DEBUG_OPTIONS",
        "OTHER",
    }


@pytest.mark.parametrize(
    ("prefix", "untimed"),
    [
        ("", ""),
        ("1795229619486247", ""),
        ("gpu.1795229619486247", "gpu"),
        ("cpu.mlp_train", "cpu.mlp_train"),
        ("run.12", "run.12"),
    ],
)
def test_the_prefix_without_timestamp(prefix: str, untimed: str) -> None:
    name = find_dump_file_name(
        f"{prefix}{'.' * bool(prefix)}module_0001.f.before_optimizations.txt"
    )
    assert name is not None
    assert name.untimed_prefix == untimed


MODULE_NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}(\.[0-9]{1,5})?", fullmatch=True)
STAGES = st.sampled_from(
    (
        "before_optimizations",
        "cpu_after_optimizations",
        "sm_9.0a_gpu_after_optimizations",
        "after_codegen",
        "0003.simplification.after_algsimp.before_dce",
        "0015.copy-insertion.step",
    )
)
ENDINGS = st.sampled_from([(".txt", TextKind.MODULE), *COMPANIONS, (".hlo.pb", TextKind.MODULE)])


@given(
    st.sampled_from(["", "1795229619486247.", "cpu.a_b."]),
    st.integers(0, 10**6),
    st.tuples(MODULE_NAMES, st.none() | st.integers(0, 10**10), STAGES),
    ENDINGS,
    st.sampled_from(["", *COMPRESSIONS]),
)
def test_a_name_put_together_comes_apart_again(
    prefix: str,
    number: int,
    parts: tuple[str, int | None, str],
    ending: tuple[str, TextKind],
    compression: str,
) -> None:
    module, build, stage = parts
    middle = "" if build is None else f".cl_{build}"
    stem = f"{prefix}module_{number:04d}.{module}{middle}.{stage}"
    found = find_dump_file_name(f"{stem}{ending[0]}{compression}")
    assert found is not None
    assert (found.prefix, found.number, found.name) == (prefix.rstrip("."), number, module)
    assert (found.build, found.suffix, found.kind) == (build, stage, ending[1])
    assert found.is_proto == (ending[0] == ".hlo.pb")
    assert found.stem == stem


@given(st.text(max_size=60))
def test_any_file_name_has_an_answer(text: str) -> None:
    for name in (text, f"module_0001.{text}", f"module_0001.{text}.txt"):
        find_dump_file_name(name)
