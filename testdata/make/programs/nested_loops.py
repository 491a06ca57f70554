"""Loops in loops, with branches inside: known and unknown trip counts, two and three branches."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax


def grow(x: jax.Array) -> jax.Array:
    """Branch: one matrix product."""
    return jnp.tanh(x @ x)


def shrink(x: jax.Array) -> jax.Array:
    """Branch: elementwise only."""
    return x * 0.5


def turn(x: jax.Array) -> jax.Array:
    """Branch: a product with the transpose."""
    return x.T @ x


def inner(index: jax.Array, x: jax.Array) -> jax.Array:
    """Five times in each outer step: one of three branches, chosen by index."""
    return lax.switch((index * 7) % 3, [grow, shrink, turn], x)


def outer(x: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
    """One outer step: the inner loop, then one of two branches, chosen by the data."""
    x = lax.fori_loop(2, 7, inner, x)
    x = lax.cond(jnp.sum(row) > 0, grow, shrink, x)
    return x, jnp.max(x)


def search(x: jax.Array, rows: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Scan the rows, then repeat until the sum is small: nobody can know how often."""
    x, largest = lax.scan(outer, x, rows)

    def is_large(state: tuple[jax.Array, jax.Array]) -> jax.Array:
        return jnp.sum(jnp.abs(state[1])) > 1e-3  # noqa: PLR2004 (any threshold)

    def halve(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return state[0] + 1, shrink(state[1])

    count, x = lax.while_loop(is_large, halve, (jnp.int32(0), x))
    return x, largest, count


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower on one device."""
    del variant
    here = jax.sharding.SingleDeviceSharding(devices[0])
    return jax.jit(search).lower(
        jax.ShapeDtypeStruct((256, 256), jnp.float32, sharding=here),
        jax.ShapeDtypeStruct((11, 64), jnp.float32, sharding=here),
    )
