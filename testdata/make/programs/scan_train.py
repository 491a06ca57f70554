"""Residual perceptron layers in a scan: one training step on a 4 × 2 mesh, state donated.

The small sibling of `transformer_train`: the parameters are sharded over both axes and gathered
inside the loop, whose body is rematerialized.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

LAYERS, WIDTH, HIDDEN, BATCH = 6, 2048, 8192, 2048
Parameters = dict[str, jax.Array]


def block(x: jax.Array, layer: Parameters) -> jax.Array:
    """Add what two matrices make of the input."""
    hidden = jax.nn.gelu(x @ layer["up"].astype(x.dtype))
    return x + hidden @ layer["down"].astype(x.dtype)


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower one step of gradient descent on eight devices."""
    del variant
    mesh = Mesh(np.array(devices[:8]).reshape(4, 2), ("data", "model"))
    layer = jax.checkpoint(block)

    def loss(parameters: Parameters, x: jax.Array, target: jax.Array) -> jax.Array:
        x, _ = jax.lax.scan(lambda x, p: (layer(x, p), None), x, parameters)
        return jnp.mean(jnp.square(x - target).astype(jnp.float32))

    def train_step(
        parameters: Parameters, x: jax.Array, target: jax.Array
    ) -> tuple[Parameters, jax.Array]:
        value, gradient = jax.value_and_grad(loss)(parameters, x, target)
        return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradient), value

    def array(shape: tuple[int, ...], kind: type, *axes: str | None) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, kind, sharding=NamedSharding(mesh, P(*axes)))

    parameters = {
        "up": array((LAYERS, WIDTH, HIDDEN), jnp.float32, None, "data", "model"),
        "down": array((LAYERS, HIDDEN, WIDTH), jnp.float32, None, "model", "data"),
    }
    x = array((BATCH, WIDTH), jnp.bfloat16, "data", None)
    return jax.jit(train_step, donate_argnums=0).lower(parameters, x, x)
