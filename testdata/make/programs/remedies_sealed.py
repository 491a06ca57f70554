"""Programs that people train and run, written to judge by, with remedies in their source.

They were written by someone who had read none of hlotool's code, none of its documents and none of
its answers: only programs of other halves, and the scripts. Kinds, programs, sizes and remedies
were chosen before anything was compiled. A builder is a function of the devices and the changes; it
returns what `build_step` returns.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from make.programs.remedies_aside import (
    attend,
    batch_norm,
    block_shapes,
    count_wrong,
    dense,
    fit,
    hold_state,
    line,
    root_norm,
    run_block,
    scale,
    settle,
)  # fmt: skip
from make.programs.remedies_fresh import describe, remat
from make.programs.remedies_other import donating, halve, lay, lay_out, make_mesh, mapped
from make.programs.remedies_train import BF16, F32, I32, Case, Change, Devices
from make.programs.remedies_unseen import (
    convolve,
    group_norm,
    hold,
    learn,
    look,
    measure,
    run_layers,
    think,
)  # fmt: skip

Build: TypeAlias = Callable[[Devices, Change], Case]
PARTS = 4


# What programs have in common


def finish(
    changes: Change, run: Callable[..., Any], state: Any, *rest: Any, donated: bool = False
) -> Case:
    """Build a step of some states, which come back before one result, and of other arguments."""
    more = donating(changes, *range(len(state)), donated=donated)
    if getattr(jax.tree.leaves(state)[0].sharding, "mesh", None):
        kept = jax.tree.map(lambda one: one.sharding, state)
        more["out_shardings"] = (*kept, None)
    return run, (*state, *rest), more


def by_hand(
    changes: Change, lose: Callable[..., Any], params: Any, batch: Any, *, donated: bool = False
) -> Case:
    """Build a train step whose adam is written by hand, and has each moment as an argument."""

    def train_step(params: Any, mu: Any, nu: Any, batch: Any) -> Any:
        loss, grads = jax.value_and_grad(lose)(params, batch)
        return (*move(params, mu, nu, grads), loss)

    return finish(changes, train_step, (params, params, params), batch, donated=donated)


def move(params: Any, mu: Any, nu: Any, grads: Any) -> Any:
    """Take one step of adam."""
    mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mu, grads)
    nu = jax.tree.map(lambda n, g: 0.99 * n + 0.01 * g * g, nu, grads)
    far = jax.tree.map(lambda m, n: m / (jnp.sqrt(n) + 1e-8), mu, nu)
    return jax.tree.map(lambda p, f: p - 1e-3 * f, params, far), mu, nu


def roll(
    changes: Change, lose: Callable[..., Any], params: Any, batch: Any, *, donated: bool = False
) -> Case:
    """Build a train step with momentum, without names."""

    def f(p: Any, v: Any, x: Any) -> Any:
        loss, g = jax.value_and_grad(lose)(p, x)
        v = jax.tree.map(lambda v, g: 0.9 * v + g, v, g)
        return jax.tree.map(lambda p, v: p - 0.01 * v, p, v), v, loss

    return finish(changes, f, (params, params), batch, donated=donated)


def teach(changes: Change, lose: Callable[..., Any], params: Any, kept: Any, batch: Any) -> Case:
    """Build a train step with a slow teacher; the loss gives what is kept for the next step."""
    optimizer = optax.adamw(1e-3)

    def train_step(state: Any, batch: Any) -> Any:
        grad = jax.value_and_grad(lose, has_aux=True)
        (loss, kept), grads = grad(state["params"], state["teacher"], state["kept"], batch)
        updates, moments = optimizer.update(grads, state["moments"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        slow = optax.incremental_update(params, state["teacher"], 0.01)
        new = {"params": params, "moments": moments, "teacher": slow, "kept": kept}
        return {**new, "step": state["step"] + 1}, loss

    state = {**hold_state(params, optimizer), "teacher": params, "kept": kept}
    return train_step, (state, batch), donating(changes, 0)


def spin(x: Any, at: Any) -> Any:
    """Turn pairs of numbers of each head by angles that grow with the place."""
    half = x.shape[-1] // 2
    angle = at[..., None, None] * 10000.0 ** (-jnp.arange(half) / half)
    cos, sin = jnp.cos(angle).astype(x.dtype), jnp.sin(angle).astype(x.dtype)
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


def turn_heads(x: Any, at: Any, size: int) -> Any:
    """Turn heads that lie side by side in the last axis."""
    return spin(x.reshape(*x.shape[:-1], -1, size), at).reshape(x.shape)


def add_wrong(head: Any, x: Any, wanted: Any) -> Any:
    """Add up the cross entropy of all places."""
    logits = (x @ head.astype(x.dtype)).astype(F32)
    return optax.softmax_cross_entropy_with_integer_labels(logits, wanted).sum()


def in_parts(changes: Change, run: Callable[..., Any], *given: Any) -> Any:
    """Run all rows, or four parts of them one after the other."""
    if "batch-in-parts" not in changes:
        return run(*given)

    def cut(one: Any) -> Any:
        return one.reshape(PARTS, -1, *one.shape[1:])

    found = lax.map(lambda part: run(*part), jax.tree.map(cut, given))
    return jax.tree.map(lambda one: one.reshape(-1, *one.shape[2:]), found)


def gated_shapes(width: int, inner: int, keys: int, *layers: int) -> dict[str, Any]:
    """List the shapes of a layer with a gated perceptron and less heads of keys."""
    shapes = {
        "q": (width, width), "kv": (width, 2 * keys), "out": (width, width),
        "gate": (width, inner), "up": (width, inner), "down": (inner, width),
        "before": (width,), "between": (width,),
    }  # fmt: skip
    return {name: (*layers, *shape) for name, shape in shapes.items()}


def feed_gated(x: Any, w: Any) -> Any:
    """Run a gated perceptron."""
    y = root_norm(x, w["between"])
    return x + (jax.nn.silu(y @ w["gate"]) * (y @ w["up"])) @ w["down"]


# Layers that are scanned


def side_by_side(devices: Devices, changes: Change) -> Case:
    """Attention and perceptron side by side, keys that all heads share, 32k words, bfloat16."""
    count, length, width, size, words, depth = halve(changes, 8), 512, 512, 64, 32000, 6

    def layer(x: Any, w: Any) -> Any:
        made = root_norm(x, w["norm"]) @ w["into"].astype(BF16)
        q, k, v, up = jnp.split(made, [width, width + size, width + 2 * size], axis=-1)
        at = jnp.arange(length)
        mixed = look(turn_heads(q, at, size), turn_heads(k, at, size), v, 8, 1, causal=True)
        both = jnp.concatenate([mixed, jax.nn.gelu(up)], axis=-1)
        return x + both @ w["out"].astype(BF16)

    def lose(params: Any, tokens: Any) -> Any:
        x = run_layers(changes, layer, params["embed"].astype(BF16)[tokens], params["layers"])
        score = functools.partial(add_wrong, params["embed"].T)
        return measure(changes, score, x, jnp.roll(tokens, -1, 1)) / tokens.size

    layers = {
        "norm": (depth, width), "into": (depth, width, 5 * width + 2 * size),
        "out": (depth, 5 * width, width),
    }  # fmt: skip
    params = hold(functools.partial(lay, devices), {"embed": (words, width), "layers": layers})
    tokens = lay(devices, count, length, dtype=I32)
    return learn(changes, lose, params, tokens, optimizer=optax.adamw(1e-3))


def replaced(devices: Devices, changes: Change) -> Case:
    """Which words of a text were replaced by a generator; narrow embeddings, eight layers."""
    count, length, width, depth = halve(changes, 16), 128, 256, 8

    def lose(params: Any, batch: Any) -> Any:
        tokens, was = batch
        x = dense(params["embed"][tokens], params["widen"]) + params["places"]
        x = run_layers(changes, functools.partial(run_block, heads=4), x, params["layers"])
        logits = dense(settle(x, params["norm"]), params["out"])[..., 0]
        return optax.sigmoid_binary_cross_entropy(logits, was).mean()

    shapes = {
        "embed": (30000, 128), "widen": line(128, width), "places": (length, width),
        "layers": block_shapes(width, 1024, depth), "norm": scale(width), "out": line(width, 1),
    }  # fmt: skip
    params = hold(functools.partial(lay, devices), shapes)
    batch = lay(devices, count, length, dtype=I32), lay(devices, count, length)
    return by_hand(changes, lose, params, batch)


# Layers that are written out


def clicks(devices: Devices, changes: Change) -> Case:
    """Whether someone clicks: tables of eight features, crossed with each other; adagrad."""
    count, fields, width = halve(changes, 8192), 8, 512

    def cross(x: Any, w: Any, first: Any) -> Any:
        return first * dense(x @ w["low"], w["high"]) + x

    def lose(params: Any, batch: Any) -> Any:
        picked, numbers, clicked = batch
        found = params["tables"][jnp.arange(fields), picked].reshape(count, -1)
        first = jnp.concatenate([found, dense(numbers, params["numbers"])], axis=-1)
        x = deep = first
        for w in params["cross"]:
            x = remat(changes, cross)(x, w, first)
        for w in params["deep"]:
            deep = remat(changes, lambda y, w: jax.nn.relu(dense(y, w)))(deep, w)
        logits = dense(jnp.concatenate([x, deep], axis=-1), params["out"])[:, 0]
        return optax.sigmoid_binary_cross_entropy(logits, clicked).mean()

    shapes = {
        "tables": (fields, 50000, 32), "numbers": line(13, width - fields * 32),
        "cross": [{"low": (width, 64), "high": line(64, width)}] * 3,
        "deep": [line(width, width)] * 3, "out": line(2 * width, 1),
    }  # fmt: skip
    params = hold(functools.partial(lay, devices), shapes)
    batch = lay(devices, count, fields, dtype=I32), lay(devices, count, 13), lay(devices, count)
    return learn(changes, lose, params, batch, optimizer=optax.adagrad(0.05))


class Conformer(nn.Module):  # type: ignore[misc]
    """A layer for sound: half a perceptron, attention, a convolution, half a perceptron."""

    @nn.compact  # type: ignore[untyped-decorator]
    def __call__(self, x: Any) -> Any:
        """Run the layer."""
        width = x.shape[-1]
        x = x + 0.5 * nn.Dense(width)(nn.swish(nn.Dense(4 * width)(nn.LayerNorm()(x))))
        x = x + nn.MultiHeadDotProductAttention(num_heads=4)(nn.LayerNorm()(x))
        y = nn.glu(nn.Dense(2 * width)(nn.LayerNorm()(x)))
        y = nn.Conv(width, (15,), feature_group_count=width)(y)
        x = x + nn.Dense(width)(nn.swish(nn.LayerNorm()(y)))
        x = x + 0.5 * nn.Dense(width)(nn.swish(nn.Dense(4 * width)(nn.LayerNorm()(x))))
        return nn.LayerNorm()(x)


class Frames(nn.Module):  # type: ignore[misc]
    """Frames of sound through two layers to sounds of speech."""

    checkpointed: bool

    @nn.compact  # type: ignore[untyped-decorator]
    def __call__(self, x: Any) -> Any:
        """Tell the sound of each frame."""
        x = nn.Dense(256)(x)
        layer = nn.remat(Conformer) if self.checkpointed else Conformer
        for number in range(2):
            x = layer(name=f"conformer_{number}")(x)
        return nn.Dense(48)(x)


def conformer(devices: Devices, changes: Change) -> Case:
    """Sounds of speech by frames, as flax has it; adam."""
    model = Frames("checkpoint" in changes)
    sound = lay(devices, halve(changes, 16), 512, 80)
    params = describe(devices, jax.eval_shape(model.init, jax.random.key(0), sound))

    def lose(params: Any, batch: Any) -> Any:
        return count_wrong(model.apply(params, batch[0]), batch[1])

    batch = sound, lay(devices, *sound.shape[:2], dtype=I32)
    return fit(changes, lose, params, batch, optimizer=optax.adam(1e-3))


# Named scopes


def tagger(devices: Devices, changes: Change) -> Case:
    """Words of a text get tags: three layers whose norms come last, all scoped."""
    count, length, width = halve(changes, 32), 192, 384

    def layer(x: Any, w: Any) -> Any:
        with jax.named_scope("attention"):
            q, k, v = jnp.split(dense(x, w["qkv"]), 3, axis=-1)
            x = settle(x + dense(attend(q, k, v, 6), w["out"]), w["before"])
        with jax.named_scope("perceptron"):
            return settle(x + dense(jax.nn.gelu(dense(x, w["up"])), w["down"]), w["between"])

    def lose(params: Any, batch: Any) -> Any:
        with jax.named_scope("embed"):
            x = settle(params["embed"][batch[0]] + params["places"], params["norm"])
        for number, w in enumerate(params["layers"]):
            with jax.named_scope(f"layer_{number}"):
                x = remat(changes, layer)(x, w)
        with jax.named_scope("tags"):
            return count_wrong(dense(x, params["tags"]), batch[1])

    shapes = {
        "embed": (28000, width), "places": (length, width), "norm": scale(width),
        "layers": [block_shapes(width, 1536)] * 3, "tags": line(width, 17),
    }  # fmt: skip
    params = hold(functools.partial(lay, devices), shapes)
    batch = tuple(lay(devices, count, length, dtype=I32) for _ in range(2))
    return fit(changes, lose, params, batch, optimizer=optax.adamw(3e-5))


def forecast(devices: Devices, changes: Change) -> Case:
    """Patches of 21 series, each for itself, through scanned and scoped layers to what follows."""
    count, series, patches, width = halve(changes, 16), 21, 64, 128

    def layer(x: Any, w: Any) -> Any:
        with jax.named_scope("encoder_layer"):
            return run_block(x, w, heads=8)

    def lose(params: Any, batch: Any) -> Any:
        past, future = batch
        with jax.named_scope("patches"):
            mean, size = past.mean(-1, keepdims=True), past.std(-1, keepdims=True) + 1e-5
            x = ((past - mean) / size).reshape(count * series, patches, -1)
            x = dense(x, params["into"]) + params["places"]
        with jax.named_scope("encoder"):
            x = run_layers(changes, layer, x, params["layers"])
        with jax.named_scope("head"):
            found = dense(x.reshape(count, series, -1), params["out"]) * size + mean
            return jnp.square(found - future).mean()

    shapes = {
        "into": line(12, width), "places": (patches, width), "out": line(patches * width, 96),
        "layers": block_shapes(width, 256, 3),
    }  # fmt: skip
    params = hold(functools.partial(lay, devices), shapes)
    batch = lay(devices, count, series, 12 * patches), lay(devices, count, series, 96)
    return learn(changes, lose, params, batch, optimizer=optax.adam(1e-4))


# Plain functions


def members(devices: Devices, changes: Change) -> Case:
    """Eight perceptrons of one form on the same rows, each with weights of its own for them."""
    count, width, many = halve(changes, 8192), 384, 8

    def g(x: Any, w: Any) -> Any:
        return jax.nn.silu(x @ w[0] + w[1])

    def h(p: Any, x: Any, y: Any, u: Any) -> Any:
        for w in p[:-1]:
            x = remat(changes, g)(x, w)
        return (u * jnp.square((x @ p[-1])[:, 0] - y)).mean()

    def lose(p: Any, batch: Any) -> Any:
        x, y, u = batch
        return jax.vmap(h, (0, None, None, 0))(p, x, y, u).sum()

    sizes = (128, width, width, width)
    p = [((many, a, b), (many, b)) for a, b in itertools.pairwise(sizes)]
    params = [[lay(devices, *one) for one in w] for w in p] + [lay(devices, many, width, 1)]
    batch = lay(devices, count, 128), lay(devices, count), lay(devices, many, count)
    return roll(changes, lose, params, batch)


def residual_points(devices: Devices, changes: Change) -> Case:
    """A net that is to fulfil an equation of flow at points: its second derivative is learned."""
    count, width = halve(changes, 32768), 192

    def g(x: Any, w: Any) -> Any:
        return jnp.sin(x @ w[0] + w[1])

    def u(p: Any, t: Any, x: Any) -> Any:
        y = jnp.stack([t, x], axis=-1)
        for w in p[:-1]:
            y = remat(changes, g)(y, w)
        return (y @ p[-1])[:, 0]

    def lose(p: Any, batch: Any) -> Any:
        t, x, edge = batch
        one = jnp.ones_like(t)

        def along(x: Any) -> Any:
            return jax.jvp(lambda x: u(p, t, x), (x,), (one,))

        (v, v_x), (_, v_xx) = jax.jvp(along, (x,), (one,))
        v_t = jax.jvp(lambda t: u(p, t, x), (t,), (one,))[1]
        off = v_t + v * v_x - 0.01 * v_xx
        return jnp.square(off).mean() + jnp.square(u(p, 0 * edge, edge) - jnp.sin(edge)).mean()

    sizes = ((2, width), (width, width), (width, width), (width, width))
    params = [[lay(devices, a, b), lay(devices, b)] for a, b in sizes] + [lay(devices, width, 1)]
    batch = tuple(lay(devices, one) for one in (count, count, 1024))
    return by_hand(changes, lose, params, batch)


# Convolutions


def depthwise(devices: Devices, changes: Change) -> Case:
    """Pictures through wide convolutions of each channel and perceptrons; two scales; adamw."""
    count = halve(changes, 32)

    def block(x: Any, w: Any) -> Any:
        y = convolve(x, w["wide"], feature_group_count=x.shape[-1])
        y = dense(jax.nn.gelu(dense(settle(y, w["norm"]), w["up"])), w["down"])
        return x + w["part"] * y

    def lose(params: Any, batch: Any) -> Any:
        x = convolve(batch[0], params["into"], 4)
        for w in params["fine"]:
            x = remat(changes, block)(x, w)
        x = convolve(x, params["shrink"], 2)
        for w in params["coarse"]:
            x = remat(changes, block)(x, w)
        return count_wrong(dense(x.mean((1, 2)), params["out"]), batch[1])

    def shapes_of(width: int) -> Any:
        return {
            "wide": (7, 7, 1, width), "norm": scale(width), "up": line(width, 4 * width),
            "down": line(4 * width, width), "part": (width,),
        }  # fmt: skip

    shapes = {
        "into": (4, 4, 3, 64), "fine": [shapes_of(64)] * 2, "shrink": (2, 2, 64, 128),
        "coarse": [shapes_of(128)] * 2, "out": line(128, 1000),
    }  # fmt: skip
    params = hold(functools.partial(lay, devices), shapes)
    batch = lay(devices, count, 192, 192, 3), lay(devices, count, dtype=I32)
    return fit(changes, lose, params, batch, optimizer=optax.adamw(4e-3))


def sharpen(devices: Devices, changes: Change) -> Case:
    """Small pictures become four times as large; scanned residual blocks; the state is donated."""
    count, side, width = halve(changes, 16), 48, 64

    def block(x: Any, w: Any) -> Any:
        return x + 0.1 * convolve(jax.nn.relu(convolve(x, w["one"])), w["two"])

    def lose(params: Any, batch: Any) -> Any:
        small, large = batch
        first = convolve(small, params["into"])
        x = first + run_layers(changes, block, first, params["blocks"])
        x = convolve(x, params["widen"]).reshape(count, side, side, 4, 4, 3)
        x = x.transpose(0, 1, 3, 2, 4, 5).reshape(count, 4 * side, 4 * side, 3)
        return jnp.abs(x - large).mean()

    one = {"one": (8, 3, 3, width, width), "two": (8, 3, 3, width, width)}
    shapes = {"into": (3, 3, 3, width), "blocks": one, "widen": (3, 3, width, 48)}
    params = hold(functools.partial(lay, devices), shapes)
    batch = lay(devices, count, side, side, 3), lay(devices, count, 4 * side, 4 * side, 3)
    return by_hand(changes, lose, params, batch, donated=True)


# Experts


def shared_expert(devices: Devices, changes: Change) -> Case:
    """All experts run for all tokens, two of them count, and one is shared; scanned layers."""
    count, length, width, experts, inner = halve(changes, 8), 256, 256, 8, 256

    def layer(x: Any, w: Any) -> Any:
        q, k, v = jnp.split(root_norm(x, w["before"]) @ w["qkv"], 3, axis=-1)
        x = x + attend(q, k, v, 4, causal=True) @ w["out"]
        y = root_norm(x, w["between"])
        part, chosen = lax.top_k(jax.nn.sigmoid(y @ w["router"]), 2)
        gates = (jax.nn.one_hot(chosen, experts) * part[..., None]).sum(-2)
        hidden = jax.nn.silu(jnp.einsum("bld,edf->blef", y, w["up"])) * gates[..., None]
        mine = jnp.einsum("blef,efd->bld", hidden, w["down"])
        return x + mine + jax.nn.silu(y @ w["shared_up"]) @ w["shared_down"]

    def lose(params: Any, tokens: Any) -> Any:
        x = run_layers(changes, layer, params["embed"][tokens], params["layers"])
        return count_wrong(x[:, :-1] @ params["embed"].T, tokens[:, 1:])

    layers = {
        "before": (3, width), "between": (3, width), "qkv": (3, width, 3 * width),
        "out": (3, width, width), "router": (3, width, experts),
        "up": (3, experts, width, inner), "down": (3, experts, inner, width),
        "shared_up": (3, width, 2 * inner), "shared_down": (3, 2 * inner, width),
    }  # fmt: skip
    params = hold(functools.partial(lay, devices), {"embed": (512, width), "layers": layers})
    tokens = lay(devices, count, length, dtype=I32)
    return learn(changes, lose, params, tokens, optimizer=optax.adamw(1e-3))


def fixed_experts(devices: Devices, changes: Change) -> Case:
    """Each word has its expert, which takes as many tokens as it has room for; 20k words."""
    count, length, width, experts, inner, words = halve(changes, 8), 512, 256, 16, 1024, 20000

    def layer(x: Any, w: Any, tokens: Any) -> Any:
        q, k, v = jnp.split(root_norm(x, w["before"]) @ w["qkv"], 3, axis=-1)
        x = x + attend(q, k, v, 4, causal=True) @ w["out"]
        y = root_norm(x, w["between"]).reshape(-1, width)
        mine = tokens.reshape(-1) % experts
        taken = jax.nn.one_hot(mine, experts, dtype=I32)
        place = (jnp.cumsum(taken, axis=0) * taken).sum(-1) - 1
        room = jnp.zeros((experts, 2 * y.shape[0] // experts, width))
        sent = room.at[mine, place].set(y, mode="drop")
        hidden = jax.nn.gelu(jnp.einsum("ecd,edf->ecf", sent, w["up"]))
        given = jnp.einsum("ecf,efd->ecd", hidden, w["down"])
        return x + given.at[mine, place].get(mode="fill", fill_value=0).reshape(x.shape)

    def lose(params: Any, tokens: Any) -> Any:
        x = params["embed"][tokens]
        for w in params["layers"]:
            x = remat(changes, layer)(x, w, tokens)
        score = functools.partial(add_wrong, params["head"])
        return measure(changes, score, x, jnp.roll(tokens, -1, 1)) / tokens.size

    one = {
        "before": (width,), "between": (width,), "qkv": (width, 3 * width), "out": (width, width),
        "up": (experts, width, inner), "down": (experts, inner, width),
    }  # fmt: skip
    shapes = {"embed": (words, width), "head": (width, words), "layers": [one] * 2}
    params = hold(functools.partial(lay, devices), shapes)
    tokens = lay(devices, count, length, dtype=I32)
    return fit(changes, lose, params, tokens, optimizer=optax.adam(1e-3))


# Along the time


def gated_cell(x: Any, state: Any, w: Any) -> Any:
    """Run a recurrent cell with two gates."""
    reset, keep = jnp.split(jax.nn.sigmoid(dense(x, w["into"]) + state @ w["again"]), 2, axis=-1)
    new = jnp.tanh(dense(x, w["new"]) + (reset * state) @ w["old"])
    return keep * state + (1 - keep) * new


def look_back(devices: Devices, changes: Change) -> Case:
    """A recurrent translator looks at all states of the source at each word; 16k words; adam."""
    count, length, width, words = halve(changes, 48), 40, 256, 16000

    def lose(params: Any, batch: Any) -> Any:
        source, target = batch

        def read(state: Any, x: Any) -> Any:
            state = gated_cell(x, state, params["read"])
            return state, state

        def write(state: Any, x: Any) -> Any:
            far = jnp.tanh(keys + (state @ params["ask"])[:, None]) @ params["score"]
            seen = jnp.einsum("bl,bld->bd", jax.nn.softmax(far), known)
            state = gated_cell(jnp.concatenate([x, seen], axis=-1), state, params["write"])
            return state, state

        start = jnp.zeros((count, width))
        along = params["source"][source].swapaxes(0, 1)
        last, found = lax.scan(remat(changes, read), start, along)
        known = found.swapaxes(0, 1)
        keys = known @ params["keys"]
        along = params["target"][target].swapaxes(0, 1)
        x = lax.scan(remat(changes, write), last, along)[1].swapaxes(0, 1)
        score = functools.partial(add_wrong, params["head"])
        return measure(changes, score, x, jnp.roll(target, -1, 1)) / target.size

    def cell(into: int) -> Any:
        new, old = line(into, width), (width, width)
        return {"into": line(into, 2 * width), "again": (width, 2 * width), "new": new, "old": old}

    shapes = {
        "source": (words, width), "target": (words, width), "head": (width, words),
        "read": cell(width), "write": cell(2 * width), "ask": (width, width),
        "keys": (width, width), "score": (width,),
    }  # fmt: skip
    params = hold(functools.partial(lay, devices), shapes)
    batch = tuple(lay(devices, count, length, dtype=I32) for _ in range(2))
    return by_hand(changes, lose, params, batch)


def delta_rule(devices: Devices, changes: Change) -> Case:
    """Layers whose state is a matrix that is corrected at each step; bytes of text; adamw."""
    count, length, heads, size = halve(changes, 8), 256, 4, 64
    width = heads * size

    def layer(x: Any, w: Any) -> Any:
        y = root_norm(x, w["norm"])
        q, k, v = (
            one.reshape(count, length, heads, size).swapaxes(0, 1)
            for one in jnp.split(y @ w["qkv"], 3, axis=-1)
        )
        k = k / (jnp.linalg.norm(k, axis=-1, keepdims=True) + 1e-6)
        rate = jax.nn.sigmoid(y @ w["rate"]).swapaxes(0, 1)[..., None]

        def step(state: Any, now: Any) -> Any:
            q, k, v, rate = now
            off = rate * (v - jnp.einsum("bhde,bhd->bhe", state, k))
            state = state + jnp.einsum("bhd,bhe->bhde", k, off)
            return state, jnp.einsum("bhde,bhd->bhe", state, q)

        start = jnp.zeros((count, heads, size, size))
        found = lax.scan(step, start, (q, k, v, rate))[1].swapaxes(0, 1)
        x = x + found.reshape(x.shape) @ w["out"]
        return x + jax.nn.gelu(root_norm(x, w["between"]) @ w["up"]) @ w["down"]

    def lose(params: Any, tokens: Any) -> Any:
        x = params["embed"][tokens]
        for w in params["layers"]:
            x = remat(changes, layer)(x, w)
        return count_wrong(x[:, :-1] @ params["embed"].T, tokens[:, 1:])

    one = {
        "norm": (width,), "qkv": (width, 3 * width), "rate": (width, heads), "out": (width, width),
        "between": (width,), "up": (width, 1024), "down": (1024, width),
    }  # fmt: skip
    params = hold(functools.partial(lay, devices), {"embed": (256, width), "layers": [one] * 2})
    tokens = lay(devices, count, length, dtype=I32)
    return fit(changes, lose, params, tokens, optimizer=optax.adamw(1e-3))


# Small batches and stages


def small_batches(devices: Devices, changes: Change) -> Case:
    """Four small batches of text one after the other, gradients in the state of the loop."""
    micro, count, length, width, depth = 4, halve(changes, 8), 256, 384, 4

    def layer(x: Any, w: Any) -> Any:
        y, at = root_norm(x, w["before"]), jnp.arange(length)
        k, v = jnp.split(y @ w["kv"], 2, axis=-1)
        q, k = turn_heads(y @ w["q"], at, 64), turn_heads(k, at, 64)
        return feed_gated(x + look(q, k, v, 6, 2, causal=True) @ w["out"], w)

    def lose(params: Any, tokens: Any) -> Any:
        x = run_layers(changes, layer, params["embed"][tokens], params["layers"])
        score = functools.partial(add_wrong, params["head"])
        return measure(changes, score, x, jnp.roll(tokens, -1, 1)) / tokens.size

    def train_step(params: Any, mu: Any, nu: Any, tokens: Any) -> Any:
        def add(total: Any, part: Any) -> Any:
            found = jax.value_and_grad(lose)(params, part)
            return jax.tree.map(lambda t, f: t + f / micro, total, found), None

        start = jnp.float32(0), jax.tree.map(jnp.zeros_like, params)
        (loss, grads), _ = lax.scan(add, start, tokens)
        return (*move(params, mu, nu, grads), loss)

    shapes = {
        "embed": (24000, width), "head": (width, 24000),
        "layers": gated_shapes(width, 1024, 128, depth),
    }  # fmt: skip
    params = hold(functools.partial(lay, devices), shapes)
    tokens = lay(devices, micro, count, length, dtype=I32)
    return finish(changes, train_step, (params, params, params), tokens)


def relay(devices: Devices, changes: Change) -> Case:
    """Four stages of gated perceptrons pass eight small batches on; each has its moments."""
    stages, micro, rows, width, inner = 4, 8, halve(changes, 1024), 512, 1024

    def stage(w: Any, x: Any) -> Any:
        for number in range(2):
            x = feed_gated(x, jax.tree.map(lambda one: one[0, number], w))  # noqa: B023
        return x

    def forward(w: Any, batch: Any, wanted: Any) -> Any:
        here = lax.axis_index("stage")
        run = remat(changes, stage)

        def tick(x: Any, now: Any) -> Any:
            y = run(w, jnp.where(here == 0, batch[jnp.minimum(now, micro - 1)], x))
            return lax.ppermute(y, "stage", [(i, (i + 1) % stages) for i in range(stages)]), y

        _, found = lax.scan(tick, jnp.zeros_like(batch[0]), jnp.arange(micro + stages - 1))
        far = jnp.square(found[stages - 1 :] - wanted).mean()
        return lax.psum(jnp.where(here == stages - 1, far, 0), "stage")

    mesh = make_mesh(devices, stage=stages)
    inside = mapped(mesh, forward, (P("stage"), P(), P()), P())
    one = {"gate": (width, inner), "up": (width, inner), "down": (inner, width)}
    shapes = {name: (stages, 2, *shape) for name, shape in {**one, "between": (width,)}.items()}
    params = hold(functools.partial(lay_out, mesh, P("stage")), shapes)
    batch = tuple(lay_out(mesh, P(), micro, rows, width) for _ in range(2))
    return by_hand(changes, lambda w, batch: inside(w, *batch), params, batch)


# One token and a few


def narrow_cache(devices: Devices, changes: Change) -> Case:
    """One token with a cache of eight bits and a scale for each head; scanned layers."""
    depth, count, length, shared, size, width = 8, halve(changes, 16), 2048, 4, 64, 512

    def pack(x: Any) -> Any:
        part = jnp.abs(x).max(-1, keepdims=True) / 127 + 1e-9
        return jnp.round(x / part).astype(jnp.int8), part.astype(BF16)

    def run(params: Any, cache: Any, tokens: Any, at: Any) -> Any:
        def layer(x: Any, given: Any) -> Any:
            w, held = given
            y = root_norm(x, w["before"])
            k, v = (one.reshape(count, 1, shared, size) for one in jnp.split(y @ w["kv"], 2, -1))
            new = *pack(spin(k, at)), *pack(v)
            held = [
                lax.dynamic_update_slice_in_dim(a, b, at[0], 1)
                for a, b in zip(held, new, strict=True)
            ]
            q = spin((y @ w["q"]).reshape(count, 1, -1, size), at)
            q = q.reshape(count, shared, -1, size).astype(BF16)
            keys, values = held[0].astype(BF16) * held[1], held[2].astype(BF16) * held[3]
            far = jnp.einsum("bsnd,blsd->bsnl", q, keys).astype(F32) / size**0.5
            far = jax.nn.softmax(jnp.where(jnp.arange(length) <= at, far, -1e9))
            mixed = jnp.einsum("bsnl,blsd->bsnd", far.astype(BF16), values)
            return feed_gated(x + mixed.reshape(x.shape).astype(F32) @ w["out"], w), held

        x, cache = lax.scan(layer, params["embed"][tokens], (params["layers"], cache))
        return cache, jnp.argmax(x @ params["embed"].T, axis=-1)

    shapes = {
        "embed": (32000, width), "layers": gated_shapes(width, 1536, shared * size, depth)
    }  # fmt: skip
    params = hold(functools.partial(lay, devices), shapes)
    held = lay(devices, depth, count, length, shared, size, dtype=jnp.int8)
    part = lay(devices, depth, count, length, shared, 1, dtype=BF16)
    arguments = [held, part, held, part], lay(devices, count, dtype=I32), lay(devices, 1, dtype=I32)
    return run, (params, *arguments), donating(changes, 1)


def guesses(devices: Devices, changes: Change) -> Case:
    """Five guessed tokens are checked at once, each row at a place of its own; three layers."""
    count, many, length, width, heads = halve(changes, 16), 5, 1024, 384, 6

    def layer(x: Any, w: Any, held: Any, at: Any) -> Any:
        y = root_norm(x, w["before"])
        new = jnp.split(y @ w["kv"], 2, axis=-1)
        write = jax.vmap(lambda a, b, at: lax.dynamic_update_slice_in_dim(a, b, at, 0))
        keys, values = (write(a, b, at) for a, b in zip(held, new, strict=True))
        seen = jnp.arange(length) <= at[:, None, None] + jnp.arange(many)[:, None]
        bias = jnp.where(seen, 0, -1e9)[:, None]
        x = x + attend(y @ w["q"], keys, values, heads, bias=bias) @ w["out"]
        return feed_gated(x, w), (keys, values)

    def run(params: Any, cache: Any, tokens: Any, at: Any) -> Any:
        x, new = params["embed"][tokens], []
        for w, held in zip(params["layers"], cache, strict=True):
            x, held_now = layer(x, w, held, at)
            new.append(held_now)
        said = jnp.argmax(x @ params["embed"].T, axis=-1)
        right = jnp.cumprod(said[:, :-1] == tokens[:, 1:], axis=1).sum(axis=1)
        return new, said, at + right + 1

    shapes = {"embed": (16000, width), "layers": [gated_shapes(width, 1024, width)] * 3}
    params = hold(functools.partial(lay, devices), shapes)
    cache = [tuple(lay(devices, count, length, width) for _ in range(2)) for _ in range(3)]
    arguments = cache, lay(devices, count, many, dtype=I32), lay(devices, count, dtype=I32)
    return run, (params, *arguments), donating(changes, 1)


# Prompts


def prompts_into_cache(devices: Devices, changes: Change) -> Case:
    """Prompts go through two layers into caches that are there, in bfloat16."""
    count, length, room, width = halve(changes, 8), 1024, 2048, 512

    def run(params: Any, cache: Any, tokens: Any) -> Any:
        def whole(cache: Any, tokens: Any) -> Any:
            x, new = params["embed"][tokens], []
            for w, held in zip(params["layers"], cache, strict=True):
                y, at = root_norm(x, w["before"]), jnp.arange(length)
                k, v = jnp.split(y @ w["kv"], 2, axis=-1)
                q, k = turn_heads(y @ w["q"], at, 64), turn_heads(k, at, 64)
                x = feed_gated(x + look(q, k, v, 8, 8, causal=True) @ w["out"], w)
                pairs = zip(held, (k, v), strict=True)
                new.append([lax.dynamic_update_slice_in_dim(a, b, 0, 1) for a, b in pairs])
            return new, (x[:, -1] @ params["embed"].T).astype(F32)

        return in_parts(changes, whole, cache, tokens)

    shapes = {"embed": (32000, width), "layers": [gated_shapes(width, 1536, width)] * 2}
    params = hold(functools.partial(lay, devices, dtype=BF16), shapes)
    cache = [[lay(devices, count, room, width, dtype=BF16) for _ in range(2)] for _ in range(2)]
    return run, (params, cache, lay(devices, count, length, dtype=I32)), donating(changes, 1)


def score_texts(devices: Devices, changes: Change) -> Case:
    """How likely texts are, place by place, to a frozen model with 24 thousand words."""
    count, length, width = halve(changes, 8), 256, 256

    def run(params: Any, tokens: Any) -> Any:
        def tell(x: Any, wanted: Any) -> Any:
            logits = jax.nn.log_softmax(x @ params["embed"].T)
            return jnp.take_along_axis(logits, wanted[..., None], axis=-1)[..., 0]

        def whole(tokens: Any) -> Any:
            x, wanted = params["embed"][tokens], jnp.roll(tokens, -1, 1)
            block = functools.partial(run_block, heads=4, causal=True)
            x = lax.scan(lambda x, w: (block(x, w), None), x, params["layers"])[0]
            if "chunked-loss" not in changes:
                return tell(x, wanted)
            parts = x.reshape(-1, 8, length // 8, width), wanted.reshape(-1, 8, length // 8)
            cut = tuple(one.swapaxes(0, 1) for one in parts)
            found = lax.map(lambda part: tell(*part), cut)
            return found.swapaxes(0, 1).reshape(tokens.shape)

        return in_parts(changes, whole, tokens)

    shapes = {"embed": (24000, width), "layers": block_shapes(width, 1024, 4)}
    params = hold(functools.partial(lay, devices), shapes)
    return run, (params, lay(devices, count, length, dtype=I32)), donating(changes, 1)


# States


def apply_grads(devices: Devices, changes: Change) -> Case:
    """Gradients that were found elsewhere are cut, go into adam's moments, and an average."""

    def apply(state: Any, grads: Any) -> Any:
        size = optax.global_norm(grads)
        grads = jax.tree.map(lambda g: g * jnp.minimum(1, 1 / (size + 1e-6)), grads)
        params, mu, nu = move(state["params"], state["mu"], state["nu"], grads)
        average = optax.incremental_update(params, state["average"], 0.001)
        return {"params": params, "mu": mu, "nu": nu, "average": average}, size

    shapes = {"embed": (16000, 512), "layers": gated_shapes(512, 1536, 512, 6)}
    params = hold(functools.partial(lay, devices), shapes)
    state = dict.fromkeys(("params", "mu", "nu", "average"), params)
    return apply, (state, params), donating(changes, 0)


