"""What is in a module: every count against a second way of counting."""

from collections import Counter
from pathlib import Path

import pytest
from each import for_each
from parsed import read_module
from tables import read_case

from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.graph.backend import find_backend
from hlotool.analysis.graph.calls import read_call_graph
from hlotool.analysis.graph.executions import count_executions
from hlotool.analysis.summary.counts import ModuleCounts, count_module, list_loops
from hlotool.hlo import Module
from hlotool.hlo.parser import parse_module
from hlotool.text import Source

ROOT = Path(__file__).parent.parent
DUMPS = sorted((ROOT / "testdata/dumps").glob("*/*/*optimizations.txt"))
assert DUMPS, "no dumps in testdata/dumps"


def load(path: Path) -> tuple[Module, ModuleCounts]:
    module = read_module(path)
    graph = read_call_graph(module)
    return module, count_module(module, graph, count_executions(module, graph))


@for_each(DUMPS)
def test_counts(path: Path) -> None:
    module, counts = load(path)
    opcodes = Counter(one.opcode for one in module.instructions())
    assert {row.opcode: row.count for row in counts.opcodes} == opcodes
    assert counts.module.instruction_count == opcodes.total()
    executed = sum(row.executed_count for row in counts.opcodes)
    assert executed == counts.module.executed_instruction_count
    assert all(row.executed_count + row.fused_count == row.count for row in counts.opcodes)
    for row in counts.opcodes:
        sizes = [x.shape.size_bytes for x in module.instructions() if x.opcode == row.opcode]
        assert row.result_bytes == sum(size or 0 for size in sizes)
    assert counts.module.parameter_count == len(module.entry.parameters)


@for_each(DUMPS)
def test_backend_is_told_by_content(path: Path) -> None:
    """After optimization every dump bears its backend's mark; before, none bears another's."""
    expected = path.parts[-3].split("_")[0]
    backend = load(path)[1].module.backend
    if "after_optimizations" in path.name:
        assert backend == expected
    else:
        assert backend in {None, expected}


def test_loops_stand_behind_the_loop_around_them() -> None:
    case = read_case(ROOT / "testdata/executions.cases/nested")
    module = parse_module(Source(case.text))
    graph = read_call_graph(module)
    executions = count_executions(module, graph)
    loops = list_loops(CostModel(module, graph, executions), ())
    assert [(row.name, row.parent, row.depth) for row in loops] == [
        ("outer", None, 0),
        ("inner", "outer", 1),
    ]
    assert [row.executions for row in loops] == [1, 3]
    assert [row.loop_state_bytes for row in loops] == [8, 8]


def test_unknown_sizes_stay_unknown() -> None:
    text = (
        "HloModule m\n\nENTRY e {\n  p = f32[?,4] parameter(0)\n  q = f32[2] parameter(1)\n"
        "  ROOT n = f32[?,4] negate(p)\n}\n"
    )
    module = parse_module(Source(text))
    graph = read_call_graph(module)
    counts = count_module(module, graph, count_executions(module, graph))
    assert counts.module.parameter_bytes is None
    assert counts.module.result_bytes is None
    assert {row.opcode: row.result_bytes for row in counts.opcodes} == {
        "negate": None,
        "parameter": None,
    }
    assert counts.module.donated_bytes == 0


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ('{"fusion_backend_config":{"block_level_fusion_config":{"num_ctas":"1"}}}', None),
        ('{"fusion_backend_config":{"kind":"__triton","block_level_fusion_config":{}}}', "gpu"),
        ('{"operation_queue_id":"0","fusion_backend_config":{}}', "gpu"),
        ('{"fusion_backend_config":{"block_level_fusion_config":{}},"fusion_config":{}}', "cpu"),
    ],
)
def test_the_tiles_of_a_fusion_name_no_backend(config: str, expected: str | None) -> None:
    """The tiled emitter, and its configuration, is one for CPU and GPU."""
    text = f"""
f {{
  ROOT p = f32[4] parameter(0)
}}

ENTRY e {{
  p = f32[4] parameter(0)
  ROOT r = f32[4] fusion(p), kind=kLoop, calls=f, backend_config={config}
}}
"""
    assert find_backend(parse_module(Source(text))) == expected
