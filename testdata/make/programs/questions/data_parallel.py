"""A training step on eight devices, each with its own part of the batch and all the weights."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

WIDTH, ROWS, LAYERS = 4096, 16384, 4


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower the step; what becomes of the sums of the gradients is a matter of flags."""
    del variant
    mesh = Mesh(np.array(devices[:8]), ("data",))

    def loss(weights: list[jax.Array], x: jax.Array) -> jax.Array:
        for weight in weights:
            x = jnp.tanh(x @ weight)
        return jnp.sum(jnp.square(x.astype(jnp.float32)))

    def train_step(weights: list[jax.Array], x: jax.Array) -> list[jax.Array]:
        gradients = jax.grad(loss)(weights, x)
        return [weight - gradient for weight, gradient in zip(weights, gradients, strict=True)]

    def array(rows: int, spec: P) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((rows, WIDTH), jnp.bfloat16, sharding=NamedSharding(mesh, spec))

    weights = [array(WIDTH, P())] * LAYERS
    return jax.jit(train_step, donate_argnums=0).lower(weights, array(ROWS, P("data")))
