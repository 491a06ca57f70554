"""Programs of kinds that the other halves have not, as they are and with remedies in their source.

They were written from descriptions of what people train and run, before any advice on them was
seen. A builder is a function of devices and changes; it returns what `build_step` returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.sharding import PartitionSpec as P
from make.programs.remedies_other import donating, halve, lay, lay_out, make_mesh, mapped
from make.programs.remedies_train import BF16, F32, I32, Case, Change, Devices

Build: TypeAlias = Callable[[Devices, Change], Case]


def describe(devices: Devices, tree: Any, dtype: Any = None) -> Any:
    """Describe arrays on one device, floats of another type if one is given."""

    def one(leaf: Any) -> Any:
        is_float = jnp.issubdtype(leaf.dtype, jnp.floating)
        return lay(devices, *leaf.shape, dtype=dtype if dtype and is_float else leaf.dtype)

    return jax.tree.map(one, tree)


def remat(changes: Change, run: Callable[..., Any]) -> Callable[..., Any]:
    """Put a part under checkpoint, where the changes say so."""
    return jax.checkpoint(run) if "checkpoint" in changes else run


def train(
    devices: Devices, changes: Change, lose: Callable[..., Any], params: Any, batch: Any,
    *, optimizer: optax.GradientTransformation,
) -> Case:  # fmt: skip
    """Build a train step with an optimizer of optax."""
    held = BF16 if "bf16-params" in changes else None

    def train_step(params: Any, moments: Any, batch: Any) -> Any:
        loss, grads = jax.value_and_grad(lose)(params, batch)
        updates, moments = optimizer.update(grads, moments, params)
        return optax.apply_updates(params, updates), moments, loss

    state = describe(devices, params, held)
    moments = describe(devices, jax.eval_shape(optimizer.init, state))
    return train_step, (state, moments, batch), donating(changes, 0, 1)


# Vision


class Encoder(nn.Module):  # type: ignore[misc]
    """A layer of a vision transformer, as flax has it."""

    dtype: Any

    @nn.compact  # type: ignore[untyped-decorator]
    def __call__(self, x: Any) -> Any:
        """Run attention and a perceptron."""
        y = nn.LayerNorm(dtype=self.dtype)(x)
        x = x + nn.MultiHeadDotProductAttention(num_heads=6, dtype=self.dtype)(y, y)
        y = nn.LayerNorm(dtype=self.dtype)(x)
        y = nn.gelu(nn.Dense(1536, dtype=self.dtype)(y))
        return x + nn.Dense(384, dtype=self.dtype)(y)


class Vision(nn.Module):  # type: ignore[misc]
    """Patches of images through layers to classes."""

    changes: Change

    @nn.compact  # type: ignore[untyped-decorator]
    def __call__(self, images: Any) -> Any:
        """Classify images."""
        dtype = BF16 if "bf16-activations" in self.changes else F32
        x = nn.Conv(384, (16, 16), (16, 16), dtype=dtype)(images)
        x = x.reshape(x.shape[0], -1, x.shape[-1])
        x = x + self.param("positions", nn.initializers.normal(0.02), x.shape[1:]).astype(dtype)
        layer = nn.remat(Encoder) if "checkpoint" in self.changes else Encoder
        for _ in range(4):
            x = layer(dtype)(x)
        return nn.Dense(1000)(x.mean(axis=1).astype(F32))


def vision(devices: Devices, changes: Change) -> Case:
    """A vision transformer of flax, with adamw."""
    count = halve(changes, 24)
    model = Vision(changes)
    images = lay(devices, count, 224, 224, 3)
    params = jax.eval_shape(model.init, jax.random.key(0), images)

    def lose(params: Any, batch: Any) -> Any:
        images, labels = batch
        logits = model.apply(params, images)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    batch = images, lay(devices, count, dtype=I32)
    return train(devices, changes, lose, params, batch, optimizer=optax.adamw(1e-3))


def unet(devices: Devices, changes: Change) -> Case:
    """Images go down three levels and up again; each way up takes what its level had."""
    count = halve(changes, 8)
    widths = (32, 64, 128)
    names = ("NHWC", "HWIO", "NHWC")

    def convolve(x: Any, w: Any, step: int = 1) -> Any:
        return lax.conv_general_dilated(x, w, (step, step), "SAME", dimension_numbers=names)

    def block(x: Any, pair: Any) -> Any:
        y = jax.nn.silu(convolve(x, pair["one"]))
        return jax.nn.silu(convolve(y, pair["two"]))

    def lose(params: Any, batch: Any) -> Any:
        x, wanted = batch
        run, kept = remat(changes, block), []
        for level in params["down"]:
            x = run(x, level)
            kept.append(x)
            x = lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4
        x = run(x, params["middle"])
        for level, other in zip(params["up"], reversed(kept), strict=True):
            x = x.repeat(2, axis=1).repeat(2, axis=2)
            x = run(jnp.concatenate([x, other], axis=-1), level)
        return ((convolve(x, params["out"]) - wanted) ** 2).mean()

    def pair(into: int, out: int) -> Any:
        return {"one": lay(devices, 3, 3, into, out), "two": lay(devices, 3, 3, out, out)}

    params = {
        "down": [pair(*sizes) for sizes in ((4, 32), (32, 64), (64, 128))],
        "middle": pair(128, 128),
        "up": [pair(*sizes) for sizes in ((256, 128), (192, 64), (96, 32))],
        "out": lay(devices, 1, 1, widths[0], 4),
    }
    batch = tuple(lay(devices, count, 128, 128, 4) for _ in range(2))
    return train(devices, changes, lose, params, batch, optimizer=optax.adam(1e-4))


# Sequences


def translate(devices: Devices, changes: Change) -> Case:
    """An encoder is scanned, then a decoder that looks at its result; the vocabulary is large."""
    count, length, width, words = halve(changes, 8), 192, 384, 24576

    def attend(x: Any, seen: Any, w: Any) -> Any:
        q = (x @ w["q"]).reshape(*x.shape[:2], 6, -1)
        k, v = (one.reshape(*seen.shape[:2], 6, -1) for one in jnp.split(seen @ w["kv"], 2, -1))
        return x + jax.nn.dot_product_attention(q, k, v).reshape(x.shape)

    def perceive(x: Any, w: Any) -> Any:
        return x + jax.nn.relu(x @ w["up"]) @ w["down"]

    def encode(x: Any, w: Any) -> Any:
        return perceive(attend(x, x, w["self"]), w), None

    def lose(params: Any, batch: Any) -> Any:
        source, target = batch
        seen, _ = lax.scan(remat(changes, encode), params["embed"][source], params["encoder"])

        def decode(x: Any, w: Any) -> Any:
            return perceive(attend(attend(x, x, w["self"]), seen, w["cross"]), w), None

        x, _ = lax.scan(remat(changes, decode), params["embed"][target], params["decoder"])

        def measure(x: Any, target: Any) -> Any:
            logits = x @ params["embed"].T
            return optax.softmax_cross_entropy_with_integer_labels(logits, target).sum()

        if "chunked-loss" not in changes:
            return measure(x, target) / target.size
        cut = tuple(one.reshape(one.shape[0], 8, -1, *one.shape[2:]).swapaxes(0, 1)
                    for one in (x, target))  # fmt: skip
        part = jax.checkpoint(measure)
        return lax.scan(lambda s, one: (s + part(*one), None), 0.0, cut)[0] / target.size

    def looks() -> Any:
        return {"q": lay(devices, 3, width, width), "kv": lay(devices, 3, width, 2 * width)}

    perceptron = {"up": lay(devices, 3, width, 1536), "down": lay(devices, 3, 1536, width)}
    params = {
        "embed": lay(devices, words, width),
        "encoder": {"self": looks(), **perceptron},
        "decoder": {"self": looks(), "cross": looks(), **perceptron},
    }
    batch = tuple(lay(devices, count, length, dtype=I32) for _ in range(2))
    return train(devices, changes, lose, params, batch, optimizer=optax.sgd(0.1, momentum=0.9))


def state_space(devices: Devices, changes: Change) -> Case:
    """Layers whose states along the sequence come of an associative scan."""
    count, length, width, states = halve(changes, 4), 512, 128, 8

    def layer(x: Any, w: Any) -> Any:
        gate = jax.nn.sigmoid(x @ w["gate"])[..., None] * jnp.exp(-jnp.exp(w["rate"]))
        put = (x @ w["into"])[..., None] * jnp.ones(states)

        def join(a: Any, b: Any) -> Any:
            return a[0] * b[0], a[1] * b[0] + b[1]

        _, found = lax.associative_scan(join, (gate, put), axis=1)
        return x + jax.nn.silu(jnp.einsum("blds,ds->bld", found, w["mix"])) @ w["out"]

    def lose(params: Any, batch: Any) -> Any:
        x, wanted = batch
        for w in params:
            x = remat(changes, layer)(x, w)
        return ((x - wanted) ** 2).mean()

    square = lay(devices, width, width)
    one = {
        "gate": square, "into": square, "out": square,
        "rate": lay(devices, width, states), "mix": lay(devices, width, states),
    }  # fmt: skip
    batch = tuple(lay(devices, count, length, width) for _ in range(2))
    return train(devices, changes, lose, [one, one, one], batch, optimizer=optax.sgd(0.1))


def lstm(devices: Devices, changes: Change) -> Case:
    """Two LSTMs of flax run along a sequence; with checkpoint, each step is computed again."""
    count = halve(changes, 64)

    class Stack(nn.Module):  # type: ignore[misc]
        @nn.compact  # type: ignore[untyped-decorator]
        def __call__(self, x: Any) -> Any:
            cell = nn.remat(nn.OptimizedLSTMCell) if "checkpoint" in changes else None
            for _ in range(2):
                x = nn.RNN((cell or nn.OptimizedLSTMCell)(512))(x)
            return nn.Dense(64)(x)

    model = Stack()
    given = lay(devices, count, 96, 256)
    params = jax.eval_shape(model.init, jax.random.key(0), given)

    def lose(params: Any, batch: Any) -> Any:
        return ((model.apply(params, batch[0]) - batch[1]) ** 2).mean()

    batch = given, lay(devices, count, 96, 64)
    return train(devices, changes, lose, params, batch, optimizer=optax.rmsprop(1e-3))


def low_rank(devices: Devices, changes: Change) -> Case:
    """Frozen layers with small trained additions: gradients and moments are small."""
    count, width, rank = halve(changes, 8), 768, 8

    def layer(x: Any, given: Any) -> Any:
        fixed, small = given
        y = jax.nn.gelu(x @ fixed["up"] + x @ small["a"] @ small["b"])
        return x + y @ fixed["down"], None

    def train_step(frozen: Any, small: Any, moments: Any, batch: Any) -> Any:
        def lose(small: Any) -> Any:
            used = jax.tree.map(lambda w: w.astype(F32), frozen)
            x, _ = lax.scan(remat(changes, layer), batch[0], (used, small))
            return ((x - batch[1]) ** 2).mean()

        loss, grads = jax.value_and_grad(lose)(small)
        moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, grads)
        return jax.tree.map(lambda p, m: p - 0.1 * m, small, moments), moments, loss

    held = BF16 if "bf16-params" in changes else F32
    frozen = {
        "up": lay(devices, 6, width, 3072, dtype=held),
        "down": lay(devices, 6, 3072, width, dtype=held),
    }
    small = {"a": lay(devices, 6, width, rank), "b": lay(devices, 6, rank, 3072)}
    batch = tuple(lay(devices, count, 256, width) for _ in range(2))
    return train_step, (frozen, small, small, batch), donating(changes, 1, 2)


# Tables and graphs


def recommend(devices: Devices, changes: Change) -> Case:
    """Tables of items with adam's moments; the perceptron above them is small."""
    count = halve(changes, 4096)
    params = {
        "tables": [lay(devices, rows, 32) for rows in (400_000, 150_000, 60_000)],
        "up": lay(devices, 96, 512),
        "down": lay(devices, 512, 1),
    }

    def lose(params: Any, batch: Any) -> Any:
        ids, wanted = batch
        rows = [table[ids[:, n]] for n, table in enumerate(params["tables"])]
        x = jnp.concatenate(rows, axis=-1)
        logits = (jax.nn.relu(x @ params["up"]) @ params["down"])[:, 0]
        return optax.sigmoid_binary_cross_entropy(logits, wanted).mean()

    batch = lay(devices, count, 3, dtype=I32), lay(devices, count)
    return train(devices, changes, lose, params, batch, optimizer=optax.adam(1e-3))


