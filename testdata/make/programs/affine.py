"""One matrix product and what is fused after it: the smallest dump that shows every file."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp


def affine(x: jax.Array, weights: jax.Array) -> jax.Array:
    """Multiply, add, squash."""
    return jnp.tanh(x @ weights + 1.0)


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower on one device."""
    del variant
    here = jax.sharding.SingleDeviceSharding(devices[0])
    return jax.jit(affine).lower(
        jax.ShapeDtypeStruct((32, 64), jnp.float32, sharding=here),
        jax.ShapeDtypeStruct((64, 16), jnp.float32, sharding=here),
    )
