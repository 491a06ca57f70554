"""Layers of Fourier transforms, which read along the last dimension only."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

SIDE, LAYERS = 8192, 4


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower four layers: each transposes as `both_axes`, none as `one_axis`."""
    here = jax.sharding.SingleDeviceSharding(devices[0])

    def mix(x: jax.Array) -> jax.Array:
        for at in range(LAYERS):
            with jax.named_scope(f"layer{at}"):
                x = jnp.fft.fft(x)
                x = x.T if variant == "both_axes" else x
        return x

    field = jax.ShapeDtypeStruct((SIDE, SIDE), jnp.complex64, sharding=here)
    return jax.jit(mix).lower(field)