def graph(devices: Devices, changes: Change) -> Case:
    """Nodes of a graph send messages along edges, five times."""
    nodes, edges, width = 16384, 65536, 128

    def layer(x: Any, w: Any, ends: Any) -> Any:
        source, target = ends
        message = jax.nn.relu(jnp.concatenate([x[source], x[target]], -1) @ w["message"])
        got = jax.ops.segment_sum(message, target, num_segments=nodes)
        return x + jnp.tanh(got @ w["take"])

    def lose(params: Any, batch: Any) -> Any:
        x, ends, wanted = batch
        for w in params:
            x = remat(changes, layer)(x, w, ends)
        return ((x - wanted) ** 2).mean()

    one = {"message": lay(devices, 2 * width, width), "take": lay(devices, width, width)}
    ends = tuple(lay(devices, edges, dtype=I32) for _ in range(2))
    batch = lay(devices, nodes, width), ends, lay(devices, nodes, width)
    return train(devices, changes, lose, [one] * 5, batch, optimizer=optax.adam(1e-3))


# Physics


def simulate(devices: Devices, changes: Change) -> Case:
    """A field moves on in time and the loss looks at its end; the forcing is learned."""
    steps, side = 48, 512

    def move(field: Any, force: Any) -> Any:
        around = sum(jnp.roll(field, by, axis) for by in (1, -1) for axis in (0, 1))
        return field + 0.1 * jnp.tanh(around - 4 * field) + 0.01 * jnp.sin(force * field)

    def lose(force: Any, batch: Any) -> Any:
        start, wanted = batch

        def step(field: Any, _: Any) -> Any:
            return remat(changes, move)(field, force), None

        return ((lax.scan(step, start, None, length=steps)[0] - wanted) ** 2).mean()

    batch = tuple(lay(devices, side, side) for _ in range(2))
    return train(devices, changes, lose, lay(devices, side, side), batch, optimizer=optax.sgd(0.1))


