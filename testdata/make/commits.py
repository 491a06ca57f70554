"""Compile five models, all called `train_step`, at twelve commits of one project.

    PYTHONPATH=testdata python -m make.commits testdata/check/commits.tar.xz

Each commit is a process and a folder, `c01` to `c12`. The models lie in `vision` (two, of one
process), `language` (two) and `tabular`. Each commit changes what all five share, so that no content
stays: the optimizer, the loss, a norm. From c05 on a batch of `vision` is another, from c07 on
programs are compiled before and between, and from c09 on the loss of a language model materializes
one-hot labels in f32, which is the regression. XLA's files are kept as they are.
"""

import io
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

COMMITS = 12
BATCH, SHIFT, REGRESSION = 5, 7, 9  # the commits from which on these are so
FLAGS = "--xla_dump_hlo_as_text --xla_dump_hlo_module_re=jit_train_step"
KEPT = ("before_optimizations.txt", "after_optimizations.txt", "buffer-assignment.txt")


def main(target: str) -> None:
    """Compile every commit in processes of their own, and pack what XLA wrote."""
    with tempfile.TemporaryDirectory() as scratch, tarfile.open(target, "w:xz") as packed:
        for commit in range(1, COMMITS + 1):
            for folder in MODELS:
                dump = f"c{commit:02}/{folder}"
                subprocess.run(  # noqa: S603 (this module)
                    [sys.executable, "-m", "make.commits", str(commit), folder],
                    cwd=scratch,
                    env={
                        **os.environ,
                        "PYTHONPATH": str(Path(__file__).parents[1]),
                        "JAX_PLATFORMS": "cpu",
                        "XLA_FLAGS": f"--xla_dump_to={dump} {FLAGS}",
                    },
                    check=True,
                )
                for file in sorted(Path(scratch, dump).iterdir()):
                    if file.name.endswith(KEPT):
                        entry = tarfile.TarInfo(f"{dump}/{file.name}")
                        entry.size = file.stat().st_size
                        packed.addfile(entry, io.BytesIO(file.read_bytes()))


def compile_models(commit: int, folder: str) -> None:
    """Compile the models of one folder as they are at a commit."""
    import jax
    import jax.numpy as jnp

    for place, model in enumerate(MODELS[folder]):
        if commit >= SHIFT:
            jax.jit(lambda x, count=place + commit: jnp.arange(count) + x).lower(1.0).compile()
        loss, state, batch = model(commit)
        step = make_step(loss, commit)
        jax.jit(step, donate_argnums=0).lower(state, *batch).compile()


def make_step(loss: Callable[..., Any], commit: int) -> Callable[..., Any]:
    """Return a training step with the optimizer of a commit."""
    import jax
    import jax.numpy as jnp

    def train_step(state: Any, inputs: Any, labels: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(state, inputs, labels)
        if commit >= 3:
            norm = jnp.sqrt(sum(jnp.sum(one * one) for one in jax.tree.leaves(gradients)))
            gradients = jax.tree.map(lambda one: one / (norm + 1.0), gradients)
        if commit >= 6:
            gradients = jax.tree.map(lambda one: jnp.clip(one, -0.5, 0.5), gradients)
        rate = 0.1 / commit
        decay = 0.01 if commit >= 10 else 0.0
        state = jax.tree.map(lambda one, two: one - rate * (two + decay * one), state, gradients)
        return state, value * (1.0 + 0.01 * commit)

    return train_step


def _normalize(x: Any, commit: int) -> Any:
    import jax.numpy as jnp

    return x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5 * commit)


def _shapes(**sizes: tuple[int, ...]) -> dict[str, Any]:
    import jax
    import jax.numpy as jnp

    return {name: jax.ShapeDtypeStruct(size, jnp.float32) for name, size in sizes.items()}


def _batch(*arrays: tuple[str, tuple[int, ...]]) -> list[Any]:
    import jax

    return [jax.ShapeDtypeStruct(size, dtype) for dtype, size in arrays]


def _cross_entropy(logits: Any, labels: Any, *, is_wide: bool = False) -> Any:
    import jax
    import jax.numpy as jnp

    logs = jax.nn.log_softmax(logits.astype(jnp.float32))
    if is_wide:
        wanted = jax.lax.optimization_barrier(jax.nn.one_hot(labels, logits.shape[-1]))
        return -jnp.mean(jnp.sum(logs * wanted, -1))
    return -jnp.mean(jnp.take_along_axis(logs, labels[..., None], -1))


def conv_net(commit: int) -> Any:
    """Two convolutions and a head."""
    import jax
    import jax.numpy as jnp

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
    """Two layers; its batch is another from one commit on."""
    import jax

    def loss(state: Any, images: Any, labels: Any) -> Any:
        x = _normalize(jax.nn.gelu(images @ state["first"]), commit)
        return _cross_entropy(x @ state["second"], labels)

    count = 64 if commit >= BATCH else 32
    state = _shapes(first=(784, 256), second=(256, 10))
    return loss, state, _batch(("float32", (count, 784)), ("int32", (count,)))


def attention(commit: int) -> Any:
    """One layer of attention over tokens; its loss grows from one commit on."""
    import jax
    import jax.numpy as jnp

    def loss(state: Any, tokens: Any, labels: Any) -> Any:
        x = state["embed"][tokens]
        q, k, v = (x @ state[name] for name in "qkv")
        weights = jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k) / 8)
        x = _normalize(x + jnp.einsum("bqk,bkd->bqd", weights, v), commit)
        return _cross_entropy(x @ state["embed"].T, labels, is_wide=commit >= REGRESSION)

    state = _shapes(embed=(4096, 64), q=(64, 64), k=(64, 64), v=(64, 64))
    return loss, state, _batch(("int32", (4, 128)), ("int32", (4, 128)))


def recurrent(commit: int) -> Any:
    """A recurrent layer in a loop."""
    import jax
    import jax.numpy as jnp

    def loss(state: Any, tokens: Any, labels: Any) -> Any:
        def advance(h: Any, x: Any) -> Any:
            h = jnp.tanh(h @ state["hidden"] + state["embed"][x])
            return h, _normalize(h, commit) @ state["head"]

        _, logits = jax.lax.scan(advance, jnp.zeros((16, 96)), tokens.T)
        return _cross_entropy(logits, labels.T)

    state = _shapes(embed=(256, 96), hidden=(96, 96), head=(96, 256))
    return loss, state, _batch(("int32", (16, 32)), ("int32", (16, 32)))


def table(commit: int) -> Any:
    """A regression on columns."""
    import jax
    import jax.numpy as jnp

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
    if len(sys.argv) == 2:  # noqa: PLR2004
        main(sys.argv[1])
    else:
        compile_models(int(sys.argv[1]), sys.argv[2])