def two_crops(devices: Devices, changes: Change) -> Case:
    """Two crops of each picture: a student says what a slow teacher says of the other one."""
    count, patches, width, kinds = halve(changes, 16), 256, 256, 8192

    def see(changes: Change, params: Any, x: Any) -> Any:
        x = dense(x, params["into"]) + params["places"]
        x = run_layers(changes, functools.partial(run_block, heads=4), x, params["layers"])
        return dense(settle(x.mean(axis=1), params["norm"]), params["kinds"])

    def lose(params: Any, teacher: Any, center: Any, batch: Any) -> Any:
        said = [see(changes, params, one) for one in batch]
        taught = [lax.stop_gradient(see(frozenset(), teacher, one)) for one in batch]
        pairs = zip(said, taught[::-1], strict=True)
        loss = sum(
            optax.softmax_cross_entropy(a / 0.1, jax.nn.softmax((b - center) / 0.04)).mean()
            for a, b in pairs
        )
        return loss, 0.9 * center + 0.1 * jnp.stack(taught).mean(axis=(0, 1))

    shapes = {
        "into": line(768, width), "places": (patches, width), "norm": scale(width),
        "layers": block_shapes(width, 1024, 4), "kinds": line(width, kinds),
    }  # fmt: skip
    params = hold(functools.partial(lay, devices), shapes)
    batch = tuple(lay(devices, count, patches, 768) for _ in range(2))
    return teach(changes, lose, params, lay(devices, kinds), batch)