def march(devices: Devices, changes: Change) -> Case:
    """Three fields go on for many steps without gradients, and come back."""
    dtype = BF16 if "bf16" in changes else F32

    def run(fields: Any, source: Any) -> Any:
        def step(_: Any, fields: Any) -> Any:
            u, v, p = fields
            p = p - 0.1 * (u - jnp.roll(u, 1, 0) + v - jnp.roll(v, 1, 1)) + source
            return u - 0.1 * (jnp.roll(p, -1, 0) - p), v - 0.1 * (jnp.roll(p, -1, 1) - p), p

        return lax.fori_loop(0, 500, step, fields)

    fields = tuple(lay(devices, 1536, 1536, dtype=dtype) for _ in range(3))
    return run, (fields, lay(devices, 1536, 1536, dtype=dtype)), donating(changes, 0)


# Learning by trying


def rollout(devices: Devices, changes: Change) -> Case:
    """A policy plays many games at once; of all steps observations and returns are kept."""
    games, steps, width = halve(changes, 1024), 64, 64

    def run(params: Any, state: Any) -> Any:
        def step(state: Any, key: Any) -> Any:
            hidden = jnp.tanh(state @ params["into"])
            act = hidden @ params["act"] + 0.1 * jax.random.normal(key, (games, 8))
            state = jnp.tanh(state + act @ params["world"])
            return state, (state, act, state.mean(axis=-1))

        last, kept = lax.scan(step, state, jax.random.split(jax.random.key(3), steps))

        def lose(params: Any) -> Any:
            hidden = remat(changes, lambda x: jnp.tanh(x @ params["into"]))(kept[0])
            return (((hidden @ params["act"]) - kept[1]) ** 2 * kept[2][..., None]).mean()

        grads = jax.grad(lose)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), last

    params = {
        "into": lay(devices, width, 512), "act": lay(devices, 512, 8),
        "world": lay(devices, 8, width),
    }  # fmt: skip
    return run, (params, lay(devices, games, width)), donating(changes, 0, 1)


