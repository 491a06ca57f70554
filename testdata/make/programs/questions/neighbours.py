"""For each point a figure over all the others: small to write down, large under `vmap`."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

POINTS = 32768


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower one figure for each point.

    Variants: `vmap` sorts the distances of all points at once, `map` of one point after the other;
    `sum` adds them up, all at once, which needs no memory if it is fused.
    """
    here = jax.sharding.SingleDeviceSharding(devices[0])

    def median_distance(point: jax.Array, points: jax.Array) -> jax.Array:
        return jnp.sort(jnp.abs(points - point))[POINTS // 2]

    def density(point: jax.Array, points: jax.Array) -> jax.Array:
        return jnp.sum(jnp.exp(-jnp.abs(points - point)))

    def find_all(points: jax.Array) -> jax.Array:
        if variant == "map":
            return jax.lax.map(lambda point: median_distance(point, points), points)
        figure = density if variant == "sum" else median_distance
        return jax.vmap(figure, in_axes=(0, None))(points, points)

    points = jax.ShapeDtypeStruct((POINTS,), jnp.float32, sharding=here)
    return jax.jit(find_all).lower(points)
