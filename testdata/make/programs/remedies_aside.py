"""Programs that people train and run, which lie aside for judging, with remedies in their source.

They were written by someone who had read none of hlotool's code, none of its documents and none of
its answers: only programs of other halves, and the scripts. Kinds, programs, sizes and remedies
were chosen before anything was compiled. A builder is a function of the devices, the changes and
the program's sizes; it returns what `build_step` returns.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from make.programs.remedies_fresh import describe, remat
from make.programs.remedies_other import donating, halve, lay, lay_out, make_mesh, mapped
from make.programs.remedies_train import BF16, F32, I32, Case, Change, Devices
from make.programs.remedies_unseen import convolve, hold, measure, run_layers

Build: TypeAlias = Callable[..., Case]
Shapes: TypeAlias = dict[str, Any]


# What programs have in common


def fit(
    changes: Change, lose: Callable[..., Any], params: Any, batch: Any, *, optimizer: Any,
    average: float = 0,
) -> Case:  # fmt: skip
    """Build a train step of one state: parameters, optimizer, count, and averages if asked."""

    def update(state: Any, batch: Any) -> Any:
        loss, grads = jax.value_and_grad(lose)(state["params"], batch)
        updates, moments = optimizer.update(grads, state["moments"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        new = {"params": params, "moments": moments, "step": state["step"] + 1}
        if average:
            new["average"] = jax.tree.map(
                lambda old, p: average * old + (1 - average) * p, state["average"], params
            )
        return new, {"loss": loss, "size": optax.global_norm(grads)}

    state = hold_state(params, optimizer)
    if average:
        state["average"] = params
    more = donating(changes, 0)
    if getattr(state["step"].sharding, "mesh", None):
        more["out_shardings"] = (jax.tree.map(lambda one: one.sharding, state), None)
    return update, (state, batch), more


def hold_state(params: Any, optimizer: Any) -> Shapes:
    """Describe parameters, moments that lie where parameters of their shape lie, and a count."""
    leaves = jax.tree.leaves(params)
    places = {leaf.shape: leaf.sharding for leaf in leaves}
    mesh = getattr(leaves[0].sharding, "mesh", None)
    other = NamedSharding(mesh, P()) if mesh else leaves[0].sharding
    moments = jax.tree.map(
        lambda m: jax.ShapeDtypeStruct(m.shape, m.dtype, sharding=places.get(m.shape, other)),
        jax.eval_shape(optimizer.init, params),
    )
    step = jax.ShapeDtypeStruct((), I32, sharding=other)
    return {"params": params, "moments": moments, "step": step}


def line(width: int, out: int, *layers: int) -> Shapes:
    """List the shapes of a linear map with a bias."""
    return {"w": (*layers, width, out), "b": (*layers, out)}


def scale(width: int, *layers: int) -> Shapes:
    """List the shapes of a norm's scale and bias."""
    return {"scale": (*layers, width), "bias": (*layers, width)}


def dense(x: Any, w: Any) -> Any:
    """Run a linear map with a bias."""
    return x @ w["w"] + w["b"]


def settle(x: Any, w: Any) -> Any:
    """Run a layer norm."""
    mean = x.mean(axis=-1, keepdims=True)
    size = jnp.square(x - mean).mean(axis=-1, keepdims=True)
    return (x - mean) * lax.rsqrt(size + 1e-5) * w["scale"] + w["bias"]


def root_norm(x: Any, w: Any) -> Any:
    """Divide by the root of the mean square, which is computed in float32."""
    size = jnp.mean(jnp.square(x.astype(F32)), axis=-1, keepdims=True)
    return x * lax.rsqrt(size + 1e-6).astype(x.dtype) * w.astype(x.dtype)


def batch_norm(x: Any, w: Any) -> Any:
    """Norm each channel over the batch and all places."""
    axes = tuple(range(x.ndim - 1))
    mean, size = x.mean(axes), x.var(axes)
    return (x - mean) * lax.rsqrt(size + 1e-5) * w["scale"] + w["bias"]


def attend(q: Any, k: Any, v: Any, heads: int, *, bias: Any = 0.0, causal: bool = False) -> Any:
    """Attend with heads that lie side by side in the last axis."""
    q, k, v = (one.reshape(*one.shape[:-1], heads, -1) for one in (q, k, v))
    scores = jnp.einsum("...lhd,...mhd->...hlm", q, k).astype(F32) / q.shape[-1] ** 0.5 + bias
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
    mixed = jnp.einsum("...hlm,...mhd->...lhd", jax.nn.softmax(scores).astype(v.dtype), v)
    return mixed.reshape(*mixed.shape[:-2], -1)


def block_shapes(width: int, inner: int, *layers: int) -> Shapes:
    """List the shapes of a transformer's block with biases."""
    return {
        "before": scale(width, *layers), "qkv": line(width, 3 * width, *layers),
        "out": line(width, width, *layers), "between": scale(width, *layers),
        "up": line(width, inner, *layers), "down": line(inner, width, *layers),
    }  # fmt: skip


def run_block(x: Any, w: Any, *, heads: int, causal: bool = False) -> Any:
    """Run a transformer's block whose norms come first."""
    q, k, v = jnp.split(dense(settle(x, w["before"]), w["qkv"]), 3, axis=-1)
    x = x + dense(attend(q, k, v, heads, causal=causal), w["out"])
    return x + dense(jax.nn.gelu(dense(settle(x, w["between"]), w["up"])), w["down"])


def count_wrong(logits: Any, labels: Any) -> Any:
    """Return the mean cross entropy."""
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def name_key(data: Any) -> Any:
    """Make a key of two numbers that were passed."""
    return jax.random.wrap_key_data(data)


# Layers that are scanned


def pair_stack(devices: Devices, changes: Change) -> Case:
    """Pairs of residues of a protein: triangles multiply and attend; distances are the aim."""
    places, width, heads, depth = 64, 64, 4, 4

    def multiply(x: Any, w: Any, way: str) -> Any:
        y = settle(x, w["norm"])
        a = jax.nn.sigmoid(dense(y, w["gate_a"])) * dense(y, w["a"])
        b = jax.nn.sigmoid(dense(y, w["gate_b"])) * dense(y, w["b"])
        made = settle(jnp.einsum(way, a, b), w["after"])
        return x + jax.nn.sigmoid(dense(y, w["gate"])) * dense(made, w["out"])

    def look(x: Any, w: Any) -> Any:
        y = settle(x, w["norm"])
        q, k, v = jnp.split(dense(y, w["qkv"]), 3, axis=-1)
        made = attend(q, k, v, heads, bias=(y @ w["bias"]).transpose(2, 0, 1))
        return x + jax.nn.sigmoid(dense(y, w["gate"])) * dense(made, w["out"])

    def layer(x: Any, w: Any) -> Any:
        x = multiply(x, w["outgoing"], "ikc,jkc->ijc")
        x = multiply(x, w["incoming"], "kic,kjc->ijc")
        x = look(x, w["start"])
        x = look(x.swapaxes(0, 1), w["end"]).swapaxes(0, 1)
        return x + dense(jax.nn.relu(dense(settle(x, w["norm"]), w["up"])), w["down"])

    def lose(params: Any, batch: Any) -> Any:
        residues, bins = batch
        one = params["residues"][residues]
        far = jnp.clip(jnp.arange(places)[:, None] - jnp.arange(places), -32, 32) + 32
        x = one[:, None] + one[None] + params["offsets"][far]
        x = run_layers(changes, layer, x, params["layers"])
        return count_wrong(dense(x + x.swapaxes(0, 1), params["head"]), bins)

    def square() -> Shapes:
        return line(width, width, depth)

    triangle = {name: square() for name in ("a", "b", "gate_a", "gate_b", "gate", "out")}
    triangle |= {"norm": scale(width, depth), "after": scale(width, depth)}
    attention = {
        "norm": scale(width, depth), "qkv": line(width, 3 * width, depth),
        "bias": (depth, width, heads), "gate": square(), "out": square(),
    }  # fmt: skip
    layers = {
        "outgoing": triangle, "incoming": triangle, "start": attention, "end": attention,
        "norm": scale(width, depth), "up": line(width, 4 * width, depth),
        "down": line(4 * width, width, depth),
    }  # fmt: skip
    shapes = {
        "residues": (21, width), "offsets": (65, width), "layers": layers, "head": line(width, 64),
    }  # fmt: skip
    batch = lay(devices, places, dtype=I32), lay(devices, places, places, dtype=I32)
    params = hold(functools.partial(lay, devices), shapes)
    return fit(changes, lose, params, batch, optimizer=optax.adam(1e-3))


def masked_patches(devices: Devices, changes: Change) -> Case:
    """A quarter of an image's patches is encoded; a small decoder fills in the others."""
    count, patches, seen, wide, narrow = halve(changes, 16), 196, 49, 256, 160

    def lose(params: Any, batch: Any) -> Any:
        images, key = batch
        order = jnp.argsort(jax.random.uniform(name_key(key), (count, patches)), axis=1)
        back = jnp.argsort(order, axis=1)
        x = dense(images, params["into"]) + params["places"]
        x = jnp.take_along_axis(x, order[:, :seen, None], axis=1)
        encode, decode = (functools.partial(run_block, heads=heads) for heads in (4, 5))
        x = run_layers(changes, encode, x, params["encoder"])
        x = dense(settle(x, params["norm"]), params["bridge"])
        rest = jnp.broadcast_to(params["masked"], (count, patches - seen, narrow))
        x = jnp.take_along_axis(jnp.concatenate([x, rest], axis=1), back[..., None], axis=1)
        x = run_layers(changes, decode, x + params["places_of_all"], params["decoder"])
        wanted = jax.nn.standardize(images)
        far = jnp.square(dense(x, params["out"]) - wanted).mean(axis=-1)
        return jnp.where(back >= seen, far, 0).sum() / (count * (patches - seen))

    shapes = {
        "into": line(768, wide), "places": (patches, wide), "encoder": block_shapes(wide, 1024, 5),
        "norm": scale(wide), "bridge": line(wide, narrow), "masked": (narrow,),
        "places_of_all": (patches, narrow), "decoder": block_shapes(narrow, 640, 3),
        "out": line(narrow, 768),
    }  # fmt: skip
    batch = lay(devices, count, patches, 768), lay(devices, 2, dtype=jnp.uint32)
    params = hold(functools.partial(lay, devices), shapes)
    return fit(changes, lose, params, batch, optimizer=optax.adamw(1.5e-4, b2=0.95))


