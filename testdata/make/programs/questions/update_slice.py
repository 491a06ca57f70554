"""A block of rows that is written into a sharded cache, at a place known when it runs."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

ROWS, WIDTH, BLOCK = 32768, 2048, 64


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower the update: the cache is sharded along `rows`, in which is written, or `columns`."""
    mesh = Mesh(np.array(devices[:8]), ("data",))
    spec = P("data", None) if variant == "rows" else P(None, "data")

    def write(cache: jax.Array, block: jax.Array, at: jax.Array) -> jax.Array:
        return jax.lax.dynamic_update_slice(cache, block, (at, jnp.int32(0)))

    def array(shape: tuple[int, ...], spec: P, kind: type = jnp.float32) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, kind, sharding=NamedSharding(mesh, spec))

    cache = array((ROWS, WIDTH), spec)
    block = array((BLOCK, WIDTH), P(None, "data") if variant == "columns" else P())
    return jax.jit(write, out_shardings=cache.sharding, donate_argnums=0).lower(
        cache, block, array((), P(), jnp.int32)
    )
