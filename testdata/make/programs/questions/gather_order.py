"""A gather that could start early, and one that must wait for what it gathers."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

WIDTH, ROWS = 4096, 2048
AXIS = "fsdp"


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower two products.

    The second weight is gathered as it is, as `free`, or, as `dependent`, after it was divided by
    the largest result of the first product.
    """
    mesh = Mesh(np.array(devices[:8]), (AXIS,))

    def forward(x: jax.Array, first: jax.Array, second: jax.Array) -> jax.Array:
        with jax.named_scope("up"):
            x = jnp.tanh(x @ first)
        if variant == "dependent":
            with jax.named_scope("calibrate"):
                second = second / jnp.max(jnp.abs(x))
        with jax.named_scope("down"):
            return x @ jax.lax.all_gather(second, AXIS, tiled=True)

    def array(rows: int, spec: P) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((rows, WIDTH), jnp.float32, sharding=NamedSharding(mesh, spec))

    specs = (P(AXIS), P(), P(AXIS))
    mapped = jax.shard_map(forward, mesh=mesh, in_specs=specs, out_specs=P(AXIS), check_vma=False)
    rows = (ROWS * 8, WIDTH, WIDTH)
    return jax.jit(mapped).lower(*(array(*one) for one in zip(rows, specs, strict=True)))
