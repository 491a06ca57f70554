"""A program whose memory grows by the same amount with every sample."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

LENGTH, WIDTH = 1024, 1024


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower two products; the variant says how much wider the hidden values are, and the batch."""
    here = jax.sharding.SingleDeviceSharding(devices[0])
    times, batch = map(int, variant.split("x"))

    def predict(up: jax.Array, down: jax.Array, tokens: jax.Array) -> jax.Array:
        return jnp.tanh(tokens @ up) @ down

    def array(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=here)

    return jax.jit(predict).lower(
        array(WIDTH, times * WIDTH), array(times * WIDTH, WIDTH), array(batch, LENGTH, WIDTH)
    )