def many_classes(devices: Devices, changes: Change) -> Case:
    """Bags of words belong to one of 80 thousand classes; the last weights are most; momentum."""
    count, width, classes = halve(changes, 1024), 384, 80000

    def lose(params: Any, batch: Any) -> Any:
        bags, wanted = batch
        x = params["words"][bags].mean(axis=1)
        for w in params["layers"]:
            x = remat(changes, lambda x, w: jax.nn.relu(dense(x, w)))(x, w)
        score = functools.partial(add_wrong, params["head"])
        return measure(changes, score, x[None], wanted[None]) / count

    layers = [line(width, width)] * 2
    shapes = {"words": (50000, width), "layers": layers, "head": (width, classes)}
    params = hold(functools.partial(lay, devices), shapes)
    batch = lay(devices, count, 32, dtype=I32), lay(devices, count, dtype=I32)
    return roll(changes, lose, params, batch)


# Noise, pairs and policies


def consistency(devices: Devices, changes: Change) -> Case:
    """Of two neighboring levels of noise a net makes the same picture; the other is its average."""
    count, side, width = halve(changes, 16), 32, 128

    def block(x: Any, given: Any) -> Any:
        w, time = given
        y = convolve(jax.nn.silu(group_norm(x)), w["one"]) + (time @ w["time"])[:, None, None]
        return x + convolve(jax.nn.silu(group_norm(y)), w["two"])

    def clear(changes: Change, params: Any, x: Any, level: Any) -> Any:
        time = jax.nn.silu(jnp.sin(jnp.log(level)[:, None] * jnp.arange(64)) @ params["time"])
        run, y = remat(changes, block), convolve(x, params["into"])
        for w in params["blocks"]:
            y = run(y, (w, time))
        part = (0.25 / (level**2 + 0.25))[:, None, None, None]
        return part * x + (1 - part) * convolve(y, params["out"])

    def lose(params: Any, teacher: Any, scaled: Any, batch: Any) -> Any:
        clean, noise, more, less = batch
        x, y = (clean + level[:, None, None, None] * noise for level in (more, less))
        wanted = lax.stop_gradient(clear(frozenset(), teacher, y, less))
        far = jnp.square(clear(changes, params, x, more) - wanted)
        return jnp.sqrt(far.sum((1, 2, 3)) + 1e-4).mean(), 0.99 * scaled + 0.01 * far.mean()

    one = {"one": (3, 3, width, width), "two": (3, 3, width, width), "time": (64, width)}
    shapes = {
        "time": (64, 64), "into": (3, 3, 3, width), "out": (3, 3, width, 3), "blocks": [one] * 3,
    }  # fmt: skip
    params = hold(functools.partial(lay, devices), shapes)
    image, level = lay(devices, count, side, side, 3), lay(devices, count)
    return teach(changes, lose, params, lay(devices), (image, image, level, level))


