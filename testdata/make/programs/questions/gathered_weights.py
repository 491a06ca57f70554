"""Layers in a loop, whose weights are sharded over eight devices and gathered where used."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

WIDTH, ROWS, LAYERS = 4096, 64, 4
AXIS = "fsdp"


def apply_layer(x: jax.Array, shard: jax.Array) -> tuple[jax.Array, None]:
    """Gather a weight and multiply."""
    return jnp.tanh(x @ jax.lax.all_gather(shard, AXIS, tiled=True)), None


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower the gradient for the input, the weights being frozen.

    Variants: with `keep` the gathered weights are kept for the backward pass; with `again`
    everything of a layer is computed again there, the gather too.
    """
    mesh = Mesh(np.array(devices[:8]), (AXIS,))
    layer = jax.checkpoint(apply_layer) if variant == "again" else apply_layer

    def loss(x: jax.Array, shards: jax.Array) -> jax.Array:
        return jnp.sum(jax.lax.scan(layer, x, shards)[0])

    def array(shape: tuple[int, ...], spec: P) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, spec))

    rows, layers = P(AXIS, None), P(None, AXIS, None)
    step = jax.shard_map(
        jax.grad(loss), mesh=mesh, in_specs=(rows, layers), out_specs=rows, check_vma=False
    )
    return jax.jit(step).lower(
        array((ROWS * 8, WIDTH), rows), array((LAYERS, WIDTH, WIDTH), layers)
    )