def replay(devices: Devices, changes: Change) -> Case:
    """A row goes into a donated memory of what was seen, whose old rows are learned from."""

    def run(memory: Any, row: Any, at: Any, ids: Any) -> Any:
        new = lax.dynamic_update_slice_in_dim(memory, row[None], at, 0)
        seen = memory[ids]
        return new, jnp.tanh(seen).mean(), memory.mean(axis=0)

    given = (
        lay(devices, 16384, 512), lay(devices, 512), lay(devices, dtype=I32),
        lay(devices, 256, dtype=I32),
    )  # fmt: skip
    return run, given, donating(changes, 0, donated=True)


def adversaries(devices: Devices, changes: Change) -> Case:
    """A generator and a judge of it learn in one step, each with its optimizer."""
    count, noise = halve(changes, 512), 128
    optimizer = optax.adam(1e-4)

    def run_net(net: Any, x: Any) -> Any:
        for w in net[:-1]:
            x = jax.nn.leaky_relu(x @ w)
        return x @ net[-1]

    def play(maker: Any, judge: Any, z: Any) -> Any:
        return run_net(judge, run_net(maker, z))

    def step(state: Any, batch: Any) -> Any:
        maker, judge, first, second = state
        z, real = batch
        mine = jax.grad(lambda m: -remat(changes, play)(m, judge, z).mean())(maker)
        yours = jax.grad(
            lambda j: (
                jax.nn.relu(1 + play(maker, j, z)) + jax.nn.relu(1 - run_net(j, real))
            ).mean()
        )(judge)
        up, first = optimizer.update(mine, first)
        down, second = optimizer.update(yours, second)
        new = optax.apply_updates(maker, up), optax.apply_updates(judge, down)
        return (*new, first, second)

    maker = [lay(devices, *shape) for shape in ((noise, 1024), (1024, 1024), (1024, 3072))]
    judge = [lay(devices, *shape) for shape in ((3072, 1024), (1024, 1024), (1024, 1))]
    moments = [describe(devices, jax.eval_shape(optimizer.init, one)) for one in (maker, judge)]
    batch = lay(devices, count, noise), lay(devices, count, 3072)
    return step, ((maker, judge, *moments), batch), donating(changes, 0)


