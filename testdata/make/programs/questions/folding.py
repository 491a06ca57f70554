"""Tables that are made of constants, which XLA computes when it compiles."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

SIDE, MATRIX, ENTRIES = 340, 2048, 4096


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower a function of one number, or of a vector.

    Variants: `mask` and `border` take more than a second to be folded, in the scopes `mask_table`
    and `border_table`; `given` has the first of them as an argument. `dense` makes a dense matrix
    of the indices of a sparse one, which are constants, while `sparse` multiplies with their rows
    and columns.
    """
    here = jax.sharding.SingleDeviceSharding(devices[0])
    indices = np.random.default_rng(0).integers(0, MATRIX, (ENTRIES, 2)).astype(np.int32)

    def add_table(x: jax.Array) -> jax.Array:
        with jax.named_scope(f"{variant}_table"):
            return x + jnp.ones((SIDE, SIDE, SIDE)).at[3, 5].set(2.0).sum()

    def multiply(vector: jax.Array) -> jax.Array:
        rows, columns = indices[:, 0], indices[:, 1]
        if variant == "sparse":
            return jnp.zeros(MATRIX).at[rows].add(vector[columns])
        with jax.named_scope("todense"):
            matrix = jnp.zeros((MATRIX, MATRIX)).at[rows, columns].add(1.0)
        return matrix @ vector

    def add_given(x: jax.Array, table: jax.Array) -> jax.Array:
        with jax.named_scope("mask_table"):
            return x + table.at[3, 5].set(2.0).sum()

    if variant == "given":
        shapes = ((), (SIDE, SIDE, SIDE))
        arguments = (jax.ShapeDtypeStruct(one, jnp.float32, sharding=here) for one in shapes)
        return jax.jit(add_given).lower(*arguments)
    is_table = variant in {"mask", "border"}
    argument = jax.ShapeDtypeStruct(() if is_table else (MATRIX,), jnp.float32, sharding=here)
    return jax.jit(add_table if is_table else multiply).lower(argument)
