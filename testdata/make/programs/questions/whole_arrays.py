"""Arguments of which each of eight devices holds a part, or all."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

ROWS, WIDTH, BATCH = 65536, 1024, 4096


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower a lookup, or a dropout whose generators have states.

    Variants: `table_whole` has the whole table on every device, `table_shared` an eighth;
    `states_whole` and `states_shared` the same of the states.
    """
    mesh = Mesh(np.array(devices[:8]), ("data",))
    rows, everywhere = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
    where = everywhere if variant.endswith("whole") else rows

    def predict(table: jax.Array, head: jax.Array, ids: jax.Array) -> jax.Array:
        return jnp.tanh(table[ids]) @ head

    def drop(rng_states: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        with jax.named_scope("dropout"):
            states = rng_states * jnp.uint32(1664525) + jnp.uint32(1013904223)
            return states, jnp.where(states >> 31 == 0, x, 0.0)

    def array(kind: type, *shape: int, where: NamedSharding = rows) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, kind, sharding=where)

    if variant.startswith("states"):
        step = jax.jit(drop, donate_argnums=0, out_shardings=(where, rows))
        states = array(jnp.uint32, ROWS // 2, WIDTH, where=where)
        return step.lower(states, array(jnp.float32, ROWS // 2, WIDTH))
    return jax.jit(predict).lower(
        array(jnp.float32, ROWS, WIDTH, where=where),
        array(jnp.float32, WIDTH, WIDTH),
        array(jnp.int32, BATCH),
    )
