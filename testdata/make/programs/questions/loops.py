"""Work on rows that eight devices share: in a loop, or in parts that need no other device."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

ROWS, COLUMNS, TOLERANCE = 8192, 2048, 1e-3
Carry = tuple[jax.Array, jax.Array]


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower work on an array whose rows are shared.

    Variants: `until_all` iterates till the error of every row is small, which all devices have to
    agree on in each trip; `ten_times` iterates so often. `partitioned` leaves a Fourier transform
    of each row to the partitioner, `mapped` to the device that has the row; `scaled` and
    `scaled_mapped` are the same of a function that needs no other device either way.
    """
    mesh = Mesh(np.array(devices[:8]), ("data",))

    def is_far(carry: Carry) -> jax.Array:
        with jax.named_scope("converged"):
            return jnp.max(jnp.abs(carry[1])) > TOLERANCE

    def step(carry: Carry) -> Carry:
        x = carry[0]
        better = 0.5 * (x + jnp.tanh(x))
        return better, better - x

    def solve(x: jax.Array) -> jax.Array:
        if variant == "until_all":
            return jax.lax.while_loop(is_far, step, (x, x))[0]
        return jax.lax.fori_loop(0, 10, lambda _, carry: step(carry), (x, x))[0]

    def transform(x: jax.Array) -> jax.Array:
        with jax.named_scope("spectrum"):
            return jnp.abs(jnp.fft.fft(x, axis=1))

    def scale(x: jax.Array) -> jax.Array:
        with jax.named_scope("spectrum"):
            return jnp.abs(x / jnp.sum(x, axis=1, keepdims=True))

    work = {"until_all": solve, "ten_times": solve, "scaled": scale, "scaled_mapped": scale}
    function = work.get(variant, transform)
    if variant.endswith("mapped"):
        function = jax.shard_map(
            function, mesh=mesh, in_specs=P("data"), out_specs=P("data"), check_vma=False
        )
    rows = NamedSharding(mesh, P("data"))
    x = jax.ShapeDtypeStruct((ROWS, COLUMNS), jnp.float32, sharding=rows)
    return jax.jit(function, out_shardings=rows).lower(x)
