"""Convolutions with strides, groups and dilation, and matrix products of int8, int4 and fp8."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

LABELS = ("NHWC", "HWIO", "NHWC")


def infer(
    images: jax.Array,
    filters: tuple[jax.Array, jax.Array, jax.Array],
    weights: tuple[jax.Array, jax.Array, jax.Array],
) -> tuple[jax.Array, jax.Array]:
    """Three convolutions, then three products of narrow types."""
    with jax.named_scope("strided"):
        x = lax.conv_general_dilated(images, filters[0], (2, 2), "SAME", dimension_numbers=LABELS)
        x = jax.nn.relu(x)
    with jax.named_scope("grouped"):
        x = lax.conv_general_dilated(
            x,
            filters[1],
            (1, 1),
            ((1, 2), (0, 1)),
            dimension_numbers=LABELS,
            feature_group_count=4,
        )
    with jax.named_scope("dilated"):
        x = lax.conv_general_dilated(
            x,
            filters[2],
            (1, 1),
            ((0, 0), (0, 0)),
            lhs_dilation=(2, 2),
            rhs_dilation=(3, 3),
            dimension_numbers=LABELS,
        )
    flat = jnp.mean(x, axis=(1, 2))
    with jax.named_scope("int8"):
        narrow = jnp.clip(jnp.round(flat * 16), -127, 127).astype(jnp.int8)
        whole = lax.dot(narrow, weights[0], preferred_element_type=jnp.int32)
    with jax.named_scope("int4"):
        mixed = flat @ weights[1].astype(jnp.float32) + whole.astype(jnp.float32)
    with jax.named_scope("fp8"):
        small = mixed.astype(jnp.float8_e4m3fn)
        scores = lax.dot(small, weights[2], preferred_element_type=jnp.float32)
    return scores, whole.astype(jnp.int4)


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower on one device."""
    del variant
    here = jax.sharding.SingleDeviceSharding(devices[0])

    def array(shape: tuple[int, ...], kind: type) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, kind, sharding=here)

    filters = (
        array((7, 7, 3, 64), jnp.float32),
        array((3, 3, 16, 64), jnp.float32),
        array((3, 3, 64, 64), jnp.float32),
    )
    weights = (
        array((64, 64), jnp.int8),
        array((64, 64), jnp.int4),
        array((64, 64), jnp.float8_e4m3fn),
    )
    return jax.jit(infer).lower(array((16, 32, 32, 3), jnp.float32), filters, weights)