def queue_of_keys(devices: Devices, changes: Change) -> Case:
    """Pictures are told from 65 thousand older ones, whose keys a slow encoder put in a queue."""
    count, room, width = halve(changes, 64), 65536, 128

    def block(x: Any, w: Any) -> Any:
        y = jax.nn.relu(group_norm(convolve(x, w["one"], 2)))
        return jax.nn.relu(convolve(x, w["past"], 2) + group_norm(convolve(y, w["two"])))

    def encode(changes: Change, params: Any, x: Any) -> Any:
        x = convolve(x, params["into"])
        for w in params["blocks"]:
            x = remat(changes, block)(x, w)
        x = dense(x.mean((1, 2)), params["out"])
        return x / jnp.linalg.norm(x, axis=-1, keepdims=True)

    def lose(params: Any, teacher: Any, queue: Any, batch: Any) -> Any:
        q = encode(changes, params, batch[0])
        k = lax.stop_gradient(encode(frozenset(), teacher, batch[1]))
        logits = jnp.concatenate([(q * k).sum(-1, keepdims=True), q @ queue.T], axis=1) / 0.07
        new = jnp.concatenate([k, queue[:-count]], axis=0)
        return count_wrong(logits, jnp.zeros(count, I32)), new

    def one(into: int, out: int) -> Any:
        return {"one": (3, 3, into, out), "two": (3, 3, out, out), "past": (1, 1, into, out)}

    shapes = {"into": (3, 3, 3, 32), "blocks": [one(32, 64), one(64, 128)], "out": line(128, width)}
    params = hold(functools.partial(lay, devices), shapes)
    batch = tuple(lay(devices, count, 64, 64, 3) for _ in range(2))
    return teach(changes, lose, params, lay(devices, room, width), batch)


