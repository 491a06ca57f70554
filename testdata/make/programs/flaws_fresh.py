"""Flaws and near-misses of other programs than those of flaws.py and flaws_judge.py.

They were written from the list of flaws alone, before anything was said of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P
from make.programs.remedies_other import lay, lay_out, make_mesh, mapped
from make.programs.remedies_train import BF16, F32, I32, Case, Devices

Make: TypeAlias = Callable[..., Case]
BASIS = np.cos(np.outer(np.arange(2048), np.arange(768)) / 7).astype(np.float32)


def spectrum_basis(devices: Devices, *, mended: bool) -> Case:
    """A basis of cosines, worked out with numpy, is captured."""

    def run(x: Any, *basis: Any) -> Any:
        return jnp.log1p((x @ (basis[0] if basis else jnp.asarray(BASIS))) ** 2)

    given = (lay(devices, 256, 2048),)
    return run, ((*given, lay(devices, *BASIS.shape)) if mended else given), {}


def widened_attention(devices: Devices, *, mended: bool) -> Case:
    """Queries and keys of bf16 are widened before their product."""

    def run(q: Any, k: Any, v: Any) -> Any:
        if mended:
            scores = jnp.einsum("bqd,bkd->bqk", q, k, preferred_element_type=F32)
        else:
            scores = jnp.einsum("bqd,bkd->bqk", q.astype(F32), k.astype(F32))
        return jax.nn.softmax(scores, axis=-1).astype(BF16) @ v

    return run, tuple(lay(devices, 8, 1024, 128, dtype=BF16) for _ in range(3)), {}


def normed_weights(devices: Devices, *, mended: bool) -> Case:
    """In every round of a loop the same product of two weights is made."""

    def run(x: Any, left: Any, right: Any) -> Any:
        joined = left @ right

        def step(_: Any, x: Any) -> Any:
            # The product depends on the round in form alone.
            weights = joined if mended else (left @ right)
            return jnp.tanh(x @ weights)

        return lax.fori_loop(0, 12, step, x)

    return run, (lay(devices, 512, 1024), lay(devices, 1024, 2048), lay(devices, 2048, 1024)), {}


def scored_for_metric(devices: Devices, *, mended: bool) -> Case:
    """Loss and accuracy each run the perceptron on the same input, at another order of sums."""

    def run(params: Any, x: Any, labels: Any) -> Any:
        def forward(x: Any) -> Any:
            return jax.nn.relu(x @ params[0]) @ params[1]

        logits = forward(x)
        loss = -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], -1).mean()
        again = logits if mended else lax.map(forward, x.reshape(4, -1, 1024)).reshape(4096, 1024)
        return loss, (again.argmax(axis=-1) == labels).mean()

    params = lay(devices, 1024, 2048), lay(devices, 2048, 1024)
    return run, (params, lay(devices, 4096, 1024), lay(devices, 4096, dtype=I32)), {}


def before_and_after(devices: Devices, *, mended: bool) -> Case:
    """A window is written into a signal, and compared with what was there."""

    def run(signal: Any, window: Any, at: Any) -> Any:
        old = lax.dynamic_slice_in_dim(signal, at, 256, 0)
        new = lax.dynamic_update_slice_in_dim(signal, jnp.tanh(window), at, 0)
        if mended:
            return new, jnp.abs(window - old).sum()
        return new, jnp.abs(new - signal).sum(axis=0)

    given = lay(devices, 8192, 1024), lay(devices, 256, 1024), lay(devices, dtype=I32)
    return run, given, {"donate_argnums": (0,)}


def points_of_three(devices: Devices, *, mended: bool) -> Case:
    """Points in space lie with their three numbers last."""

    def run(points: Any, turn: Any) -> Any:
        if mended:
            return jnp.einsum("cn,dc->dn", points, turn) + 1.0
        return jnp.einsum("nc,dc->nd", points, turn) + 1.0

    shape = (3, 524288) if mended else (524288, 3)
    return run, (lay(devices, *shape), lay(devices, 3, 3)), {}


def seventeen_classes(devices: Devices, *, mended: bool) -> Case:
    """Maps of seventeen classes lie with the classes last; mended, with the pixels last."""

    def run(maps: Any) -> Any:
        axis = 1 if mended else 2
        return jax.nn.softmax(maps, axis=axis), maps.max(axis=axis)

    shape = (16, 17, 16384) if mended else (16, 16384, 17)
    return run, (lay(devices, *shape),), {}


def counted_words(devices: Devices, *, mended: bool) -> Case:
    """Words are counted by adding ones where they are."""

    def run(words: Any) -> Any:
        if mended:
            rows = words.reshape(64, -1)
            return lax.map(lambda row: (row[:, None] == jnp.arange(64)).sum(0), rows).sum(0)
        return jnp.zeros(64, I32).at[words].add(1)

    return run, (lay(devices, 262144, dtype=I32),), {}


def median_of_first(devices: Devices, *, mended: bool) -> Case:
    """Distances are sorted whole, of which the nearest sixteen are averaged."""

    def run(x: Any, y: Any) -> Any:
        far = (x**2).sum(-1)[:, None] - 2 * x @ y.T + (y**2).sum(-1)
        near = -lax.top_k(-far, 16)[0] if mended else jnp.sort(far, axis=-1)[:, :16]
        return near.mean(axis=-1)

    return run, (lay(devices, 512, 64), lay(devices, 32768, 64)), {}


def chosen_rows(devices: Devices, *, mended: bool) -> Case:
    """Embeddings of two kinds of tokens are looked up by ones and zeros."""

    def run(table: Any, ids: Any) -> Any:
        if mended:
            return jax.nn.relu(table[ids]).sum(axis=1)
        return jax.nn.relu(jax.nn.one_hot(ids, table.shape[0]) @ table).sum(axis=1)

    return run, (lay(devices, 8192, 256), lay(devices, 256, 8, dtype=I32)), {}


def waiting_for_norm(devices: Devices, *, mended: bool) -> Case:
    """Each layer divides by a norm over all devices before its product; mended, after it."""
    mesh = make_mesh(devices, model=8)

    def run(x: Any, layers: Any) -> Any:
        def layer(x: Any, w: Any) -> Any:
            norm = lax.rsqrt(lax.psum((x**2).sum(axis=-1, keepdims=True), "model") + 1e-6)
            if mended:
                return jnp.tanh((x @ w) * norm), None
            return jnp.tanh((x * norm) @ w), None

        return lax.scan(layer, x, layers)[0]

    spec = P(None, "model")
    inside = mapped(mesh, run, (spec, P(None, None, "model")), spec)
    given = lay_out(mesh, spec, 4096, 8192), lay_out(mesh, P(None, None, "model"), 6, 1024, 8192)
    return inside, given, {}


def colliding_means(devices: Devices, *, mended: bool) -> Case:
    """Points are added up at the nearest of some centers; mended, by a product."""

    def run(points: Any, centers: Any) -> Any:
        near = (points @ centers.T).argmax(axis=-1)
        if mended:
            one = (near[:, None] == jnp.arange(64)).astype(F32)
            return one.T @ points / (one.sum(axis=0)[:, None] + 1)
        sums = jnp.zeros_like(centers).at[near].add(points)
        return sums / (jnp.zeros(64).at[near].add(1.0)[:, None] + 1)

    return run, (lay(devices, 65536, 128), lay(devices, 64, 128)), {}


def heads_first(devices: Devices, *, mended: bool) -> Case:
    """A cache lies with heads before rows; each use wants rows before heads."""

    def run(cache: Any, q: Any) -> Any:
        seen = cache if mended else cache.transpose(0, 2, 1, 3)
        seen = jnp.cumsum(seen.reshape(16, 2048, -1), axis=1).reshape(16, 2048, 8, 64)
        return jnp.einsum("bhd,blhd->bhl", q, jnp.tanh(seen))

    shape = (16, 2048, 8, 64) if mended else (16, 8, 2048, 64)
    return run, (lay(devices, *shape), lay(devices, 16, 8, 64)), {}


def head_on_all(devices: Devices, *, mended: bool) -> Case:
    """The weights of the vocabulary lie whole on each device, though each makes its part."""
    mesh = make_mesh(devices, model=8)

    def run(x: Any, head: Any) -> Any:
        logits = lax.with_sharding_constraint(
            x @ head, jax.sharding.NamedSharding(mesh, P(None, "model"))
        )
        return jax.nn.logsumexp(logits, axis=-1)

    spec = P(None, "model") if mended else P()
    return run, (lay_out(mesh, P(), 1024, 1024), lay_out(mesh, spec, 1024, 32768)), {}


# No flaw, though near to one.


def rotary_of_iota(devices: Devices) -> Case:
    """Angles are made of counters in the program."""

    def run(x: Any) -> Any:
        angle = jnp.arange(2048)[:, None] / 1e4 ** (jnp.arange(32) / 32)
        a, b = jnp.split(x, 2, axis=-1)
        return jnp.concatenate([a * jnp.cos(angle) - b * jnp.sin(angle), b], axis=-1)

    return run, (lay(devices, 16, 2048, 64),), {}


def rows_of_its_own(devices: Devices) -> Case:
    """Rows are written where no two meet, and the program says so."""

    def run(table: Any, ids: Any, rows: Any) -> Any:
        return table.at[ids].add(rows, unique_indices=True, indices_are_sorted=True)

    given = lay(devices, 16384, 256), lay(devices, 512, dtype=I32), lay(devices, 512, 256)
    return run, given, {"donate_argnums": (0,)}


def sorted_whole(devices: Devices) -> Case:
    """All of what is sorted is used."""

    def run(x: Any) -> Any:
        return jnp.diff(jnp.sort(x, axis=-1), axis=-1)

    return run, (lay(devices, 1024, 4096),), {}


def same_weights_twice(devices: Devices) -> Case:
    """Two inputs go through the same weights."""

    def run(x: Any, y: Any, w: Any) -> Any:
        return ((jnp.tanh(x @ w) - jnp.tanh(y @ w)) ** 2).mean()

    return run, tuple(lay(devices, 2048, 2048) for _ in range(3)), {}


def masked_in_place(devices: Devices) -> Case:
    """A donated array is masked, and nothing else reads it."""

    def run(x: Any, mask: Any) -> Any:
        return jnp.where(mask, jnp.tanh(x), 0.0)

    return (
        run,
        (lay(devices, 4096, 2048), lay(devices, 4096, 2048, dtype=jnp.bool)),
        {"donate_argnums": (0,)},
    )


BOTH = ("cpu", "gpu_h100")
ALL = (*BOTH, "tpu_v5e")
TRIALS: Mapping[str, Mapping[Make, tuple[str, ...]]] = {
    "constant-baked-in": {spectrum_basis: ALL},
    "cast-around-product": {widened_attention: ("gpu_h100", "tpu_v5e", "cpu")},
    "computed-twice": {normed_weights: ALL, scored_for_metric: ALL},
    "update-that-copies": {before_and_after: ALL},
    "padding": {points_of_three: ("tpu_v5e",), seventeen_classes: ("tpu_v5e",)},
    "serial": {counted_words: ("tpu_v5e", "gpu_h100"), median_of_first: ("tpu_v5e", "gpu_h100")},
    "one-hot-gather": {chosen_rows: ALL},
    "dependent-collective": {waiting_for_norm: ("gpu_h100", "tpu_v5e")},
    "nondeterministic": {colliding_means: ("gpu_h100",)},
    "layout-copy": {heads_first: ("gpu_h100", "tpu_v5e")},
    "replicated-weight": {head_on_all: ("cpu", "tpu_v5e")},
}

QUIET: Mapping[Make, tuple[str, ...]] = {
    rotary_of_iota: ALL,
    rows_of_its_own: ALL,
    sorted_whole: ALL,
    same_weights_twice: ALL,
    masked_in_place: ALL,
}
