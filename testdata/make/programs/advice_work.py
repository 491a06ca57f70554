"""Small programs that compute or move in vain, and the same as the finding says to write them.

As advice.py; none of these needs several devices, but those of loops that send.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P
from make.programs.advice import BF16, F32, I32, Case, Devices, Make, array, make_mesh


def alone(devices: Devices, *shape: int, dtype: Any = F32) -> jax.ShapeDtypeStruct:
    """Describe an argument of a program of one device."""
    return array(make_mesh(devices, one=1), P(), *shape, dtype=dtype)


def random(*shape: int) -> np.ndarray:
    """Return numbers that no compiler finds a pattern in."""
    return np.random.default_rng(0).standard_normal(shape, np.float32)


# baked-constant


def baked_weights(devices: Devices, *, mended: bool) -> Case:
    """Weights are a variable of the module, not an argument."""
    x, w = alone(devices, 512, 1024), random(1024, 2048)
    if mended:
        return lambda x, w: jnp.tanh(x @ w), (x, alone(devices, 1024, 2048)), {}
    return lambda x: jnp.tanh(x @ w), (x,), {}


def baked_table(devices: Devices, *, mended: bool) -> Case:
    """A table of positions is made by numpy."""
    table = random(4096, 1024)

    def look_up(ids: Any, table: Any) -> Any:
        return table[ids] * 2

    ids = alone(devices, 256, dtype=I32)
    if mended:
        return look_up, (ids, alone(devices, 4096, 1024)), {}
    return lambda ids: look_up(ids, jnp.asarray(table)), (ids,), {}


def baked_mask(devices: Devices, *, mended: bool) -> Case:
    """A mask that could be computed from its coordinates is a constant."""
    mask = np.where(np.tril(np.ones((2048, 2048), bool)), 0.0, -1e9).astype(np.float32)

    def attend(scores: Any) -> Any:
        rows, columns = (lax.broadcasted_iota(I32, (2048, 2048), axis) for axis in (0, 1))
        hidden = jnp.where(rows >= columns, 0.0, -1e9) if mended else mask
        return jax.nn.softmax(scores + hidden)

    return attend, (alone(devices, 8, 2048, 2048),), {}


# converted-product


def upcast_product(devices: Devices, *, mended: bool) -> Case:
    """Both operands of a product are converted to f32 first."""

    def run(x: Any, w: Any) -> Any:
        if mended:
            return jnp.dot(x, w, preferred_element_type=F32)
        return x.astype(F32) @ w.astype(F32)

    return run, tuple(alone(devices, 4096, 4096, dtype=BF16) for _ in "xw"), {}


def upcast_layers(devices: Devices, *, mended: bool) -> Case:
    """Layers keep weights in bf16 and compute in f32."""

    def run(x: Any, ws: Any) -> Any:
        def layer(x: Any, w: Any) -> Any:
            if mended:
                return jnp.tanh(jnp.dot(x, w, preferred_element_type=F32)).astype(BF16), None
            return jnp.tanh(x.astype(F32) @ w.astype(F32)).astype(BF16), None

        return lax.scan(layer, x, ws)[0]

    arguments = (
        alone(devices, 4096, 2048, dtype=BF16),
        alone(devices, 6, 2048, 2048, dtype=BF16),
    )
    return run, arguments, {}


# computed-twice


def twice_in_layers(devices: Devices, *, mended: bool) -> Case:
    """Each round of a loop multiplies what no round changes."""

    def run(x: Any, a: Any, b: Any, ws: Any) -> Any:
        outside = a @ b

        def layer(x: Any, w: Any) -> Any:
            inside = outside if mended else lax.optimization_barrier(a) @ b
            return jnp.tanh(x @ w) @ inside, None

        return lax.scan(layer, x, ws)[0]

    shapes = ((1024, 1024), (1024, 1024), (1024, 1024), (8, 1024, 1024))
    return run, tuple(alone(devices, *shape) for shape in shapes), {}


def scores_twice(devices: Devices, *, mended: bool) -> Case:
    """A product is made once for the loss, and once behind a barrier for the metrics."""

    def run(x: Any, w: Any) -> Any:
        scores = x @ w
        again = scores if mended else lax.optimization_barrier(x) @ w
        return jax.nn.log_softmax(scores).sum(), jnp.argmax(again, -1)

    return run, (alone(devices, 2048, 1024), alone(devices, 1024, 8192)), {}


# update-copies


def kept_history(devices: Devices, *, mended: bool) -> Case:
    """Each round writes one row into the state, and goes on with the old one too."""

    def run(state: Any, xs: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            state, at = carry
            new = lax.dynamic_update_slice(state, x[None], (at, 0))
            seen = new if mended else state
            return (new, at + 1), (new[at] * lax.dynamic_slice(seen, (at // 2, 0), (1, 1024))).sum()

        (state, _), seen = lax.scan(step, (state, 0), xs)
        return state, seen

    return run, (alone(devices, 4096, 1024), alone(devices, 16, 1024)), {"donate_argnums": 0}


# sort-then-slice


def largest_few(devices: Devices, *, mended: bool) -> Case:
    """All are sorted for the largest eight."""

    def run(x: Any) -> Any:
        return lax.top_k(x, 8)[0] if mended else jnp.sort(x, axis=-1)[:, -8:]

    return run, (alone(devices, 256, 32768),), {}


# one-hot-product


def one_hot_embedding(devices: Devices, *, mended: bool) -> Case:
    """Rows of a table are looked up by a product."""

    def run(ids: Any, table: Any) -> Any:
        return table[ids] if mended else jax.nn.one_hot(ids, 8192) @ table

    return run, (alone(devices, 4096, dtype=I32), alone(devices, 8192, 1024)), {}


def one_hot_choice(devices: Devices, *, mended: bool) -> Case:
    """One of some experts' outputs is chosen by a product."""

    def run(choice: Any, outputs: Any) -> Any:
        if mended:
            return jnp.take_along_axis(outputs, choice[:, None, None], 1)[:, 0] * 2
        return jnp.einsum("te,ted->td", jax.nn.one_hot(choice, 64), outputs) * 2

    return run, (alone(devices, 2048, dtype=I32), alone(devices, 2048, 64, 256)), {}