def soft_actor(devices: Devices, changes: Change) -> Case:
    """An actor that keeps its choices open, two critics and their slow copies; plain adam."""
    count, seen, acts, width = halve(changes, 8192), 376, 17, 512

    def net(p: Any, x: Any) -> Any:
        for w in p[:-1]:
            x = remat(changes, lambda x, w: jax.nn.relu(dense(x, w)))(x, w)
        return dense(x, p[-1])

    def act(p: Any, x: Any, noise: Any) -> Any:
        mean, wide = jnp.split(net(p, x), 2, axis=-1)
        raw = mean + jnp.exp(jnp.clip(wide, -5, 2)) * noise
        likely = (-0.5 * noise**2 - wide - jnp.log1p(1e-6 - jnp.tanh(raw) ** 2)).sum(-1)
        return jnp.tanh(raw), likely

    def judge(p: Any, x: Any, a: Any) -> Any:
        both = jnp.concatenate([x, a], axis=-1)
        return jax.vmap(net, (0, None))(p, both)[..., 0]

    def learn_all(state: Any, slow: Any, batch: Any) -> Any:
        x, a, gain, after, noise = batch
        b, likely = act(state["params"]["actor"], after, noise)
        aim = gain + 0.99 * (judge(slow, after, b).min(axis=0) - 0.2 * likely)

        def lose(params: Any) -> Any:
            off = jnp.square(judge(params["critics"], x, a) - lax.stop_gradient(aim)).mean()
            mine, likely = act(params["actor"], x, noise)
            held = lax.stop_gradient(params["critics"])
            return off + (0.2 * likely - judge(held, x, mine).min(axis=0)).mean()

        loss, grads = jax.value_and_grad(lose)(state["params"])
        params, mu, nu = move(state["params"], state["mu"], state["nu"], grads)
        slow = optax.incremental_update(params["critics"], slow, 0.005)
        return {"params": params, "mu": mu, "nu": nu}, slow, loss

    def shapes_of(into: int, out: int, *more: int) -> Any:
        sizes = ((into, width), (width, width), (width, out))
        return [line(a, b, *more) for a, b in sizes]

    place = functools.partial(lay, devices)
    shapes = {"actor": shapes_of(seen, 2 * acts), "critics": shapes_of(seen + acts, 1, 2)}
    params = hold(place, shapes)
    state = dict.fromkeys(("params", "mu", "nu"), params)
    sight, deed = place(count, seen), place(count, acts)
    batch = sight, deed, place(count), sight, deed
    return finish(changes, learn_all, (state, params["critics"]), batch)


