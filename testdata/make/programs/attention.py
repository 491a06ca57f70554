"""Causal attention and its gradient, which the CPU compiler hands to a library in custom fusions.

The softmax's fusions are written over an operand as large as the scores, the largest array.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

BATCH, LENGTH, WIDTH, HEADS = 4, 1024, 512, 8
Weights = tuple[jax.Array, jax.Array, jax.Array, jax.Array]


def attend(weights: Weights, inputs: jax.Array) -> jax.Array:
    """Attention with a residual connection."""
    query, key, value, out = weights

    def project(matrix: jax.Array) -> jax.Array:
        return (inputs @ matrix).reshape(BATCH, LENGTH, HEADS, -1).transpose(0, 2, 1, 3)

    scores = project(query) @ project(key).swapaxes(-1, -2) / (WIDTH // HEADS) ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9)
    mixed = jax.nn.softmax(scores, axis=-1) @ project(value)
    return inputs + mixed.transpose(0, 2, 1, 3).reshape(BATCH, LENGTH, WIDTH) @ out


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower the gradient on one device; the variant `onednn` is another library's by its flags."""
    del variant
    here = jax.sharding.SingleDeviceSharding(devices[0])

    def array(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=here)

    def gradient(weights: Weights, inputs: jax.Array) -> Weights:
        found: Weights = jax.grad(lambda held: attend(held, inputs).sum())(weights)
        return found

    return jax.jit(gradient).lower((array(WIDTH, WIDTH),) * 4, array(BATCH, LENGTH, WIDTH))
