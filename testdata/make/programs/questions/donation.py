"""A state that is donated, and updates of it that can or cannot be written over it."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

SIDE = 4096


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower a decay of two arrays.

    Variants: `as_float32` gives back the velocity, which came as bfloat16, as float32, so that its
    memory is too small for the result; in `same_dtype` both come and go as bfloat16.
    """
    here = jax.sharding.SingleDeviceSharding(devices[0])
    kind = jnp.float32 if variant == "as_float32" else jnp.bfloat16

    def decay(position: jax.Array, velocity: jax.Array) -> tuple[jax.Array, jax.Array]:
        return position + 1, (velocity * 0.5).astype(kind)

    matrix = jax.ShapeDtypeStruct((SIDE, SIDE), jnp.bfloat16, sharding=here)
    return jax.jit(decay, donate_argnums=(0, 1)).lower(matrix, matrix)
