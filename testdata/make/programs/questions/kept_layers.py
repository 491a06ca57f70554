"""The gradient of a loop over layers, and what it keeps or computes again for the way back."""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp

LAYERS, WIDTH, BATCH, LENGTH = 24, 2048, 8, 2048


def block(x: jax.Array, matrix: jax.Array) -> jax.Array:
    """One layer with a residual connection."""
    with jax.named_scope("block"):
        return x + jnp.tanh(x @ matrix)


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower a training step.

    Variants: `kept` keeps what each layer computed, `remat` computes it again; `unrolled_kept`,
    `unrolled_remat` and `unrolled_merged` are of four layers without a loop, the last with
    `prevent_cse` off, so that XLA may find both computations equal and keep the first.
    """
    here = jax.sharding.SingleDeviceSharding(devices[0])
    one = block
    if variant.endswith("remat"):
        one = jax.checkpoint(block)
    elif variant.endswith("merged"):
        one = partial(jax.checkpoint, prevent_cse=False)(block)
    layers = 4 if variant.startswith("unrolled") else LAYERS

    def loss(weights: jax.Array, x: jax.Array) -> jax.Array:
        if variant.startswith("unrolled"):
            for at in range(layers):
                x = one(x, weights[at])
        else:
            x = jax.lax.scan(lambda x, matrix: (one(x, matrix), None), x, weights)[0]
        return jnp.sum(x**2)

    def train_step(weights: jax.Array, x: jax.Array) -> jax.Array:
        return weights - 0.1 * jax.grad(loss)(weights, x)

    return jax.jit(train_step, donate_argnums=0).lower(
        jax.ShapeDtypeStruct((layers, WIDTH, WIDTH), jnp.float32, sharding=here),
        jax.ShapeDtypeStruct((BATCH, LENGTH, WIDTH), jnp.float32, sharding=here),
    )
