"""Compiler flags as XLA dumps them, and which of them differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlotool.compare.changes.header import FlagChange, compare_flags
from hlotool.program.siblings import parse_debug_options
from hlotool.text import Source

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "testdata" / "dumps").glob("*/*/*debug_options"))
TEXT = """\
xla_gpu_enable_command_buffer: FUSION
xla_gpu_enable_command_buffer: CUBLAS
xla_dump_to: "dump"

  xla_cpu_enable_fast_min_max: false
xla_backend_extra_options {
  key: "a: b"
  value: "1"
}
what is this
}
"""


def test_parse() -> None:
    assert parse_debug_options(Source(TEXT)) == {
        "xla_gpu_enable_command_buffer": ("FUSION", "CUBLAS"),
        "xla_dump_to": ('"dump"',),
        "xla_cpu_enable_fast_min_max": ("false",),
        "xla_backend_extra_options.key": ('"a: b"',),
        "xla_backend_extra_options.value": ('"1"',),
    }


def test_there_are_files() -> None:
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parts[-3]}/{path.parts[-2]}")
def test_every_line_is_read(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = parse_debug_options(Source(text))
    assert sum(map(len, found.values())) == len(text.splitlines())


def test_compare() -> None:
    left = {"a": ("1",), "b": ("x", "y"), "xla_dump_to": ("old",)}
    right = {"b": ("x",), "c": ("2",), "xla_dump_to": ("new",)}
    assert compare_flags(left, right) == (
        FlagChange("a", "1", None, "debug_options"),
        FlagChange("b", "x, y", "x", "debug_options"),
        FlagChange("c", None, "2", "debug_options"),
    )
    assert compare_flags(left, left) == ()
    assert compare_flags({}, {"a": ("1",)}, "tpu_comp_env") == (
        FlagChange("a", None, "1", "tpu_comp_env"),
    )
