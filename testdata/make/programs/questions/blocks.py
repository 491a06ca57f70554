"""Blocks of elementwise work and products, each in a scope: what a fusion is made of."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

ROWS, WIDTH = 4096, 2048


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower two gated blocks.

    Variants: `sigmoid` and `sine` say by what the second is gated; `split` has a barrier between
    the steps of each block, so that every step goes through memory.
    """
    here = jax.sharding.SingleDeviceSharding(devices[0])

    def step(x: jax.Array) -> jax.Array:
        return lax.optimization_barrier(x) if variant == "split" else x

    def run(x: jax.Array, weights: jax.Array, bias: jax.Array) -> jax.Array:
        with jax.named_scope("encoder"):
            x = step(jnp.tanh(step(x @ weights)) * 2.0)
        with jax.named_scope("decoder"):
            scores = step(x @ weights)
            with jax.named_scope("gate"):
                act = jnp.sin if variant == "sine" else jax.nn.sigmoid
                shifted = step(scores + bias)
                scores = step(shifted * step(act(shifted)))
            return scores @ weights

    def array(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=here)

    return jax.jit(run).lower(array(ROWS, WIDTH), array(WIDTH, WIDTH), array(WIDTH))
