"""Arguments in layouts that a TPU pads, its tiles being 8 × 128 elements of 32 bits."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax.experimental.layout import Format, Layout

SHAPES = {"column": (1048576, 1), "transposed": (32, 512, 4096)}
ORDERS = {"column": (0, 1), "transposed": (2, 1, 0)}  # major to minor


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower a sum of sines.

    Variants: of a `column` in rows of one element; of an array `transposed` in memory, whose rows
    have 32; `plain_column` and `plain_transposed` are the same in the layouts XLA chooses.
    """
    here = jax.sharding.SingleDeviceSharding(devices[0])
    kind = variant.removeprefix("plain_")
    place = here if variant.startswith("plain_") else Format(Layout(ORDERS[kind]), here)

    def add_up(values: jax.Array) -> jax.Array:
        return jnp.sum(jnp.sin(values))

    values = jax.ShapeDtypeStruct(SHAPES[kind], jnp.float32, sharding=place)
    return jax.jit(add_up).lower(values)
