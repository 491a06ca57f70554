"""A ragged all-to-all and a broadcast from one device, over four devices."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower the exchange: 256 rows a device, sent in runs to where they belong."""
    del variant
    mesh = Mesh(np.array(devices[:4]), ("expert",))
    sharding = NamedSharding(mesh, P("expert"))

    def route(rows: jax.Array, offsets: jax.Array, sizes: jax.Array) -> jax.Array:
        room = jnp.zeros((512, rows.shape[1]), rows.dtype)
        received = lax.ragged_all_to_all(
            rows, room, offsets, sizes, offsets, sizes, axis_name="expert"
        )
        if devices[0].platform == "tpu":  # JAX has no broadcast there
            return received
        return received * lax.pbroadcast(received[:1], ("expert",), 0)

    run = jax.shard_map(
        route, mesh=mesh, in_specs=(P("expert"),) * 3, out_specs=P("expert"), check_vma=False
    )
    small = jax.ShapeDtypeStruct((16,), jnp.int32, sharding=sharding)
    rows = jax.ShapeDtypeStruct((1024, 256), jnp.bfloat16, sharding=sharding)
    return jax.jit(run).lower(rows, small, small)
