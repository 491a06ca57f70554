"""Layers applied in a loop, their matrices stacked into one array along one axis or another."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

WIDTH, LAYERS = 2048, 16


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower a loop over the layers.

    Variants: `second_axis` has the layers on the second axis of the stack, so that no layer's
    matrix is in one piece; in `first_axis` each is.
    """
    here = jax.sharding.SingleDeviceSharding(devices[0])
    axis = 1 if variant == "second_axis" else 0

    def apply(kernel: jax.Array, x: jax.Array) -> jax.Array:
        stack = jnp.moveaxis(kernel, axis, 0)
        result: jax.Array = jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, stack)[0]
        return result

    shape = (WIDTH, LAYERS, WIDTH) if axis else (LAYERS, WIDTH, WIDTH)
    return jax.jit(apply).lower(
        jax.ShapeDtypeStruct(shape, jnp.float32, sharding=here),
        jax.ShapeDtypeStruct((256, WIDTH), jnp.float32, sharding=here),
    )
