"""What makes JAX compile again: other shapes, other types, other names, other constants."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

FEATURES = 128


def lower(
    devices: Sequence[jax.Device], variant: str
) -> jax.stages.Lowered | list[jax.stages.Lowered]:
    """Lower one program or several.

    Variants: `several` is one function for a second batch size and a second type, `two_functions`
    are two for the same arguments; `scope_1` and `scope_2` differ in the name of a scope, `rate_1`
    and `rate_2` in a number that is a constant of the program, which is written as MLIR too.
    """
    here = jax.sharding.SingleDeviceSharding(devices[0])

    def batch(rows: int, kind: type = jnp.float32) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((rows, FEATURES), kind, sharding=here)

    def step(batch: jax.Array) -> jax.Array:
        return jnp.tanh(batch @ batch.T)

    def evaluate(batch: jax.Array) -> jax.Array:
        return jnp.exp(batch @ batch.T)

    def run(batch: jax.Array) -> jax.Array:
        with jax.named_scope(f"run_{variant[-1]}"):
            return jnp.tanh(batch)

    def update(batch: jax.Array) -> jax.Array:
        return batch * (0.375 if variant == "rate_1" else 0.1875)

    if variant == "several":
        batches = (batch(32), batch(48), batch(32, jnp.bfloat16))
        return [jax.jit(step).lower(one) for one in batches]
    if variant == "two_functions":
        return [jax.jit(step).lower(batch(32)), jax.jit(evaluate).lower(batch(32))]
    if variant.startswith("rate_"):
        jax.config.update("jax_dump_ir_to", "xla_dump")  # where XLA's files go
        return jax.jit(update).lower(batch(32))
    return jax.jit(run).lower(batch(32))
