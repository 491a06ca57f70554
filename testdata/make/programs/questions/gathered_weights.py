"""Four layers whose weights are sharded over eight devices and gathered where they are used."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

WIDTH, ROWS, LAYERS = 4096, 256, 4
AXIS = "fsdp"


def apply_layer(shard: jax.Array, x: jax.Array) -> jax.Array:
    """Gather a weight and multiply."""
    return jnp.tanh(x @ jax.lax.all_gather(shard, AXIS, tiled=True))


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower the gradient.

    Variants: with `keep` the gathered weights are kept for the backward pass; with `again`
    everything of a layer is computed again there, the gather too.
    """
    mesh = Mesh(np.array(devices[:8]), (AXIS,))
    layer = jax.checkpoint(apply_layer) if variant == "again" else apply_layer

    def loss(shards: list[jax.Array], x: jax.Array) -> jax.Array:
        for at, shard in enumerate(shards):
            with jax.named_scope(f"layer{at}"):
                x = layer(shard, x)
        return jnp.sum(x)

    def array(rows: int) -> jax.ShapeDtypeStruct:
        sharding = NamedSharding(mesh, P(AXIS, None))
        return jax.ShapeDtypeStruct((rows, WIDTH), jnp.float32, sharding=sharding)

    rows = P(AXIS, None)
    step = jax.shard_map(
        jax.grad(loss), mesh=mesh, in_specs=(rows, rows), out_specs=rows, check_vma=False
    )
    return jax.jit(step).lower([array(WIDTH)] * LAYERS, array(ROWS * 8))
