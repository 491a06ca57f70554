"""What a GPU hands to libraries: matrix products to cuBLAS, convolutions to cuDNN."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax


def infer(images: jax.Array, filters: jax.Array, weights: jax.Array, bias: jax.Array) -> jax.Array:
    """One convolution, then a chain of products with bias and activation."""
    x = lax.conv_general_dilated(
        images, filters, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    x = jax.nn.relu(x).reshape(-1, weights.shape[0])
    x = jax.nn.relu(x @ weights + bias)
    return x @ weights.T @ weights


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower on one device."""
    del variant
    here = jax.sharding.SingleDeviceSharding(devices[0])

    def array(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.bfloat16, sharding=here)

    return jax.jit(infer).lower(
        array(32, 28, 28, 64), array(3, 3, 64, 256), array(256, 1024), array(1024)
    )
