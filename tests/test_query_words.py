"""Words that a field can never be are mistakes, unless the dump is newer than hlotool."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlotool.check.config import Budget
from hlotool.check.rule import compile_rule, expect_budget_words, list_unknown_values
from hlotool.cli import run
from hlotool.errors import QueryError
from hlotool.hlo.parser import parse_module
from hlotool.program.metrics import ROW_LISTS
from hlotool.program.program import Program
from hlotool.table.expression.compile import expect_row_words
from hlotool.testing import assert_collectives
from hlotool.text import Source

TEXT = """\
HloModule newer

ENTRY main {
  x = f32[8]{0} parameter(0)
  y = f32[8]{0} teleport(x)
  ROOT z = f32[8]{0} negate(x)
}
"""
OLDER = TEXT.replace("teleport", "abs")


def program(text: str = TEXT) -> Program:
    return Program("newer", parse_module(Source(text)))


def ask(text: str, path: str = "summary.opcodes", about: Program | None = None) -> None:
    about = about or program()
    expect_row_words(text, ROW_LISTS[path].fields, about.rows(path), about.find_words)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("summary.opcodes", 'opcode == "all-gather"'),
        ("summary.opcodes", 'opcode == "teleport"'),
        ("summary.opcodes", 'opcode ~ "telport"'),
        ("summary.dtypes", 'dtype in ["f32", "bf16"]'),
        ("fusions", 'root_opcode == "teleport"'),
        ("collectives", 'dtype == "f32,bf16"'),
        ("collectives", 'name == "allgather" and kind != "all-gather"'),
        ("buffers.spaces", '"vmem" == name'),
    ],
)
def test_known_words_and_those_of_the_dump_are_none(path: str, text: str) -> None:
    ask(text, path)


@pytest.mark.parametrize(
    ("path", "text", "near"),
    [
        ("collectives", 'kind == "allgather"', "all-gather"),
        ("collectives", 'not (count > 1 or "allgather" != kind)', "all-gather"),
        ("collectives", 'opcode in ["all-reduce", "all-gathr"]', "all-gather"),
        ("collectives", 'dtype == "float32"', "f32"),
        ("collectives", 'dtype == "f32,float32"', "f32"),
        ("collectives.host", 'kind == "sent"', "send"),
        ("fusions", 'kind == "loop"', "kLoop"),
        ("summary.opcodes", 'opcode == "teleprt"', "teleport"),
        ("buffers.spaces", 'name == "vem"', "vmem"),
    ],
)
def test_what_nothing_ever_is_names_the_nearest_word(path: str, text: str, near: str) -> None:
    with pytest.raises(QueryError, match="is never") as raised:
        ask(text, path)
    assert near in raised.value.hint
    assert raised.value.source.text[raised.value.start] == '"'


def test_a_budget_may_name_what_one_of_several_modules_holds() -> None:
    rule = compile_rule(Budget(expression='summary.opcodes.count(opcode == "teleport") == 0'))
    found = [list_unknown_values(rule, program(text)) for text in (TEXT, OLDER)]
    assert [len(each) for each in found] == [0, 1]
    expect_budget_words(rule, found)
    with pytest.raises(QueryError, match='opcode is never "teleport"'):
        expect_budget_words(rule, found[1:])
    expect_budget_words(rule, [])


@pytest.mark.parametrize("kind", ["forbid", "require"])
def test_rows_of_a_budget_are_checked_too(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "module_0001.newer.gpu_after_optimizations.txt"
    path.write_text(TEXT, encoding="utf-8")
    config = tmp_path / "hlotool.toml"
    config.write_text(f"[[budget]]\n{kind} = 'collectives: kind == \"allreduce\"'\n")
    assert run(["check", str(path), "--config", str(config)]) == 2


def test_an_assertion_refuses_them() -> None:
    with pytest.raises(QueryError, match='dtype is never "float32"'):
        assert_collectives(TEXT, {}, where='dtype == "float32"')
