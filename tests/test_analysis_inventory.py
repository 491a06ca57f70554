"""The inventory: every count against a second way of counting."""

from collections import Counter
from pathlib import Path

import pytest

from hlotool.analysis.graph.executions import count_executions
from hlotool.analysis.summary.module_counts import Inventory, take_inventory
from hlotool.ir import Module
from hlotool.parse import parse_module
from hlotool.source import Source

ROOT = Path(__file__).parent.parent
DUMPS = sorted((ROOT / "testdata/dumps").glob("*/*/*optimizations.txt"))
assert DUMPS, "no dumps in testdata/dumps"


def load(path: Path) -> tuple[Module, Inventory]:
    module = parse_module(Source(path.read_text(), path.name))
    return module, take_inventory(module, count_executions(module))


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: f"{path.parts[-3]}/{path.name}")
def test_counts(path: Path) -> None:
    module, inventory = load(path)
    opcodes = Counter(one.opcode for one in module.instructions())
    assert {row.opcode: row.count for row in inventory.opcodes} == opcodes
    assert inventory.module.instruction_count == opcodes.total()
    executed = sum(row.executed_count for row in inventory.opcodes)
    assert executed == inventory.module.executed_instruction_count
    assert all(row.executed_count + row.fused_count == row.count for row in inventory.opcodes)
    for row in inventory.opcodes:
        sizes = [x.shape.size_bytes for x in module.instructions() if x.opcode == row.opcode]
        assert row.result_bytes == sum(size or 0 for size in sizes)
    assert inventory.module.parameter_count == len(module.entry.parameters)


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: f"{path.parts[-3]}/{path.name}")
def test_backend_is_told_by_content(path: Path) -> None:
    """After optimization every dump bears its backend's mark; before, none bears another's."""
    expected = path.parts[-3].split("_")[0]
    backend = load(path)[1].module.backend
    if "after_optimizations" in path.name:
        assert backend == expected
    else:
        assert backend in {None, expected}


def test_loops_stand_behind_the_loop_around_them() -> None:
    path = ROOT / "testdata/executions/nested.txt"
    loops = load(path)[1].loops
    assert [(row.name, row.parent, row.depth) for row in loops] == [
        ("outer", None, 0),
        ("inner", "outer", 1),
    ]
    assert [row.executions for row in loops] == [1, 3]
    assert [row.carried_bytes for row in loops] == [8, 8]


def test_unknown_sizes_stay_unknown() -> None:
    text = (
        "HloModule m\n\nENTRY e {\n  p = f32[?,4] parameter(0)\n  q = f32[2] parameter(1)\n"
        "  ROOT n = f32[?,4] negate(p)\n}\n"
    )
    module = parse_module(Source(text))
    inventory = take_inventory(module, count_executions(module))
    assert inventory.module.parameter_bytes is None
    assert inventory.module.result_bytes is None
    assert {row.opcode: row.result_bytes for row in inventory.opcodes} == {
        "negate": None,
        "parameter": None,
    }
    assert inventory.module.donated_bytes == 0
