"""Sums into places that repeat: parallel threads add in whatever order they come."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

BINS, SAMPLES, WIDTH = 1024, 65536, 256


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower sums by index.

    Variants: `weighted` counts samples into a histogram by weights that are floats, whose sum
    depends on the order; `counted` by integers, whose sum does not. `embedding` is the gradient of
    a lookup in a table, `distinct` the same with a promise that no index repeats.
    """
    here = jax.sharding.SingleDeviceSharding(devices[0])
    kind = jnp.int32 if variant == "counted" else jnp.float32

    def weigh(bins: jax.Array, weights: jax.Array) -> jax.Array:
        with jax.named_scope("histogram"):
            return jnp.zeros(BINS, kind).at[bins].add(weights)

    def train_step(table: jax.Array, ids: jax.Array, targets: jax.Array) -> jax.Array:
        def loss(table: jax.Array) -> jax.Array:
            with jax.named_scope("embedding"):
                found = table.at[ids].get(unique_indices=variant == "distinct")
            return jnp.sum((found - targets) ** 2)

        return table - 0.1 * jax.grad(loss)(table)

    def array(kind: type, *shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, kind, sharding=here)

    if variant in {"weighted", "counted"}:
        return jax.jit(weigh).lower(array(jnp.int32, SAMPLES), array(kind, SAMPLES))
    return jax.jit(train_step, donate_argnums=0).lower(
        array(jnp.float32, SAMPLES, WIDTH),
        array(jnp.int32, BINS),
        array(jnp.float32, BINS, WIDTH),
    )
