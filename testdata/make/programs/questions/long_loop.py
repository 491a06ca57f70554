"""A loop of a known number of steps, which a compiler may write out."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

STEPS, SIDE = 12, 256


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower the loop; whether it is unrolled is a matter of flags."""
    del variant
    here = jax.sharding.SingleDeviceSharding(devices[0])

    def iterate(x: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, STEPS, lambda _, x: jnp.sort(x) * 0.5, x)

    return jax.jit(iterate).lower(jax.ShapeDtypeStruct((SIDE,), jnp.float32, sharding=here))
