"""Weights of which each of eight devices has a shard, scaled and cast before or after a gather."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

WIDTH, VOCABULARY, BATCH = 2048, 8192, 1024


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower a product; as `cast_before` what is gathered was cast, as `cast_after` it is cast."""
    mesh = Mesh(np.array(devices[:8]), ("data",))

    def predict(head: jax.Array, x: jax.Array) -> jax.Array:
        with jax.named_scope("head"):
            if variant == "cast_before":
                head = head.astype(jnp.bfloat16)
            whole = jax.lax.all_gather(head, "data", tiled=True)
            whole /= jnp.sum(jnp.abs(whole), axis=0)
            return x @ whole.astype(jnp.bfloat16)

    mapped = jax.shard_map(
        predict, mesh=mesh, in_specs=P("data"), out_specs=P("data"), check_vma=False
    )
    rows = NamedSharding(mesh, P("data"))
    return jax.jit(mapped).lower(
        jax.ShapeDtypeStruct((WIDTH, VOCABULARY), jnp.float32, sharding=rows),
        jax.ShapeDtypeStruct((BATCH, WIDTH), jnp.bfloat16, sharding=rows),
    )
