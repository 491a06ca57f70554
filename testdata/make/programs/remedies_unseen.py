"""Programs that people train and run, of further kinds, with remedies in their source.

They were written from what such programs are in practice, before any advice on them was seen, and
by someone who had read none of hlotool's code. A builder is a function of the devices, the changes
and the program's sizes; it returns what `build_step` returns.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from make.programs.remedies_fresh import remat
from make.programs.remedies_other import donating, halve, lay, lay_out, make_mesh, mapped
from make.programs.remedies_train import BF16, F32, I32, Case, Change, Devices

Build: TypeAlias = Callable[..., Case]
Place: TypeAlias = Callable[..., Any]
CHUNKS = 8


def hold(place: Place, shapes: Any) -> Any:
    """Describe arrays of these shapes, all in one place."""
    return jax.tree.map(lambda one: place(*one), shapes, is_leaf=lambda one: isinstance(one, tuple))


def learn(
    changes: Change, lose: Callable[..., Any], params: Any, batch: Any, *, optimizer: Any,
    donated: bool = False,
) -> Case:  # fmt: skip
    """Build a train step; moments lie where the parameters of their shape lie."""

    def train_step(params: Any, moments: Any, batch: Any) -> Any:
        loss, grads = jax.value_and_grad(lose)(params, batch)
        updates, moments = optimizer.update(grads, moments, params)
        return optax.apply_updates(params, updates), moments, loss

    leaves = jax.tree.leaves(params)
    places = {leaf.shape: leaf.sharding for leaf in leaves}
    mesh = getattr(leaves[0].sharding, "mesh", None)
    other = NamedSharding(mesh, P()) if mesh else leaves[0].sharding
    moments = jax.tree.map(
        lambda m: jax.ShapeDtypeStruct(m.shape, m.dtype, sharding=places.get(m.shape, other)),
        jax.eval_shape(optimizer.init, params),
    )
    more = donating(changes, 0, 1, donated=donated)
    if mesh:
        kept = jax.tree.map(lambda one: one.sharding, (params, moments))
        more["out_shardings"] = (*kept, None)
    return train_step, (params, moments, batch), more


def run_layers(changes: Change, layer: Callable[..., Any], x: Any, layers: Any) -> Any:
    """Scan layers that lie one after the other in arrays."""
    run = remat(changes, layer)
    return lax.scan(lambda x, w: (run(x, w), None), x, layers)[0]


def measure(changes: Change, score: Callable[..., Any], x: Any, wanted: Any) -> Any:
    """Add up the loss of all places, or of eight parts of the sequence one after the other."""
    if "chunked-loss" not in changes:
        return score(x, wanted)
    cut = [
        one.reshape(one.shape[0], CHUNKS, -1, *one.shape[2:]).swapaxes(0, 1) for one in (x, wanted)
    ]
    part = jax.checkpoint(score)
    return lax.scan(lambda s, one: (s + part(*one), None), jnp.float32(0), cut)[0]


# Parts of layers


def norm(x: Any) -> Any:
    """Divide by the root of the mean square."""
    size = jnp.mean(jnp.square(x.astype(F32)), axis=-1, keepdims=True)
    return x * lax.rsqrt(size + 1e-6).astype(x.dtype)


def look(q: Any, k: Any, v: Any, heads: int, shared: int, *, causal: bool = False) -> Any:
    """Attend with heads of queries, some of which share keys and values."""
    batch, length, _ = q.shape
    q = q.reshape(batch, length, shared, heads // shared, -1)
    k, v = (one.reshape(batch, one.shape[1], shared, -1) for one in (k, v))
    scores = jnp.einsum("blgnd,bmgd->bgnlm", q, k).astype(F32) * q.shape[-1] ** -0.5
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
    weights = jax.nn.softmax(scores, axis=-1).astype(v.dtype)
    return jnp.einsum("bgnlm,bmgd->blgnd", weights, v).reshape(batch, length, -1)


def list_shapes(width: int, inner: int, *layers: int) -> dict[str, tuple[int, ...]]:
    """List the shapes of the weights of a transformer's layer, or of several in one array."""
    shapes = {"qkv": (width, 3 * width), "out": (width, width)}
    shapes |= {"up": (width, inner), "down": (inner, width)}
    return {name: (*layers, *shape) for name, shape in shapes.items()}


def think(x: Any, w: Any, *, heads: int, causal: bool = False) -> Any:
    """Run attention and a perceptron."""
    q, k, v = jnp.split(norm(x) @ w["qkv"], 3, axis=-1)
    x = x + look(q, k, v, heads, heads, causal=causal) @ w["out"]
    return x + jax.nn.gelu(norm(x) @ w["up"]) @ w["down"]


def convolve(x: Any, w: Any, step: int = 1, **more: Any) -> Any:
    """Convolve along all axes between the first and the last."""
    axes = "DHW"[5 - x.ndim :]
    names = (f"N{axes}C", f"{axes}IO", f"N{axes}C")
    return lax.conv_general_dilated(
        x, w, (step,) * len(axes), "SAME", dimension_numbers=names, **more
    )


def group_norm(x: Any, groups: int = 8) -> Any:
    """Make mean and variance the same in each group of channels."""
    parts = x.reshape(x.shape[0], -1, groups, x.shape[-1] // groups)
    mean, size = parts.mean((1, 3), keepdims=True), parts.var((1, 3), keepdims=True)
    return ((parts - mean) * lax.rsqrt(size + 1e-5)).reshape(x.shape)


def double(x: Any) -> Any:
    """Repeat each place along all axes between the first and the last."""
    for axis in range(1, x.ndim - 1):
        x = x.repeat(2, axis=axis)
    return x


# Layers that are scanned


def llama(
    devices: Devices, changes: Change, *, layers: int, batch: int, length: int, width: int,
    words: int, fsdp: int = 1, scoped: int = 0, donated: int = 0,
) -> Case:  # fmt: skip
    """A language model with rotary positions and shared keys, in bfloat16, with adamw."""
    mesh = make_mesh(devices, fsdp=fsdp)
    batch, heads, shared, size = halve(changes, batch), 8, 2, width // 8
    angles = jnp.arange(length)[:, None] * 1e4 ** -jnp.linspace(0, 1, size // 2)

    def turn(x: Any) -> Any:
        a, b = jnp.split(x.reshape(*x.shape[:2], -1, size), 2, axis=-1)
        sin, cos = (one(angles)[:, None].astype(x.dtype) for one in (jnp.sin, jnp.cos))
        return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape)

    def layer(x: Any, w: Any) -> Any:
        w = jax.tree.map(lambda one: one.astype(BF16), w)

        def attend(x: Any) -> Any:
            y = norm(x)
            q, (k, v) = y @ w["q"], jnp.split(y @ w["kv"], 2, axis=-1)
            return x + look(turn(q), turn(k), v, heads, shared, causal=True) @ w["out"]

        def gate(x: Any) -> Any:
            y = norm(x)
            return x + (jax.nn.silu(y @ w["gate"]) * (y @ w["up"])) @ w["down"]

        if scoped:
            attend, gate = jax.named_scope("attend")(attend), jax.named_scope("gate")(gate)
        return gate(attend(x))

    def lose(params: Any, tokens: Any) -> Any:
        x = params["embed"].astype(BF16)[tokens[:, :-1]]
        x = norm(run_layers(changes, layer, x, params["layers"]))

        def score(x: Any, wanted: Any) -> Any:
            logits = (x @ params["head"].astype(BF16)).astype(F32)
            return optax.softmax_cross_entropy_with_integer_labels(logits, wanted).sum()

        return measure(changes, score, x, tokens[:, 1:]) / (batch * length)

    inner = width * 8 // 3 // 64 * 64
    shapes = {
        "q": (width, width), "kv": (width, 2 * shared * size), "out": (width, width),
        "gate": (width, inner), "up": (width, inner), "down": (inner, width),
    }  # fmt: skip
    params = {
        "embed": lay_out(mesh, P("fsdp"), words, width),
        "head": lay_out(mesh, P("fsdp"), width, words),
        "layers": {
            name: lay_out(mesh, P(None, "fsdp"), layers, *one) for name, one in shapes.items()
        },
    }
    tokens = lay_out(mesh, P("fsdp"), batch, length + 1, dtype=I32)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(3e-4))
    return learn(changes, lose, params, tokens, optimizer=optimizer, donated=bool(donated))


