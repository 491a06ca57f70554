"""A training step on eight devices, each with all parameters and a part of the batch."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

WIDTH, BATCH = 1024, 4096
NAMES = ("query", "key", "value", "attend", "gate", "up", "down", "head")
Parameters = dict[str, jax.Array]


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower a step of descent.

    Variants: `float32` computes as the parameters are stored, `bfloat16` casts them first; in
    `frozen` the parameter `gate` has no gradient.
    """
    mesh = Mesh(np.array(devices[:8]), ("data",))
    kind = jnp.bfloat16 if variant == "bfloat16" else jnp.float32

    def loss(parameters: Parameters, x: jax.Array) -> jax.Array:
        for name in NAMES:
            weights = parameters[name].astype(kind)
            if variant == "frozen" and name == "gate":
                weights = jax.lax.stop_gradient(weights)
            with jax.named_scope(name):
                x = jnp.tanh(x @ weights)
        return jnp.mean(x.astype(jnp.float32) ** 2)

    def train_step(parameters: Parameters, x: jax.Array) -> Parameters:
        gradients = jax.grad(loss)(parameters, x)
        updated: Parameters = jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients)
        return updated

    everywhere = NamedSharding(mesh, P())
    matrix = jax.ShapeDtypeStruct((WIDTH, WIDTH), jnp.float32, sharding=everywhere)
    x = jax.ShapeDtypeStruct((BATCH, WIDTH), kind, sharding=NamedSharding(mesh, P("data")))
    step = jax.jit(train_step, donate_argnums=0, out_shardings=everywhere)
    return step.lower(dict.fromkeys(NAMES, matrix), x)
