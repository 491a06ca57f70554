"""What a training script compiles while it runs: one step, or the same step twice."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

WIDTH, BATCH, LAST = 1024, 128, 96
Layers = tuple[jax.Array, jax.Array]


def loss(layers: Layers, x: jax.Array) -> jax.Array:
    """Mean square of what two layers give."""
    return jnp.mean((jnp.tanh(x @ layers[0]) @ layers[1]) ** 2)


def train_step(layers: Layers, x: jax.Array) -> tuple[Layers, jax.Array]:
    """One step of descent."""
    value, gradient = jax.value_and_grad(loss)(layers, x)
    updated: Layers = jax.tree.map(lambda p, g: p - 0.1 * g, layers, gradient)
    return updated, value


def evaluate(layers: Layers, x: jax.Array) -> jax.Array:
    """Measure the error."""
    return loss(layers, x)


def lower(devices: Sequence[jax.Device], variant: str) -> list[jax.stages.Lowered]:
    """Lower the programs of one epoch.

    Variants: in `short_last` the last batch of the epoch has fewer samples than the others; in
    `full_last` it was filled up.
    """
    here = jax.sharding.SingleDeviceSharding(devices[0])

    def array(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=here)

    layers = (array(WIDTH, WIDTH), array(WIDTH, WIDTH))
    step = jax.jit(train_step, donate_argnums=0)
    programs = [step.lower(layers, array(BATCH, WIDTH))]
    if variant == "short_last":
        programs.append(step.lower(layers, array(LAST, WIDTH)))
    programs.append(jax.jit(evaluate).lower(layers, array(BATCH, WIDTH)))
    return programs
