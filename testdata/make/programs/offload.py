"""State that lives in the host's memory and is fetched for one step."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

WIDTH = 2048


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower a step of descent whose momentum stays with the host."""
    del variant
    here = jax.sharding.SingleDeviceSharding(devices[0])
    host = jax.sharding.SingleDeviceSharding(devices[0], memory_kind="pinned_host")

    def train_step(
        weights: jax.Array, momentum: jax.Array, x: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        gradient = jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w) ** 2))(weights)
        fetched = jax.device_put(momentum, here)
        fetched = 0.9 * fetched + gradient
        return weights - 0.01 * fetched, jax.device_put(fetched, host)

    weights = jax.ShapeDtypeStruct((WIDTH, WIDTH), jnp.float32, sharding=here)
    momentum = jax.ShapeDtypeStruct((WIDTH, WIDTH), jnp.float32, sharding=host)
    x = jax.ShapeDtypeStruct((256, WIDTH), jnp.float32, sharding=here)
    step = jax.jit(train_step, donate_argnums=(0, 1), out_shardings=(here, host))
    return step.lower(weights, momentum, x)
