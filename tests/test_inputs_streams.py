"""What XLA printed to standard output: one program, or several."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from input_cases import SIBLINGS, STEM, TEXT, file_names

from hlotool.dump.find import resolve_inputs
from hlotool.dump.names import Stage


def _section(name: str, text: str) -> str:
    return f"*** Begin {name} ***\n{text}\n*** End {name} ***\n"


def test_a_stream_of_one_program_counts_as_a_file(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    names = list(SIBLINGS)[:4] + list(SIBLINGS)[5:6]
    path.write_text(
        "noise\n" + "more noise\n".join(_section(each, SIBLINGS[each]) for each in names)
    )
    found = resolve_inputs(str(path))
    assert not found.is_directory
    assert file_names(found.inputs[0]) == [*(f"out.txt[{each}]" for each in names[:4]), None]
    for file, name in zip(found.inputs[0].files, names, strict=False):
        assert file.read().text == SIBLINGS[name]
    both = resolve_inputs(str(path), "all")
    assert [each.stage for each in both.inputs] == [Stage.BEFORE, Stage.AFTER]
    assert not both.is_directory


def test_a_stream_of_several_programs_counts_as_a_directory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two processes printed the same names, one was stopped in the middle."""
    names = [f"{STEM}.txt", "module_0004.jit_g.cpu_after_optimizations.txt"]
    other = TEXT.replace("jit_f", "jit_g")
    stream = _section(names[0], TEXT) + _section(names[1], other) + _section(names[0], TEXT)
    data = f"{stream}*** Begin {names[1]} ***\n{other}".encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    found = resolve_inputs("-")
    assert found.is_directory
    assert [each.name for each in found.inputs] == ["jit_f", "jit_g"] * 2
    assert found.inputs[0].path == f"<stdin>[{names[0]}]"
    texts = [each.module.read().text for each in found.inputs if each.module]
    assert [text.rstrip() for text in texts] == [TEXT.rstrip(), other.rstrip()] * 2
