"""Weights of which each of eight devices has a shard, gathered before they are used."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

WIDTH, VOCABULARY, BATCH, STEPS = 2048, 8192, 1024, 8


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower something with one matrix, `head`.

    Variants: `each` gathers in every micro-batch of a loop, `ahead` before the loop. `again` is a
    gradient that gathers for the way back too, as a checkpoint keeps nothing; `once` keeps what was
    gathered.
    """
    mesh = Mesh(np.array(devices[:8]), ("data",))

    def accumulate(head: jax.Array, batches: jax.Array) -> jax.Array:
        def add(total: jax.Array, x: jax.Array) -> tuple[jax.Array, None]:
            with jax.named_scope("micro_batch"):
                whole = jax.lax.all_gather(head, "data", tiled=True) if variant == "each" else ready
                return total + jnp.sum(jnp.tanh(x @ whole)), None

        ready = jax.lax.all_gather(head, "data", tiled=True)
        total: jax.Array = jax.lax.scan(add, jnp.zeros(()), batches)[0]
        return jax.lax.psum(total, "data")

    def train_step(head: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        def apply(head: jax.Array, x: jax.Array) -> jax.Array:
            with jax.named_scope("head"):
                return jnp.tanh(x @ jax.lax.all_gather(head, "data", tiled=True))

        def loss(head: jax.Array) -> jax.Array:
            one = jax.checkpoint(apply) if variant == "again" else apply
            return jnp.sum(one(head, x) ** 2)

        value, gradient = jax.value_and_grad(loss)(head)
        return head - 0.1 * gradient, jax.lax.psum(value, "data")

    def array(*shape: int, specs: P) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, specs))

    rows = P("data")
    head = array(WIDTH, VOCABULARY, specs=rows)
    if variant in {"each", "ahead"}:
        slices = P(None, "data")
        mapped = jax.shard_map(
            accumulate, mesh=mesh, in_specs=(rows, slices), out_specs=P(), check_vma=False
        )
        batches = array(STEPS, BATCH, WIDTH, specs=slices)
        return jax.jit(mapped).lower(head, batches)
    mapped = jax.shard_map(
        train_step,
        mesh=mesh,
        in_specs=rows,
        out_specs=(rows, P()),
        check_vma=False,
    )
    return jax.jit(mapped, donate_argnums=0).lower(head, array(BATCH, WIDTH, specs=rows))
