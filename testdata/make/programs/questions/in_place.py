"""A donated cache into which a row is written, and a sum of it."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

ROWS, WIDTH = 8192, 4096


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower one step.

    Variants: `read_after` sums up the products of the old and the new rows, so that the old cache
    is wanted after the write; `read_new` takes the new one for both. `kept` is not donated at all.
    """
    here = jax.sharding.SingleDeviceSharding(devices[0])

    def step(cache: jax.Array, row: jax.Array, at: jax.Array) -> tuple[jax.Array, jax.Array]:
        new = jax.lax.dynamic_update_slice(cache, row, (at, jnp.int32(0)))
        old = cache if variant == "read_after" else new
        return new, jnp.sum(new @ old.T[:, :8])

    def array(shape: tuple[int, ...], kind: type = jnp.float32) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, kind, sharding=here)

    donated = () if variant == "kept" else (0,)
    return jax.jit(step, donate_argnums=donated).lower(
        array((ROWS, WIDTH)), array((1, WIDTH)), array((), jnp.int32)
    )
