"""Distances of all pairs of points, whose differences are as many as pairs."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

POINTS = 4096


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower a sum over all pairs; what is fused is a matter of the flags."""
    del variant
    here = jax.sharding.SingleDeviceSharding(devices[0])

    def energy(points: jax.Array, charges: jax.Array) -> jax.Array:
        with jax.named_scope("pairs"):
            apart = jnp.sqrt((points[:, None] - points[None, :]) ** 2 + 1e-3)
            return jnp.sum(charges[None, :] * jnp.exp(-apart), axis=1)

    line = jax.ShapeDtypeStruct((POINTS,), jnp.float32, sharding=here)
    return jax.jit(energy).lower(line, line)