def groups_of_answers(devices: Devices, changes: Change) -> Case:
    """Answers of a language model are compared in groups; a frozen model is near; 16k words."""
    count, length, width, words = halve(changes, 16), 256, 384, 16000
    block = functools.partial(think, heads=6, causal=True)

    def lose(params: Any, batch: Any) -> Any:
        tokens, before, frozen, gains = batch
        groups = gains.reshape(-1, 4)
        good = (groups - groups.mean(1, keepdims=True)) / (groups.std(1, keepdims=True) + 1e-4)
        x = run_layers(changes, block, params["embed"][tokens], params["layers"])
        still = run_layers(frozenset(), block, frozen["embed"][tokens], frozen["layers"])
        good = jnp.broadcast_to(good.reshape(-1, 1), tokens.shape)

        def score(both: Any, given: Any) -> Any:
            x, still = jnp.split(both, 2, axis=-1)
            wanted = given[..., :1].astype(I32)
            near, far = (
                jnp.take_along_axis(jax.nn.log_softmax(y @ head.T), wanted, axis=-1)[..., 0]
                for y, head in ((x, params["embed"]), (still, frozen["embed"]))
            )
            ratio = jnp.exp(near - given[..., 1])
            gain = jnp.minimum(ratio * given[..., 2], jnp.clip(ratio, 0.8, 1.2) * given[..., 2])
            return (0.04 * (jnp.exp(far - near) - (far - near) - 1) - gain).sum()

        given = jnp.stack([jnp.roll(tokens, -1, 1).astype(F32), before, good], axis=-1)
        both = jnp.concatenate([x, lax.stop_gradient(still)], axis=-1)
        return measure(changes, score, both, given) / tokens.size

    layers = {
        "qkv": (4, width, 3 * width), "out": (4, width, width), "up": (4, width, 1536),
        "down": (4, 1536, width),
    }  # fmt: skip
    params = hold(functools.partial(lay, devices), {"embed": (words, width), "layers": layers})
    tokens = lay(devices, count, length, dtype=I32)
    batch = tokens, lay(devices, count, length), params, lay(devices, count)
    return learn(changes, lose, params, batch, optimizer=optax.adamw(1e-6))