# Layers that are written out


def summarize(devices: Devices, changes: Change) -> Case:
    """An encoder and a decoder of text with learned biases of distance; scoped; adafactor."""
    count, long, short, width, heads, inner = halve(changes, 8), 192, 96, 320, 5, 832

    def find_bias(table: Any, rows: int, columns: int) -> Any:
        far = np.arange(columns) - np.arange(rows)[:, None]
        step = np.minimum(2 * np.log2(1 + np.abs(far)), 15).astype(int)
        return table[np.sign(far) * step + 15].transpose(2, 0, 1)

    def look(x: Any, w: Any, bias: Any, *, causal: bool = False, seen: Any = None) -> Any:
        y = root_norm(x, w["norm"])
        k, v = jnp.split((y if seen is None else seen) @ w["kv"], 2, axis=-1)
        return x + attend(y @ w["q"], k, v, heads, bias=bias, causal=causal) @ w["out"]

    def gate(x: Any, w: Any) -> Any:
        y = root_norm(x, w["norm"])
        return x + (jax.nn.gelu(y @ w["gate"]) * (y @ w["up"])) @ w["down"]

    def encode(x: Any, w: Any, bias: Any) -> Any:
        return gate(look(x, w["self"], bias), w["feed"])

    def decode(x: Any, w: Any, bias: Any, seen: Any) -> Any:
        x = look(x, w["self"], bias, causal=True)
        return gate(look(x, w["cross"], 0.0, seen=seen), w["feed"])

    def lose(params: Any, batch: Any) -> Any:
        source, target = batch
        seen = params["embed"][source]
        bias = find_bias(params["far"], long, long)
        for number, w in enumerate(params["encoder"]):
            with jax.named_scope(f"encoder/layer_{number}"):
                seen = remat(changes, encode)(seen, w, bias)
        x = params["embed"][target[:, :-1]]
        bias = find_bias(params["far_back"], short, short)
        for number, w in enumerate(params["decoder"]):
            with jax.named_scope(f"decoder/layer_{number}"):
                x = remat(changes, decode)(x, w, bias, seen)
        with jax.named_scope("head"):
            return count_wrong(x @ params["embed"].T / width**0.5, target[:, 1:])

    look_shapes = {
        "norm": (width,), "q": (width, width), "kv": (width, 2 * width), "out": (width, width),
    }  # fmt: skip
    feed = {"norm": (width,), "gate": (width, inner), "up": (width, inner), "down": (inner, width)}
    one = {"self": look_shapes, "feed": feed}
    shapes = {
        "embed": (10000, width), "far": (31, heads), "far_back": (31, heads),
        "encoder": [one] * 2, "decoder": [{**one, "cross": look_shapes}] * 2,
    }  # fmt: skip
    batch = lay(devices, count, long, dtype=I32), lay(devices, count, short + 1, dtype=I32)
    params = hold(functools.partial(lay, devices), shapes)
    return fit(changes, lose, params, batch, optimizer=optax.adafactor(1e-2))


class WriterLayer(nn.Module):  # type: ignore[misc]
    """A layer of a language model, as flax has it, with dropout."""

    @nn.compact  # type: ignore[untyped-decorator]
    def __call__(self, x: Any) -> Any:
        """Run attention and a perceptron."""
        y, mask = nn.LayerNorm()(x), nn.make_causal_mask(x[..., 0])
        y = nn.MultiHeadDotProductAttention(num_heads=5)(y, mask=mask)
        x = x + nn.Dropout(0.1, deterministic=False)(y)
        y = nn.gelu(nn.Dense(4 * x.shape[-1])(nn.LayerNorm()(x)))
        return x + nn.Dropout(0.1, deterministic=False)(nn.Dense(x.shape[-1])(y))


class Writer(nn.Module):  # type: ignore[misc]
    """Tokens through layers to tokens; the table of words is used twice."""

    layers: int
    width: int
    words: int
    checkpointed: bool

    @nn.compact  # type: ignore[untyped-decorator]
    def __call__(self, tokens: Any) -> Any:
        """Foretell the next token at each place."""
        embed = nn.Embed(self.words, self.width)
        places = nn.Embed(tokens.shape[1], self.width, name="places")
        x = embed(tokens) + places(jnp.arange(tokens.shape[1]))
        x = nn.Dropout(0.1, deterministic=False)(x)
        layer = nn.remat(WriterLayer) if self.checkpointed else WriterLayer
        for number in range(self.layers):
            x = layer(name=f"layer_{number}")(x)
        return embed.attend(nn.LayerNorm()(x))


def writer(devices: Devices, changes: Change) -> Case:
    """A language model of flax with dropout, with adamw and a schedule."""
    count, length, words = halve(changes, 8), 224, 9000
    model = Writer(3, 320, words, checkpointed="checkpoint" in changes)

    def lose(params: Any, batch: Any) -> Any:
        tokens, key = batch
        logits = model.apply(params, tokens[:, :-1], rngs={"dropout": name_key(key)})
        return count_wrong(logits, tokens[:, 1:])

    keys = {"params": jax.random.key(0), "dropout": jax.random.key(1)}
    sample = jax.ShapeDtypeStruct((count, length), I32)
    params = describe(devices, jax.eval_shape(model.init, keys, sample))
    batch = lay(devices, count, length + 1, dtype=I32), lay(devices, 2, dtype=jnp.uint32)
    rate = optax.warmup_cosine_decay_schedule(0.0, 6e-4, 2000, 100000)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=0.1))
    return fit(changes, lose, params, batch, optimizer=optimizer)


