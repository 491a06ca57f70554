"""Compile five models, all called `train_step`, at twelve commits of one project.

    PYTHONPATH=testdata python -m make.commits testdata/check/commits.tar.xz

Each commit is a folder, `c01` to `c12`, of one process. The models lie in `vision` (two),
`language` (two) and `tabular`. Each commit changes what all five share, so that no content stays:
optimizer, loss, norm. From c05 on a batch of `vision` is another. From c07 on programs are compiled
before and between. From c09 on the loss of a language model holds its logits twice.
"""

import io
import os
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

COMMITS = 12
NORM, BATCH, CLIP, SHIFT, REGRESSION, DECAY = (
    3,
    5,
    6,
    7,
    9,
    10,
)  # since which commit
HERE = str(Path(__file__).parent)  # no path of this machine stays
KEPT = ("before_optimizations.txt", "after_optimizations.txt", "buffer-assignment.txt")


def main(target: str) -> None:
    """Compile every commit, and pack what XLA wrote."""
    with tempfile.TemporaryDirectory() as scratch, tarfile.open(target, "w:xz") as packed:
        os.chdir(scratch)
        for commit in range(1, COMMITS + 1):
            for folder, models in MODELS.items():
                dump = f"c{commit:02}/{folder}"
                for place, model in enumerate(models):
                    if commit >= SHIFT:
                        jax.jit(lambda x, count=place + commit: jnp.arange(count) + x).lower(
                            1.0
                        ).compile()
                    compile_model(model, commit, dump)
                for file in sorted(Path(dump).iterdir()):
                    if file.name.endswith(KEPT):
                        data = file.read_bytes().replace(HERE.encode(), b"/home/user")
                        entry = tarfile.TarInfo(f"{dump}/{file.name}")
                        entry.size = len(data)
                        packed.addfile(entry, io.BytesIO(data))


def compile_model(model: Callable[[int], Any], commit: int, dump: str) -> None:
    """Compile a model as it is at a commit."""
    loss, state, batch = model(commit)
    step = jax.jit(make_step(loss, commit), donate_argnums=0).lower(state, *batch)
    step.compile({"xla_dump_to": dump, "xla_dump_hlo_as_text": True})


def make_step(loss: Callable[..., Any], commit: int) -> Callable[..., Any]:
    """Return a training step with the optimizer of a commit."""

    def train_step(state: Any, inputs: Any, labels: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(state, inputs, labels)
        if commit >= NORM:
            norm = jnp.sqrt(sum(jnp.sum(one * one) for one in jax.tree.leaves(gradients)))
            gradients = jax.tree.map(lambda one: one / (norm + 1.0), gradients)
        if commit >= CLIP:
            gradients = jax.tree.map(lambda one: jnp.clip(one, -0.5, 0.5), gradients)
        rate = 0.1 / commit
        decay = 0.01 if commit >= DECAY else 0.0
        state = jax.tree.map(lambda one, two: one - rate * (two + decay * one), state, gradients)
        return state, value * (1.0 + 0.01 * commit)

    return train_step


def _normalize(x: Any, commit: int) -> Any:
    return x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5 * commit)


def _shapes(**sizes: tuple[int, ...]) -> dict[str, Any]:
    return {name: jax.ShapeDtypeStruct(size, jnp.float32) for name, size in sizes.items()}


def _batch(*arrays: tuple[str, tuple[int, ...]]) -> list[Any]:
    return [jax.ShapeDtypeStruct(size, dtype) for dtype, size in arrays]


def _cross_entropy(logits: Any, labels: Any, *, is_wide: bool = False) -> Any:
    logs = jax.nn.log_softmax(logits.astype(jnp.float32))
    if is_wide:
        again = jax.lax.optimization_barrier(jax.nn.log_softmax(2 * logits))
        logs = logs + 0.1 * again * again
    return -jnp.mean(jnp.take_along_axis(logs, labels[..., None], -1))


def conv_net(commit: int) -> Any:
    """Make two convolutions and a head."""

    def loss(state: Any, images: Any, labels: Any) -> Any:
        dims = ("NHWC", "HWIO", "NHWC")
        x = images
        for name in ("first", "second"):
            x = jax.lax.conv_general_dilated(x, state[name], (2, 2), "SAME", dimension_numbers=dims)
            x = _normalize(jax.nn.relu(x), commit)
        return _cross_entropy(jnp.mean(x, (1, 2)) @ state["head"], labels)

    state = _shapes(first=(3, 3, 3, 16), second=(3, 3, 16, 32), head=(32, 10))
    return loss, state, _batch(("float32", (8, 32, 32, 3)), ("int32", (8,)))


def perceptron(commit: int) -> Any:
    """Make two layers; the batch is another from one commit on."""

    def loss(state: Any, images: Any, labels: Any) -> Any:
        x = _normalize(jax.nn.gelu(images @ state["first"]), commit)
        return _cross_entropy(x @ state["second"], labels)

    count = 64 if commit >= BATCH else 32
    state = _shapes(first=(784, 256), second=(256, 10))
    return loss, state, _batch(("float32", (count, 784)), ("int32", (count,)))


def attention(commit: int) -> Any:
    """Make a layer of attention over tokens; its loss grows from one commit on."""

    def loss(state: Any, tokens: Any, labels: Any) -> Any:
        x = state["embed"][tokens]
        q, k, v = (x @ state[name] for name in "qkv")
        weights = jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k) / 8)
        x = _normalize(x + jnp.einsum("bqk,bkd->bqd", weights, v), commit)
        return _cross_entropy(x @ state["embed"].T, labels, is_wide=commit >= REGRESSION)

    state = _shapes(embed=(4096, 64), q=(64, 64), k=(64, 64), v=(64, 64))
    return loss, state, _batch(("int32", (4, 128)), ("int32", (4, 128)))


def recurrent(commit: int) -> Any:
    """Make a recurrent layer in a loop."""

    def loss(state: Any, tokens: Any, labels: Any) -> Any:
        def advance(h: Any, x: Any) -> Any:
            h = jnp.tanh(h @ state["hidden"] + state["embed"][x])
            return h, _normalize(h, commit) @ state["head"]

        _, logits = jax.lax.scan(advance, jnp.zeros((16, 96)), tokens.T)
        return _cross_entropy(logits, labels.T)

    state = _shapes(embed=(256, 96), hidden=(96, 96), head=(96, 256))
    return loss, state, _batch(("int32", (16, 32)), ("int32", (16, 32)))


def table(commit: int) -> Any:
    """Make a regression on columns."""

    def loss(state: Any, columns: Any, labels: Any) -> Any:
        x = _normalize(jax.nn.silu(columns @ state["first"]), commit)
        return jnp.mean((x @ state["second"] - labels) ** 2)

    return (
        loss,
        _shapes(first=(48, 128), second=(128, 1)),
        _batch(("float32", (256, 48)), ("float32", (256, 1))),
    )


MODELS: dict[str, tuple[Callable[[int], Any], ...]] = {
    "vision": (conv_net, perceptron),
    "language": (attention, recurrent),
    "tabular": (table,),
}

if __name__ == "__main__":
    main(sys.argv[1])
