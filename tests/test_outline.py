"""A program as it runs: nothing is lost, nothing twice, and what is alike is one step."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from dump_files import TESTDATA

import hlotool
from hlotool.analysis.outline.report import OutlineRow, list_repeats
from hlotool.commands.outline import outline as outline_command
from hlotool.hlo.opcodes import ASYNC_DONES

DUMPS = sorted(path.parent for path in (TESTDATA / "dumps").glob("*/*/oracle.json"))

LAYERS = 12
HEAD = """HloModule unrolled, is_scheduled=true, num_partitions=8

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}

ENTRY %main (x0: f32[512,512]) -> f32[512,512] {
  %x0 = f32[512,512]{1,0} parameter(0)
"""
LAYER = """\
  %dot.N = f32[512,512]{1,0} dot(%xN, %xN), lhs_contracting_dims={1}, rhs_contracting_dims={0}, \
metadata={op_name="jit(step)/layer_N/attention/dot_general"}
  %reduced.N = f32[512,512]{1,0} all-reduce(%dot.N), replica_groups=[1,8]<=[8], to_apply=%add, \
metadata={op_name="jit(step)/layer_N/attention/psum"}
  %xM = f32[512,512]{1,0} tanh(%reduced.N), metadata={op_name="jit(step)/layer_N/mlp/tanh"}
"""
OUT = 'ROOT %out = f32[512,512]{{1,0}} copy(%x{}), metadata={{op_name="jit(step)/head/copy"}}'


def write_layers(count: int) -> str:
    """Return an unrolled model of so many layers."""
    layers = [LAYER.replace("N", str(n)).replace("xM", f"x{n + 1}") for n in range(count)]
    return f"{HEAD}{''.join(layers)}  {OUT.format(count)}\n}}\n"


def outline(text: str) -> tuple[OutlineRow, ...]:
    return hlotool.load(text).outline()


@pytest.mark.parametrize(
    ("keys", "parts"),
    {
        "": [],
        "abc": [(0, 1, 1), (1, 1, 1), (2, 1, 1)],
        "aaaa": [(0, 1, 4)],
        "xababab": [(0, 1, 1), (1, 2, 3)],
        "aabaab": [(0, 3, 2)],
        "abcabd": [(0, 1, 1), (1, 1, 1), (2, 1, 1), (3, 1, 1), (4, 1, 1), (5, 1, 1)],
        "ababcababc": [(0, 5, 2)],
    }.items(),
)
def test_repeats(keys: str, parts: list[tuple[int, int, int]]) -> None:
    assert [(one.start, one.length, one.count) for one in list_repeats(keys)] == parts


def test_layers_in_a_row_are_one_step() -> None:
    first, *rest = outline(write_layers(LAYERS))
    assert (first.kind, first.count) == ("repeat", LAYERS)
    assert first.what == "12 in a row: layer_*"
    assert [row.kind for row in rest] == ["compute", "collective", "compute", "memory"]
    assert [row.depth for row in rest] == [1, 1, 1, 0]
    assert rest[0].flops_per_step == LAYERS * 2 * 512**3
    assert len(rest[0].names) == LAYERS


def test_one_layer_more_differs_in_one_line() -> None:
    """Two outlines are compared with `diff`: a count differs, and nothing else of the steps."""
    old, new = ([row.what for row in outline(write_layers(count))] for count in (12, 13))
    assert [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]] == [
        ("12 in a row: layer_*", "13 in a row: layer_*")
    ]


def test_no_name_of_an_instruction_is_in_a_step() -> None:
    text = write_layers(3)
    renamed = text.replace("%dot.", "%product.").replace("%x", "%value_")
    assert [row.what for row in outline(text)] == [row.what for row in outline(renamed)]


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_nothing_is_lost_and_nothing_is_there_twice(path: Path) -> None:
    dumps = [one for one in hlotool.load_all(path) if one.program.module]
    dump = max(dumps, key=lambda one: one.module.instruction_count())
    program = dump.program
    rows = dump.outline()
    parents = {row.parent for row in rows}
    leaves = Counter(
        name
        for row in rows
        if row.number not in parents and row.kind not in {"loop", "conditional", "call", "branch"}
        for name in row.names
    )
    assert not [name for name, count in leaves.items() if count > 1]
    found = [dump.module.find_instruction(name) for name in leaves]
    cost = sum(
        program.costs.of(one).traffic_bytes * program.executions.lower_bound(one.computation)
        for one in found
        if one is not None
        and one.full_name not in {row.name for row in program.collectives.rows}
        and one.opcode not in ASYNC_DONES  # what work waits for has time, and no traffic of its own
    )
    cost += sum(
        program.costs.of_computation(loop.condition).traffic_bytes
        * program.executions.lower_bound(loop.condition)
        for loop in program.executions.loops
    )
    tops = [row.traffic_bytes_per_step or 0 for row in rows if row.parent is None]
    if any(row.kind == "conditional" for row in rows):  # the most expensive branch counts
        assert sum(tops) <= cost
    else:
        assert sum(tops) == cost
    assert sum(tops) <= program.cost.traffic_bytes_per_step
    assert [row.number for row in rows] == list(range(len(rows)))
    assert all(row.depth == 0 or rows[row.parent or 0].depth == row.depth - 1 for row in rows)


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_collectives_are_those_of_collectives(path: Path) -> None:
    dump = hlotool.load_all(path)[0]
    if dump.program.module is None:
        return
    rows = [row for row in dump.outline() if row.parent is None]
    sent = sum(row.sent_bytes_per_step or 0 for row in rows)
    known = [row.known_sent_bytes_per_step for row in dump.collectives().rows]
    assert sent <= sum(known)
    entry = dump.module.entry.name
    assert sent >= sum(
        row.known_sent_bytes_per_step for row in dump.collectives().rows if row.computation == entry
    )


TIMED = {
    "hlo/gpu_train_step.txt": "h100",
    "hlo/tpu_train_step.txt": "v5e",
    "dumps/gpu_h100/transformer_train": "h100",
    "dumps/tpu_v5e/scan_train": "v5p",
    "dumps/tpu_v5e/pipeline": "v5e",
}


@pytest.mark.parametrize("name", TIMED)
def test_the_clock_adds_up_work_and_what_is_exposed(name: str, tmp_path: Path) -> None:
    config = tmp_path / "hlotool.toml"
    config.write_text(f'chip = "{TIMED[name]}"\n')
    path = TESTDATA / name
    dump = hlotool.load(path, config=config)
    rows = dump.outline()
    now: dict[int | None, float] = {}
    for row in rows:
        assert row.start_seconds is not None
        assert row.end_seconds is not None
        assert now.get(row.parent, 0.0) <= row.start_seconds <= row.end_seconds
        now[row.parent] = row.start_seconds
    work = sum(row.estimated_seconds or 0.0 for row in rows if row.parent is None)
    gaps = sum(row.exposed_seconds or 0.0 for row in dump.collectives().rows)
    ends = max(row.end_seconds or 0.0 for row in rows)
    assert ends == pytest.approx(work + gaps)
    step_time = dump.program.step_time
    assert step_time is not None
    assert step_time.is_timed
    assert step_time.duration.total == pytest.approx(ends)
    assert step_time.duration.exposed == pytest.approx(gaps)


def test_no_time_where_no_chip_stands_for_a_backend() -> None:
    program = hlotool.load(TESTDATA / "dumps" / "cpu" / "mlp_train").program
    assert program.step_time is None


def test_no_time_of_what_is_no_schedule() -> None:
    assert outline_time(write_layers(LAYERS)) is not None
    assert outline_time(write_layers(LAYERS).replace(", is_scheduled=true", "")) is None


def outline_time(text: str) -> float | None:
    """Return the estimated time of a step, at the ratios of the reference chip."""
    step_time = hlotool.load(text).program.step_time
    return step_time.duration.total if step_time else None


def test_a_layer_more_takes_its_time() -> None:
    """Each layer takes as long: a product, what is exposed of its transfer, a tanh."""
    times = [outline_time(write_layers(count)) or 0.0 for count in (11, 12, 13)]
    assert times[2] - times[1] == pytest.approx(times[1] - times[0])


def test_without_a_chip_there_are_shares_and_no_times() -> None:
    rows = outline(write_layers(LAYERS))
    assert all(row.start_seconds is None and row.estimated_seconds is None for row in rows)
    assert sum(row.time_share or 0.0 for row in rows if row.parent is None) == pytest.approx(1)


def test_what_is_not_in_the_table_is_said() -> None:
    """Unknown kernels, and the traffic of collectives, which `summary` counts."""
    dump = str(TESTDATA / "dumps" / "tpu_v5e" / "pallas_kernel")
    said = CliRunner().invoke(outline_command, [dump, "--chip", "v5e"]).stdout
    assert "; 1 custom call is not costed: shares refer to known work" in said
    assert "summary's alone" not in said
    train = str(TESTDATA / "dumps" / "gpu_h100" / "transformer_train")
    said = CliRunner().invoke(outline_command, [train]).stdout
    assert "traffic/step excludes collectives and overlapped copies" in said
