"""The sets of opcodes: what must hold of them, whichever are added."""

from __future__ import annotations

import pytest

from hlotool.hlo import opcodes
from hlotool.hlo.opcodes import (
    ASYNC_DONES,
    ASYNC_STARTS,
    COLLECTIVES,
    FREE,
    MOVES,
    OPCODES,
    TRANSFERS,
    sugared_opcode,
)

SETS = {name: value for name, value in vars(opcodes).items() if isinstance(value, frozenset)}


@pytest.mark.parametrize("name", sorted(SETS.keys() - {"OPCODES", "LISTS_OF_CALLEES"}))
def test_a_rule_is_true_of_some_opcodes(name: str) -> None:
    assert set() < SETS[name] < OPCODES


def test_names_tell_starts_and_dones() -> None:
    assert {one for one in OPCODES if one.endswith("-start")} == ASYNC_STARTS
    assert {one for one in OPCODES if one.endswith("-done")} == ASYNC_DONES


def test_every_collective_begins_a_transfer() -> None:
    assert {one.removesuffix("-start") for one in TRANSFERS} == COLLECTIVES | {"send"}


def test_what_is_free_moves_nothing() -> None:
    assert FREE.isdisjoint(MOVES)


@pytest.mark.parametrize(
    ("opcode", "meant"),
    [
        ("slice-start", ("async-start", "slice")),
        ("reduce-scatter-done", ("async-done", "reduce-scatter")),
        ("all-gather-update", ("async-update", "all-gather")),
        ("all-gather-start", None),
        ("slice", None),
        ("nothing-start", None),
        ("slice-stop", None),
    ],
)
def test_sugar(opcode: str, meant: tuple[str, str] | None) -> None:
    assert sugared_opcode(opcode) == meant
