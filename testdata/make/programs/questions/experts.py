"""Tokens sorted by expert, each multiplied by the matrix of its own."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

EXPERTS, TOKENS, WIDTH = 16, 8192, 1024


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower the product of groups of rows.

    Variants: `masked` is how `ragged_dot` is written out without an instruction of its own: one
    masked copy of all tokens for each expert; `looped` takes one expert after another.
    """
    here = jax.sharding.SingleDeviceSharding(devices[0])

    def mix(tokens: jax.Array, experts: jax.Array, sizes: jax.Array) -> jax.Array:
        with jax.named_scope("experts"):
            if variant == "masked":
                return jax.lax.ragged_dot(tokens, experts, sizes)
            ends = jnp.cumsum(sizes)
            rows = jnp.arange(TOKENS)

            def add(at: jax.Array, total: jax.Array) -> jax.Array:
                mine = (rows < ends[at]) & (rows >= ends[at] - sizes[at])
                return total + jnp.where(mine[:, None], tokens, 0) @ experts[at]

            return jax.lax.fori_loop(0, EXPERTS, add, jnp.zeros((TOKENS, WIDTH)))

    def array(kind: type, *shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, kind, sharding=here)

    return jax.jit(mix).lower(
        array(jnp.float32, TOKENS, WIDTH),
        array(jnp.float32, EXPERTS, WIDTH, WIDTH),
        array(jnp.int32, EXPERTS),
    )
