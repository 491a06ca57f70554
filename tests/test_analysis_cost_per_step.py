"""Flops of one training step, worked out on paper from the models' dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from cost_cases import read_module
from dump_files import SEEDS, SHARED, TESTDATA, find_file, needs_shared

from hlotool.analysis.cost.model import CostReport
from hlotool.program.program import Program

DEVICES = 8


@dataclass(frozen=True)
class Transformer:
    """A decoder: `layer_parameters` and `head_parameters` are those of matrix products.

    `not_repeated` are the parameters of a layer's last product, whose result the backward
    pass does not need, so that rematerialization leaves it out.
    """

    layers: int
    layer_parameters: int
    not_repeated: int
    head_parameters: int
    heads: int
    head_size: int
    batch: int
    length: int = 1024

    @property
    def tokens(self) -> int:
        return self.batch * self.length

    @property
    def attention(self) -> int:
        """Forward, all layers: q·k and p·v over all pairs; XLA's dots know of no mask."""
        pairs = self.batch * self.heads * self.length**2
        return self.layers * 2 * (2 * pairs * self.head_size)

    def train_step(self, *, remat: bool) -> int:
        """Multiply and add, for each parameter and token: forward once, backward twice.

        That is the 6·N·tokens of every textbook, and attention, whose two products have two
        gradients each. Rematerialization runs the layers forward once more.
        """
        parameters = self.layers * self.layer_parameters + self.head_parameters
        flops = 6 * parameters * self.tokens + 3 * self.attention
        if remat:
            again = self.layers * (self.layer_parameters - self.not_repeated)
            flops += 2 * again * self.tokens + self.attention
        return flops


# shared/dumps: width 1024, 16 query and 8 key heads of 64, gated feed-forward of 4096.
SHARED_MODEL = Transformer(
    layers=8,
    layer_parameters=1024 * (1024 + 512 + 512 + 1024) + 3 * 1024 * 4096,
    not_repeated=1024 * 4096,
    head_parameters=1024 * 32768,
    heads=16,
    head_size=64,
    batch=16,
)
# testdata/make/programs/transformer_train.py: embeddings double as the output head.
OWN_MODEL = Transformer(
    layers=12,
    layer_parameters=4 * 2048 * 2048 + 2 * 2048 * 8192,
    not_repeated=2048 * 8192,
    head_parameters=2048 * 32768,
    heads=16,
    head_size=128,
    batch=16,
)
BACKENDS = ("cpu", "gpu_h100", "tpu_v5e")
OWN = {
    "cpu": TESTDATA / "packed/cpu/transformer_train",
    "gpu_h100": TESTDATA / "dumps/gpu_h100/transformer_train",
    "tpu_v5e": TESTDATA / "packed/tpu_v5e/transformer_train",
}
OWN_TWICE = TESTDATA / "packed/gpu_h100/transformer_train.batch2x"


@cache
def report(folder: Path, stage: str = "after") -> CostReport:
    path = find_file(folder, f"{stage}_optimizations.txt")
    assert path is not None
    module = read_module(path)
    return Program("", module).cost


def shared(name: str, stage: str = "after") -> CostReport:
    return report(SHARED / "dumps" / name, stage)


def test_the_paper_figure() -> None:
    """6·N·tokens of 159 million parameters, attention, and the layers once more."""
    assert SHARED_MODEL.train_step(remat=True) == 8 * 2_611_340_115_968


@needs_shared
@pytest.mark.parametrize("backend", BACKENDS)
def test_matrix_flops_of_a_step_are_those_of_the_paper(backend: str) -> None:
    found = shared(f"{backend}/transformer_train")
    assert found.counted_for == "device"
    assert DEVICES * found.matrix_flops_per_step == SHARED_MODEL.train_step(remat=True)
    assert not found.is_lower_bound


@needs_shared
def test_all_flops_agree_across_backends() -> None:
    """What the backends do beside matrix products differs by less than 2 %."""
    found = [shared(f"{backend}/transformer_train").flops_per_step for backend in BACKENDS]
    assert max(found) <= 1.02 * min(found)


@needs_shared
def test_twice_the_batch_is_twice_the_work() -> None:
    once = shared("gpu_h100/transformer_train")
    twice = shared("gpu_h100/transformer_train.batch2x")
    assert twice.matrix_flops_per_step == 2 * once.matrix_flops_per_step


@needs_shared
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_text_before_optimizations_is_the_whole_program(backend: str) -> None:
    found = shared(f"{backend}/transformer_train", "before")
    assert found.counted_for == "program"
    assert found.matrix_flops_per_step == SHARED_MODEL.train_step(remat=True)


@needs_shared
def test_without_remat() -> None:
    device = shared("tpu_v5e/transformer_train.noremat")
    program = shared("tpu_v5e/transformer_train.noremat", "before")
    assert program.matrix_flops_per_step == SHARED_MODEL.train_step(remat=False)
    assert DEVICES * device.matrix_flops_per_step == SHARED_MODEL.train_step(remat=False)


