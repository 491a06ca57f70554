"""Values that are given back twice: as they are, and with another shape."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

ROWS, COLUMNS = 4096, 8192


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower two results; as `same` both have the same values, as `other` they have not."""
    here = jax.sharding.SingleDeviceSharding(devices[0])

    def embed(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        with jax.named_scope("features"):
            found = jnp.tanh(x)
        return found, (2.0 * found if variant == "other" else found).reshape(-1)

    return jax.jit(embed).lower(jax.ShapeDtypeStruct((ROWS, COLUMNS), jnp.float32, sharding=here))