def gated_patches(devices: Devices, changes: Change) -> Case:
    """Perceptrons whose gate looks over the patches, instead of attention; images; adamw."""
    count, patches, width, inner = halve(changes, 16), 256, 192, 768

    def block(x: Any, w: Any) -> Any:
        y = jax.nn.gelu(dense(settle(x, w["norm"]), w["up"]))
        u, v = jnp.split(y, 2, axis=-1)
        v = settle(v, w["gate_norm"])
        v = jnp.einsum("bpc,pq->bqc", v, w["over"]) + w["over_bias"][:, None]
        return x + dense(u * v, w["down"])

    def lose(params: Any, batch: Any) -> Any:
        images, labels = batch
        x = dense(images, params["into"])
        for w in params["blocks"]:
            x = remat(changes, block)(x, w)
        return count_wrong(dense(settle(x, params["norm"]).mean(axis=1), params["head"]), labels)

    one = {
        "norm": scale(width), "up": line(width, inner), "gate_norm": scale(inner // 2),
        "over": (patches, patches), "over_bias": (patches,), "down": line(inner // 2, width),
    }  # fmt: skip
    shapes = {
        "into": line(588, width), "blocks": [one] * 4, "norm": scale(width),
        "head": line(width, 1000),
    }  # fmt: skip
    batch = lay(devices, count, patches, 588), lay(devices, count, dtype=I32)
    params = hold(functools.partial(lay, devices), shapes)
    return fit(changes, lose, params, batch, optimizer=optax.adamw(1e-3, weight_decay=0.05))


def next_words(devices: Devices, changes: Change) -> Case:
    """Three recurrent layers with gates over 72 words, as language models were once trained."""
    count, length, width, words = halve(changes, 24), 72, 400, 10000

    def layer(x: Any, w: Any) -> Any:
        def step(carry: Any, given: Any) -> Any:
            h, c = carry
            i, f, g, o = jnp.split(given + h @ w["again"], 4, axis=-1)
            c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        start = jnp.zeros((count, width))
        return lax.scan(step, (start, start), dense(x, w["into"]))[1]

    def lose(params: Any, batch: Any) -> Any:
        tokens, key = batch
        x = params["embed"][tokens[:, :-1]].swapaxes(0, 1)
        for number, w in enumerate(params["layers"]):
            # The same units are dropped at all places.
            kept = jax.random.bernoulli(jax.random.fold_in(name_key(key), number), 0.7, x.shape[1:])
            x = remat(changes, layer)(x * kept / 0.7, w)

        def score(x: Any, wanted: Any) -> Any:
            logits = x @ params["embed"].T + params["bias"]
            return optax.softmax_cross_entropy_with_integer_labels(logits, wanted).sum()

        return measure(changes, score, x.swapaxes(0, 1), tokens[:, 1:]) / (count * length)

    one = {"into": line(width, 4 * width), "again": (width, 4 * width)}
    shapes = {"embed": (words, width), "bias": (words,), "layers": [one] * 3}
    batch = lay(devices, count, length + 1, dtype=I32), lay(devices, 2, dtype=jnp.uint32)
    params = hold(functools.partial(lay, devices), shapes)
    optimizer = optax.chain(optax.clip_by_global_norm(0.25), optax.sgd(1.0))
    return fit(changes, lose, params, batch, optimizer=optimizer)


def radiance(devices: Devices, changes: Change) -> Case:
    """Points along rays through a perceptron of seven layers, and colors added up; adam."""
    rays, points, width = halve(changes, 1024), 64, 128

    def encode(x: Any, times: int) -> Any:
        turned = x[..., None, :] * 2.0 ** jnp.arange(times)[:, None]
        both = jnp.concatenate([jnp.sin(turned), jnp.cos(turned)], axis=-1)
        return jnp.concatenate([x, both.reshape(*x.shape[:-1], -1)], axis=-1)

    def layer(x: Any, w: Any) -> Any:
        return jax.nn.relu(dense(x, w))

    def lose(params: Any, batch: Any) -> Any:
        origins, ways, colors, key = batch
        far = jnp.linspace(2, 6, points)
        far = far + jax.random.uniform(name_key(key), (rays, points)) * (4 / points)
        where = encode(origins[:, None] + far[..., None] * ways[:, None], 10)
        x = where
        for number, w in enumerate(params["layers"]):
            if number == len(params["layers"]) // 2:
                x = jnp.concatenate([x, where], axis=-1)
            x = remat(changes, layer)(x, w)
        thick = jax.nn.softplus(dense(x, params["thick"]))[..., 0]
        side = jnp.broadcast_to(encode(ways, 4)[:, None], (rays, points, 27))
        x = layer(jnp.concatenate([x, side], axis=-1), params["side"])
        color = jax.nn.sigmoid(dense(x, params["color"]))
        held = 1 - jnp.exp(-thick * jnp.diff(far, axis=1, append=7.0))
        past = jnp.exp(jnp.cumsum(jnp.log(1 - held + 1e-6), axis=1) - jnp.log(1 - held + 1e-6))
        return jnp.square((color * (held * past)[..., None]).sum(axis=1) - colors).mean()

    widths = (63, width, width, width + 63, width, width, width)
    shapes = {
        "layers": [line(one, width) for one in widths], "thick": line(width, 1),
        "side": line(width + 27, 64), "color": line(64, 3),
    }  # fmt: skip
    three = lay(devices, rays, 3)
    batch = three, three, three, lay(devices, 2, dtype=jnp.uint32)
    params = hold(functools.partial(lay, devices), shapes)
    return fit(changes, lose, params, batch, optimizer=optax.adam(5e-4))


def windows(devices: Devices, changes: Change) -> Case:
    """Attention in windows of seven by seven patches, which every second layer shifts."""
    count, side, span = halve(changes, 8), 56, 7
    place = np.stack(np.meshgrid(np.arange(span), np.arange(span), indexing="ij")).reshape(2, -1)
    far = place[:, :, None] - place[:, None] + span - 1
    index = far[0] * (2 * span - 1) + far[1]

    def cut(x: Any) -> Any:
        rows = x.shape[1] // span
        x = x.reshape(x.shape[0], rows, span, rows, span, -1).swapaxes(2, 3)
        return x.reshape(x.shape[0], rows * rows, span * span, -1)

    def block(x: Any, w: Any, *, heads: int, shift: int) -> Any:
        shape, rows = x.shape, x.shape[1] // span
        bias = w["bias"][index].transpose(2, 0, 1)
        if shift:
            parts = np.digitize(np.arange(shape[1]), [shape[1] - span, shape[1] - shift])
            region = cut((parts[:, None] * 3 + parts)[None, ..., None])[0, ..., 0]
            apart = region[:, :, None] != region[:, None]
            bias = bias + np.where(apart, -100.0, 0.0)[:, None]
        y = jnp.roll(settle(x, w["before"]), (-shift, -shift), (1, 2))
        q, k, v = jnp.split(dense(cut(y), w["qkv"]), 3, axis=-1)
        y = dense(attend(q, k, v, heads, bias=bias), w["out"])
        y = y.reshape(shape[0], rows, rows, span, span, -1).swapaxes(2, 3).reshape(shape)
        x = x + jnp.roll(y, (shift, shift), (1, 2))
        return x + dense(jax.nn.gelu(dense(settle(x, w["between"]), w["up"])), w["down"])

    def lose(params: Any, batch: Any) -> Any:
        images, labels = batch
        x = convolve(images, params["into"], 4)
        for stage, blocks in enumerate(params["stages"]):
            if stage:
                x = x.reshape(count, side // 2, 2, side // 2, 2, -1).swapaxes(2, 3)
                x = x.reshape(count, side // 2, side // 2, -1) @ params["merge"]
            for number, w in enumerate(blocks):
                run = functools.partial(block, heads=2 * (stage + 1), shift=number % 2 * 3)
                x = remat(changes, run)(x, w)
        return count_wrong(dense(x.mean(axis=(1, 2)), params["head"]), labels)

    stages = [
        [{**block_shapes(width, 4 * width), "bias": (169, heads)}] * 2
        for width, heads in ((64, 2), (128, 4))
    ]
    shapes = {
        "into": (4, 4, 3, 64), "stages": stages, "merge": (256, 128), "head": line(128, 1000),
    }  # fmt: skip
    batch = lay(devices, count, 224, 224, 3), lay(devices, count, dtype=I32)
    params = hold(functools.partial(lay, devices), shapes)
    return fit(changes, lose, params, batch, optimizer=optax.adamw(1e-3))


# Convolutions


def dense_blocks(devices: Devices, changes: Change) -> Case:
    """Each layer of a block sees all before it, put side by side; batch norm; momentum."""
    count, grow, depth = halve(changes, 20), 24, 4

    def layer(x: Any, w: Any) -> Any:
        y = convolve(jax.nn.relu(batch_norm(x, w["one"])), w["narrow"])
        return convolve(jax.nn.relu(batch_norm(y, w["two"])), w["look"])

    def lose(params: Any, batch: Any) -> Any:
        images, labels = batch
        x = convolve(images, params["stem"])
        for number, block in enumerate(params["blocks"]):
            for w in block["layers"]:
                x = jnp.concatenate([x, remat(changes, layer)(x, w)], axis=-1)
            x = jax.nn.relu(batch_norm(x, block["norm"]))
            if number + 1 < len(params["blocks"]):
                x = convolve(x, block["next"])
                x = lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4
        return count_wrong(dense(x.mean(axis=(1, 2)), params["head"]), labels)

    blocks, width = [], 2 * grow
    for _ in range(2):
        layers = []
        for _ in range(depth):
            layers.append({
                "one": scale(width), "narrow": (1, 1, width, 4 * grow), "two": scale(4 * grow),
                "look": (3, 3, 4 * grow, grow),
            })  # fmt: skip
            width += grow
        blocks.append({"layers": layers, "norm": scale(width), "next": (1, 1, width, width // 2)})
        width //= 2
    del blocks[-1]["next"]
    shapes = {"stem": (3, 3, 3, 2 * grow), "blocks": blocks, "head": line(2 * width, 100)}
    batch = lay(devices, count, 32, 32, 3), lay(devices, count, dtype=I32)
    params = hold(functools.partial(lay, devices), shapes)
    return fit(changes, lose, params, batch, optimizer=optax.sgd(0.1, momentum=0.9))


class Twice(nn.Module):  # type: ignore[misc]
    """Two convolutions with norms."""

    width: int

    @nn.compact  # type: ignore[untyped-decorator]
    def __call__(self, x: Any) -> Any:
        """Convolve twice."""
        for _ in range(2):
            x = nn.relu(nn.GroupNorm(8)(nn.Conv(self.width, (3, 3), use_bias=False)(x)))
        return x


class Outline(nn.Module):  # type: ignore[misc]
    """Down three levels, and up again with what each had."""

    checkpointed: bool

    @nn.compact  # type: ignore[untyped-decorator]
    def __call__(self, x: Any) -> Any:
        """Say of each pixel whether it belongs to a cell."""
        twice, kept = nn.remat(Twice) if self.checkpointed else Twice, []
        for width in (16, 32):
            kept.append(twice(width)(x))
            x = nn.max_pool(kept[-1], (2, 2), (2, 2))
        x = twice(64)(x)
        for width, past in zip((32, 16), reversed(kept), strict=True):
            x = nn.ConvTranspose(width, (2, 2), (2, 2))(x)
            x = twice(width)(jnp.concatenate([past, x], axis=-1))
        return nn.Conv(1, (1, 1))(x)[..., 0]


def outline(devices: Devices, changes: Change) -> Case:
    """Cells are parted from what is around them: a net of flax, with two losses; adam."""
    count, side = halve(changes, 8), 128
    model = Outline(checkpointed="checkpoint" in changes)

    def lose(params: Any, batch: Any) -> Any:
        images, masks = batch
        logits = model.apply(params, images)
        likely = jax.nn.sigmoid(logits)
        both = (likely * masks).sum((1, 2))
        dice = 1 - (2 * both + 1) / (likely.sum((1, 2)) + masks.sum((1, 2)) + 1)
        return optax.sigmoid_binary_cross_entropy(logits, masks).mean() + dice.mean()

    sample = jax.ShapeDtypeStruct((count, side, side, 1), F32)
    params = describe(devices, jax.eval_shape(model.init, jax.random.key(0), sample))
    batch = lay(devices, count, side, side, 1), lay(devices, count, side, side)
    return fit(changes, lose, params, batch, optimizer=optax.adam(1e-3))


# Mixtures of experts


def experts_choose(devices: Devices, changes: Change) -> Case:
    """Scanned layers in which each expert takes the tokens it likes best; adamw."""
    count, length, width, inner, experts = halve(changes, 4), 448, 256, 512, 8
    room = 2 * count * length // experts

    def layer(x: Any, w: Any) -> Any:
        q, k, v = jnp.split(root_norm(x, w["before"]) @ w["qkv"], 3, axis=-1)
        x = x + attend(q, k, v, 4, causal=True) @ w["out"]
        tokens = root_norm(x, w["between"]).reshape(-1, width)
        best, which = lax.top_k(jax.nn.softmax(tokens @ w["router"]).T, room)
        hidden = jax.nn.silu(jnp.einsum("erd,edf->erf", tokens[which], w["up"]))
        made = jnp.einsum("erf,efd->erd", hidden, w["down"]) * best[..., None]
        return x + jnp.zeros_like(tokens).at[which].add(made).reshape(x.shape)

    def lose(params: Any, tokens: Any) -> Any:
        x = run_layers(changes, layer, params["embed"][tokens[:, :-1]], params["layers"])
        return count_wrong(x @ params["head"], tokens[:, 1:])

    layers = {
        "before": (3, width), "qkv": (3, width, 3 * width), "out": (3, width, width),
        "between": (3, width), "router": (3, width, experts),
        "up": (3, experts, width, inner), "down": (3, experts, inner, width),
    }  # fmt: skip
    shapes = {"embed": (4000, width), "head": (width, 4000), "layers": layers}
    params = hold(functools.partial(lay, devices), shapes)
    tokens = lay(devices, count, length + 1, dtype=I32)
    return fit(changes, lose, params, tokens, optimizer=optax.adamw(1e-3))


def soft_experts(devices: Devices, changes: Change) -> Case:
    """Images whose patches are mixed into slots of experts; every second block; written out."""
    count, patches, width, inner, experts, slots = halve(changes, 12), 196, 192, 768, 16, 8

    def mix(x: Any, w: Any) -> Any:
        q, k, v = jnp.split(dense(settle(x, w["before"]), w["qkv"]), 3, axis=-1)
        x = x + dense(attend(q, k, v, 3), w["out"])
        y = settle(x, w["between"])
        logits = jnp.einsum("bpd,des->bpes", y, w["slots"])
        share = jax.nn.softmax(logits.reshape(count, patches, -1)).reshape(logits.shape)
        given = jnp.einsum("bpes,bpd->ebsd", jax.nn.softmax(logits, axis=1), y)
        hidden = jax.nn.gelu(jnp.einsum("ebsd,edf->ebsf", given, w["up"]))
        made = jnp.einsum("ebsf,efd->ebsd", hidden, w["down"])
        return x + jnp.einsum("bpes,ebsd->bpd", share, made)

    def lose(params: Any, batch: Any) -> Any:
        images, labels = batch
        x = dense(images, params["into"]) + params["places"]
        for plain, mixed in params["blocks"]:
            x = remat(changes, functools.partial(run_block, heads=3))(x, plain)
            x = remat(changes, mix)(x, mixed)
        return count_wrong(dense(x.mean(axis=1), params["head"]), labels)

    plain = block_shapes(width, inner)
    mixed = {
        **plain, "slots": (width, experts, slots), "up": (experts, width, inner),
        "down": (experts, inner, width),
    }  # fmt: skip
    shapes = {
        "into": line(768, width), "places": (patches, width), "blocks": [[plain, mixed]] * 2,
        "head": line(width, 1000),
    }  # fmt: skip
    batch = lay(devices, count, patches, 768), lay(devices, count, dtype=I32)
    params = hold(functools.partial(lay, devices), shapes)
    return fit(changes, lose, params, batch, optimizer=optax.lion(1e-4))


# Pipelines


def staged_words(devices: Devices, changes: Change) -> Case:
    """A language model in four stages; a scan over ticks passes small batches on."""
    stages, micro, rows, length, width, words = 4, 8, halve(changes, 4), 128, 256, 4096
    mesh = make_mesh(devices, stage=stages)
    onward = [(i, (i + 1) % stages) for i in range(stages)]

    def run_stage(x: Any, w: Any) -> Any:
        layer = functools.partial(run_block, heads=4, causal=True)
        return lax.scan(lambda x, w: (layer(x, w), None), x, w)[0]

    def here(embed: Any, layers: Any, tokens: Any) -> Any:
        place, run = lax.axis_index("stage"), remat(changes, run_stage)
        mine = jax.tree.map(lambda one: one[0], layers)

        def tick(x: Any, now: Any) -> Any:
            given = embed[tokens[jnp.minimum(now, micro - 1), :, :-1]]
            x = run(jnp.where(place == 0, given, x), mine)
            return lax.ppermute(x, "stage", onward), x

        start = jnp.zeros((rows, length, width))
        _, found = lax.scan(tick, start, jnp.arange(micro + stages - 1))
        loss = count_wrong(found[stages - 1 :] @ embed.T, tokens[..., 1:])
        return lax.psum(jnp.where(place == stages - 1, loss, 0), "stage")

    def lose(params: Any, tokens: Any) -> Any:
        spread = jax.tree.map(lambda _: P("stage"), params["layers"])
        run = mapped(mesh, here, (P(), spread, P()), P())
        return run(params["embed"], params["layers"], tokens)

    params = {
        "embed": lay_out(mesh, P(), words, width),
        "layers": hold(
            functools.partial(lay_out, mesh, P("stage")), block_shapes(width, 1024, stages, 2)
        ),
    }
    tokens = lay_out(mesh, P(), micro, rows, length + 1, dtype=I32)
    return fit(changes, lose, params, tokens, optimizer=optax.adam(1e-3))


def twice_around(devices: Devices, changes: Change) -> Case:
    """Each of four devices has two stages, so that small batches go around twice; momentum."""
    stages, rounds, rows, width, inner = 4, 2, halve(changes, 512), 384, 1024
    mesh = make_mesh(devices, stage=stages)
    onward = [(i, (i + 1) % stages) for i in range(stages)]

    def run_stage(x: Any, w: Any) -> Any:
        for number in range(2):
            one = jax.tree.map(lambda a, number=number: a[number], w)
            y = settle(x, one["norm"])
            x = x + dense(jax.nn.silu(dense(y, one["gate"])) * dense(y, one["up"]), one["down"])
        return x

    def here(layers: Any, given: Any, wanted: Any) -> Any:
        place, run = lax.axis_index("stage"), remat(changes, run_stage)

        def tick(x: Any, now: Any) -> Any:
            at = jnp.clip((now - place) // stages, 0, rounds - 1)
            w = jax.tree.map(lambda a: lax.dynamic_index_in_dim(a[0], at, keepdims=False), layers)
            fresh = (place == 0) & (now < stages)
            x = run(jnp.where(fresh, given[jnp.minimum(now, stages - 1)], x), w)
            return lax.ppermute(x, "stage", onward), x

        start = jnp.zeros((rows, width))
        _, found = lax.scan(tick, start, jnp.arange((rounds + 1) * stages - 1))
        far = jnp.square(found[-stages:] - wanted).mean()
        return lax.psum(jnp.where(place == stages - 1, far, 0), "stage")

    def lose(params: Any, batch: Any) -> Any:
        spread = jax.tree.map(lambda _: P("stage"), params)
        return mapped(mesh, here, (spread, P(), P()), P())(params, *batch)

    lead = (stages, rounds, 2)
    shapes = {
        "norm": scale(width, *lead), "gate": line(width, inner, *lead),
        "up": line(width, inner, *lead), "down": line(inner, width, *lead),
    }  # fmt: skip
    params = hold(functools.partial(lay_out, mesh, P("stage")), shapes)
    batch = tuple(lay_out(mesh, P(), stages, rows, width) for _ in range(2))
    return fit(changes, lose, params, batch, optimizer=optax.sgd(0.1, momentum=0.9))


# Caches


def transcribe(devices: Devices, changes: Change) -> Case:
    """One token of a transcript: a cache of its own grows, that of the sound is only read."""
    count, layers, heads, size, heard, length = halve(changes, 12), 4, 6, 64, 1500, 448
    width = heads * size

    def look(q: Any, keys: Any, values: Any, most: Any) -> Any:
        q = q.reshape(count, heads, size)
        scores = jnp.einsum("bhd,blhd->bhl", q, keys).astype(F32) * size**-0.5
        scores = jnp.where(jnp.arange(keys.shape[1]) <= most, scores, -1e9)
        mixed = jnp.einsum("bhl,blhd->bhd", jax.nn.softmax(scores).astype(BF16), values)
        return mixed.reshape(count, width)

    def decode(params: Any, sound: Any, cache: Any, token: Any, at: Any) -> Any:
        x, new = params["embed"][token] + params["places"][at], []
        for w, (k, v), held in zip(params["layers"], sound, cache, strict=True):
            q, *made = jnp.split(dense(settle(x, w["before"]), w["qkv"]), 3, axis=-1)
            keys, values = (
                old.at[:, at].set(one.reshape(count, heads, size))
                for old, one in zip(held, made, strict=True)
            )
            new.append((keys, values))
            x = x + dense(look(q, keys, values, at), w["out"])
            x = x + look(settle(x, w["cross"]) @ w["ask"], k, v, heard) @ w["answer"]
            x = x + dense(jax.nn.gelu(dense(settle(x, w["between"]), w["up"])), w["down"])
        logits = (x @ params["embed"].T).astype(F32)
        return jnp.argmax(logits, axis=-1).astype(I32), new, at + 1

    place = functools.partial(lay, devices, dtype=BF16)
    one = {
        **block_shapes(width, 4 * width), "cross": scale(width), "ask": (width, width),
        "answer": (width, width),
    }  # fmt: skip
    shapes = {"embed": (16000, width), "places": (length, width), "layers": [one] * layers}
    kept = [[place(count, heard, heads, size) for _ in "kv"] for _ in range(layers)]
    cache = [[place(count, length, heads, size) for _ in "kv"] for _ in range(layers)]
    token, at = lay(devices, count, dtype=I32), lay(devices, dtype=I32)
    return decode, (hold(place, shapes), kept, cache, token, at), donating(changes, 2)


def fill_cache(devices: Devices, changes: Change) -> Case:
    """Parts of prompts go into a cache, each row at a place of its own; scanned layers."""
    count, layers, length, part, heads, shared, size = halve(changes, 8), 6, 1792, 64, 8, 4, 64
    width = heads * size

    def put(held: Any, new: Any, at: Any) -> Any:
        return jax.vmap(lambda row, one, at: lax.dynamic_update_slice(row, one, (at, 0, 0)))(
            held, new, at
        )

    def fill(params: Any, cache: Any, tokens: Any, at: Any) -> Any:
        seen = jnp.arange(length) <= (at[:, None] + jnp.arange(part))[..., None]

        def layer(x: Any, given: Any) -> Any:
            w, keys, values = given
            y = root_norm(x, w["before"])
            k, v = jnp.split((y @ w["kv"]).reshape(count, part, 2 * shared, size), 2, axis=2)
            keys, values = put(keys, k, at), put(values, v, at)
            q = (y @ w["q"]).reshape(count, part, shared, heads // shared, size)
            scores = jnp.einsum("bpgnd,blgd->bgnpl", q, keys).astype(F32) * size**-0.5
            scores = jnp.where(seen[:, None, None], scores, -1e9)
            mixed = jnp.einsum("bgnpl,blgd->bpgnd", jax.nn.softmax(scores).astype(BF16), values)
            x = x + mixed.reshape(count, part, width) @ w["out"]
            y = root_norm(x, w["between"])
            return x + (jax.nn.silu(y @ w["gate"]) * (y @ w["up"])) @ w["down"], (keys, values)

        x, (keys, values) = lax.scan(
            layer, params["embed"][tokens], (params["layers"], cache["keys"], cache["values"])
        )
        logits = root_norm(x[:, -1], params["norm"]) @ params["embed"].T
        return {"keys": keys, "values": values}, logits.astype(F32), at + part

    place = functools.partial(lay, devices, dtype=BF16)
    shapes = {
        "before": (layers, width), "q": (layers, width, width), "between": (layers, width),
        "kv": (layers, width, 2 * shared * size), "out": (layers, width, width),
        "gate": (layers, width, 1344), "up": (layers, width, 1344), "down": (layers, 1344, width),
    }  # fmt: skip
    params = hold(place, {"embed": (12000, width), "norm": (width,), "layers": shapes})
    cache = {name: place(layers, count, length, shared, size) for name in ("keys", "values")}
    tokens, at = lay(devices, count, part, dtype=I32), lay(devices, count, dtype=I32)
    return fill, (params, cache, tokens, at), donating(changes, 1)


# Donation


def orthogonal(devices: Devices, changes: Change) -> Case:
    """Steps are made orthogonal before they are taken: five products of squares, and momentum."""
    count, width, inner, layers = halve(changes, 512), 640, 2560, 4

    def lose(params: Any, batch: Any) -> Any:
        x, wanted = batch
        for w in params:
            x = x + remat(changes, lambda x, w: jax.nn.relu(x @ w["up"]) ** 2 @ w["down"])(x, w)
        return jnp.square(x - wanted).mean()

    def straighten(step: Any) -> Any:
        tall = step.shape[0] > step.shape[1]
        x = (step.T if tall else step) / (jnp.linalg.norm(step) + 1e-7)
        for _ in range(5):
            square = x @ x.T
            x = 3.4445 * x + (-4.775 * square + 2.0315 * square @ square) @ x
        return x.T if tall else x

    def update(state: Any, batch: Any) -> Any:
        loss, grads = jax.value_and_grad(lose)(state["params"], batch)
        moments = jax.tree.map(lambda m, g: 0.95 * m + g, state["moments"], grads)
        steps = jax.tree.map(lambda m, g: straighten(g + 0.95 * m), moments, grads)
        params = jax.tree.map(lambda p, s: 0.999 * p - 0.02 * s, state["params"], steps)
        return {"params": params, "moments": moments}, loss

    place = functools.partial(lay, devices)
    params = hold(place, [{"up": (width, inner), "down": (inner, width)}] * layers)
    batch = place(count, width), place(count, width)
    return update, ({"params": params, "moments": params}, batch), donating(changes, 0)


def lattice(devices: Devices, changes: Change) -> Case:
    """Particles of nineteen directions on a grid collide and go on, around what is solid."""
    side = 88
    ways = np.array([way for way in itertools.product((0, 1, -1), repeat=3) if 0 in way])
    share = np.array([1 / 3, 1 / 18, 1 / 36])[np.abs(ways).sum(axis=1)].astype(np.float32)
    back = [int(np.flatnonzero((ways == -way).all(axis=1))[0]) for way in ways]

    def step(parts: Any, solid: Any, push: Any) -> Any:
        whole = parts.sum(axis=0)
        speed = jnp.einsum("qd,qxyz->dxyz", ways.astype(np.float32), parts) / whole
        speed = speed + push[:, None, None, None]
        along = jnp.einsum("qd,dxyz->qxyz", ways.astype(np.float32), speed)
        square = jnp.square(speed).sum(axis=0)
        calm = whole * (1 + 3 * along + 4.5 * along**2 - 1.5 * square)
        new = parts - (parts - share[:, None, None, None] * calm) / 0.6
        new = jnp.where(solid, parts[np.array(back)], new)
        gone = [jnp.roll(one, way, (0, 1, 2)) for one, way in zip(new, ways.tolist(), strict=True)]
        return jnp.stack(gone), jnp.where(solid, 0, square).mean()

    place = functools.partial(lay, devices)
    solid = place(side, side, side, dtype=jnp.bool_)
    return step, (place(19, side, side, side), solid, place(3)), donating(changes, 0)


def code_book(devices: Devices, changes: Change) -> Case:
    """Points are given to the nearest of 2048 codes, which move; points are donated in vain."""
    count, width, codes = halve(changes, 16384), 128, 2048

    def step(state: Any, points: Any) -> Any:
        book = state["sums"] / (state["counts"][:, None] + 1e-5)
        far = jnp.square(points).sum(axis=1, keepdims=True) - 2 * points @ book.T
        far = far + jnp.square(book).sum(axis=1)
        nearest = jnp.argmin(far, axis=1).astype(I32)
        chosen = jax.nn.one_hot(nearest, codes)
        counts = 0.99 * state["counts"] + 0.01 * chosen.sum(axis=0)
        sums = 0.99 * state["sums"] + 0.01 * chosen.T @ points
        used = jnp.exp(-jax.scipy.special.xlogy(counts / counts.sum(), counts / counts.sum()).sum())
        return {"counts": counts, "sums": sums}, nearest, far.min(axis=1).mean(), used

    place = functools.partial(lay, devices)
    state = {"counts": place(codes), "sums": place(codes, width)}
    return step, (state, place(count, width)), donating(changes, 0, 1)


def ensemble(devices: Devices, changes: Change) -> Case:
    """An ensemble goes on in time and is drawn to observations, which are donated in vain."""
    members, size, apart = 40, 3 << 16, 32

    def slope(x: Any) -> Any:
        return (jnp.roll(x, -1, 1) - jnp.roll(x, 2, 1)) * jnp.roll(x, 1, 1) - x + 8

    def step(states: Any, seen: Any) -> Any:
        one = slope(states)
        two = slope(states + 0.025 * one)
        three = slope(states + 0.025 * two)
        four = slope(states + 0.05 * three)
        states = states + 0.05 / 6 * (one + 2 * two + 2 * three + four)
        spread = states - states.mean(axis=0)
        there, apart_there = states[:, ::apart], spread[:, ::apart]
        inner = apart_there @ apart_there.T + (members - 1) * jnp.eye(members)
        weights = jax.scipy.linalg.solve(inner, apart_there @ (seen - there).T, assume_a="pos")
        return states + 1.02 * weights.T @ spread, jnp.square(seen - there).mean()

    given = lay(devices, members, size), lay(devices, members, size // apart)
    return step, given, donating(changes, 0, 1)


def particles(devices: Devices, changes: Change) -> Case:
    """Charged particles are pushed, sorted by cell and counted; all of them are donated."""
    count, side = 1_500_000, 64

    def step(state: Any, field: Any) -> Any:
        places, speeds, charges = state["places"], state["speeds"], state["charges"]
        cell = places.astype(I32)
        force = field[cell[:, 0], cell[:, 1], cell[:, 2]]
        speeds = speeds + 0.1 * charges[:, None] * force
        places = jnp.mod(places + 0.1 * speeds, side)
        cell = places.astype(I32)
        number = (cell[:, 0] * side + cell[:, 1]) * side + cell[:, 2]
        order = jnp.argsort(number)
        new = {"places": places[order], "speeds": speeds[order], "charges": charges[order]}
        density = jnp.zeros(side**3).at[number].add(charges).reshape(side, side, side)
        return new, density, (charges[:, None] * jnp.square(speeds)).sum()

    place = functools.partial(lay, devices)
    state = {"places": place(count, 3), "speeds": place(count, 3), "charges": place(count)}
    given = state, place(side, side, side, 3)
    return step, given, donating(changes, 0, donated=True)


def alternate(devices: Devices, changes: Change) -> Case:
    """Heat goes on along rows, then along columns, each by a solve; its field is donated."""
    fields, side, much = halve(changes, 6), 1024, 0.4
    factors = np.zeros(side, np.float32)
    for number in range(side):
        before = factors[number - 1] if number else 0.0
        factors[number] = -much / (1 + 2 * much + much * before)

    def solve(x: Any) -> Any:
        """Solve along the first axis."""

        def down(before: Any, given: Any) -> Any:
            one, factor = given
            now = (one + much * before) * (-factor / much)
            return now, now

        def up(after: Any, given: Any) -> Any:
            one, factor = given
            now = one - factor * after
            return now, now

        start = jnp.zeros(x.shape[1:])
        _, x = lax.scan(down, start, (x, factors))
        return lax.scan(up, start, (x, factors), reverse=True)[1]

    def spread(x: Any) -> Any:
        return (1 - 2 * much) * x + much * (jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0))

    def step(field: Any, source: Any) -> Any:
        rows, columns = field.transpose(1, 0, 2), source.transpose(2, 0, 1)
        half = solve(spread(rows) + 0.5 * source.transpose(1, 0, 2))
        half = half.transpose(2, 1, 0)
        whole = solve(spread(half) + 0.5 * columns)
        return whole.transpose(1, 2, 0), jnp.abs(whole).max()

    given = (lay(devices, fields, side, side),) * 2
    return step, given, donating(changes, 0, donated=True)


# Gradients that are added up


def prefer(devices: Devices, changes: Change) -> Case:
    """Of two answers the better one is to be likelier than a frozen model says; four parts."""
    parts, pairs, length, width, words = 4, halve(changes, 4), 128, 256, 8000

    def say(params: Any, tokens: Any, asked: Any) -> Any:
        x = params["embed"][tokens[:, :-1]] + params["places"]
        layer = remat(changes, functools.partial(run_block, heads=4, causal=True))
        for w in params["layers"]:
            x = layer(x, w)
        logits = settle(x, params["norm"]) @ params["embed"].T
        said = -optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:])
        return jnp.where(jnp.arange(length) >= asked[:, None], said, 0).sum(axis=-1)

    def lose(params: Any, frozen: Any, part: Any) -> Any:
        tokens, asked = (one.reshape(2 * pairs, *one.shape[2:]) for one in part)
        gain = say(params, tokens, asked) - lax.stop_gradient(say(frozen, tokens, asked))
        good, bad = gain.reshape(2, pairs)
        return -jax.nn.log_sigmoid(0.1 * (good - bad)).mean()

    optimizer = optax.adamw(1e-5)

    def update(state: Any, frozen: Any, batch: Any) -> Any:
        def add(carry: Any, part: Any) -> Any:
            loss, grads = jax.value_and_grad(lose)(state["params"], frozen, part)
            return jax.tree.map(jnp.add, carry, (loss, grads)), None

        start = jnp.float32(0), jax.tree.map(jnp.zeros_like, state["params"])
        (loss, grads), _ = lax.scan(add, start, batch)
        grads = jax.tree.map(lambda one: one / parts, grads)
        updates, moments = optimizer.update(grads, state["moments"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        return {"params": params, "moments": moments, "step": state["step"] + 1}, loss / parts

    place = functools.partial(lay, devices)
    shapes = {
        "embed": (words, width), "places": (length, width), "norm": scale(width),
        "layers": [block_shapes(width, 1024)] * 2,
    }  # fmt: skip
    params = hold(place, shapes)
    batch = (
        place(parts, 2, pairs, length + 1, dtype=I32), place(parts, 2, pairs, dtype=I32)
    )  # fmt: skip
    return update, (hold_state(params, optimizer), params, batch), donating(changes, 0)


def private(devices: Devices, changes: Change) -> Case:
    """The gradient of each image is clipped by itself; noise is added to their sum."""
    parts, rows = 4, halve(changes, 48)

    def block(x: Any, w: Any) -> Any:
        y = jax.nn.relu(convolve(x, w["one"], 2))
        groups = y.reshape(1, -1, 8, y.shape[-1] // 8)
        groups = groups - groups.mean((1, 3), keepdims=True)
        groups = groups * lax.rsqrt(jnp.square(groups).mean((1, 3), keepdims=True) + 1e-5)
        return jax.nn.relu(convolve(groups.reshape(y.shape) * w["scale"], w["two"]))

    def lose(params: Any, image: Any, label: Any) -> Any:
        x = convolve(image[None], params["stem"])
        for w in params["blocks"]:
            x = remat(changes, block)(x, w)
        return count_wrong(dense(x.mean(axis=(1, 2)), params["head"]), label[None])

    optimizer = optax.sgd(0.5, momentum=0.9)

    def clip(grads: Any) -> Any:
        share = jnp.minimum(1.0, 1.0 / (optax.global_norm(grads) + 1e-6))
        return jax.tree.map(lambda one: one * share, grads)

    def update(state: Any, batch: Any, key: Any) -> Any:
        def add(carry: Any, part: Any) -> Any:
            grads = jax.vmap(lambda *one: clip(jax.grad(lose)(state["params"], *one)))(*part)
            return jax.tree.map(lambda a, b: a + b.sum(axis=0), carry, grads), None

        grads, _ = lax.scan(add, jax.tree.map(jnp.zeros_like, state["params"]), batch)
        leaves, tree = jax.tree.flatten(grads)
        keys = jax.random.split(name_key(key), len(leaves))
        leaves = [
            (one + 1.1 * jax.random.normal(key, one.shape)) / (parts * rows)
            for one, key in zip(leaves, keys, strict=True)
        ]
        updates, moments = optimizer.update(jax.tree.unflatten(tree, leaves), state["moments"])
        params = optax.apply_updates(state["params"], updates)
        return {"params": params, "moments": moments, "step": state["step"] + 1}

    place = functools.partial(lay, devices)
    blocks = [
        {"one": (3, 3, before, width), "scale": (width,), "two": (3, 3, width, width)}
        for before, width in ((32, 48), (48, 96), (96, 160))
    ]
    shapes = {"stem": (3, 3, 3, 32), "blocks": blocks, "head": line(160, 10)}
    batch = place(parts, rows, 32, 32, 3), place(parts, rows, dtype=I32)
    state = hold_state(hold(place, shapes), optimizer)
    return update, (state, batch, place(2, dtype=jnp.uint32)), donating(changes, 0)


# Large vocabularies


def next_item(devices: Devices, changes: Change) -> Case:
    """What a customer takes next, of 30 thousand things, from what they took; two layers."""
    count, length, width, items = halve(changes, 8), 128, 96, 30000

    def lose(params: Any, batch: Any) -> Any:
        taken, wanted = batch
        x = params["items"][taken] + params["places"]
        for w in params["layers"]:
            x = remat(changes, functools.partial(run_block, heads=2, causal=True))(x, w)

        def score(x: Any, wanted: Any) -> Any:
            logits = settle(x, params["norm"]) @ params["items"].T
            loss = optax.softmax_cross_entropy_with_integer_labels(logits, wanted)
            return jnp.where(wanted > 0, loss, 0).sum()

        return measure(changes, score, x, wanted) / jnp.maximum((wanted > 0).sum(), 1)

    shapes = {
        "items": (items, width), "places": (length, width), "norm": scale(width),
        "layers": [block_shapes(width, 2 * width)] * 2,
    }  # fmt: skip
    batch = tuple(lay(devices, count, length, dtype=I32) for _ in range(2))
    params = hold(functools.partial(lay, devices), shapes)
    return fit(changes, lose, params, batch, optimizer=optax.adam(1e-3))


def capped(devices: Devices, changes: Change) -> Case:
    """Scanned layers in bfloat16 with four norms each; logits are capped by tanh; 40k words."""
    count, length, width, words, layers = halve(changes, 2), 256, 192, 40000, 3

    def layer(x: Any, w: Any) -> Any:
        w = jax.tree.map(lambda one: one.astype(BF16), w)
        q, k, v = jnp.split(root_norm(x, w["before"]) @ w["qkv"], 3, axis=-1)
        x = x + root_norm(attend(q, k, v, 3, causal=True) @ w["out"], w["after"])
        y = root_norm(x, w["before_gate"])
        y = (jax.nn.gelu(y @ w["gate"]) * (y @ w["up"])) @ w["down"]
        return x + root_norm(y, w["after_gate"])

    def lose(params: Any, tokens: Any) -> Any:
        x = params["embed"].astype(BF16)[tokens[:, :-1]] * width**0.5
        x = root_norm(run_layers(changes, layer, x, params["layers"]), params["norm"])

        def score(x: Any, wanted: Any) -> Any:
            logits = (x @ params["embed"].astype(BF16).T).astype(F32)
            logits = 30 * jnp.tanh(logits / 30)
            return optax.softmax_cross_entropy_with_integer_labels(logits, wanted).sum()

        return measure(changes, score, x, tokens[:, 1:]) / (count * length)

    norms = ("before", "after", "before_gate", "after_gate")
    shapes = {
        "embed": (words, width), "norm": (width,),
        "layers": {
            **dict.fromkeys(norms, (layers, width)), "qkv": (layers, width, 3 * width),
            "out": (layers, width, width), "gate": (layers, width, 768),
            "up": (layers, width, 768), "down": (layers, 768, width),
        },
    }  # fmt: skip
    params = hold(functools.partial(lay, devices), shapes)
    tokens = lay(devices, count, length + 1, dtype=I32)
    return fit(changes, lose, params, tokens, optimizer=optax.adamw(3e-4))


# Two towers


def match_captions(devices: Devices, changes: Change) -> Case:
    """Pictures and captions, each pair judged by itself with a sigmoid; layers written out."""
    count, width = halve(changes, 32), 192

    def run(x: Any, layers: Any) -> Any:
        for w in layers:
            x = remat(changes, functools.partial(run_block, heads=3))(x, w)
        return x

    def point(x: Any, w: Any) -> Any:
        x = dense(settle(x, w["norm"]), w["out"])
        return x / (jnp.linalg.norm(x, axis=-1, keepdims=True) + 1e-6)

    def lose(params: Any, batch: Any) -> Any:
        images, captions = batch
        cut = convolve(images, params["patches"], 16).reshape(count, -1, width)
        seen = run(cut + params["image_places"], params["image_layers"]).mean(axis=1)
        read = run(params["words"][captions] + params["text_places"], params["text_layers"])[:, -1]
        near = point(seen, params["image"]) @ point(read, params["text"]).T
        near = near * jnp.exp(params["heat"]) + params["bias"]
        return -jax.nn.log_sigmoid(near * (2 * jnp.eye(count) - 1)).sum() / count

    one = {"norm": scale(width), "out": line(width, 256)}
    shapes = {
        "patches": (16, 16, 3, width), "image_places": (64, width), "words": (8000, width),
        "text_places": (32, width), "image_layers": [block_shapes(width, 768)] * 2,
        "text_layers": [block_shapes(width, 768)] * 2, "image": one, "text": one,
        "heat": (), "bias": (),
    }  # fmt: skip
    batch = lay(devices, count, 128, 128, 3), lay(devices, count, 32, dtype=I32)
    params = hold(functools.partial(lay, devices), shapes)
    return fit(changes, lose, params, batch, optimizer=optax.adamw(1e-3))


def two_views(devices: Devices, changes: Change) -> Case:
    """Two views of each image are to be more alike than those of others; residual net; lars."""
    count = halve(changes, 32)

    def block(x: Any, w: Any, *, step: int) -> Any:
        y = jax.nn.relu(batch_norm(convolve(x, w["one"], step), w["a"]))
        y = batch_norm(convolve(y, w["two"]), w["b"])
        return jax.nn.relu(y + (convolve(x, w["past"], step) if "past" in w else x))

    def lose(params: Any, batch: Any) -> Any:
        x = jnp.concatenate(batch)
        x = jax.nn.relu(batch_norm(convolve(x, params["stem"]), params["norm"]))
        for w in params["blocks"]:
            step = 2 if "past" in w else 1
            x = remat(changes, functools.partial(block, step=step))(x, w)
        x = dense(jax.nn.relu(dense(x.mean(axis=(1, 2)), params["up"])), params["down"])
        x = x / jnp.linalg.norm(x, axis=-1, keepdims=True)
        near = jnp.where(jnp.eye(2 * count, dtype=bool), -1e9, x @ x.T / 0.2)
        return count_wrong(near, (jnp.arange(2 * count) + count) % (2 * count))

    blocks = []
    for before, width in ((48, 48), (48, 96), (96, 96), (96, 192)):
        blocks.append({
            "one": (3, 3, before, width), "a": scale(width), "two": (3, 3, width, width),
            "b": scale(width),
        })  # fmt: skip
        if before != width:
            blocks[-1]["past"] = (1, 1, before, width)
    shapes = {
        "stem": (3, 3, 3, 48), "norm": scale(48), "blocks": blocks, "up": line(192, 512),
        "down": line(512, 128),
    }  # fmt: skip
    batch = [lay(devices, count, 32, 32, 3) for _ in range(2)]
    params = hold(functools.partial(lay, devices), shapes)
    return fit(changes, lose, params, batch, optimizer=optax.lars(0.3))


# Diffusion


def two_streams(devices: Devices, changes: Change) -> Case:
    """Latents and words attend to each other; a flow is learned; weights are averaged too."""
    count, places, read, width, heads = halve(changes, 6), 256, 64, 256, 4

    def shift(x: Any, by: Any, at: int) -> Any:
        return jax.nn.standardize(x) * (1 + by[at + 1]) + by[at]

    def block(both: Any, w: Any, time: Any) -> Any:
        by = [jnp.split(dense(jax.nn.silu(time), one["shift"])[:, None], 6, axis=-1) for one in w]
        made = [dense(shift(x, b, 0), one["qkv"]) for x, b, one in zip(both, by, w, strict=True)]
        q, k, v = jnp.split(jnp.concatenate(made, axis=1), 3, axis=-1)
        mixed = jnp.split(attend(q, k, v, heads), [places], axis=1)
        new = []
        for x, b, one, m in zip(both, by, w, mixed, strict=True):
            y = x + b[2] * dense(m, one["out"])
            hidden = jax.nn.gelu(dense(shift(y, b, 3), one["up"]))
            new.append(y + b[5] * dense(hidden, one["down"]))
        return new

    def lose(params: Any, batch: Any) -> Any:
        clean, noise, words, when = batch
        level = when[:, None, None]
        x = dense((1 - level) * clean + level * noise, params["into"]) + params["places"]
        both = [x, dense(words, params["words"])]
        turned = when[:, None] * 1000 * jnp.exp(-jnp.linspace(0, 9, width // 2))
        time = jnp.concatenate([jnp.sin(turned), jnp.cos(turned)], axis=-1)
        time = dense(jax.nn.silu(dense(time, params["time"])), params["later"])
        for w in params["blocks"]:
            both = remat(changes, block)(both, w, time)
        found = dense(jax.nn.standardize(both[0]), params["out"])
        return jnp.square(found - (noise - clean)).mean()

    one = {**block_shapes(width, 1024), "shift": line(width, 6 * width)}
    del one["before"], one["between"]
    shapes = {
        "into": line(64, width), "places": (places, width), "words": line(512, width),
        "time": line(width, width), "later": line(width, width), "blocks": [[one, one]] * 3,
        "out": line(width, 64),
    }  # fmt: skip
    place = functools.partial(lay, devices)
    batch = (
        place(count, places, 64), place(count, places, 64), place(count, read, 512), place(count)
    )  # fmt: skip
    params = hold(place, shapes)
    return fit(changes, lose, params, batch, optimizer=optax.adamw(1e-4), average=0.9999)


def act_by_noise(devices: Devices, changes: Change) -> Case:
    """What a robot does next is drawn out of noise: down and up along time, told what it sees."""
    count, length, told = halve(changes, 256), 32, 384
    widths = (96, 192)

    def block(x: Any, w: Any, about: Any) -> Any:
        y = jax.nn.silu(jax.nn.standardize(convolve_along(x, w["one"])))
        by, to = jnp.split(dense(jax.nn.silu(about), w["told"])[:, None], 2, axis=-1)
        y = jax.nn.silu(jax.nn.standardize(convolve_along(y * (1 + by) + to, w["two"])))
        return y + x @ w["past"]

    def convolve_along(x: Any, w: Any, step: int = 1) -> Any:
        return lax.conv_general_dilated(
            x, w, (step,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")
        )

    def lose(params: Any, batch: Any) -> Any:
        acts, noise, seen, when = batch
        level = jnp.cos(when * np.pi / 2)[:, None, None]
        x = level * acts + jnp.sqrt(1 - level**2) * noise
        turned = when[:, None] * jnp.exp(-jnp.linspace(0, 9, 64)) * 100
        about = jnp.concatenate([seen, jnp.sin(turned), jnp.cos(turned)], axis=-1)
        about, run, kept = dense(about, params["about"]), remat(changes, block), []
        for w in params["down"]:
            kept.append(run(x, w["block"], about))
            x = convolve_along(kept[-1], w["half"], 2)
        x = run(x, params["middle"], about)
        for w, past in zip(params["up"], reversed(kept), strict=True):
            x = run(jnp.concatenate([x.repeat(2, axis=1), past], axis=-1), w, about)
        return jnp.square(dense(x, params["out"]) - noise).mean()

    def shape(before: int, width: int) -> Shapes:
        return {
            "one": (5, before, width), "told": line(told, 2 * width), "two": (5, width, width),
            "past": (before, width),
        }  # fmt: skip

    down, before = [], 14
    for width in widths:
        down.append({"block": shape(before, width), "half": (3, width, width)})
        before = width
    up = [shape(192 + 192, 96), shape(96 + 96, 96)]
    shapes = {
        "about": line(256 + 128, told), "down": down, "middle": shape(192, 192), "up": up,
        "out": line(96, 14),
    }  # fmt: skip
    place = functools.partial(lay, devices)
    acts = place(count, length, 14)
    batch = acts, acts, place(count, 256), place(count)
    params = hold(place, shapes)
    return fit(changes, lose, params, batch, optimizer=optax.adamw(1e-4), average=0.999)


# States instead of attention


def decay_in_parts(devices: Devices, changes: Change) -> Case:
    """Scanned layers whose state decays: within parts by products, between them by a scan."""
    count, length, part, width, heads, size, states = halve(changes, 4), 512, 64, 256, 8, 64, 32
    inner, parts = heads * size, length // part

    def layer(x: Any, w: Any) -> Any:
        made = root_norm(x, w["norm"]) @ w["into"]
        gate, y, far = jnp.split(made, [inner, 2 * inner + 2 * states], axis=-1)
        y = lax.conv_general_dilated(
            y, w["near"], (1,), [(3, 0)], dimension_numbers=("NWC", "WIO", "NWC"),
            feature_group_count=y.shape[-1],
        )  # fmt: skip
        y, put, take = jnp.split(jax.nn.silu(y), [inner, inner + states], axis=-1)
        far = jax.nn.softplus(far + w["far_bias"])
        y = y.reshape(count, parts, part, heads, size)
        put, take = (one.reshape(count, parts, part, states) for one in (put, take))
        far = far.reshape(count, parts, part, heads)
        gone = jnp.cumsum(-jnp.exp(w["decay"]) * far, axis=2)
        between = gone[:, :, :, None] - gone[:, :, None]
        allowed = jnp.tril(jnp.ones((part, part), bool))[..., None]
        weights = jnp.exp(jnp.where(allowed, between, -jnp.inf))
        given = y * far[..., None]
        within = jnp.einsum("bcln,bcsn,bclsh,bcshp->bclhp", take, put, weights, given)
        left = jnp.exp(gone[:, :, -1:] - gone)
        added = jnp.einsum("bcln,bclh,bclhp->bchpn", put, left, given)

        def step(state: Any, now: Any) -> Any:
            more, share = now
            return share[..., None, None] * state + more, state

        shares = jnp.exp(gone[:, :, -1]).swapaxes(0, 1)
        start = jnp.zeros((count, heads, size, states))
        _, before = lax.scan(step, start, (added.swapaxes(0, 1), shares))
        across = jnp.einsum("bcln,cbhpn,bclh->bclhp", take, before, jnp.exp(gone))
        found = (within + across + w["straight"][:, None] * y).reshape(count, length, inner)
        return x + root_norm(found * jax.nn.silu(gate), w["norm_out"]) @ w["out"]

    def lose(params: Any, tokens: Any) -> Any:
        x = run_layers(changes, layer, params["embed"][tokens[:, :-1]], params["layers"])
        return count_wrong(root_norm(x, params["norm"]) @ params["embed"].T, tokens[:, 1:])

    layers = {
        "norm": (width,), "into": (width, 2 * inner + 2 * states + heads),
        "near": (4, 1, inner + 2 * states), "far_bias": (heads,), "decay": (heads,),
        "straight": (heads,), "norm_out": (inner,), "out": (inner, width),
    }  # fmt: skip
    layers = {name: (4, *shape) for name, shape in layers.items()}
    params = hold(
        functools.partial(lay, devices),
        {"embed": (4000, width), "norm": (width,), "layers": layers},
    )
    tokens = lay(devices, count, length + 1, dtype=I32)
    return fit(changes, lose, params, tokens, optimizer=optax.adamw(1e-3))


def long_filters(devices: Devices, changes: Change) -> Case:
    """Each channel's state is a filter as long as the sound, applied by Fourier transforms."""
    count, length, width, states = halve(changes, 8), 1024, 128, 16

    def block(x: Any, w: Any) -> Any:
        step = jnp.exp(w["step"])[:, None]
        turn = lax.complex(-jnp.exp(w["fade"]), w["turn"])
        one = step * turn
        weight = lax.complex(w["real"], w["imag"]) * (jnp.exp(one) - 1) / turn
        powers = jnp.exp(one[..., None] * jnp.arange(length))
        filters = 2 * jnp.einsum("cn,cnl->cl", weight, powers).real
        y = settle(x, w["norm"]).swapaxes(1, 2)
        found = jnp.fft.rfft(y, 2 * length) * jnp.fft.rfft(filters, 2 * length)
        y = jnp.fft.irfft(found, 2 * length)[..., :length] + w["straight"][:, None] * y
        a, b = jnp.split(dense(jax.nn.gelu(y).swapaxes(1, 2), w["mix"]), 2, axis=-1)
        return x + a * jax.nn.sigmoid(b)

    def lose(params: Any, batch: Any) -> Any:
        sound, labels = batch
        x = dense(sound, params["into"])
        for w in params["blocks"]:
            x = remat(changes, block)(x, w)
        return count_wrong(dense(x.mean(axis=1), params["head"]), labels)

    pair = (width, states)
    one = {
        "step": (width,), "fade": pair, "turn": pair, "real": pair, "imag": pair,
        "straight": (width,), "norm": scale(width), "mix": line(width, 2 * width),
    }  # fmt: skip
    shapes = {"into": line(1, width), "blocks": [one] * 4, "head": line(width, 35)}
    batch = lay(devices, count, length, 1), lay(devices, count, dtype=I32)
    params = hold(functools.partial(lay, devices), shapes)
    return fit(changes, lose, params, batch, optimizer=optax.adamw(4e-3))


# Reinforcement learning


def clipped_policy(devices: Devices, changes: Change) -> Case:
    """A policy learns three times from the frames it played, in small batches that are drawn."""
    rows, parts = halve(changes, 768), 8
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(2.5e-4, eps=1e-5))

    def see(params: Any, frames: Any) -> Any:
        x = frames.astype(F32) / 255
        for w, step in zip(params["see"], (4, 2, 1), strict=True):
            x = jax.nn.relu(convolve(x, w, step))
        return jax.nn.relu(dense(x.reshape(x.shape[0], -1), params["think"]))

    def lose(params: Any, part: Any) -> Any:
        x = remat(changes, see)(params, part["frames"])
        chances = jax.nn.log_softmax(dense(x, params["act"]))
        chance = jnp.take_along_axis(chances, part["acts"][:, None], axis=1)[:, 0]
        ratio = jnp.exp(chance - part["chances"])
        gain = (part["gains"] - part["gains"].mean()) / (part["gains"].std() + 1e-8)
        gained = jnp.minimum(ratio * gain, jnp.clip(ratio, 0.9, 1.1) * gain).mean()
        worth = dense(x, params["worth"])[:, 0]
        open_minded = -(jnp.exp(chances) * chances).sum(axis=-1).mean()
        return 0.5 * jnp.square(worth - part["returns"]).mean() - gained - 0.01 * open_minded

    def update(state: Any, played: Any, key: Any) -> Any:
        def learn(state: Any, part: Any) -> Any:
            loss, grads = jax.value_and_grad(lose)(state["params"], part)
            updates, moments = optimizer.update(grads, state["moments"])
            params = optax.apply_updates(state["params"], updates)
            return {"params": params, "moments": moments, "step": state["step"] + 1}, loss

        def again(state: Any, key: Any) -> Any:
            order = jax.random.permutation(key, rows * parts)
            drawn = jax.tree.map(
                lambda one: one[order].reshape(parts, rows, *one.shape[1:]), played
            )
            return lax.scan(learn, state, drawn)

        return lax.scan(again, state, jax.random.split(name_key(key), 3))

    place = functools.partial(lay, devices)
    shapes = {
        "see": [(8, 8, 4, 32), (4, 4, 32, 64), (3, 3, 64, 64)], "think": line(6 * 6 * 64, 512),
        "act": line(512, 6), "worth": line(512, 1),
    }  # fmt: skip
    many = rows * parts
    played = {
        "frames": place(many, 48, 48, 4, dtype=jnp.uint8), "acts": place(many, dtype=I32),
        "chances": place(many), "gains": place(many), "returns": place(many),
    }  # fmt: skip
    state = hold_state(hold(place, shapes), optimizer)
    return update, (state, played, place(2, dtype=jnp.uint32)), donating(changes, 0)


def recall(h: Any, x: Any, w: Any) -> Any:
    """Run a recurrent cell with gates."""
    reset, keep, new = jnp.split(dense(jnp.concatenate([h, x], axis=-1), w), 3, axis=-1)
    keep = jax.nn.sigmoid(keep - 1)
    return keep * jnp.tanh(jax.nn.sigmoid(reset) * new) + (1 - keep) * h


def think(x: Any, layers: Any) -> Any:
    """Run a perceptron."""
    for w in layers[:-1]:
        x = jax.nn.silu(dense(x, w))
    return dense(x, layers[-1])


def draw(key: Any, said: Any) -> Any:
    """Draw what has a mean and a width."""
    mean, size = jnp.split(said, 2, axis=-1)
    return mean + (jax.nn.softplus(size) + 0.1) * jax.random.normal(key, mean.shape)


def imagine(devices: Devices, changes: Change) -> Case:
    """A model of the world is learned along games; what is imagined from there is judged."""
    count, length, ahead, held, drawn, acts = halve(changes, 16), 32, 12, 256, 128, 6

    def go_on(params: Any, h: Any, z: Any, act: Any) -> Any:
        x = jax.nn.silu(dense(jnp.concatenate([z, act], axis=-1), params["into"]))
        h = recall(h, x, params["cell"])
        return h, think(h, params["foretell"])

    def lose(params: Any, batch: Any) -> Any:
        seen, done, gains, key = batch
        first, second = jax.random.split(name_key(key))

        def watch(carry: Any, now: Any) -> Any:
            h, z = carry
            looked, act, key = now
            h, prior = go_on(params, h, z, act)
            said = think(jnp.concatenate([h, looked], axis=-1), params["recognize"])
            z = draw(key, said)
            return (h, z), (h, z, prior, said)

        def dream(carry: Any, key: Any) -> Any:
            h, z = carry
            both = jnp.concatenate([h, z], axis=-1)
            one, two = jax.random.split(key)
            act = jnp.tanh(draw(one, think(both, params["policy"])))
            h, prior = go_on(params, h, z, act)
            z = draw(two, prior)
            return (h, z), jnp.concatenate([h, z], axis=-1)

        looked = think(seen, params["look"])
        start = jnp.zeros((count, held)), jnp.zeros((count, drawn))
        given = looked, done, jax.random.split(first, length)
        _, (h, z, prior, said) = lax.scan(remat(changes, watch), start, given)
        both = jnp.concatenate([h, z], axis=-1)
        apart = jnp.square(prior - said).mean()
        model = jnp.square(think(both, params["show"]) - seen).mean() + apart
        model += jnp.square(think(both, params["gain"])[..., 0] - gains).mean()
        begin = h.reshape(-1, held), z.reshape(-1, drawn)
        begin = jax.tree.map(lax.stop_gradient, begin)
        _, states = lax.scan(remat(changes, dream), begin, jax.random.split(second, ahead))
        hoped = think(states, params["gain"])[..., 0]
        worth = think(states, params["worth"])[..., 0]

        def back(after: Any, now: Any) -> Any:
            gain, value = now
            total = gain + 0.99 * (0.05 * value + 0.95 * after)
            return total, total

        _, returns = lax.scan(back, worth[-1], (hoped, worth), reverse=True)
        missed = jnp.square(worth - lax.stop_gradient(returns)).mean()
        return model + missed - returns.mean()

    def layers(*widths: int) -> list[Shapes]:
        return [line(*both) for both in itertools.pairwise(widths)]

    both = held + drawn
    shapes = {
        "into": line(drawn + acts, held), "cell": line(2 * held, 3 * held),
        "foretell": layers(held, 256, 2 * drawn), "look": layers(512, 384, 256),
        "recognize": layers(held + 256, 256, 2 * drawn), "show": layers(both, 384, 384, 512),
        "gain": layers(both, 256, 1), "worth": layers(both, 256, 1),
        "policy": layers(both, 256, 2 * acts),
    }  # fmt: skip
    place = functools.partial(lay, devices)
    batch = (
        place(length, count, 512), place(length, count, acts), place(length, count),
        place(2, dtype=jnp.uint32),
    )  # fmt: skip
    params = hold(place, shapes)
    optimizer = optax.chain(optax.clip_by_global_norm(100.0), optax.adam(1e-4))
    return fit(changes, lose, params, batch, optimizer=optimizer)


# Solvers


def grids(devices: Devices, changes: Change) -> Case:
    """Cycles over coarser and coarser grids, in three dimensions, for several sides at once."""
    sides, size, cycles = halve(changes, 4), 128, 4

    def press(x: Any, width: float) -> Any:
        around = sum(jnp.roll(x, by, axis) for by in (1, -1) for axis in (1, 2, 3))
        return (6 * x - around) / width**2

    def smooth(x: Any, wanted: Any, width: float) -> Any:
        for _ in range(2):
            x = x + 0.8 * width**2 / 6 * (wanted - press(x, width))
        return x

    def cycle(x: Any, wanted: Any, width: float) -> Any:
        x = smooth(x, wanted, width)
        if x.shape[1] > size // 8:
            left, half = wanted - press(x, width), x.shape[1] // 2
            left = left.reshape(sides, half, 2, half, 2, half, 2).mean((2, 4, 6))
            more = cycle(jnp.zeros_like(left), left, 2 * width)
            x = x + more.repeat(2, axis=1).repeat(2, axis=2).repeat(2, axis=3)
        return smooth(x, wanted, width)

    def solve(x: Any, wanted: Any) -> Any:
        x = lax.fori_loop(0, cycles, lambda _, x: cycle(x, wanted, 1 / size), x)
        return x, jnp.sqrt(jnp.square(wanted - press(x, 1 / size)).mean((1, 2, 3)))

    given = (lay(devices, sides, size, size, size),) * 2
    return solve, given, donating(changes, 0)


def flow_in_time(devices: Devices, changes: Change) -> Case:
    """Points flow by a learned slope, forty steps of fourth order, to where they were seen."""
    count, width, steps = halve(changes, 512), 192, 40

    def slope(params: Any, x: Any, when: Any) -> Any:
        y = jnp.tanh(dense(x, params["one"]) + when * params["when"])
        y = jnp.tanh(dense(y, params["two"]))
        return dense(jnp.tanh(dense(y, params["three"])), params["four"])

    def lose(params: Any, batch: Any) -> Any:
        start, wanted = batch

        def step(x: Any, when: Any) -> Any:
            one = slope(params, x, when)
            two = slope(params, x + 0.5 / steps * one, when + 0.5 / steps)
            three = slope(params, x + 0.5 / steps * two, when + 0.5 / steps)
            four = slope(params, x + three / steps, when + 1 / steps)
            x = x + (one + 2 * two + 2 * three + four) / (6 * steps)
            return x, x

        _, path = lax.scan(remat(changes, step), start, jnp.arange(steps) / steps)
        return jnp.square(path[steps // 10 - 1 :: steps // 10] - wanted).mean()

    shapes = {
        "one": line(64, width), "when": (width,), "two": line(width, width),
        "three": line(width, width), "four": line(width, 64),
    }  # fmt: skip
    batch = lay(devices, count, 64), lay(devices, 10, count, 64)
    params = hold(functools.partial(lay, devices), shapes)
    return fit(changes, lose, params, batch, optimizer=optax.adam(1e-3))


BUILDERS: Mapping[str, Build] = {
    one.__name__: one
    for group in (
        (pair_stack, masked_patches, summarize, writer, gated_patches, next_words, radiance),
        (windows, dense_blocks, outline, experts_choose, soft_experts, staged_words),
        (twice_around, transcribe, fill_cache, orthogonal, lattice, code_book, ensemble),
        (particles, alternate, prefer, private, next_item, capped, match_captions, two_views),
        (two_streams, act_by_noise, decay_in_parts, long_filters, clipped_policy, imagine),
        (grids, flow_in_time),
    )
    for one in group
}