@pytest.mark.parametrize("backend", BACKENDS)
def test_our_own_transformer(backend: str) -> None:
    found = report(OWN[backend])
    assert found.counted_for == "device"
    assert DEVICES * found.matrix_flops_per_step == OWN_MODEL.train_step(remat=True)
    assert not found.is_lower_bound


def test_all_flops_of_our_own_agree_across_backends() -> None:
    """What the backends do beside matrix products differs by less than 2 %."""
    found = [report(folder).flops_per_step for folder in OWN.values()]
    assert max(found) <= 1.02 * min(found)


@pytest.mark.parametrize(
    ("folder", "batches"), [(OWN["cpu"], 1), (OWN["tpu_v5e"], 1), (OWN_TWICE, 2)]
)
def test_our_own_before_optimizations_is_the_whole_program(folder: Path, batches: int) -> None:
    found = report(folder, "before")
    assert found.counted_for == "program"
    assert found.matrix_flops_per_step == batches * OWN_MODEL.train_step(remat=True)


def test_twice_the_batch_of_our_own_is_twice_the_work() -> None:
    once, twice = report(OWN["gpu_h100"]), report(OWN_TWICE)
    assert twice.matrix_flops_per_step == 2 * once.matrix_flops_per_step


@pytest.mark.parametrize("backend", ["cpu", "tpu_v5e"])
@pytest.mark.parametrize("stage", ["before", "after"])
def test_a_perceptron_without_remat(backend: str, stage: str) -> None:
    """Products of 784 × 512 and 512 × 10: forward, weights' gradients, and one input's."""
    first, second = 2 * 128 * 784 * 512, 2 * 128 * 512 * 10
    found = report(TESTDATA / "dumps" / backend / "mlp_train", stage)
    assert found.matrix_flops_per_step == 2 * first + 3 * second


def test_remat_repeats_the_first_product() -> None:
    """Of 800 × 512, as XLA pads it for the GPU's matrix units."""
    folder = TESTDATA / "dumps" / "gpu_h100"
    kept, again = report(folder / "mlp_train"), report(folder / "mlp_train.remat")
    assert again.matrix_flops_per_step - kept.matrix_flops_per_step == 2 * 128 * 800 * 512


def mixture_of_experts_step() -> int:
    """Work out one device's step of seed 002 from the dimensions in its names and shapes.

    Sixteen devices: two pipeline stages by eight shards of data and experts. Width 6144, 48
    query and 8 key heads of 128, 8 experts of 16384, 32768 words. A stage has two layers
    and two turns in the circular pipeline; four microbatches, twice around, and one step
    until the pipe is full, are nine iterations. Each takes 4 sequences of 8192 tokens; an
    expert takes 16384 of each of the four shards' tokens (the capacity, for two experts a
    token), one expert a device.
    """
    width, heads, keys, size, hidden, words, experts = 6144, 48, 8, 128, 16384, 32768, 8
    batch, length, iterations, layers = 4, 8192, 9, 2
    tokens, slots = batch * length, batch * 16384
    query_and_out = 2 * (2 * tokens * width * heads * size)
    key_and_value = 2 * (2 * tokens * width * keys * size)
    projections = query_and_out + key_and_value
    pairs = batch * heads * length * (length + 1) // 2  # causal
    attention, attention_backward = 2 * pairs * 2 * size, 2 * pairs * 5 * size
    gate = 2 * tokens * width * experts
    route = 2 * slots * length * width  # dispatch; combine is as large
    expert = 3 * (2 * slots * width * hidden)
    forward = projections + attention + gate + 2 * route + expert
    # Again what is rematerialized, then two gradients of each product; of the dispatch only
    # one, since its mask has none.
    again = projections + gate + route + expert
    backward = 2 * (projections + gate + expert) + attention_backward + route + 2 * route
    embedding_and_head = 5 * (2 * 65536 * width * words)  # the embedding has one gradient
    return iterations * layers * (forward + again + backward) + embedding_and_head


@needs_shared
def test_a_step_of_a_mixture_of_experts() -> None:
    """Seed 002: all matrix products of the step are in cuBLAS and cuDNN."""
    (path,) = SEEDS.glob("002_*")
    module = read_module(path)
    found = Program("", module).cost
    assert found.matrix_flops_per_step == 0
    assert found.unknown_custom_call_count == 0
    assert found.custom_call_flops_per_step == mixture_of_experts_step()
    assert found.total_flops_per_step == found.flops_per_step + found.custom_call_flops_per_step
    assert not found.is_lower_bound
    assert not found.is_total_lower_bound
    assert not found.is_traffic_lower_bound


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("gpu_h100/pipeline/module_0001.jit_stage.before_optimizations.txt", "mixed"),
        ("gpu_h100/mlp_train/module_0001.jit_train_step.before_optimizations.txt", "device"),
    ],
)
def test_parts_under_shard_map_are_not_the_whole_program(text: str, scope: str) -> None:
    module = read_module(TESTDATA / "dumps" / text)
    assert Program("", module).cost.counted_for == scope
