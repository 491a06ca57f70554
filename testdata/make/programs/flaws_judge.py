"""The half of the flaws that only judges: see flaws.py."""

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
MASK = np.triu(np.full((2048, 2048), -1e9, np.float32), 1)
POSITIONS = np.sin(np.arange(4096 * 512, dtype=np.float32)).reshape(4096, 512)
FILTERS = np.cos(np.arange(9 * 512 * 512, dtype=np.float32)).reshape(3, 3, 512, 512)


# constant-baked-in


def mask_of_numpy(devices: Devices, *, mended: bool) -> Case:
    """A mask of a long sequence is made by numpy while tracing."""

    def attend(q: Any, k: Any) -> Any:
        if mended:
            rows = lax.broadcasted_iota(I32, (2048, 2048), 0)
            mask = jnp.where(rows >= rows.T, 0.0, -1e9)
        else:
            mask = jnp.asarray(MASK)
        return jax.nn.softmax(q @ k.T + mask, axis=-1)

    return attend, (lay(devices, 2048, 128), lay(devices, 2048, 128)), {}


def folded_filter(devices: Devices, *, mended: bool) -> Case:
    """A fixed filter of numpy is folded over images in a loop."""

    def run(images: Any, filters: Any = None) -> Any:
        held = jnp.asarray(FILTERS) if filters is None else filters
        names = ("NHWC", "HWIO", "NHWC")

        def step(_: Any, x: Any) -> Any:
            return jnp.tanh(
                lax.conv_general_dilated(x, held, (1, 1), "SAME", dimension_numbers=names)
            )

        return lax.fori_loop(0, 5, step, images)

    given = (lay(devices, 8, 16, 16, 512),)
    return run, ((*given, lay(devices, 3, 3, 512, 512)) if mended else given), {}


# cast-around-product


def widened_attention(devices: Devices, *, mended: bool) -> Case:
    """Keys and queries of bf16 are widened before their product; weights are narrowed after."""

    def run(q: Any, k: Any, v: Any) -> Any:
        wide = BF16 if mended else F32
        scores = jnp.einsum(
            "bqhd,bkhd->bhqk", q.astype(wide), k.astype(wide), preferred_element_type=F32
        )
        weights = jax.nn.softmax(scores, axis=-1).astype(wide)
        return jnp.einsum("bhqk,bkhd->bqhd", weights, v.astype(wide)).astype(BF16)

    return run, tuple(lay(devices, 4, 1024, 8, 128, dtype=BF16) for _ in range(3)), {}


# computed-twice


def product_turned(devices: Devices, *, mended: bool) -> Case:
    """A product is computed once more as that of the transposed arrays."""

    def run(x: Any, w: Any) -> Any:
        y = x @ w
        again = y.T if mended else w.T @ x.T
        return jnp.tanh(y).sum(axis=1), jax.nn.softmax(again, axis=-1)

    return run, (lay(devices, 2048, 1024), lay(devices, 1024, 2048)), {}


def loss_then_gradient(devices: Devices, *, mended: bool) -> Case:
    """The loss is computed beside the gradient, whose forward pass computes it too."""

    def lose(layers: Any, x: Any) -> Any:
        y, _ = lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, layers)
        return (y**2).mean()

    def run(layers: Any, x: Any) -> Any:
        if mended:
            loss, grads = jax.value_and_grad(lose)(layers, x)
        else:
            loss, grads = lose(layers, x), jax.grad(lose)(layers, x)
        return loss, layers - 0.1 * grads

    return run, (lay(devices, 6, 512, 512), lay(devices, 4096, 512)), {}


# update-that-copies


def two_versions(devices: Devices, *, mended: bool) -> Case:
    """A loop carries a buffer and its last version."""

    def run(held: Any, x: Any) -> Any:
        def step(at: Any, carry: Any) -> Any:
            held, before = carry
            row = jnp.tanh(x + held[at])
            new = lax.dynamic_update_index_in_dim(held, row, at, 0)
            return new, (before if mended else held)

        held, before = lax.fori_loop(0, 32, step, (held, held[:1] if mended else held))
        return held, before.sum()

    return run, (lay(devices, 1024, 4096), lay(devices, 4096)), {"donate_argnums": (0,)}


# padding


def just_above(devices: Devices, *, mended: bool) -> Case:
    """A dimension of 65 takes the room of 128, and one of 129 that of 256."""
    first, second = (64, 128) if mended else (65, 129)

    def run(x: Any, y: Any) -> Any:
        return jnp.cumsum(x, axis=1), jnp.sin(y).sum(axis=0), jnp.exp(y)

    return run, (lay(devices, 64, 1024, first), lay(devices, 128, 256, second)), {}


def heads_of_four(devices: Devices, *, mended: bool) -> Case:
    """A cache whose last dimensions are 4 heads of 64."""

    def run(cache: Any, k: Any, at: Any) -> Any:
        return lax.dynamic_update_slice_in_dim(cache, k, at, 1)

    rest = (256,) if mended else (4, 64)
    given = lay(devices, 16, 2048, *rest), lay(devices, 16, 1, *rest), lay(devices, dtype=I32)
    return run, given, {"donate_argnums": (0,)}


