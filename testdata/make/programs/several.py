"""Three programs compiled in one process, as a training script does: their dumps share a folder."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

WIDTH = 256


def init(scale: jax.Array) -> jax.Array:
    """Fill the weights."""
    return jnp.full((WIDTH, WIDTH), 1.0 / WIDTH) * scale


def evaluate(weights: jax.Array, x: jax.Array) -> jax.Array:
    """Measure the error."""
    return jnp.mean((x @ weights) ** 2)


def train_step(weights: jax.Array, x: jax.Array) -> jax.Array:
    """One step of gradient descent."""
    return weights - 0.1 * jax.grad(evaluate)(weights, x)


def lower(devices: Sequence[jax.Device], variant: str) -> list[jax.stages.Lowered]:
    """Lower all three on one device."""
    del variant
    here = jax.sharding.SingleDeviceSharding(devices[0])
    scalar = jax.ShapeDtypeStruct((), jnp.float32, sharding=here)
    weights = jax.ShapeDtypeStruct((WIDTH, WIDTH), jnp.float32, sharding=here)
    x = jax.ShapeDtypeStruct((64, WIDTH), jnp.float32, sharding=here)
    return [
        jax.jit(init).lower(scalar),
        jax.jit(train_step, donate_argnums=0).lower(weights, x),
        jax.jit(evaluate).lower(weights, x),
    ]