# Serving


def paged(devices: Devices, changes: Change) -> Case:
    """Decoding with pages of keys and values that a table assigns to requests."""
    count, pages, page, heads, width = halve(changes, 16), 1024, 16, 8, 64
    dtype = BF16 if "bf16-cache" in changes else F32

    def layer(x: Any, given: Any) -> Any:
        w, keys, values, table, at = given
        q, k, v = (one.reshape(count, heads, width) for one in jnp.split(x @ w, 3, -1))
        where = table[jnp.arange(count), at // page], at % page
        keys, values = keys.at[where].set(k.astype(dtype)), values.at[where].set(v.astype(dtype))
        mine = keys[table].reshape(count, -1, heads, width).astype(F32)
        known = values[table].reshape(count, -1, heads, width).astype(F32)
        scores = jnp.einsum("bhd,blhd->bhl", q, mine)
        hidden = jnp.arange(mine.shape[1]) > at[:, None, None]
        mixed = jnp.einsum("bhl,blhd->bhd", jax.nn.softmax(jnp.where(hidden, -1e9, scores)), known)
        return x + mixed.reshape(x.shape), keys, values

    def run(weights: Any, cache: Any, x: Any, table: Any, at: Any) -> Any:
        new = []
        for w, (keys, values) in zip(weights, cache, strict=True):
            x, *held = layer(x, (w, keys, values, table, at))
            new.append(tuple(held))
        return x, new

    cache = [tuple(lay(devices, pages, page, heads, width, dtype=dtype) for _ in "kv")] * 3
    given = (
        [lay(devices, 512, 1536)] * 3, cache, lay(devices, count, 512),
        lay(devices, count, 32, dtype=I32), lay(devices, count, dtype=I32),
    )  # fmt: skip
    return run, given, donating(changes, 1)


def beams(devices: Devices, changes: Change) -> Case:
    """Search with beams: the caches of the best go on, so each step reorders all of them."""
    count, beam, length, width, words = halve(changes, 8), 4, 512, 256, 8192
    dtype = BF16 if "bf16-cache" in changes else F32

    def run(params: Any, cache: Any, scores: Any, token: Any, at: Any) -> Any:
        x = params["embed"][token]
        x = x @ params["into"]
        cache = lax.dynamic_update_slice_in_dim(cache, x[:, :, None].astype(dtype), at, 2)
        looks = jax.nn.softmax(jnp.einsum("nbd,nbld->nbl", x, cache.astype(F32)))
        x = x + jnp.einsum("nbl,nbld->nbd", looks, cache.astype(F32))
        found = jax.nn.log_softmax(x @ params["embed"].T) + scores[..., None]
        best, where = lax.top_k(found.reshape(count, -1), beam)
        cache = jnp.take_along_axis(cache, (where // words)[:, :, None, None], axis=1)
        return cache, best, where % words

    params = {"embed": lay(devices, words, width), "into": lay(devices, width, width)}
    given = (
        params, lay(devices, count, beam, length, width, dtype=dtype), lay(devices, count, beam),
        lay(devices, count, beam, dtype=I32), lay(devices, dtype=I32),
    )  # fmt: skip
    return run, given, donating(changes, 1)


TEACHER = np.sin(np.arange(3 * 1024 * 1024, dtype=np.float32)).reshape(3, 1024, 1024)


def distill(devices: Devices, changes: Change) -> Case:
    """A student learns what a teacher says; the teacher is a part of the program."""
    count = halve(changes, 4096)

    def lose(params: Any, batch: Any) -> Any:
        x, *given = batch
        teacher = given[0] if given else jnp.asarray(TEACHER)
        wanted, _ = lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, teacher)
        run = remat(changes, lambda x, w: (jnp.tanh(x @ w[0]) @ w[1], None))
        found, _ = lax.scan(run, x, params)
        return ((found - lax.stop_gradient(wanted)) ** 2).mean()

    params = lay(devices, 4, 1024, 256), lay(devices, 4, 256, 1024)
    batch: tuple[Any, ...] = (lay(devices, count, 1024),)
    if "constant-to-argument" in changes:
        batch += (lay(devices, *TEACHER.shape),)
    return train(devices, changes, lose, params, batch, optimizer=optax.adam(1e-3))


def kernel_fit(devices: Devices, changes: Change) -> Case:
    """A Gaussian process: distances, a decomposition, and the gradient of the likelihood."""
    count, features = 1024, 64

    def lose(params: Any, batch: Any) -> Any:
        x, y = batch

        def cover(params: Any, x: Any) -> Any:
            far = ((x[:, None] - x[None]) ** 2 * params["scale"]).sum(axis=-1)
            return jnp.exp(-far)

        both = remat(changes, cover)(params, x) + 0.1 * jnp.eye(count)
        lower = jnp.linalg.cholesky(both)
        solved = jax.scipy.linalg.cho_solve((lower, True), y)
        return (y * solved).sum() + jnp.log(jnp.diagonal(lower)).sum()

    params = {"scale": lay(devices, features)}
    batch = lay(devices, count, features), lay(devices, count, 1)
    return train(devices, changes, lose, params, batch, optimizer=optax.adam(1e-3))


# Several devices


def ring(devices: Devices, changes: Change) -> Case:
    """Attention over a sequence that is divided: keys and values go round a ring."""
    size = 8 if "more-devices" in changes else 4
    mesh = make_mesh(devices, seq=size)
    length, width = 4096, 256

    def layer(w: Any, x: Any) -> Any:
        q, k, v = jnp.split(x @ w["qkv"], 3, axis=-1)
        onward = [(i, (i + 1) % size) for i in range(size)]

        def turn(carry: Any, _: Any) -> Any:
            k, v, top, bottom, most = carry
            scores = q @ k.swapaxes(-1, -2) * width**-0.5
            now = jnp.maximum(most, scores.max(axis=-1, keepdims=True))
            part, old = jnp.exp(scores - now), jnp.exp(most - now)
            top, bottom = top * old + part @ v, bottom * old + part.sum(-1, keepdims=True)
            return (*lax.ppermute((k, v), "seq", onward), top, bottom, now), None

        start = k, v, jnp.zeros_like(q), jnp.zeros_like(q[..., :1]), jnp.full_like(q[..., :1], -1e9)
        top, bottom = lax.scan(turn, start, None, length=size)[0][2:4]
        x = x + (top / bottom) @ w["out"]
        return x + jax.nn.gelu(x @ w["up"]) @ w["down"]

    def lose(params: Any, batch: Any) -> Any:
        def here(params: Any, x: Any, wanted: Any) -> Any:
            for w in params:
                x = remat(changes, layer)(w, x)
            return lax.pmean(((x - wanted) ** 2).mean(), "seq")

        return mapped(mesh, here, (P(), P(None, "seq"), P(None, "seq")), P())(params, *batch)

    def step(params: Any, batch: Any) -> Any:
        loss, grads = jax.value_and_grad(lose)(params, batch)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss

    one = {
        "qkv": lay_out(mesh, P(), width, 3 * width), "out": lay_out(mesh, P(), width, width),
        "up": lay_out(mesh, P(), width, 1024), "down": lay_out(mesh, P(), 1024, width),
    }  # fmt: skip
    rows = halve(changes, 4)
    batch = tuple(lay_out(mesh, P(None, "seq"), rows, length, width) for _ in range(2))
    return step, ([one, one], batch), donating(changes, 0)


def exchange(devices: Devices, changes: Change) -> Case:
    """Experts on devices of their own get tokens by an all-to-all; adam's moments lie with them."""
    size = 8 if "more-devices" in changes else 4
    mesh = make_mesh(devices, expert=size)
    tokens, width, inner = halve(changes, 8192), 512, 1024

    def here(up: Any, down: Any, x: Any) -> Any:
        def run(x: Any, up: Any, down: Any) -> Any:
            sent = x.reshape(size, -1, width)
            sent = lax.all_to_all(sent, "expert", 0, 0, tiled=True).reshape(8 // size, -1, width)
            made = jnp.einsum(
                "etf,efd->etd", jax.nn.gelu(jnp.einsum("etd,edf->etf", sent, up)), down
            )
            back = lax.all_to_all(made.reshape(size, -1, width), "expert", 0, 0, tiled=True)
            return x + back.reshape(x.shape)

        for layer in range(2):
            x = remat(changes, run)(x, up[layer], down[layer])
        return x

    def lose(params: Any, batch: Any) -> Any:
        spec = P(None, "expert")
        y = mapped(mesh, here, (spec, spec, P("expert")), P("expert"))(*params, batch)
        return (y**2).mean()

    def step(params: Any, mu: Any, nu: Any, batch: Any) -> Any:
        grads = jax.grad(lose)(params, batch)
        mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mu, grads)
        nu = jax.tree.map(lambda n, g: 0.99 * n + 0.01 * g * g, nu, grads)
        new = jax.tree.map(lambda p, m, n: p - m / (jnp.sqrt(n) + 1e-8), params, mu, nu)
        return new, mu, nu

    held = P(None, "expert")
    params = lay_out(mesh, held, 2, 8, width, inner), lay_out(mesh, held, 2, 8, inner, width)
    batch = lay_out(mesh, P("expert"), tokens, width)
    return step, (params, params, params, batch), donating(changes, 0, 1, 2)


BUILDERS: Mapping[str, Build] = {
    one.__name__: one
    for group in (
        (vision, unet, translate, state_space, lstm, low_rank, recommend, graph, simulate),
        (march, rollout, replay, adversaries, paged, beams, distill, kernel_fit, ring, exchange),
    )
    for one in group
}