# serial


def few_bins(devices: Devices, *, mended: bool) -> Case:
    """Many rows are added into few bins."""

    def run(x: Any, bins: Any) -> Any:
        if mended:
            return jax.nn.one_hot(bins, 64, axis=0) @ x
        return jnp.zeros((64, 256), F32).at[bins].add(x)

    return run, (lay(devices, 65536, 256), lay(devices, 65536, dtype=I32)), {}


def counted_tokens(devices: Devices, *, mended: bool) -> Case:
    """Tokens are counted by adding ones at colliding places."""

    def run(tokens: Any) -> Any:
        if mended:
            return (tokens[:, None] == jnp.arange(512)[None]).sum(axis=0)
        return jnp.zeros((512,), I32).at[tokens].add(1)

    return run, (lay(devices, 1 << 18, dtype=I32),), {}


# one-hot-gather


def embedding_product(devices: Devices, *, mended: bool) -> Case:
    """Rows of a table are looked up by a product with ones and zeros."""

    def run(table: Any, tokens: Any) -> Any:
        if mended:
            return jnp.tanh(table[tokens])
        return jnp.tanh(jax.nn.one_hot(tokens, 16384) @ table)

    return run, (lay(devices, 16384, 512), lay(devices, 4096, dtype=I32)), {}


# dependent-collective


def ring_of_results(devices: Devices, *, mended: bool) -> Case:
    """A ring passes on what each round computes; mended, it passes on what it was given."""
    mesh = make_mesh(devices, ring=8)

    def run(x: Any, w: Any) -> Any:
        onward = [(i, (i + 1) % 8) for i in range(8)]

        def step(_: Any, carry: Any) -> Any:
            held, total = carry
            if mended:
                return lax.ppermute(held, "ring", onward), total + jnp.tanh(held @ w)
            y = jnp.tanh(held @ w)
            return lax.ppermute(y, "ring", onward), total + y

        return lax.fori_loop(0, 8, step, (x, jnp.zeros_like(x)))[1]

    inside = mapped(mesh, run, (P("ring"), P()), P("ring"))
    return inside, (lay_out(mesh, P("ring"), 8192, 1024), lay_out(mesh, P(), 1024, 1024)), {}


def gather_of_updated(devices: Devices, *, mended: bool) -> Case:
    """Each round gathers weights that the round before has changed."""
    mesh = make_mesh(devices, fsdp=8)

    def run(w: Any, batches: Any) -> Any:
        def step(w: Any, x: Any) -> Any:
            whole = lax.all_gather(w, "fsdp", axis=0, tiled=True)
            y = jnp.tanh(x @ whole)
            return (w if mended else w - 0.1 * y.mean() * w), y.sum(axis=0)

        return lax.scan(step, w, batches)

    inside = mapped(mesh, run, (P("fsdp"), P(None, "fsdp")), (P("fsdp"), P()))
    given = lay_out(mesh, P("fsdp"), 2048, 2048), lay_out(mesh, P(None, "fsdp"), 6, 4096, 2048)
    return inside, given, {}


# nondeterministic


def added_gradients(devices: Devices, *, mended: bool) -> Case:
    """The gradient of an embedding is added up where tokens collide."""

    def run(table: Any, tokens: Any, x: Any) -> Any:
        if mended:
            grads = jax.nn.one_hot(tokens, 2048, axis=0, dtype=F32) @ x
        else:
            grads = jnp.zeros_like(table).at[tokens].add(x)
        return table - 0.1 * grads

    given = lay(devices, 2048, 256), lay(devices, 8192, dtype=I32), lay(devices, 8192, 256)
    return run, given, {}


def summed_segments(devices: Devices, *, mended: bool) -> Case:
    """Messages of edges are added up at their nodes."""

    def run(nodes: Any, senders: Any, receivers: Any) -> Any:
        messages = jnp.tanh(nodes[senders])
        if mended:
            sums = jnp.concatenate([jnp.zeros((1, 128), F32), jnp.cumsum(messages, axis=0)])
            ends = jnp.searchsorted(receivers, jnp.arange(4097))
            return sums[ends[1:]] - sums[ends[:-1]]
        return jax.ops.segment_sum(messages, receivers, 4096)

    edges = [lay(devices, 32768, dtype=I32) for _ in range(2)]
    return run, (lay(devices, 4096, 128), *edges), {}


# layout-copy


def sum_down_columns(devices: Devices, *, mended: bool) -> Case:
    """Running sums go along rows of an array, then along rows of what it is turned to."""

    def run(x: Any) -> Any:
        y = jnp.sort(x, axis=-1)
        if mended:
            return jnp.sort(jnp.tanh(y) * 2.0, axis=-1)
        return jnp.sort(jnp.tanh(y).T * 2.0, axis=-1)

    return run, (lay(devices, 2048, 2048),), {}


# replicated-weight


