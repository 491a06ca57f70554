"""Rows that are added up by a scatter, with nothing said of its sharding."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

BINS, ROWS, WIDTH = 4096, 8192, 512


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower the sums: the rows come sharded along their `columns`, or not at all, as `whole`."""
    mesh = Mesh(np.array(devices[:8]), ("data",))
    spec = P(None, "data") if variant == "columns" else P()

    def add_up(places: jax.Array, updates: jax.Array) -> jax.Array:
        with jax.named_scope("bins"):
            return jnp.tanh(jnp.zeros((BINS, WIDTH)).at[places].add(updates))

    def array(shape: tuple[int, ...], kind: type, spec: P) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, kind, sharding=NamedSharding(mesh, spec))

    return jax.jit(add_up).lower(
        array((ROWS,), jnp.int32, P()), array((ROWS, WIDTH), jnp.float32, spec)
    )