# Meshes


def two_axes(devices: Devices, changes: Change) -> Case:
    """Heads, perceptrons and words are divided by four, batches by two; scoped; 32k words."""
    mesh = make_mesh(devices, data=2, model=4)
    count, length, width, words = halve(changes, 16), 512, 512, 32000

    def keep(x: Any, *spec: Any) -> Any:
        return lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))

    def layer(x: Any, w: Any) -> Any:
        with jax.named_scope("attention"):
            y = root_norm(x, w["before"])
            q, k, v = (keep(y @ w[name], "data", None, "model") for name in ("q", "k", "v"))
            x = keep(x + attend(q, k, v, 8, causal=True) @ w["out"], "data", "model")
        with jax.named_scope("perceptron"):
            y = root_norm(x, w["between"])
            y = keep(jax.nn.gelu(y @ w["up"]), "data", None, "model")
            return keep(x + y @ w["down"], "data", "model")

    def lose(params: Any, tokens: Any) -> Any:
        x = keep(params["embed"][tokens], "data", "model")
        for number, w in enumerate(params["layers"]):
            with jax.named_scope(f"layer_{number}"):
                x = remat(changes, layer)(x, w)
        with jax.named_scope("head"):
            score = functools.partial(add_wrong, params["head"])
            x = keep(x, "data")
            return measure(changes, score, x, jnp.roll(tokens, -1, 1)) / tokens.size

    def wide(*shape: int) -> Any:
        return lay_out(mesh, P(None, "model"), *shape)

    def tall(*shape: int) -> Any:
        return lay_out(mesh, P("model"), *shape)

    one = {name: wide(width, width) for name in ("q", "k", "v")}
    one |= {name: lay_out(mesh, P(), width) for name in ("before", "between")}
    one |= {"out": tall(width, width), "up": wide(width, 2048), "down": tall(2048, width)}
    params = {"embed": tall(words, width), "head": wide(width, words), "layers": [one] * 2}
    tokens = lay_out(mesh, P("data"), count, length, dtype=I32)
    return by_hand(changes, lose, params, tokens)


