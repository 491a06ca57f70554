"""Two matrices on a 4 × 2 mesh, trained for a step; and the same with one thing sharded otherwise.

Variant `mesh` has a mesh of 2 × 4, `spec` the matrices cut along the other dimension, `constraint`
asks for less of what is between them.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

ROWS, WIDTH, HIDDEN = 64, 128, 512
Parameters = dict[str, jax.Array]


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower one step of gradient descent on eight devices."""
    sizes = (2, 4) if variant == "mesh" else (4, 2)
    mesh = Mesh(np.array(devices[:8]).reshape(sizes), ("fsdp", "tp"))
    wide, narrow = ("tp", "fsdp") if variant == "spec" else ("fsdp", "tp")
    hidden = P("fsdp") if variant == "constraint" else P("fsdp", "tp")

    def loss(state: Parameters, x: jax.Array) -> jax.Array:
        with jax.named_scope("mlp"):
            y = jnp.tanh(x @ state["up"])
            y = jax.lax.with_sharding_constraint(y, NamedSharding(mesh, hidden))
            y = y @ state["down"]
        return jnp.mean(jnp.square(y))

    def train_step(state: Parameters, x: jax.Array) -> Parameters:
        gradients = jax.grad(loss)(state, x)
        updated: Parameters = jax.tree.map(lambda p, g: p - 0.1 * g, state, gradients)
        return updated

    def describe(spec: P, *shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, spec))

    state = {
        "up": describe(P(wide, narrow), WIDTH, HIDDEN),
        "down": describe(P(narrow, wide), HIDDEN, WIDTH),
    }
    x = describe(P("fsdp"), ROWS, WIDTH)
    return jax.jit(train_step, donate_argnums=0).lower(state, x)