def head_on_all(devices: Devices, *, mended: bool) -> Case:
    """The head of a language model lies whole on each device of the batch."""
    mesh = make_mesh(devices, data=8)
    spec = P(None, "data") if mended else P()

    def run(head: Any, x: Any) -> Any:
        return jax.nn.logsumexp(x @ head, axis=-1)

    given = lay_out(mesh, spec, 1024, 32768), lay_out(mesh, P("data"), 512, 1024)
    return run, given, {}


# No flaw, though near to one.


def small_table(devices: Devices) -> Case:
    """A constant of 64 KiB is looked up."""

    def run(x: Any, w: Any) -> Any:
        return jnp.asarray(POSITIONS[:32])[x] @ w

    return run, (lay(devices, 8192, dtype=I32), lay(devices, 512, 1024)), {}


def wide_norm(devices: Devices) -> Case:
    """A norm is computed in f32 between products of bf16."""

    def run(x: Any, up: Any, down: Any) -> Any:
        wide = (x @ up).astype(F32)
        wide = wide * lax.rsqrt((wide**2).mean(axis=-1, keepdims=True) + 1e-6)
        return wide.astype(BF16) @ down

    sizes = (4096, 1024), (1024, 2048), (2048, 1024)
    return run, tuple(lay(devices, *size, dtype=BF16) for size in sizes), {}


def little_padding(devices: Devices) -> Case:
    """Dimensions of 120 and 250 take the room of 128 and 256."""

    def run(x: Any, y: Any) -> Any:
        return jnp.exp(x) * 2.0, jnp.sin(y).sum(axis=0)

    return run, (lay(devices, 512, 1024, 120), lay(devices, 256, 512, 250)), {}


def unique_places(devices: Devices) -> Case:
    """Rows are put at places that are told to be unique."""

    def run(held: Any, at: Any, x: Any) -> Any:
        return held.at[at].set(x, unique_indices=True)

    given = lay(devices, 65536, 256), lay(devices, 4096, dtype=I32), lay(devices, 4096, 256)
    return run, given, {"donate_argnums": (0,)}


def counted_whole(devices: Devices) -> Case:
    """Whole numbers are added where indices collide: any order gives the same."""

    def run(tokens: Any, weights: Any) -> Any:
        return jnp.zeros((65536,), I32).at[tokens].add(weights)

    return run, (lay(devices, 8192, dtype=I32), lay(devices, 8192, dtype=I32)), {}


def short_sort(devices: Devices) -> Case:
    """Many short rows are sorted."""

    def run(x: Any) -> Any:
        return jnp.sort(x, axis=-1)

    return run, (lay(devices, 65536, 64),), {}


def apart_pool(devices: Devices) -> Case:
    """The gradient of a mean over windows has no largest to be found."""

    def run(x: Any) -> Any:
        def pool(x: Any) -> Any:
            return lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

        return jax.grad(lambda x: (pool(x) ** 2).sum())(x)

    return run, (lay(devices, 8, 64, 64, 128),), {}


def folded_transpose(devices: Devices) -> Case:
    """A product takes one of its operands turned."""

    def run(x: Any, w: Any) -> Any:
        return jnp.tanh(x @ w.T)

    return run, (lay(devices, 2048, 1024), lay(devices, 4096, 1024)), {}


TRIALS: Mapping[str, Mapping[Make, tuple[str, ...]]] = {
    "constant-baked-in": {
        mask_of_numpy: ("cpu", "gpu_h100", "tpu_v5e"),
        folded_filter: ("cpu", "gpu_h100", "tpu_v5e"),
    },
    "cast-around-product": {widened_attention: ("gpu_h100", "tpu_v5e", "cpu")},
    "computed-twice": {
        product_turned: ("cpu", "gpu_h100", "tpu_v5e"),
        loss_then_gradient: ("cpu", "gpu_h100", "tpu_v5e"),
    },
    "update-that-copies": {two_versions: ("cpu", "gpu_h100", "tpu_v5e")},
    "padding": {just_above: ("tpu_v5e",), heads_of_four: ("tpu_v5e",)},
    "serial": {few_bins: ("tpu_v5e", "gpu_h100"), counted_tokens: ("tpu_v5e", "gpu_h100")},
    "one-hot-gather": {embedding_product: ("cpu", "gpu_h100", "tpu_v5e")},
    "dependent-collective": {
        ring_of_results: ("gpu_h100", "tpu_v5e"),
        gather_of_updated: ("gpu_h100", "tpu_v5e"),
    },
    "nondeterministic": {added_gradients: ("gpu_h100",), summed_segments: ("gpu_h100",)},
    "layout-copy": {sum_down_columns: ("gpu_h100", "tpu_v5e")},
    "replicated-weight": {head_on_all: ("cpu", "tpu_v5e")},
}

QUIET: Mapping[Make, tuple[str, ...]] = {
    small_table: ("cpu", "gpu_h100", "tpu_v5e"),
    wide_norm: ("cpu", "gpu_h100", "tpu_v5e"),
    little_padding: ("tpu_v5e",),
    unique_places: ("gpu_h100", "tpu_v5e"),
    counted_whole: ("gpu_h100",),
    short_sort: ("tpu_v5e", "gpu_h100"),
    apart_pool: ("gpu_h100",),
    folded_transpose: ("gpu_h100", "tpu_v5e"),
}