def divided_state(devices: Devices, changes: Change) -> Case:
    """All states are divided among eight; scanned layers under checkpoint already; 16k words."""
    mesh = make_mesh(devices, fsdp=8)
    count, length, width, words, depth = halve(changes, 32), 256, 512, 16384, 6
    block = jax.checkpoint(functools.partial(think, heads=8, causal=True))

    def lose(params: Any, tokens: Any) -> Any:
        x = run_layers(frozenset(), block, params["embed"][tokens], params["layers"])
        score = functools.partial(add_wrong, params["head"])
        return measure(changes, score, x, jnp.roll(tokens, -1, 1)) / tokens.size

    layers = {
        "qkv": (depth, width, 3 * width), "out": (depth, width, width),
        "up": (depth, width, 2048), "down": (depth, 2048, width),
    }  # fmt: skip
    ends = {"embed": (words, width), "head": (width, words)}
    params = hold(functools.partial(lay_out, mesh, P("fsdp")), ends)
    params["layers"] = hold(functools.partial(lay_out, mesh, P(None, "fsdp")), layers)
    tokens = lay_out(mesh, P("fsdp"), count, length, dtype=I32)
    return learn(changes, lose, params, tokens, optimizer=optax.adamw(1e-3))


def clips(devices: Devices, changes: Change) -> Case:
    """Short films are sorted by what is done in them; eight devices share the batch; momentum."""
    mesh = make_mesh(devices, data=8)
    count = halve(changes, 32)

    def block(x: Any, w: Any) -> Any:
        y = jax.nn.relu(batch_norm(convolve(x, w["flat"]), w["norm"]))
        return jax.nn.relu(x + batch_norm(convolve(y, w["along"]), w["after"]))

    def lose(params: Any, batch: Any) -> Any:
        x = convolve(batch[0], params["into"], 2)
        for w in params["blocks"]:
            x = remat(changes, block)(x, w)
        return count_wrong(dense(x.mean((1, 2, 3)), params["out"]), batch[1])

    one = {
        "flat": (1, 3, 3, 48, 48), "norm": scale(48), "along": (3, 1, 1, 48, 48),
        "after": scale(48),
    }  # fmt: skip
    shapes = {"into": (3, 5, 5, 3, 48), "blocks": [one] * 3, "out": line(48, 400)}
    params = hold(functools.partial(lay_out, mesh, P()), shapes)
    place = functools.partial(lay_out, mesh, P("data"))
    batch = place(count, 16, 64, 64, 3), place(count, dtype=I32)
    return learn(changes, lose, params, batch, optimizer=optax.sgd(0.1, momentum=0.9))


BUILDERS: Mapping[str, Build] = {
    one.__name__: one
    for group in (
        (side_by_side, replaced, clicks, conformer, tagger, forecast, members, residual_points),
        (depthwise, sharpen, shared_expert, fixed_experts, look_back, delta_rule),
        (small_batches, relay, narrow_cache, guesses, prompts_into_cache),
        (score_texts, apply_grads, two_crops, many_classes, consistency, queue_of_keys),
        (soft_actor, groups_of_answers, two_axes, divided_state, clips),
    )
    for one in group
}
