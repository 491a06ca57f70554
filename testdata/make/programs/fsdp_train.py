"""Five matrices, each device with a shard of every one: a training step on a 4 × 2 mesh.

As variant `auto` the partitioner finds what to send, which on TPU v5p are fusions of one all-reduce
with many slices; else `shard_map` says it: a gather of every matrix, whose derivative scatters the
sum of the gradients, and a sum along the other axis.
"""

from collections.abc import Sequence
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

BATCH = 512
WIDTHS = (512, 1024, 768, 1536, 1280, 512)  # matrix i is WIDTHS[i] × WIDTHS[i + 1]
Parameters = dict[str, jax.Array]


def loss(parameters: Parameters, x: jax.Array, *, is_mapped: bool) -> jax.Array:
    """Apply all matrices; under `shard_map`, gather each before and add up at the end."""
    for name, matrix in parameters.items():
        with jax.named_scope(name):
            whole = jax.lax.all_gather(matrix, "data", tiled=True) if is_mapped else matrix
            x = jax.nn.relu(x @ whole.astype(x.dtype))
    found = jnp.mean(jnp.square(x.astype(jnp.float32)))
    return jax.lax.psum(found, "model") if is_mapped else found


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower one step of gradient descent on eight devices."""
    mesh = Mesh(np.array(devices[:8]).reshape(4, 2), ("data", "model"))
    is_mapped = variant != "auto"

    def train_step(parameters: Parameters, x: jax.Array) -> Parameters:
        gradients = jax.grad(loss)(parameters, x, is_mapped=is_mapped)
        updated: Parameters = jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients)
        return updated

    shard, rows = P("data", None), P(("data", "model"), None)
    parameters = {
        f"layer{at}": jax.ShapeDtypeStruct(size, jnp.float32, sharding=NamedSharding(mesh, shard))
        for at, size in enumerate(pairwise(WIDTHS))
    }
    x = jax.ShapeDtypeStruct((BATCH, WIDTHS[0]), jnp.bfloat16, sharding=NamedSharding(mesh, rows))
    specs = dict.fromkeys(parameters, shard)
    step = train_step
    if is_mapped:
        step = jax.shard_map(
            step, mesh=mesh, in_specs=(specs, rows), out_specs=specs, check_vma=False
        )
    return jax.jit(step, donate_argnums=0).lower(parameters, x)
