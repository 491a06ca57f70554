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

from make.programs.advice import BF16, F32, I32, Case, Devices, Make, array, make_mesh, mapped


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


def upcast_scores(devices: Devices, *, mended: bool) -> Case:
    """Scores of attention are made of queries and keys in f32."""

    def attend(q: Any, k: Any) -> Any:
        if mended:
            scores = jnp.einsum("bqd,bkd->bqk", q, k, preferred_element_type=F32)
        else:
            scores = jnp.einsum("bqd,bkd->bqk", q.astype(F32), k.astype(F32))
        return jax.nn.softmax(scores).astype(BF16)

    return attend, tuple(alone(devices, 16, 1024, 128, dtype=BF16) for _ in "qk"), {}


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


def kernel_twice(devices: Devices, *, mended: bool) -> Case:
    """The same exponentials are summed up along both axes."""

    def run(x: Any, y: Any) -> Any:
        kernel = jnp.exp(-((x[:, None] - y[None, :]) ** 2))
        if mended:
            kernel = lax.optimization_barrier(kernel)
        return kernel.sum(0), jnp.cumsum(kernel, axis=1)[:, -1]

    return run, (alone(devices, 4096), alone(devices, 4096)), {}


def scores_twice(devices: Devices, *, mended: bool) -> Case:
    """A product is made once for the loss, and once behind a barrier for the metrics."""

    def run(x: Any, w: Any) -> Any:
        scores = x @ w
        again = scores if mended else lax.optimization_barrier(x) @ w
        return jax.nn.log_softmax(scores).sum(), jnp.argmax(again, -1)

    return run, (alone(devices, 2048, 1024), alone(devices, 1024, 8192)), {}


# update-copies


def old_and_new(devices: Devices, *, mended: bool) -> Case:
    """A donated cache is read once more when one row of it has been written."""

    def run(cache: Any, row: Any, at: Any) -> Any:
        before = jnp.tanh(cache).sum() if mended else None
        new = lax.dynamic_update_slice(cache, row, (at, 0))
        if mended:
            new = lax.optimization_barrier((new, before))[0]
            return new, before + new[0].sum()
        old = jnp.tanh(lax.optimization_barrier((cache, new))[0]).sum()
        return new, old + new[0].sum()

    arguments = (
        alone(devices, 8192, 1024), alone(devices, 1, 1024), alone(devices, dtype=I32),
    )  # fmt: skip
    return run, arguments, {"donate_argnums": 0}


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


# padded-axis


def narrow_minor(devices: Devices, *, mended: bool) -> Case:
    """Three colours are the last axis of a product of images."""

    def run(x: Any, w: Any) -> Any:
        if mended:
            return jnp.tanh(jnp.einsum("bcp,pq->bcq", x, w))
        return jnp.tanh(jnp.einsum("bpc,pq->bqc", x, w))

    shape = (512, 3, 1024) if mended else (512, 1024, 3)
    return run, (alone(devices, *shape), alone(devices, 1024, 1024)), {}


def few_rows(devices: Devices, *, mended: bool) -> Case:
    """Heads of ten dimensions are kept apart."""

    def run(x: Any, w: Any) -> Any:
        y = jnp.tanh(x @ w)
        y = y if mended else y.reshape(4096, 128, 10)
        return lax.optimization_barrier(y) * 2

    return run, (alone(devices, 4096, 1024), alone(devices, 1024, 1280)), {}


# serial-scatter


def rows_added(devices: Devices, *, mended: bool) -> Case:
    """Gradients of an embedding are scattered row by row."""

    def run(ids: Any, rows: Any) -> Any:
        if mended:
            return jax.nn.one_hot(ids, 1024, dtype=BF16).T @ rows.astype(BF16)
        return jnp.zeros((1024, 512), F32).at[ids].add(rows)

    return run, (alone(devices, 8192, dtype=I32), alone(devices, 8192, 512)), {}


def rows_set(devices: Devices, *, mended: bool) -> Case:
    """Rows that are all different are put at their places."""

    def run(table: Any, ids: Any, rows: Any) -> Any:
        return table.at[ids].set(rows, unique_indices=mended, indices_are_sorted=mended)

    arguments = (
        alone(devices, 16384, 256), alone(devices, 4096, dtype=I32), alone(devices, 4096, 256),
    )  # fmt: skip
    return run, arguments, {"donate_argnums": 0}


def counted(devices: Devices, *, mended: bool) -> Case:
    """A histogram adds ones."""

    def run(ids: Any) -> Any:
        if mended:
            return (ids[:, None] == jnp.arange(256)).sum(0)
        return jnp.zeros(256, I32).at[ids].add(1)

    return run, (alone(devices, 65536, dtype=I32),), {}


# serial-sort


def sorted_together(devices: Devices, *, mended: bool) -> Case:
    """Three arrays are sorted by one of them."""

    def run(keys: Any, a: Any, b: Any) -> Any:
        if mended:
            order = jnp.argsort(keys)
            return keys[order], a[order], b[order]
        return lax.sort((keys, a, b), num_keys=1)

    return run, tuple(alone(devices, 1 << 20) for _ in range(3)), {}


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
        pool = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID")  # noqa: E731
        return jax.grad(lambda x: (pool(x) * jnp.arange(64.0)).sum())(x)

    return run, (alone(devices, 8, 128, 128, 64),), {}


# unpipelined-loop


def chain(devices: Devices, *, mended: bool) -> Case:
    """What a round sends is made of what the round before received."""
    mesh = make_mesh(devices, model=8)

    def run(x: Any, ws: Any) -> Any:
        def layer(x: Any, w: Any) -> Any:
            return jnp.tanh(lax.psum(x @ w, "model")), None

        def layer_apart(x: Any, w: Any) -> Any:
            return jnp.tanh(x @ lax.all_gather(w, "model", axis=1, tiled=True)), None

        return lax.scan(layer_apart if mended else layer, x, ws)[0]

    into = (P("model") if mended else P(None, "model"), P(None, None, "model") if mended else P(None, "model"))
    out = P("model") if mended else P()
    if not mended:
        def run_cut(x: Any, ws: Any) -> Any:
            def layer(x: Any, w: Any) -> Any:
                whole = jnp.tanh(lax.psum(x @ w, "model"))
                part = lax.axis_index("model") * 128
                return lax.dynamic_slice(whole, (0, part), (4096, 128)), None

            return lax.scan(layer, x, ws)[0]

        function = mapped(mesh, run_cut, into, P(None, "model"))
    else:
        function = mapped(mesh, run, into, out)
    arguments = (
        array(mesh, into[0], 4096, 1024), array(mesh, into[1], 8, 1024, 1024),
    )  # fmt: skip
    return function, arguments, {}


TRIALS: Mapping[str, tuple[Make, ...]] = {
    "baked-constant": (baked_weights, baked_table, baked_mask),
    "converted-product": (upcast_product, upcast_layers, upcast_scores),
    "computed-twice": (twice_in_layers, kernel_twice, scores_twice),
    "update-copies": (old_and_new, kept_history),
    "padded-axis": (narrow_minor, few_rows),
    "serial-scatter": (rows_added, rows_set, counted),
    "serial-sort": (sorted_together, largest_few),
    "one-hot-product": (one_hot_embedding, one_hot_choice),
    "nondeterministic": (sums_at_places, pooled),
    "unpipelined-loop": (chain,),
}
QUIET: tuple[Make, ...] = ()
