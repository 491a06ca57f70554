"""A little of each thing that printers print in different ways; small, as it is printed often."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

jax.config.update("jax_traceback_in_locations_limit", 1)  # shorter tables
TABLE = np.linspace(0, 1, 12, dtype=np.float32)  # more than ten elements are not printed


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower a loop, a branch and three collectives on four devices."""
    del variant
    mesh = Mesh(np.array(devices[:4]), ("x",))

    def step(carry: jax.Array, row: jax.Array) -> tuple[jax.Array, None]:
        carry = lax.cond(row[0] > 0, lambda c: jnp.sort(c + row), lambda c: c * 2, carry)
        return lax.psum(carry, "x"), None

    def run(x: jax.Array) -> list[jax.Array]:
        total, _ = lax.scan(step, jnp.asarray(TABLE), x)
        passed = lax.ppermute(x, "x", [(0, 1), (1, 2), (2, 3), (3, 0)])
        scattered = lax.psum_scatter(x.T, "x", tiled=True)
        return [total, total.astype(jnp.bfloat16), passed, -passed, scattered, x > 0]

    sharded = P("x", None)
    results = [P(), P(), sharded, sharded, sharded, sharded]
    mapped = jax.shard_map(run, mesh=mesh, in_specs=sharded, out_specs=results, check_vma=False)
    x = jax.ShapeDtypeStruct((32, 12), jnp.float32, sharding=NamedSharding(mesh, sharded))
    return jax.jit(mapped).lower(x)
