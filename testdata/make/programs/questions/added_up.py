"""Gradients of eight micro-batches, added up on eight devices in one order or the other."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

ROWS, COLUMNS, BATCH, STEPS = 7168, 1024, 512, 8


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower a step of descent.

    Variants: `each` leaves the sums to the partitioner, which sums over devices in every
    micro-batch; `once` adds the micro-batches up on each device and sums over devices at the end.
    """
    mesh = Mesh(np.array(devices[:8]), ("data",))
    slices = P(None, "data")

    def loss(weights: jax.Array, x: jax.Array) -> jax.Array:
        return jnp.sum(jnp.tanh(x @ weights))

    def accumulate(weights: jax.Array, batches: jax.Array) -> jax.Array:
        def add(total: jax.Array, x: jax.Array) -> tuple[jax.Array, None]:
            with jax.named_scope("micro_batch"):
                return total + jax.grad(loss)(weights, x), None

        total: jax.Array = jax.lax.scan(add, jnp.zeros_like(weights), batches)[0]
        return jax.lax.psum(total, "data") if variant == "once" else total

    gradient = accumulate
    if variant == "once":
        gradient = jax.shard_map(
            accumulate, mesh=mesh, in_specs=(P(), slices), out_specs=P(), check_vma=False
        )

    def train_step(weights: jax.Array, batches: jax.Array) -> jax.Array:
        return weights - 0.1 * gradient(weights, batches)

    everywhere = NamedSharding(mesh, P())
    return jax.jit(train_step, donate_argnums=0, out_shardings=everywhere).lower(
        jax.ShapeDtypeStruct((ROWS, COLUMNS), jnp.float32, sharding=everywhere),
        jax.ShapeDtypeStruct(
            (STEPS, BATCH, ROWS), jnp.float32, sharding=NamedSharding(mesh, slices)
        ),
    )
