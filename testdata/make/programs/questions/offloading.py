"""A loop over layers that is to keep what the way back needs in the host's memory."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

LAYERS, ROWS, WIDTH = 8, 16384, 2048


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower a training step.

    The variant is the name of what is to be offloaded: `residual` is the result of a layer, and as
    the next layer's argument kept whatever the policy says; `hidden` is a value inside.
    """
    here = jax.sharding.SingleDeviceSharding(devices[0])
    policy = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=[variant],
        offload_src="device",
        offload_dst="pinned_host",
    )

    def block(x: jax.Array, matrix: jax.Array) -> tuple[jax.Array, None]:
        hidden = checkpoint_name(jnp.sin(x @ matrix), "hidden")
        return checkpoint_name(x + jnp.tanh(hidden @ matrix), "residual"), None

    def loss(weights: jax.Array, x: jax.Array) -> jax.Array:
        one = jax.checkpoint(block, policy=policy, prevent_cse=False)
        return jnp.sum(jax.lax.scan(one, x, weights)[0] ** 2)

    def train_step(weights: jax.Array, x: jax.Array) -> jax.Array:
        return weights - 0.1 * jax.grad(loss)(weights, x)

    return jax.jit(train_step, donate_argnums=0).lower(
        jax.ShapeDtypeStruct((LAYERS, WIDTH, WIDTH), jnp.float32, sharding=here),
        jax.ShapeDtypeStruct((ROWS, WIDTH), jnp.float32, sharding=here),
    )
