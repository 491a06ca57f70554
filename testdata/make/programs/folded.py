"""A train step with a constant that XLA folds: passes that take time, grow and shrink it."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

TABLE = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)


def train(weights: dict[str, jax.Array], x: jax.Array) -> dict[str, jax.Array]:
    """One step of gradient descent on two layers."""

    def loss(weights: dict[str, jax.Array]) -> jax.Array:
        hidden = jnp.tanh(x @ weights["up"])
        table = jnp.asarray(TABLE).T @ jnp.ones((64, 128)) * 2
        return jnp.square(hidden @ weights["down"] + table[:8]).mean()

    gradient = jax.grad(loss)(weights)
    return {name: each - 0.1 * gradient[name] for name, each in weights.items()}


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower on one device, the weights donated."""
    del variant
    here = jax.sharding.SingleDeviceSharding(devices[0])

    def array(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=here)

    weights = {"up": array(128, 256), "down": array(256, 128)}
    return jax.jit(train, donate_argnums=0).lower(weights, array(8, 128))
