"""An array sharded one way that is wanted another way, on a mesh of 2 × 4 devices."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

SIDE = 8192
SPECS = {
    "rows_to_columns": (P(("data", "model"), None), P(None, "model")),
    "columns_to_rows": (P(None, ("data", "model")), P("model", None)),
    "columns_to_columns": (P(None, ("model", "data")), P(None, "model")),
}


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower a program that takes `hidden` by the first spec and constrains it to the second.

    The partitioner knows no short way from rows over all devices to columns over some of them, nor
    back; from columns over eight devices to columns over four a gather in pairs is enough. As
    `fsdp_VARIANT` the array is a weight, and is multiplied.
    """
    mesh = Mesh(np.array(devices[:8]).reshape(2, 4), ("data", "model"))
    given, wanted = SPECS[variant.removeprefix("fsdp_")]

    def activate(hidden: jax.Array) -> jax.Array:
        return jnp.sin(jax.lax.with_sharding_constraint(hidden, NamedSharding(mesh, wanted)))

    def project(x: jax.Array, w_up: jax.Array) -> jax.Array:
        return x @ jax.lax.with_sharding_constraint(w_up, NamedSharding(mesh, wanted))

    def array(rows: int, spec: P) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((rows, SIDE), jnp.float32, sharding=NamedSharding(mesh, spec))

    if variant.startswith("fsdp_"):
        return jax.jit(project).lower(array(512, P("data", None)), array(SIDE, given))
    return jax.jit(activate).lower(array(SIDE, given))