def mixer(devices: Devices, changes: Change) -> Case:
    """Perceptrons over patches and over channels in turn, with lion."""
    count, patches, width = halve(changes, 8), 196, 256

    def layer(x: Any, w: Any) -> Any:
        y = jax.nn.standardize(x).swapaxes(1, 2)
        x = x + (jax.nn.gelu(y @ w["over"]) @ w["back"]).swapaxes(1, 2)
        return x + jax.nn.gelu(jax.nn.standardize(x) @ w["up"]) @ w["down"]

    def lose(params: Any, batch: Any) -> Any:
        images, labels = batch
        cut = images.reshape(count, 14, 16, 14, 16, 3).swapaxes(2, 3).reshape(count, patches, 768)
        x = run_layers(changes, layer, cut @ params["into"], params["layers"])
        logits = x.mean(axis=1) @ params["head"]
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    shapes = {
        "into": (768, width), "head": (width, 1000),
        "layers": {
            "over": (5, patches, 384), "back": (5, 384, patches),
            "up": (5, width, 1024), "down": (5, 1024, width),
        },
    }  # fmt: skip
    batch = lay(devices, count, 224, 224, 3), lay(devices, count, dtype=I32)
    params = hold(functools.partial(lay, devices), shapes)
    return learn(changes, lose, params, batch, optimizer=optax.lion(1e-4))


def fill_in(devices: Devices, changes: Change) -> Case:
    """A model of masked words with dropout, whose loss looks at the masked places only."""
    count, length, width, words, masked = halve(changes, 8), 256, 256, 16000, 40

    def drop(key: Any, x: Any) -> Any:
        return jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0)

    def layer(x: Any, given: Any) -> Any:
        w, key = given
        first, second = jax.random.split(key)
        with jax.named_scope("attention"):
            q, k, v = jnp.split(x @ w["qkv"], 3, axis=-1)
            x = jax.nn.standardize(x + drop(first, look(q, k, v, 4, 4) @ w["out"]))
        with jax.named_scope("feed_forward"):
            made = jax.nn.gelu(x @ w["up"]) @ w["down"]
            return jax.nn.standardize(x + drop(second, made))

    def lose(params: Any, batch: Any) -> Any:
        tokens, places, wanted, key = batch
        with jax.named_scope("embed"):
            x = params["embed"][tokens] + params["positions"]
        keys = jax.random.split(jax.random.wrap_key_data(key), 6)
        with jax.named_scope("encoder"):
            x = run_layers(changes, layer, x, (params["layers"], keys))
        with jax.named_scope("head"):
            logits = jnp.take_along_axis(x, places[..., None], 1) @ params["embed"].T
            return optax.softmax_cross_entropy_with_integer_labels(logits, wanted).mean()

    shapes = {
        "embed": (words, width), "positions": (length, width),
        "layers": list_shapes(width, 1024, 6),
    }  # fmt: skip
    batch = (
        lay(devices, count, length, dtype=I32), lay(devices, count, masked, dtype=I32),
        lay(devices, count, masked, dtype=I32), lay(devices, 2, dtype=jnp.uint32),
    )  # fmt: skip
    params = hold(functools.partial(lay, devices), shapes)
    return learn(changes, lose, params, batch, optimizer=optax.adamw(1e-4))


def denoise(devices: Devices, changes: Change) -> Case:
    """A diffusion transformer whose layers are shifted by the time; averaged weights, donated."""
    count, places, width = halve(changes, 4), 256, 256
    optimizer = optax.adam(1e-4)

    def layer(x: Any, given: Any) -> Any:
        w, time = given
        with jax.named_scope("block"):
            shifts = jnp.split((jax.nn.silu(time) @ w["shift"])[:, None], 6, axis=-1)
            y = jax.nn.standardize(x) * (1 + shifts[0]) + shifts[1]
            q, k, v = jnp.split(y @ w["qkv"], 3, axis=-1)
            x = x + shifts[2] * (look(q, k, v, 4, 4) @ w["out"])
            y = jax.nn.standardize(x) * (1 + shifts[3]) + shifts[4]
            return x + shifts[5] * (jax.nn.gelu(y @ w["up"]) @ w["down"])

    def lose(params: Any, batch: Any) -> Any:
        clean, noise, when = batch
        level = when[:, None, None]
        x = (jnp.sqrt(1 - level) * clean + jnp.sqrt(level) * noise) @ params["into"]
        time = jnp.sin(when[:, None] * jnp.arange(width)) @ params["time"]
        run = remat(changes, lambda x, w: layer(x, (w, time)))
        x, _ = lax.scan(lambda x, w: (run(x, w), None), x, params["layers"])
        return ((x @ params["out"] - noise) ** 2).mean()

    def train_step(state: Any, batch: Any) -> Any:
        loss, grads = jax.value_and_grad(lose)(state["params"], batch)
        updates, moments = optimizer.update(grads, state["moments"])
        params = optax.apply_updates(state["params"], updates)
        mean = jax.tree.map(lambda m, p: 0.999 * m + 0.001 * p, state["mean"], params)
        return {"params": params, "mean": mean, "moments": moments}, loss

    shapes = {
        "into": (16, width), "out": (width, 16), "time": (width, width),
        "layers": {**list_shapes(width, 1024, 6), "shift": (6, width, 6 * width)},
    }  # fmt: skip
    place = functools.partial(lay, devices)
    params = hold(place, shapes)
    moments = jax.tree.map(
        lambda m: place(*m.shape, dtype=m.dtype), jax.eval_shape(optimizer.init, params)
    )
    batch = place(count, places, 16), place(count, places, 16), place(count)
    state = {"params": params, "mean": params, "moments": moments}
    return train_step, (state, batch), donating(changes, 0, donated=True)


# Layers that are written out


def speech(devices: Devices, changes: Change) -> Case:
    """Sound through two convolutions and an encoder; a decoder looks at it; with adafactor."""
    count, width, words = halve(changes, 4), 256, 4096

    def encode(x: Any, w: Any) -> Any:
        return think(x, w, heads=4)

    def decode(x: Any, w: Any, heard: Any) -> Any:
        x = think(x, w["self"], heads=4, causal=True)
        k, v = jnp.split(heard @ w["kv"], 2, axis=-1)
        return x + look(norm(x) @ w["q"], k, v, 4, 4) @ w["back"]

    def lose(params: Any, batch: Any) -> Any:
        sound, tokens = batch
        heard = jax.nn.gelu(convolve(sound, params["one"]))
        heard = jax.nn.gelu(convolve(heard, params["two"], 2))
        for w in params["encoder"]:
            heard = remat(changes, encode)(heard, w)
        x = params["embed"][tokens[:, :-1]]
        for w in params["decoder"]:
            x = remat(changes, decode)(x, w, heard)
        logits = norm(x) @ params["embed"].T
        return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

    layer = list_shapes(width, 1024)
    cross = {"self": layer, "q": (width, width), "kv": (width, 2 * width), "back": (width, width)}
    shapes = {
        "one": (3, 80, width), "two": (3, width, width), "embed": (words, width),
        "encoder": [layer] * 3, "decoder": [cross] * 3,
    }  # fmt: skip
    batch = lay(devices, count, 800, 80), lay(devices, count, 97, dtype=I32)
    params = hold(functools.partial(lay, devices), shapes)
    return learn(changes, lose, params, batch, optimizer=optax.adafactor(1e-3))


