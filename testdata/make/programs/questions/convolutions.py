"""A chain of convolutions of images that are donated."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

BATCH, SIDE, CHANNELS = 32, 128, 16
LABELS = ("NHWC", "HWIO", "NHWC")


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower four convolutions; as `halved` the last one gives half the channels, else `same`."""
    here = jax.sharding.SingleDeviceSharding(devices[0])
    last = CHANNELS // 2 if variant == "halved" else CHANNELS

    def blur(images: jax.Array, filters: list[jax.Array]) -> jax.Array:
        for one in filters:
            images = jax.lax.conv_general_dilated(
                images, one, (1, 1), "SAME", dimension_numbers=LABELS
            )
        return images

    def array(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=here)

    filters = [array(3, 3, CHANNELS, out) for out in (*[CHANNELS] * 3, last)]
    return jax.jit(blur, donate_argnums=0).lower(array(BATCH, SIDE, SIDE, CHANNELS), filters)
