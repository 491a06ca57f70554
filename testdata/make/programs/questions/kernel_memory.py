"""A matrix product written as a kernel, whose blocks have to fit into the chip's fast memory."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

SIDE, INNER = 4096, 1024


def multiply(x_ref: Any, weights_ref: Any, result_ref: Any, total_ref: Any) -> None:
    """Add the product of two blocks to what is there, in memory of the kernel's own."""
    before = jnp.where(pl.program_id(2) == 0, 0.0, total_ref[...])
    product = jnp.dot(x_ref[...], weights_ref[...], preferred_element_type=jnp.float32)
    total_ref[...] = before + product
    result_ref[...] = total_ref[...]


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower one kernel; the variant, as in `256x512`, says how large a block of the result is."""
    here = jax.sharding.SingleDeviceSharding(devices[0])
    rows, columns = map(int, variant.split("x"))

    def run(x: jax.Array, weights: jax.Array) -> jax.Array:
        product: jax.Array = pl.pallas_call(
            multiply,
            name="multiply_blocks",
            grid=(SIDE // rows, SIDE // columns, SIDE // INNER),
            in_specs=[
                pl.BlockSpec((rows, INNER), lambda i, _, k: (i, k)),
                pl.BlockSpec((INNER, columns), lambda _, j, k: (k, j)),
            ],
            out_specs=pl.BlockSpec((rows, columns), lambda i, j, _: (i, j)),
            out_shape=jax.ShapeDtypeStruct((SIDE, SIDE), jnp.float32),
            scratch_shapes=[pltpu.VMEM((rows, columns), jnp.float32)],
        )(x, weights)
        return product

    square = jax.ShapeDtypeStruct((SIDE, SIDE), jnp.float32, sharding=here)
    return jax.jit(run).lower(square, square)