def latents(devices: Devices, changes: Change) -> Case:
    """A few latents look at long bytes again and again, and think in between; sgd."""
    count, length, few, width = halve(changes, 8), 4096, 128, 256

    def block(x: Any, w: Any, seen: Any) -> Any:
        k, v = jnp.split(seen @ w["kv"], 2, axis=-1)
        x = x + look(norm(x) @ w["q"], k, v, 1, 1) @ w["back"]
        return think(think(x, w["first"], heads=4), w["second"], heads=4)

    def lose(params: Any, batch: Any) -> Any:
        read, wanted = batch
        seen = params["bytes"][read] + params["positions"]
        x = jnp.broadcast_to(params["latents"], (count, few, width))
        for number, w in enumerate(params["blocks"]):
            with jax.named_scope(f"block_{number}"):
                x = remat(changes, block)(x, w, seen)
        return ((x.mean(axis=1) @ params["out"] - wanted) ** 2).mean()

    layer = list_shapes(width, 1024)
    one = {
        "kv": (64, 2 * width), "q": (width, width), "back": (width, width),
        "first": layer, "second": layer,
    }  # fmt: skip
    shapes = {
        "bytes": (256, 64), "positions": (length, 64), "latents": (few, width),
        "out": (width, 10), "blocks": [one] * 3,
    }  # fmt: skip
    batch = lay(devices, count, length, dtype=I32), lay(devices, count, 10)
    params = hold(functools.partial(lay, devices), shapes)
    return learn(changes, lose, params, batch, optimizer=optax.sgd(0.01))


# Convolutions


def bottlenecks(devices: Devices, changes: Change) -> Case:
    """A residual net with batch norm, whose running means go along, and Nesterov's momentum."""
    count = halve(changes, 16)
    widths = ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1))
    optimizer = optax.sgd(0.1, momentum=0.9, nesterov=True)

    def settle(x: Any, w: Any) -> tuple[Any, Any]:
        mean, size = x.mean((0, 1, 2)), x.var((0, 1, 2))
        return (x - mean) * lax.rsqrt(size + 1e-5) * w, (mean, size)

    def block(x: Any, w: Any, step: int) -> tuple[Any, Any]:
        y, one = settle(convolve(x, w["in"]), w["a"])
        y, two = settle(convolve(jax.nn.relu(y), w["mid"], step), w["b"])
        y, three = settle(convolve(jax.nn.relu(y), w["out"]), w["c"])
        past = convolve(x, w["past"], step) if "past" in w else x
        return jax.nn.relu(y + past), (one, two, three)

    def lose(params: Any, batch: Any) -> Any:
        images, labels = batch
        x = jax.nn.relu(convolve(images, params["stem"], 2))
        x, seen = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"), []
        run = jax.checkpoint(block, static_argnums=2) if "checkpoint" in changes else block
        for w, (_, step) in zip(params["blocks"], widths, strict=True):
            x, found = run(x, w, step)
            seen.append(found)
        logits = x.mean((1, 2)) @ params["head"]
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), seen

    def train_step(params: Any, moments: Any, running: Any, batch: Any) -> Any:
        (loss, seen), grads = jax.value_and_grad(lose, has_aux=True)(params, batch)
        running = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, running, seen)
        updates, moments = optimizer.update(grads, moments)
        return optax.apply_updates(params, updates), moments, running, loss

    blocks, before = [], 64
    for width, step in widths:
        blocks.append({
            "in": (1, 1, before, width), "mid": (3, 3, width, width),
            "out": (1, 1, width, 4 * width), "a": (width,), "b": (width,), "c": (4 * width,),
        })  # fmt: skip
        if before != 4 * width or step > 1:
            blocks[-1]["past"] = (1, 1, before, 4 * width)
        before = 4 * width
    place = functools.partial(lay, devices)
    params = hold(place, {"stem": (7, 7, 3, 64), "head": (before, 200), "blocks": blocks})
    moments = jax.tree.map(
        lambda m: place(*m.shape, dtype=m.dtype), jax.eval_shape(optimizer.init, params)
    )
    batch = place(count, 128, 128, 3), place(count, dtype=I32)
    running = jax.eval_shape(lose, params, batch)[1]
    running = jax.tree.map(lambda one: place(*one.shape), running)
    return train_step, (params, moments, running, batch), donating(changes, 0, 1, 2)


def wave_net(devices: Devices, changes: Change) -> Case:
    """Dilated convolutions along sound; all layers add to one sum; 256 classes at each place."""
    count, length, width = halve(changes, 4), 4096, 48

    def layer(x: Any, w: Any, far: int) -> Any:
        y = lax.conv_general_dilated(
            x, w["far"], (1,), [(far, 0)], rhs_dilation=(far,),
            dimension_numbers=("NWC", "WIO", "NWC"),
        )  # fmt: skip
        signal, gate = jnp.split(y, 2, axis=-1)
        y = jnp.tanh(signal) * jax.nn.sigmoid(gate)
        return x + y @ w["on"], y @ w["skip"]

    def lose(params: Any, batch: Any) -> Any:
        x = params["embed"][batch[:, :-1]]
        run = jax.checkpoint(layer, static_argnums=2) if "checkpoint" in changes else layer
        total = jnp.zeros((count, length, 128))
        for number, w in enumerate(params["layers"]):
            x, more = run(x, w, 2 ** (number % 5))
            total = total + more

        def score(total: Any, wanted: Any) -> Any:
            logits = jax.nn.relu(total) @ params["head"]
            return optax.softmax_cross_entropy_with_integer_labels(logits, wanted).sum()

        return measure(changes, score, total, batch[:, 1:]) / (count * length)

    one = {"far": (2, width, 2 * width), "on": (width, width), "skip": (width, 128)}
    shapes = {"embed": (256, width), "head": (128, 256), "layers": [one] * 10}
    params = hold(functools.partial(lay, devices), shapes)
    batch = lay(devices, count, length + 1, dtype=I32)
    return learn(changes, lose, params, batch, optimizer=optax.adam(1e-3), donated=True)


# Mixtures of experts


def choose_two(devices: Devices, changes: Change) -> Case:
    """Scanned layers whose tokens go to two experts each; experts lie on four devices."""
    mesh = make_mesh(devices, expert=4)
    groups, tokens, width, inner, experts, room = halve(changes, 16), 256, 256, 768, 8, 96

    def layer(x: Any, w: Any) -> Any:
        gates = jax.nn.softmax(jnp.einsum("gtd,de->gte", norm(x), w["router"]))
        best, which = lax.top_k(gates, 2)
        chosen = jax.nn.one_hot(which, experts)  # group, token, choice, expert
        order = chosen.swapaxes(1, 2).reshape(groups, 2 * tokens, experts)
        place = (jnp.cumsum(order, axis=1) - order).reshape(groups, 2, tokens, experts)
        place = (place.swapaxes(1, 2) * chosen).sum(-1).astype(I32)
        mix = jnp.einsum("gtce,gtcr,gtc->gter", chosen, jax.nn.one_hot(place, room), best)
        taken = jnp.einsum("gter,gtd->egrd", (mix > 0).astype(F32), x)
        taken = lax.with_sharding_constraint(taken, NamedSharding(mesh, P("expert")))
        made = jnp.einsum("egrf,efd->egrd", jax.nn.gelu(
            jnp.einsum("egrd,edf->egrf", taken, w["up"])), w["down"])  # fmt: skip
        x = x + jnp.einsum("gter,egrd->gtd", mix, made)
        return lax.with_sharding_constraint(x, NamedSharding(mesh, P("expert")))

    def lose(params: Any, batch: Any) -> Any:
        x, wanted = batch
        return ((run_layers(changes, layer, x, params) - wanted) ** 2).mean()

    held = P(None, "expert")
    params = {
        "router": lay_out(mesh, P(), 4, width, experts),
        "up": lay_out(mesh, held, 4, experts, width, inner),
        "down": lay_out(mesh, held, 4, experts, inner, width),
    }
    batch = tuple(lay_out(mesh, P("expert"), groups, tokens, width) for _ in range(2))
    return learn(changes, lose, params, batch, optimizer=optax.adamw(1e-3))


