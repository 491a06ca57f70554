"""Every kind of collective by hand: a pipeline over one mesh axis, exchanges over the other.

The stages pass their activations on with `ppermute`, in a loop; within a stage the values are
exchanged, scattered, gathered and reduced. The last groups are written out, not a whole axis.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

WIDTH, ROWS, STEPS = 512, 1024, 7


def stage(weights: jax.Array, x: jax.Array) -> jax.Array:
    """Run on every device: a pipeline of matrix products, then the exchanges."""
    around = [(i, (i + 1) % 4) for i in range(4)]
    onward = [(i, i + 1) for i in range(3)]

    def step(carry: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        passed = lax.ppermute(jnp.tanh(carry @ weights), "stage", around)
        return passed, jnp.sum(passed)

    x, sums = lax.scan(step, x, None, length=STEPS)
    with jax.named_scope("exchange"):
        x = lax.all_to_all(x, "shard", split_axis=0, concat_axis=1, tiled=True)
        x = lax.psum_scatter(x, "shard", scatter_dimension=0, tiled=True)
        x = lax.ppermute(x, "stage", onward)
        x = lax.all_gather(x, "shard", axis=0, tiled=True)
    with jax.named_scope("reduce"):
        total = lax.psum(jnp.sum(sums), ("stage", "shard"))
        largest = lax.pmax(jnp.max(x), "stage")
        pairs = lax.psum(x, "stage", axis_index_groups=[[0, 2], [1, 3]])
    return pairs * (total + largest)


def gather(weights: jax.Array, x: jax.Array) -> jax.Array:
    """Run on every device: one product, scattered and gathered again."""
    x = lax.psum_scatter(x @ weights, "shard", scatter_dimension=0, tiled=True)
    return lax.all_gather(jnp.tanh(x), "shard", axis=0, tiled=True)


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower the pipeline on a 4 × 2 mesh; variant `gather` has only two of its exchanges."""
    mesh = Mesh(np.array(devices[:8]).reshape(4, 2), ("stage", "shard"))
    weights = P("stage", None)
    rows = P(("stage", "shard"), None)
    run = jax.shard_map(
        gather if variant == "gather" else stage,
        mesh=mesh,
        in_specs=(weights, rows),
        out_specs=P("stage", None),
        check_vma=False,
    )
    return jax.jit(run).lower(
        jax.ShapeDtypeStruct(
            (WIDTH * 4, WIDTH), jnp.float32, sharding=NamedSharding(mesh, weights)
        ),
        jax.ShapeDtypeStruct((ROWS, WIDTH), jnp.float32, sharding=NamedSharding(mesh, rows)),
    )
