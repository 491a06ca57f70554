"""Values of a table at many places, looked up or multiplied out."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

KNOTS, PLACES, WIDTH = 2048, 65536, 64


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower an interpolation.

    Variants: `one_hot` multiplies by a matrix that is one where the row is the place's knot; `clip`
    and `wrap` look the rows up, and say what becomes of places beyond the table.
    """
    here = jax.sharding.SingleDeviceSharding(devices[0])

    def evaluate(table: jax.Array, places: jax.Array) -> jax.Array:
        with jax.named_scope("interpolate"):
            knots = places.astype(jnp.int32)
            if variant == "one_hot":
                return jax.nn.one_hot(knots, KNOTS) @ table
            return jnp.take(table, knots, axis=0, mode=variant)

    return jax.jit(evaluate).lower(
        jax.ShapeDtypeStruct((KNOTS, WIDTH), jnp.float32, sharding=here),
        jax.ShapeDtypeStruct((PLACES,), jnp.float32, sharding=here),
    )