def sort_tokens(devices: Devices, changes: Change) -> Case:
    """Tokens are sorted by expert and go through ragged products: none is dropped."""
    count, width, inner, experts = halve(changes, 2048), 256, 512, 6

    def layer(x: Any, w: Any) -> Any:
        gates = jax.nn.softmax(x @ w["router"])
        which = jnp.argmax(gates, axis=-1)
        order = jnp.argsort(which)
        sizes = jnp.bincount(which, length=experts).astype(I32)
        hidden = jax.nn.silu(lax.ragged_dot(norm(x)[order], w["up"], sizes))
        made = lax.ragged_dot(hidden, w["down"], sizes)
        return x + made[jnp.argsort(order)] * gates.max(axis=-1, keepdims=True)

    def lose(params: Any, batch: Any) -> Any:
        x, wanted = batch
        for w in params:
            x = remat(changes, layer)(x, w)
        return ((x - wanted) ** 2).mean()

    one = {
        "router": (width, experts), "up": (experts, width, inner), "down": (experts, inner, width),
    }  # fmt: skip
    batch = tuple(lay(devices, count, width) for _ in range(2))
    params = hold(functools.partial(lay, devices), [one] * 3)
    return learn(changes, lose, params, batch, optimizer=optax.lion(1e-4))


# Pipelines


def roll_stages(devices: Devices, changes: Change) -> Case:
    """All stages run at once on an axis that is divided, and their results roll on."""
    stages, micro, rows, width, inner = 4, 8, halve(changes, 512), 512, 2048
    mesh = make_mesh(devices, stage=stages)
    divided = NamedSharding(mesh, P("stage"))

    def run_stage(x: Any, w: Any) -> Any:
        for number in range(2):
            x = x + jax.nn.relu(norm(x) @ w["up"][number]) @ w["down"][number]
        return x

    def lose(params: Any, batch: Any) -> Any:
        given, wanted = batch
        run = jax.vmap(remat(changes, run_stage))

        def turn(held: Any, now: Any) -> Any:
            held = held.at[0].set(given[jnp.minimum(now, micro - 1)])
            held = lax.with_sharding_constraint(run(held, params), divided)
            return jnp.roll(held, 1, axis=0), held[-1]

        start = lax.with_sharding_constraint(jnp.zeros((stages, rows, width)), divided)
        _, found = lax.scan(turn, start, jnp.arange(micro + stages - 1))
        return ((found[stages - 1 :] - wanted) ** 2).mean()

    params = {
        "up": lay_out(mesh, P("stage"), stages, 2, width, inner),
        "down": lay_out(mesh, P("stage"), stages, 2, inner, width),
    }
    batch = tuple(lay_out(mesh, P(), micro, rows, width) for _ in range(2))
    return learn(changes, lose, params, batch, optimizer=optax.sgd(0.1, momentum=0.9))


def loop_stages(devices: Devices, changes: Change) -> Case:
    """Stages of attention in a loop that is written out, on two axes of devices."""
    stages, micro, rows, length, width = 4, 4, halve(changes, 4), 128, 256
    mesh = make_mesh(devices, data=2, stage=stages)
    onward = [(i, (i + 1) % stages) for i in range(stages)]

    def run_stage(x: Any, w: Any) -> Any:
        for number in range(2):
            here = {name: one[0, number] for name, one in w.items()}
            x = think(x, here, heads=4, causal=True)
        return x

    def here(params: Any, given: Any, wanted: Any) -> Any:
        place, run = lax.axis_index("stage"), remat(changes, run_stage)
        x, loss = jnp.zeros(given.shape[1:]), jnp.float32(0)
        for now in range(micro + stages - 1):
            with jax.named_scope(f"tick_{now}"):
                x = run(jnp.where(place == 0, given[min(now, micro - 1)], x), params)
                if now >= stages - 1:
                    far = ((x - wanted[now - stages + 1]) ** 2).mean()
                    loss = loss + jnp.where(place == stages - 1, far, 0)
                x = lax.ppermute(x, "stage", onward)
        return lax.pmean(lax.psum(loss, "stage"), "data")

    def lose(params: Any, batch: Any) -> Any:
        spread = P(None, "data")
        return mapped(mesh, here, (P("stage"), spread, spread), P())(params, *batch)

    shapes = list_shapes(width, 1024, stages, 2)
    params = hold(functools.partial(lay_out, mesh, P("stage")), shapes)
    place = functools.partial(lay_out, mesh, P(None, "data"))
    batch = tuple(place(micro, 2 * rows, length, width) for _ in range(2))
    return learn(changes, lose, params, batch, optimizer=optax.adam(1e-3))


# Caches