# nondeterministic


def sums_at_places(devices: Devices, *, mended: bool) -> Case:
    """Floats are added at places that may be the same."""

    def run(ids: Any, rows: Any) -> Any:
        return jnp.zeros((4096, 512), F32).at[ids].add(rows, unique_indices=mended)

    return run, (alone(devices, 2048, dtype=I32), alone(devices, 2048, 512)), {}


def pooled(devices: Devices, *, mended: bool) -> Case:
    """The gradient of a maximum pool goes to the places of the maxima."""

    def run(x: Any) -> Any:
        if mended:
            return jax.grad(lambda x: x.reshape(8, 64, 2, 64, 2, 64).max((2, 4)).sum())(x)
        window = (1, 2, 2, 1)

        def loss(x: Any) -> Any:
            pool = lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID")
            return (pool * jnp.arange(64.0)).sum()

        return jax.grad(loss)(x)

    return run, (alone(devices, 8, 128, 128, 64),), {}


TRIALS: Mapping[str, tuple[Make, ...]] = {
    "baked-constant": (baked_weights, baked_table, baked_mask),
    "converted-product": (upcast_product, upcast_layers),
    "computed-twice": (twice_in_layers, scores_twice),
    "update-copies": (kept_history,),
    "sort-then-slice": (largest_few,),
    "one-hot-product": (one_hot_embedding, one_hot_choice),
    "nondeterministic": (sums_at_places, pooled),
}
QUIET: tuple[Make, ...] = ()
