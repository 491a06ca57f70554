"""A training step, alone and five in one program."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

WIDTH, ROWS, STEPS = 1024, 4096, 5


def train_step(weights: jax.Array, batch: jax.Array) -> jax.Array:
    """One step of gradient descent."""

    def loss(weights: jax.Array) -> jax.Array:
        return jnp.mean(jnp.square(jnp.tanh(batch @ weights)))

    return weights - 0.1 * jax.grad(loss)(weights)


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower one step of `one`, or five of five batches, `unrolled` or in a `loop`."""
    here = jax.sharding.SingleDeviceSharding(devices[0])

    def train(weights: jax.Array, batches: jax.Array) -> jax.Array:
        if variant == "loop":
            return jax.lax.scan(lambda w, b: (train_step(w, b), None), weights, batches)[0]
        for batch in batches:
            weights = train_step(weights, batch)
        return weights

    def array(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=here)

    steps = 1 if variant == "one" else STEPS
    return jax.jit(train, donate_argnums=0).lower(array(WIDTH, WIDTH), array(steps, ROWS, WIDTH))