def slide(devices: Devices, changes: Change) -> Case:
    """Decoding with a window: the newest key takes the place of the oldest, in bfloat16."""
    count, layers, window, heads, shared, size = halve(changes, 24), 8, 640, 8, 2, 64

    def run(params: Any, cache: Any, x: Any, at: Any) -> Any:
        def layer(x: Any, given: Any) -> Any:
            w, keys, values = given
            y = norm(x)
            q, new = y @ w["q"], (y @ w["kv"]).reshape(count, 1, 2 * shared, size)
            k, v = jnp.split(new, 2, axis=2)
            keys = lax.dynamic_update_slice_in_dim(keys, k, at % window, 1)
            values = lax.dynamic_update_slice_in_dim(values, v, at % window, 1)
            q = q.reshape(count, shared, heads // shared, size)
            scores = jnp.einsum("bgnd,blgd->bgnl", q, keys).astype(F32) * size**-0.5
            scores = jnp.where(jnp.arange(window) <= at, scores, -1e9)
            mixed = jnp.einsum("bgnl,blgd->bgnd", jax.nn.softmax(scores).astype(BF16), values)
            x = x + mixed.reshape(count, -1) @ w["out"]
            return x + jax.nn.silu(norm(x) @ w["up"]) @ w["down"], (keys, values)

        x, cache = lax.scan(layer, x, (params["layers"], *cache))
        return jnp.argmax(norm(x) @ params["head"], axis=-1), cache

    width, place = heads * size, functools.partial(lay, devices, dtype=BF16)
    shapes = {
        "q": (layers, width, width), "kv": (layers, width, 2 * shared * size),
        "out": (layers, width, width), "up": (layers, width, 1024), "down": (layers, 1024, width),
    }  # fmt: skip
    params = hold(place, {"layers": shapes, "head": (width, 8192)})
    cache = tuple(place(layers, count, window, shared, size) for _ in "kv")
    given = params, cache, place(count, width), lay(devices, dtype=I32)
    return run, given, donating(changes, 1)


def compressed(devices: Devices, changes: Change) -> Case:
    """Keys and values are made of a small latent that is cached; rows lie on four devices."""
    mesh = make_mesh(devices, data=4)
    count, length, width, small, heads = halve(changes, 64), 1536, 512, 96, 8

    def layer(x: Any, w: Any, known: Any, at: Any) -> Any:
        known = lax.dynamic_update_slice_in_dim(known, (x @ w["press"])[:, None], at, 1)
        q = jnp.einsum("bd,dhs->bhs", norm(x), w["q"])
        scores = jnp.einsum("bhs,bls->bhl", q, known) * small**-0.5
        scores = jnp.where(jnp.arange(length) <= at, scores, -1e9)
        mixed = jnp.einsum("bhl,bls->bhs", jax.nn.softmax(scores), known)
        return x + jnp.einsum("bhs,hsd->bd", mixed, w["out"]), known

    def run(params: Any, cache: Any, x: Any, at: Any) -> Any:
        new = []
        for w, held in zip(params, cache, strict=True):
            x, known = layer(x, w, held, at)
            new.append(known)
        return x, new

    one = {"press": (width, small), "q": (width, heads, small), "out": (heads, small, width)}
    params = hold(functools.partial(lay_out, mesh, P()), [one] * 6)
    place = functools.partial(lay_out, mesh, P("data"))
    cache = [place(count, length, small) for _ in range(6)]
    given = params, cache, place(count, width), lay_out(mesh, P(), dtype=I32)
    kept = [one.sharding for one in cache]
    more = donating(changes, 1, donated=True)
    return run, given, {**more, "out_shardings": (None, kept)}


def sample(devices: Devices, changes: Change) -> Case:
    """A hundred tokens are drawn one after the other; the loop carries all caches."""
    count, layers, length, width, words = halve(changes, 16), 4, 1024, 256, 6000

    def run(params: Any, cache: Any, token: Any, start: Any) -> Any:
        def turn(carry: Any, key: Any) -> Any:
            cache, token, at = carry
            x, new = params["embed"][token], []
            for w, held in zip(params["layers"], cache, strict=True):
                q, k = jnp.split(norm(x) @ w["qk"], 2, axis=-1)
                known = held.at[:, at].set(k)
                scores = jnp.einsum("bd,bld->bl", q, known) * width**-0.5
                scores = jnp.where(jnp.arange(length) <= at, scores, -1e9)
                x = x + jnp.einsum("bl,bld->bd", jax.nn.softmax(scores), known) @ w["out"]
                x = x + jax.nn.relu(norm(x) @ w["up"]) @ w["down"]
                new.append(known)
            token = jax.random.categorical(key, x @ params["embed"].T).astype(I32)
            return (new, token, at + 1), token

        keys = jax.random.split(jax.random.key(1), 100)
        (cache, _, _), tokens = lax.scan(turn, (cache, token, start), keys)
        return tokens, cache

    one = {
        "qk": (width, 2 * width), "out": (width, width), "up": (width, 1024), "down": (1024, width),
    }  # fmt: skip
    place = functools.partial(lay, devices)
    params = hold(place, {"embed": (words, width), "layers": [one] * layers})
    cache = [place(count, length, width) for _ in range(layers)]
    given = params, cache, place(count, dtype=I32), place(dtype=I32)
    return run, given, donating(changes, 1)


# Donation


def grow(devices: Devices, changes: Change) -> Case:
    """Each step makes the cache longer, so it has no place to go; another state has one."""
    count, length, width, states = halve(changes, 8), 1023, 512, 256

    def run(params: Any, state: Any, x: Any) -> Any:
        new = []
        for w, (seen, held) in zip(params, state, strict=True):
            known = jnp.concatenate([seen, (x @ w["key"])[:, None]], axis=1)
            scores = jax.nn.softmax(jnp.einsum("bd,bld->bl", x, known) * width**-0.5)
            x = x + jnp.einsum("bl,bld->bd", scores, known)
            memory = 0.95 * held + jnp.einsum("bd,bs->bds", x, jnp.tanh(x @ w["put"]))
            x = x + jnp.einsum("bds,bs->bd", memory, x @ w["take"])
            new.append((known, memory))
        return norm(x), new

    place = functools.partial(lay, devices)
    one = {"key": (width, width), "put": (width, states), "take": (width, states)}
    state = [(place(count, length, width), place(count, width, states)) for _ in range(3)]
    return run, (hold(place, [one] * 3), state, place(count, width)), donating(changes, 1)


def play(devices: Devices, changes: Change) -> Case:
    """Learning of values from played frames, with a slow net; frames are donated in vain."""
    count = halve(changes, 256)
    optimizer = optax.rmsprop(1e-4)

    def value(params: Any, frames: Any) -> Any:
        x = frames.astype(F32) / 255
        for w, step in zip(params["see"], (4, 2, 1), strict=True):
            x = jax.nn.relu(convolve(x, w, step))
        return jax.nn.relu(x.reshape(count, -1) @ params["think"]) @ params["act"]

    def train_step(params: Any, slow: Any, moments: Any, batch: Any) -> Any:
        frames, after, acts, gains = batch
        best = gains + 0.99 * value(slow, after).max(axis=-1)

        def lose(params: Any) -> Any:
            seen = remat(changes, value)(params, frames)
            error = jnp.take_along_axis(seen, acts[:, None], 1)[:, 0] - best
            return optax.huber_loss(error).mean(), error

        grads, errors = jax.grad(lose, has_aux=True)(params)
        updates, moments = optimizer.update(grads, moments)
        params = optax.apply_updates(params, updates)
        return params, optax.incremental_update(params, slow, 0.01), moments, errors

    place = functools.partial(lay, devices)
    shapes = {
        "see": [(8, 8, 4, 32), (4, 4, 32, 64), (3, 3, 64, 64)],
        "think": (11 * 11 * 64, 512), "act": (512, 18),
    }  # fmt: skip
    params = hold(place, shapes)
    moments = jax.tree.map(
        lambda m: place(*m.shape, dtype=m.dtype), jax.eval_shape(optimizer.init, params)
    )
    frames = place(count, 84, 84, 4, dtype=jnp.uint8)
    batch = frames, frames, place(count, dtype=I32), place(count)
    return train_step, (params, params, moments, batch), donating(changes, 0, 1, 2, 3)


def leapfrog(devices: Devices, changes: Change) -> Case:
    """A wave goes on by one step: of two donated fields the newer becomes the older."""
    side = 160

    def run(before: Any, now: Any, speed: Any) -> Any:
        around = sum(jnp.roll(now, by, axis) for by in (1, -1) for axis in range(3))
        after = 2 * now - before + speed * (around - 6 * now)
        return now, after, after[side // 2, side // 2]

    return run, (lay(devices, side, side, side),) * 3, donating(changes, 0, 1, donated=True)


def shift_past(devices: Devices, changes: Change) -> Case:
    """A step of a second-order method whose donated past moves on by one."""
    rows, count, classes, past = halve(changes, 512), 784, 512, 10

    def lose(w: Any, x: Any, wanted: Any) -> Any:
        return ((jnp.tanh(x @ w) - wanted) ** 2).mean()

    def run(state: Any, x: Any, wanted: Any) -> Any:
        w, old, moves, turns = state["w"], state["grad"], state["moves"], state["turns"]
        grad = jax.grad(lose)(w, x, wanted)
        way, scales = grad, []
        for move, turn in zip(moves[::-1], turns[::-1], strict=True):
            scales.append((move * way).sum() / ((move * turn).sum() + 1e-9))
            way = way - scales[-1] * turn
        for move, turn, scale in zip(moves, turns, scales[::-1], strict=True):
            way = way + move * (scale - (turn * way).sum() / ((move * turn).sum() + 1e-9))
        moves = jnp.concatenate([moves[1:], -0.1 * way[None]])
        turns = jnp.concatenate([turns[1:], (grad - old)[None]])
        return {"w": w - 0.1 * way, "grad": grad, "moves": moves, "turns": turns}

    place = functools.partial(lay, devices)
    one, many = place(count, classes), place(past, count, classes)
    state = {"w": one, "grad": one, "moves": many, "turns": many}
    given = state, place(rows, count), place(rows, classes)
    return run, given, donating(changes, 0, donated=True)


def remember(devices: Devices, changes: Change) -> Case:
    """Of a donated state the step before is kept, so that one can go back."""
    count, width, inner = halve(changes, 256), 1024, 2048

    def run(state: Any, batch: Any) -> Any:
        x, wanted = batch

        def lose(params: Any) -> Any:
            y = x
            for w in params:
                y = y + jnp.tanh(y @ w["up"]) @ w["down"]
            return ((y - wanted) ** 2).mean()

        loss, grads = jax.value_and_grad(lose)(state["now"])
        new = jax.tree.map(lambda p, g: p - 0.1 * g, state["now"], grads)
        far = optax.global_norm(jax.tree.map(jnp.subtract, new, state["before"]))
        return {"now": new, "before": state["now"]}, loss, far

    place = functools.partial(lay, devices)
    params = hold(place, [{"up": (width, inner), "down": (inner, width)}] * 2)
    batch = place(count, width), place(count, width)
    return run, ({"now": params, "before": params}, batch), donating(changes, 0, donated=True)


# Gradients that are added up


def every_fourth(devices: Devices, changes: Change) -> Case:
    """Gradients add up in the optimizer's state, which steps at each fourth call only."""
    count, length, width, words = halve(changes, 8), 128, 320, 6000

    def lose(params: Any, tokens: Any) -> Any:
        x = params["embed"][tokens[:, :-1]]
        layer = remat(changes, functools.partial(think, heads=5, causal=True))
        for w in params["layers"]:
            x = layer(x, w)
        logits = norm(x) @ params["head"]
        return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

    shapes = {
        "embed": (words, width), "head": (width, words), "layers": [list_shapes(width, 1280)] * 3,
    }  # fmt: skip
    params = hold(functools.partial(lay, devices), shapes)
    tokens = lay(devices, count, length + 1, dtype=I32)
    return learn(changes, lose, params, tokens, optimizer=optax.MultiSteps(optax.adamw(1e-3), 4))


def add_up(devices: Devices, changes: Change) -> Case:
    """Small batches of images go one after the other; parameters are divided among eight."""
    mesh = make_mesh(devices, fsdp=8)
    count, parts, width, inner = halve(changes, 64), 4, 128, 512

    def block(x: Any, w: Any) -> Any:
        y = convolve(x, w["depth"], feature_group_count=width)
        return x + jax.nn.gelu(jax.nn.standardize(y) @ w["up"]) @ w["down"]

    def lose(params: Any, batch: Any) -> Any:
        images, labels = batch
        x = convolve(images, params["stem"], 4)
        for w in params["blocks"]:
            x = remat(changes, block)(x, w)
        logits = x.mean((1, 2)) @ params["head"]
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    def lose_all(params: Any, batch: Any) -> Any:
        # The gradient of a scan over small batches, each of which is computed again.
        part = jax.checkpoint(lose)
        return lax.scan(lambda s, one: (s + part(params, one), None), 0.0, batch)[0] / parts

    one = {"depth": (7, 7, 1, width), "up": (width, inner), "down": (inner, width)}
    shapes = {"stem": (4, 4, 3, width), "head": (width, 1000), "blocks": [one] * 6}
    params = jax.tree.map(
        lambda one: lay_out(mesh, P(*[None] * (len(one) - 1), "fsdp"), *one),
        shapes, is_leaf=lambda one: isinstance(one, tuple),
    )  # fmt: skip
    place = functools.partial(lay_out, mesh, P(None, "fsdp"))
    batch = place(parts, count, 128, 128, 3), place(parts, count, dtype=I32)
    return learn(changes, lose_all, params, batch, optimizer=optax.adamw(1e-3))


# Large vocabularies


def divided_words(devices: Devices, changes: Change) -> Case:
    """Heads, perceptrons and 64 thousand words are divided among four devices."""
    mesh = make_mesh(devices, tensor=4)
    count, length, width, inner, words = halve(changes, 4), 256, 256, 1024, 65536

    def layer(x: Any, w: Any) -> Any:
        return think(x, w, heads=8, causal=True)

    def lose(params: Any, tokens: Any) -> Any:
        x = run_layers(changes, layer, params["embed"][tokens[:, :-1]], params["layers"])

        def score(x: Any, wanted: Any) -> Any:
            logits = jnp.einsum("bld,vd->blv", norm(x), params["embed"])
            shared = NamedSharding(mesh, P(None, None, "tensor"))
            logits = lax.with_sharding_constraint(logits, shared)
            picked = (logits * jax.nn.one_hot(wanted, words)).sum(axis=-1)
            return (jax.nn.logsumexp(logits, axis=-1) - picked).sum()

        return measure(changes, score, x, tokens[:, 1:]) / (count * length)

    shapes, across = list_shapes(width, inner, 3), P(None, None, "tensor")
    params = {
        "embed": lay_out(mesh, P("tensor"), words, width),
        "layers": {
            name: lay_out(mesh, across if name in ("qkv", "up") else P(None, "tensor"), *shape)
            for name, shape in shapes.items()
        },
    }
    tokens = lay_out(mesh, P(), count, length + 1, dtype=I32)
    return learn(changes, lose, params, tokens, optimizer=optax.sgd(0.1, momentum=0.9))


def smoothed(devices: Devices, changes: Change) -> Case:
    """Smoothed labels and a penalty on large logits, over 32 thousand words; adafactor."""
    count, length, width, words = halve(changes, 2), 256, 256, 32000

    def lose(params: Any, tokens: Any) -> Any:
        x = params["embed"][tokens[:, :-1]]
        layer = remat(changes, functools.partial(think, heads=4, causal=True))
        for number, w in enumerate(params["layers"]):
            with jax.named_scope(f"layer_{number}"):
                x = layer(x, w)

        def score(x: Any, wanted: Any) -> Any:
            logits = norm(x) @ params["embed"].T
            whole = jax.nn.logsumexp(logits, axis=-1)
            picked = jnp.take_along_axis(logits, wanted[..., None], -1)[..., 0]
            loss = whole - 0.9 * picked - 0.1 * logits.mean(axis=-1)
            return (loss + 1e-4 * whole**2).sum()

        with jax.named_scope("head"):
            return measure(changes, score, x, tokens[:, 1:]) / (count * length)

    shapes = {"embed": (words, width), "layers": [list_shapes(width, 1024)] * 2}
    params = hold(functools.partial(lay, devices), shapes)
    tokens = lay(devices, count, length + 1, dtype=I32)
    return learn(changes, lose, params, tokens, optimizer=optax.adafactor(1e-3))


# Along time


def both_ways(devices: Devices, changes: Change) -> Case:
    """Gated recurrent layers read sound in both directions; all alignments count."""
    count, length, width, letters = halve(changes, 16), 200, 192, 32

    def step(w: Any, state: Any, now: Any) -> Any:
        kept, new = jnp.split(jax.nn.sigmoid(now[..., : 2 * width] + state @ w["gates"]), 2, -1)
        made = jnp.tanh(now[..., 2 * width :] + (new * state) @ w["made"])
        state = kept * state + (1 - kept) * made
        return state, state

    def read(x: Any, w: Any, *, reverse: bool) -> Any:
        run = remat(changes, functools.partial(step, w))
        start = jnp.zeros((count, width))
        return lax.scan(run, start, x @ w["into"], reverse=reverse)[1]

    def lose(params: Any, batch: Any) -> Any:
        sound, letters_read, sizes = batch
        x = sound.swapaxes(0, 1)
        for pair in params["layers"]:
            ways = [read(x, w, reverse=bool(way)) for way, w in enumerate(pair)]
            x = jnp.concatenate(ways, axis=-1)
        logits = (x @ params["head"]).swapaxes(0, 1)
        short = (jnp.arange(40) >= sizes[:, None]).astype(F32)
        return optax.ctc_loss(logits, jnp.zeros((count, length)), letters_read, short).mean()

    def one(into: int) -> Any:
        return {"into": (into, 3 * width), "gates": (width, 2 * width), "made": (width, width)}

    layers = [[one(80)] * 2, [one(2 * width)] * 2, [one(2 * width)] * 2]
    params = hold(functools.partial(lay, devices), {"layers": layers, "head": (2 * width, letters)})
    batch = (
        lay(devices, count, length, 80), lay(devices, count, 40, dtype=I32),
        lay(devices, count, dtype=I32),
    )  # fmt: skip
    return learn(changes, lose, params, batch, optimizer=optax.adam(1e-3))


def films(devices: Devices, changes: Change) -> Case:
    """Gates of convolutions run along the frames of films, and foretell the next."""
    count, frames, side, width = halve(changes, 4), 12, 48, 32

    def step(w: Any, state: Any, frame: Any) -> Any:
        hidden, cell = state
        both = jnp.concatenate([frame, hidden], axis=-1)
        into, kept, out, made = jnp.split(convolve(both, w["gates"]), 4, axis=-1)
        cell = jax.nn.sigmoid(kept) * cell + jax.nn.sigmoid(into) * jnp.tanh(made)
        hidden = jax.nn.sigmoid(out) * jnp.tanh(cell)
        return (hidden, cell), convolve(hidden, w["show"])

    def lose(params: Any, film: Any) -> Any:
        run = remat(changes, functools.partial(step, params))
        start = (jnp.zeros((count, side, side, width)),) * 2
        _, shown = lax.scan(run, start, film[:-1])
        return ((shown - film[1:]) ** 2).mean()

    shapes = {"gates": (5, 5, 3 + width, 4 * width), "show": (3, 3, width, 3)}
    params = hold(functools.partial(lay, devices), shapes)
    film = lay(devices, frames + 1, count, side, side, 3)
    return learn(changes, lose, params, film, optimizer=optax.rmsprop(1e-3))


# Ways past the middle


def unnoise(devices: Devices, changes: Change) -> Case:
    """A net of diffusion: residual blocks with the time, attention in the middle; donated."""
    count = halve(changes, 4)

    def block(x: Any, w: Any, time: Any) -> Any:
        y = convolve(jax.nn.silu(group_norm(x)), w["one"]) + (time @ w["time"])[:, None, None]
        return convolve(x, w["past"]) + convolve(jax.nn.silu(group_norm(y)), w["two"])

    def lose(params: Any, batch: Any) -> Any:
        clean, noise, when = batch
        run, kept = remat(changes, block), []
        level = when[:, None, None, None]
        time = jax.nn.silu(jnp.sin(when[:, None] * jnp.arange(64)) @ params["time"])
        x = convolve(jnp.sqrt(1 - level) * clean + jnp.sqrt(level) * noise, params["into"])
        for level_down in params["down"]:
            x = run(x, level_down, time)
            kept.append(x)
            x = x.reshape(count, x.shape[1] // 2, 2, x.shape[2] // 2, 2, -1).mean((2, 4))
        flat = think(x.reshape(count, -1, x.shape[-1]), params["middle"], heads=4)
        x = flat.reshape(x.shape)
        for level_up in params["up"]:
            x = run(jnp.concatenate([double(x), kept.pop()], axis=-1), level_up, time)
        return ((convolve(x, params["out"]) - noise) ** 2).mean()

    def block_shapes(into: int, out: int) -> Any:
        return {
            "one": (3, 3, into, out), "two": (3, 3, out, out), "past": (1, 1, into, out),
            "time": (64, out),
        }  # fmt: skip

    shapes = {
        "time": (64, 64), "into": (3, 3, 3, 48), "out": (3, 3, 48, 3),
        "down": [block_shapes(*one) for one in ((48, 48), (48, 96), (96, 192))],
        "middle": list_shapes(192, 384),
        "up": [block_shapes(*one) for one in ((384, 96), (192, 48), (96, 48))],
    }  # fmt: skip
    params = hold(functools.partial(lay, devices), shapes)
    image = lay(devices, count, 64, 64, 3)
    batch = image, image, lay(devices, count)
    return learn(changes, lose, params, batch, optimizer=optax.adam(2e-4), donated=True)


def volumes(devices: Devices, changes: Change) -> Case:
    """Volumes of scans are parted voxel by voxel: down and up in three dimensions."""
    count, side = halve(changes, 2), 48

    def block(x: Any, w: Any) -> Any:
        for one in w:
            x = jax.nn.relu(group_norm(convolve(x, one)))
        return x

    def lose(params: Any, batch: Any) -> Any:
        x, wanted = batch
        run, kept = remat(changes, block), []
        for w, turn in zip(params["down"], params["shrink"], strict=True):
            x = run(x, w)
            kept.append(x)
            x = convolve(x, turn, 2)
        x = run(x, params["middle"])
        for w in params["up"]:
            x = run(jnp.concatenate([double(x), kept.pop()], axis=-1), w)
        found = jax.nn.sigmoid(x @ params["out"])[..., 0]
        both = (found * wanted).sum((1, 2, 3))
        return (1 - 2 * both / (found + wanted).sum((1, 2, 3))).mean()

    def pair(into: int, out: int) -> Any:
        return [(3, 3, 3, into, out), (3, 3, 3, out, out)]

    shapes = {
        "down": [pair(1, 16), pair(16, 32)], "shrink": [(2, 2, 2, 16, 16), (2, 2, 2, 32, 32)],
        "middle": pair(32, 64), "up": [pair(96, 32), pair(48, 16)], "out": (16, 1),
    }  # fmt: skip
    params = hold(functools.partial(lay, devices), shapes)
    batch = lay(devices, count, side, side, side, 1), lay(devices, count, side, side, side)
    return learn(changes, lose, params, batch, optimizer=optax.sgd(0.01, momentum=0.99))


# Two towers


def pictures_and_words(devices: Devices, changes: Change) -> Case:
    """Pictures and captions of eight devices are all compared with each other; lion."""
    mesh = make_mesh(devices, data=8)
    count, width = halve(changes, 128), 256

    def lose(params: Any, batch: Any) -> Any:
        images, words = batch
        x = convolve(images, params["patch"], 16).reshape(count, -1, width)
        see = remat(changes, functools.partial(think, heads=4))
        with jax.named_scope("pictures"):
            for w in params["see"]:
                x = see(x, w)
        with jax.named_scope("captions"):
            read = functools.partial(think, heads=4, causal=True)
            y = run_layers(changes, read, params["embed"][words], params["read"])
        x, y = norm(x.mean(axis=1)), norm(y[:, -1])
        logits = x @ y.T * params["scale"]
        target = jnp.arange(count)
        ways = (logits, logits.T)
        both = [optax.softmax_cross_entropy_with_integer_labels(one, target) for one in ways]
        return (both[0] + both[1]).mean()

    shapes = {
        "patch": (16, 16, 3, width), "embed": (8000, width), "scale": (),
        "see": [list_shapes(width, 1024)] * 3, "read": list_shapes(width, 1024, 3),
    }  # fmt: skip
    params = hold(functools.partial(lay_out, mesh, P()), shapes)
    place = functools.partial(lay_out, mesh, P("data"))
    batch = place(count, 128, 128, 3), place(count, 48, dtype=I32)
    return learn(changes, lose, params, batch, optimizer=optax.lion(1e-4))


def search(devices: Devices, changes: Change) -> Case:
    """Questions and pages as bags of words; each question has its page in the batch; adagrad."""
    count, width, words = halve(changes, 2048), 128, 60000

    def tower(w: Any, table: Any, bag: Any) -> Any:
        x = table[bag].mean(axis=1)
        return norm(jax.nn.relu(x @ w["up"]) @ w["down"])

    def lose(params: Any, batch: Any) -> Any:
        run = remat(changes, tower)
        asked = run(params["asks"], params["words"], batch[0])
        found = run(params["pages"], params["words"], batch[1])
        logits = 20 * asked @ found.T
        target = jnp.arange(count)
        return optax.softmax_cross_entropy_with_integer_labels(logits, target).mean()

    one = {"up": (width, 512), "down": (512, width)}
    params = hold(
        functools.partial(lay, devices), {"asks": one, "pages": one, "words": (words, width)}
    )
    batch = lay(devices, count, 8, dtype=I32), lay(devices, count, 64, dtype=I32)
    return learn(changes, lose, params, batch, optimizer=optax.adagrad(0.1))


# Graphs


def attend_along(devices: Devices, changes: Change) -> Case:
    """Nodes weigh what comes along their edges, with several heads."""
    nodes, edges, heads, size = 8192, 49152, 4, 32

    def layer(x: Any, w: Any, ends: Any) -> Any:
        source, target = ends
        y = (x @ w["into"]).reshape(nodes, heads, size)
        far = (y * w["from"]).sum(-1)[source] + (y * w["to"]).sum(-1)[target]
        far = jax.nn.leaky_relu(far, 0.2)
        most = jax.ops.segment_max(far, target, num_segments=nodes)
        part = jnp.exp(far - lax.stop_gradient(most)[target])
        whole = jax.ops.segment_sum(part, target, num_segments=nodes)[target]
        sent = y[source] * (part / (whole + 1e-9))[..., None]
        got = jax.ops.segment_sum(sent, target, num_segments=nodes)
        return x + jax.nn.elu(got.reshape(nodes, -1))

    def lose(params: Any, batch: Any) -> Any:
        x, ends, labels, known = batch
        for w in params["layers"]:
            x = remat(changes, layer)(x, w, ends)
        logits = x @ params["head"]
        loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
        return jnp.where(known, loss, 0).sum() / known.sum()

    width = heads * size
    one = {"into": (width, width), "from": (heads, size), "to": (heads, size)}
    params = hold(functools.partial(lay, devices), {"layers": [one] * 3, "head": (width, 40)})
    ends = tuple(lay(devices, edges, dtype=I32) for _ in range(2))
    labels, known = lay(devices, nodes, dtype=I32), lay(devices, nodes, dtype=jnp.bool_)
    batch = lay(devices, nodes, width), ends, labels, known
    return learn(changes, lose, params, batch, optimizer=optax.adamw(5e-3))


def molecules(devices: Devices, changes: Change) -> Case:
    """Energies of atoms and, as gradients of them, forces: both are learned; layers scanned."""
    atoms, edges, width, kinds = 1024, halve(changes, 16384), 96, 64

    def layer(x: Any, w: Any, near: Any, ends: Any) -> Any:
        source, target = ends
        weights = jax.nn.softplus(near @ w["near"]) @ w["weigh"]
        sent = (x @ w["send"])[source] * weights
        got = jax.ops.segment_sum(sent, target, num_segments=atoms)
        return x + jax.nn.softplus(got @ w["take"])

    def find_energy(places: Any, params: Any, atom: Any, ends: Any) -> Any:
        way = places[ends[0]] - places[ends[1]]
        far = jnp.sqrt((way**2).sum(axis=-1, keepdims=True) + 1e-6)
        near = jnp.exp(-10 * (far - jnp.linspace(0, 5, kinds)) ** 2)
        run = remat(changes, lambda x, w: layer(x, w, near, ends))
        x, _ = lax.scan(lambda x, w: (run(x, w), None), params["atoms"][atom], params["layers"])
        return (jax.nn.softplus(x) @ params["out"]).sum()

    def lose(params: Any, batch: Any) -> Any:
        places, atom, ends, energy, forces = batch
        found, slope = jax.value_and_grad(find_energy)(places, params, atom, ends)
        return (found - energy) ** 2 + 100 * ((slope + forces) ** 2).mean()

    shapes = {
        "atoms": (100, width), "out": (width, 1),
        "layers": {
            "near": (4, kinds, width), "weigh": (4, width, width),
            "send": (4, width, width), "take": (4, width, width),
        },
    }  # fmt: skip
    place = functools.partial(lay, devices)
    ends = tuple(place(edges, dtype=I32) for _ in range(2))
    batch = place(atoms, 3), place(atoms, dtype=I32), ends, place(), place(atoms, 3)
    return learn(changes, lose, hold(place, shapes), batch, optimizer=optax.adam(1e-4))


# States instead of attention


def linear(devices: Devices, changes: Change) -> Case:
    """Attention without softmax: pieces of the sequence one by one, with a state in between."""
    count, length, piece, heads, size = halve(changes, 6), 768, 64, 4, 64
    width = heads * size

    def layer(x: Any, w: Any) -> Any:
        def cut(one: Any) -> Any:
            return one.reshape(count, length // piece, piece, heads, size).swapaxes(0, 1)

        q, k, v = (cut(one) for one in jnp.split(norm(x) @ w["qkv"], 3, axis=-1))
        allowed = jnp.tril(jnp.ones((piece, piece)))

        def turn(state: Any, given: Any) -> Any:
            q, k, v = given
            old = jnp.einsum("blhd,bhde->blhe", q, state)
            new = jnp.einsum("bhlm,bmhe->blhe", jnp.einsum("blhd,bmhd->bhlm", q, k) * allowed, v)
            return 0.98 * state + jnp.einsum("blhd,blhe->bhde", k, v), old + new

        start = jnp.zeros((count, heads, size, size))
        _, found = lax.scan(turn, start, (jax.nn.elu(q) + 1, jax.nn.elu(k) + 1, v))
        x = x + norm(found.swapaxes(0, 1).reshape(x.shape)) @ w["out"]
        return x + jax.nn.gelu(norm(x) @ w["up"]) @ w["down"]

    def lose(params: Any, batch: Any) -> Any:
        x, wanted = batch
        for w in params:
            x = remat(changes, layer)(x, w)
        return ((x - wanted) ** 2).mean()

    params = hold(functools.partial(lay, devices), [list_shapes(width, 512)] * 3)
    batch = tuple(lay(devices, count, length, width) for _ in range(2))
    return learn(changes, lose, params, batch, optimizer=optax.adamw(1e-3))


def select(devices: Devices, changes: Change) -> Case:
    """Scanned layers in which a state of each channel goes along the sequence step by step."""
    count, length, width, states = halve(changes, 2), 256, 192, 16

    def layer(x: Any, w: Any) -> Any:
        y, gate = jnp.split(norm(x) @ w["into"], 2, axis=-1)
        far = jax.nn.softplus(y @ w["far"])
        put, take = jnp.split(y @ w["ways"], 2, axis=-1)

        def step(state: Any, now: Any) -> Any:
            y, far, put, take = now
            state = jnp.exp(-far[..., None] * w["decay"]) * state
            state = state + (far * y)[..., None] * put[:, None]
            return state, jnp.einsum("bds,bs->bd", state, take)

        along = [one.swapaxes(0, 1) for one in (y, far, put, take)]
        _, found = lax.scan(step, jnp.zeros((count, 2 * width, states)), along)
        return x + (found.swapaxes(0, 1) * jax.nn.silu(gate)) @ w["out"]

    def lose(params: Any, batch: Any) -> Any:
        x, wanted = batch
        return ((run_layers(changes, layer, x, params) - wanted) ** 2).mean()

    shapes = {
        "into": (4, width, 4 * width), "far": (4, 2 * width, 2 * width),
        "ways": (4, 2 * width, 2 * states), "decay": (4, 2 * width, states),
        "out": (4, 2 * width, width),
    }  # fmt: skip
    batch = tuple(lay(devices, count, length, width) for _ in range(2))
    params = hold(functools.partial(lay, devices), shapes)
    return learn(changes, lose, params, batch, optimizer=optax.adafactor(1e-3))


BUILDERS: Mapping[str, Build] = {
    one.__name__: one
    for group in (
        (llama, mixer, fill_in, denoise, speech, latents, bottlenecks, wave_net, choose_two),
        (sort_tokens, roll_stages, loop_stages, slide, compressed, sample, grow, play, leapfrog),
        (shift_past, remember, every_fourth, add_up, divided_words, smoothed, both_ways, films),
        (unnoise, volumes, pictures_and_words, search, attend_along, molecules, linear, select),
    )
    for one in group
}
