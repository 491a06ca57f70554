"""Matrix products whose work is easy to count."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower one product of so many rows, or products in a loop of so many trips.

    Variants: `rows-4096` is one product of 4096 × 2048 × 1024; `trips-12` a loop of 12 trips with a
    product of 512 × 512 × 512 in each.
    """
    here = jax.sharding.SingleDeviceSharding(devices[0])
    count = int(variant.partition("-")[2])

    def multiply(x: jax.Array, weights: jax.Array) -> jax.Array:
        return x @ weights

    def repeat(x: jax.Array, weights: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, count, lambda _, x: jnp.tanh(x @ weights), x)

    def array(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=here)

    if variant.startswith("rows"):
        return jax.jit(multiply).lower(array(count, 2048), array(2048, 1024))
    return jax.jit(repeat).lower(array(512, 512), array(512, 512))
