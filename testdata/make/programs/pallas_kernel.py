"""A kernel written by hand, between two operations of XLA: a custom call with a body of its own."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton


def scale(x_ref: Any, scale_ref: Any, result_ref: Any) -> None:
    """Multiply one block."""
    result_ref[...] = x_ref[...] * scale_ref[...]


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower on one device."""
    del variant
    parameters = triton.CompilerParams() if devices[0].platform == "gpu" else None
    here = jax.sharding.SingleDeviceSharding(devices[0])

    def run(x: jax.Array, factors: jax.Array) -> jax.Array:
        block = pl.BlockSpec((128, 512), lambda i: (i, 0))
        scaled = pl.pallas_call(
            scale,
            grid=(4,),
            in_specs=[block, pl.BlockSpec((1, 512), lambda _: (0, 0))],
            out_specs=block,
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
            compiler_params=parameters,
        )(x, factors)
        return jnp.tanh(scaled) @ scaled.T

    return jax.jit(run).lower(
        jax.ShapeDtypeStruct((512, 512), jnp.float32, sharding=here),
        jax.ShapeDtypeStruct((1, 512), jnp.float32, sharding=here),
    )
