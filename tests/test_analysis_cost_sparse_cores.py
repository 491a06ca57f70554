"""What collectives on the SparseCores cost, added up by hand of real programs (v6e, TPU7x)."""

from __future__ import annotations

import pytest
from dump_files import TESTDATA

from hlotool.analysis.cost.model import CostReport
from hlotool.api import load
from hlotool.program.program import Program

V6E = "dumps/tpu_v6e/pipeline.gather"
TPU7X = "packed/tpu7x/fsdp_train"
KIB = 1024
# A reduce-scatter of f32[128,512] over two devices, and an all-gather of what comes of it: each
# reads or writes 256 KiB and half of that.
V6E_CALLS = {"f32[128,512]": (256 + 128) * KIB, "f32[64,512]": (128 + 256) * KIB}
# The five matrices of a step over four devices: gathered in bf16, their gradients scattered in f32.
MATRICES = ((512, 1024), (1024, 768), (768, 1536), (1536, 1280), (1280, 512))
TPU7X_BYTES = sum(
    (1 + 4) * rows * columns // 4 * size for rows, columns in MATRICES for size in (2, 4)
)


def load_program(folder: str) -> Program:
    return load(TESTDATA / folder).program


def unknowns(cost: CostReport) -> tuple[int, int, bool, bool]:
    return (
        cost.unknown_custom_call_count_per_step,
        cost.unknown_traffic_count_per_step,
        cost.is_total_lower_bound,
        cost.is_traffic_lower_bound,
    )


def test_every_call_costs_what_it_stands_for() -> None:
    rows = load_program(V6E).custom_calls
    assert {row.operand_shapes[0]: row.traffic_bytes_per_step for row in rows} == V6E_CALLS
    assert {(row.known, row.traffic_known, row.flops_per_step) for row in rows} == {
        ("computation", "computation", 0)
    }


def test_the_program_adds_them_up() -> None:
    """Beside them a copy reads 1 MiB, a fusion 256 KiB and writes 256 KiB; tanh and a copy."""
    cost = load_program(V6E).cost
    beside = (1024 + (256 + 256) + (128 + 128) + (256 + 256)) * KIB
    assert cost.traffic_bytes_per_step == sum(V6E_CALLS.values()) + beside
    assert cost.total_flops_per_step == 2 * 128 * 512 * 512
    assert unknowns(cost) == (0, 0, False, False)


def test_a_training_step() -> None:
    program = load_program(TPU7X)
    totals = program.custom_call_totals
    assert (totals.call_count, totals.distinct_count, totals.moving_count) == (10, 10, 10)
    assert totals.traffic_bytes_per_step == TPU7X_BYTES
    assert (totals.flops_per_step, totals.flops_share, totals.computing_count) == (0, 0, 0)
    assert unknowns(program.cost) == (0, 0, False, False)


@pytest.mark.parametrize("folder", [V6E, TPU7X])
def test_nothing_is_said_to_be_unknown(folder: str) -> None:
    codes = {one.id for one in load_program(folder).findings}
    assert codes.isdisjoint({"unknown-cost", "unknown-custom-call"})
