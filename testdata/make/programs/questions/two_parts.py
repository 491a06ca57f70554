"""A layer of two parts, attention and feed forward, either of which can be made the large one."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

WIDTH = 512
SIZES = {"long": (32768, 512), "wide": (2048, 524288)}  # tokens, hidden width
Weights = tuple[jax.Array, jax.Array, jax.Array]


def layer(x: jax.Array, weights: Weights) -> jax.Array:
    """Scores of all tokens with all tokens, then a hidden layer."""
    query, up, down = weights
    with jax.named_scope("attend"):
        x = jax.nn.softmax((x @ query) @ x.T) @ x
    with jax.named_scope("feed_forward"):
        return jax.nn.gelu(x @ up) @ down


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower the layer: variant `long` has 4 GiB of scores, `wide` 4 GiB of hidden values."""
    here = jax.sharding.SingleDeviceSharding(devices[0])
    tokens, hidden = SIZES[variant]

    def array(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=here)

    weights = (array(WIDTH, WIDTH), array(WIDTH, hidden), array(hidden, WIDTH))
    return jax.jit(layer).lower(array(tokens, WIDTH), weights)
