"""One of each: operations whose cost XLA counts in a way of their own."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax


def arrange(x: jax.Array, indices: jax.Array) -> list[jax.Array]:
    """Move data: sort, gather, scatter, slices, concatenation, padding."""
    keys, values = lax.sort((x, -x), dimension=1, num_keys=1)
    top, _ = lax.top_k(x, 8)
    rows = x[indices]
    table = jnp.zeros_like(x).at[indices].add(rows)
    piece = lax.dynamic_slice(x, (indices[0], indices[1]), (16, 32))
    patched = lax.dynamic_update_slice(table, piece, (indices[2], jnp.int32(0)))
    padded = lax.pad(x, jnp.float32(0), ((1, 2, 1), (0, -3, 0)))
    joined = jnp.concatenate([keys, values[::2], top.T @ top], axis=None)
    return [patched, padded, joined]


def solve(x: jax.Array) -> list[jax.Array]:
    """Linear algebra: Fourier transforms, a Cholesky factor, triangular systems."""
    spectrum = jnp.fft.fft(x[:, :64] + 1j * x[:, 64:])
    back = jnp.fft.irfft(jnp.fft.rfft(x))
    matrix = x @ x.T + 64 * jnp.eye(x.shape[0])
    factor = lax.linalg.cholesky(matrix)
    solution = lax.linalg.triangular_solve(factor, x, left_side=True, lower=True)
    return [jnp.abs(spectrum), back, solution]


def reduce(x: jax.Array) -> list[jax.Array]:
    """Reductions: windows, running sums, several values at once, the gradient of pooling."""

    def pool(y: jax.Array) -> jax.Array:
        return lax.reduce_window(y, -jnp.inf, lax.max, (3, 3, 1, 1), (2, 2, 1, 1), "SAME")

    pooled = jax.grad(lambda y: jnp.sum(pool(y) ** 2))(x.reshape(8, 8, 8, 16))
    average = lax.reduce_window(x, 0.0, lax.add, (1, 5), (1, 1), "VALID")
    positions = lax.broadcasted_iota(jnp.int32, x.shape, 1)
    best, where = lax.reduce(
        (x, positions),
        (jnp.float32(-jnp.inf), jnp.int32(0)),
        lambda a, b: (lax.max(a[0], b[0]), lax.select(a[0] >= b[0], a[1], b[1])),
        (1,),
    )
    return [pooled, average, jnp.cumsum(x, axis=0), best, where]


def calculate(x: jax.Array) -> list[jax.Array]:
    """Elementwise: transcendental, integer, complex."""
    y = jnp.exp(x) + jnp.log1p(jnp.abs(x)) * jnp.sin(x) ** 3 + lax.erf(x) + jnp.arctan2(x, 2.0)
    y = lax.clamp(-1.0, y, 1.0) + lax.rsqrt(jnp.abs(x) + 1) + jax.nn.sigmoid(x) + lax.cbrt(x)
    bits = lax.bitcast_convert_type(x, jnp.int32)
    bits = lax.population_count(bits) ^ (lax.clz(bits) << 2) | lax.shift_right_arithmetic(bits, 3)
    return [y, bits, lax.reduce_precision(x, 8, 7), jnp.where(jnp.isfinite(y), y, 0.0)]


def draw(key: jax.Array) -> list[jax.Array]:
    """Random numbers; other machines than TPUs spell them out in hundreds of operations."""
    _, noise = lax.rng_bit_generator(key, (64, 128), dtype=jnp.uint32)
    return [noise, lax.rng_uniform(jnp.float32(0), jnp.float32(1), (64, 128))]


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower on one device."""
    del variant
    here = jax.sharding.SingleDeviceSharding(devices[0])

    def everything(x: jax.Array, indices: jax.Array, key: jax.Array) -> list[jax.Array]:
        drawn = draw(key) if devices[0].platform == "tpu" else []
        return [*arrange(x, indices), *solve(x), *reduce(x), *calculate(x), *drawn]

    return jax.jit(everything).lower(
        jax.ShapeDtypeStruct((64, 128), jnp.float32, sharding=here),
        jax.ShapeDtypeStruct((24,), jnp.int32, sharding=here),
        jax.ShapeDtypeStruct((4,), jnp.uint32, sharding=here),
    )
