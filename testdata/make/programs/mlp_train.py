"""A two-layer perceptron: one training step on one device, with its parameters donated."""

from collections.abc import Sequence
from itertools import pairwise

import jax
import jax.numpy as jnp

WIDTHS = (784, 512, 10)
BATCH = 128
Layers = list[tuple[jax.Array, jax.Array]]


def predict(layers: Layers, images: jax.Array) -> jax.Array:
    """Scores of the ten classes."""
    (weights, bias), (last_weights, last_bias) = layers
    hidden = jax.nn.gelu(images @ weights + bias)
    return hidden @ last_weights + last_bias


def loss(layers: Layers, images: jax.Array, labels: jax.Array, *, remat: bool) -> jax.Array:
    """Mean cross entropy."""
    scores = (jax.checkpoint(predict) if remat else predict)(layers, images)
    scores = jax.nn.log_softmax(scores.astype(jnp.float32))
    return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], axis=1))


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower the step.

    Variants: `batch2x` has twice the images, `bf16` another dtype; `remat` computes the hidden
    values again for the gradient instead of keeping them.
    """
    here = jax.sharding.SingleDeviceSharding(devices[0])
    dtype = jnp.bfloat16 if variant == "bf16" else jnp.float32
    batch = BATCH * 2 if variant == "batch2x" else BATCH

    def train_step(
        layers: Layers, images: jax.Array, labels: jax.Array
    ) -> tuple[Layers, jax.Array]:
        value, gradient = jax.value_and_grad(loss)(layers, images, labels, remat=variant == "remat")
        return jax.tree.map(lambda p, g: p - 0.01 * g, layers, gradient), value

    def array(shape: tuple[int, ...], kind: type = dtype) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, kind, sharding=here)

    layers = [(array((rows, columns)), array((columns,))) for rows, columns in pairwise(WIDTHS)]
    step = jax.jit(train_step, donate_argnums=0)
    return step.lower(layers, array((batch, WIDTHS[0])), array((batch,), jnp.int32))
