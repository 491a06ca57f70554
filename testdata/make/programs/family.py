"""Families of small programs: one kind, and as its sizes whatever a user would change.

A variant is `KIND,batch=16,layers=4`; what it does not name is as in SIZES.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

SIZES = {
    "batch": 16,
    "sequence": 256,
    "layers": 4,
    "width": 256,
    "heads": 4,
    "vocabulary": 2048,
    "experts": 8,
    "micro": 4,
}
Arrays = dict[str, Any]


def attend(x: jax.Array, layer: Arrays, heads: int) -> jax.Array:
    """Causal self-attention."""
    batch, length, width = x.shape
    q, k, v = jnp.split(x @ layer["qkv"], 3, axis=-1)
    q, k, v = (one.reshape(batch, length, heads, width // heads) for one in (q, k, v))
    scores = jnp.einsum("bthd,bshd->bhts", q, k) / (width // heads) ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    mixed = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores), v)
    return mixed.reshape(batch, length, width) @ layer["out"]


def feed(x: jax.Array, layer: Arrays) -> jax.Array:
    """Two matrices and what lies between."""
    return jax.nn.gelu(x @ layer["up"]) @ layer["down"]


def route(x: jax.Array, layer: Arrays) -> jax.Array:
    """Every expert sees every token, weighted by the router."""
    weights = jax.nn.softmax(x @ layer["router"])
    hidden = jax.nn.gelu(jnp.einsum("btd,edh->bteh", x, layer["expert_up"]))
    return jnp.einsum("bteh,ehd,bte->btd", hidden, layer["expert_down"], weights)


def layer_shapes(kind: str, sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Give the shapes of one layer."""
    width, experts = sizes["width"], sizes["experts"]
    shapes: dict[str, tuple[int, ...]] = {"qkv": (width, 3 * width), "out": (width, width)}
    if kind == "moe":
        return shapes | {
            "router": (width, experts),
            "expert_up": (experts, width, 2 * width),
            "expert_down": (experts, 2 * width, width),
        }
    return shapes | {"up": (width, 4 * width), "down": (4 * width, width)}


def transformer(kind: str, sizes: dict[str, int]) -> tuple[Callable[..., Any], list[Any], int]:
    """Return a training step with momentum: `scan`, `unrolled`, `remat`, `moe` or `micro`."""
    one = layer_shapes(kind, sizes)
    count, heads = sizes["layers"], sizes["heads"]
    if kind == "unrolled":
        layers: Any = [dict(one) for _ in range(count)]
    else:
        layers = {name: (count, *shape) for name, shape in one.items()}
    shapes = {"embed": (sizes["vocabulary"], sizes["width"]), "layers": layers}

    def block(x: jax.Array, layer: Arrays) -> jax.Array:
        with jax.named_scope("attention"):
            x += attend(x, layer, heads)
        with jax.named_scope("experts" if kind == "moe" else "mlp"):
            return x + (route(x, layer) if kind == "moe" else feed(x, layer))

    def loss(state: Arrays, tokens: jax.Array) -> jax.Array:
        x = state["embed"][tokens]
        if kind == "unrolled":
            for layer in state["layers"]:
                x = block(x, layer)
        else:
            step = jax.checkpoint(block) if kind == "remat" else block
            x = jax.lax.scan(lambda y, one: (step(y, one), None), x, state["layers"])[0]
        with jax.named_scope("loss"):
            scores = jax.nn.log_softmax(x @ state["embed"].T)
            return -jnp.mean(jnp.take_along_axis(scores, tokens[..., None], axis=-1))

    def gradient(state: Arrays, tokens: jax.Array) -> Arrays:
        if kind != "micro":
            found: Arrays = jax.grad(loss)(state, tokens)
            return found
        parts = tokens.reshape(sizes["micro"], -1, tokens.shape[-1])

        def add(total: Arrays, part: jax.Array) -> tuple[Arrays, None]:
            return jax.tree.map(jnp.add, total, jax.grad(loss)(state, part)), None

        summed: Arrays = jax.lax.scan(add, jax.tree.map(jnp.zeros_like, state), parts)[0]
        return summed

    def train_step(state: Arrays, momentum: Arrays, tokens: jax.Array) -> tuple[Arrays, Arrays]:
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradient(state, tokens))
        return jax.tree.map(lambda s, m: s - 0.01 * m, state, momentum), momentum

    is_shape = lambda one: isinstance(one, tuple)  # noqa: E731
    state = jax.tree.map(
        lambda one: jax.ShapeDtypeStruct(one, jnp.float32), shapes, is_leaf=is_shape
    )
    tokens = jax.ShapeDtypeStruct((sizes["batch"], sizes["sequence"]), jnp.int32)
    return train_step, [state, state, tokens], 2


def array(*shape: int) -> jax.ShapeDtypeStruct:
    """Return the shape of an argument."""
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def convolve(sizes: dict[str, int]) -> tuple[Callable[..., Any], list[Any], int]:
    """Return a training step of a residual convolutional net on pictures of `sequence`/8 points."""
    width, count, edge = sizes["width"] // 4, sizes["layers"], sizes["sequence"] // 8

    def loss(state: Arrays, images: jax.Array) -> jax.Array:
        x = images @ state["stem"]
        for layer in state["layers"]:
            x += jax.nn.relu(
                jax.lax.conv_general_dilated(
                    x, layer, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
                )
            )
        return jnp.mean((x.mean((1, 2)) @ state["head"]) ** 2)

    def train_step(state: Arrays, images: jax.Array) -> Arrays:
        gradient = jax.grad(loss)(state, images)
        stepped: Arrays = jax.tree.map(lambda s, g: s - 0.01 * g, state, gradient)
        return stepped

    layers = [array(3, 3, width, width) for _ in range(count)]
    state = {"stem": array(3, width), "layers": layers, "head": array(width, 16)}
    return train_step, [state, array(sizes["batch"], edge, edge, 3)], 1


def decode(sizes: dict[str, int]) -> tuple[Callable[..., Any], list[Any], int]:
    """Return a step of one token a sequence, with a cache that is updated in place."""
    one = layer_shapes("scan", sizes)
    count, heads, width = sizes["layers"], sizes["heads"], sizes["width"]

    def step(cache: Arrays, state: Arrays, x: jax.Array, place: jax.Array) -> tuple[Arrays, Any]:
        def body(x: jax.Array, part: tuple[Arrays, Arrays]) -> tuple[jax.Array, Arrays]:
            layer, kept = part
            q, k, v = jnp.split(x @ layer["qkv"], 3, axis=-1)
            q, k, v = (one.reshape(-1, 1, heads, width // heads) for one in (q, k, v))
            begin = (0, place, 0, 0)
            k = jax.lax.dynamic_update_slice(kept["k"], k, begin)
            v = jax.lax.dynamic_update_slice(kept["v"], v, begin)
            scores = jax.nn.softmax(jnp.einsum("bqhd,bshd->bhqs", q, k))
            mixed = jnp.einsum("bhqs,bshd->bqhd", scores, v).reshape(-1, width)
            x = x + mixed @ layer["out"]
            return x + feed(x, layer), {"k": k, "v": v}

        x, cache = jax.lax.scan(body, x, (state, cache))
        return cache, x

    kept = array(count, sizes["batch"], sizes["sequence"], heads, width // heads)
    state = {name: array(count, *shape) for name, shape in one.items()}
    place = jax.ShapeDtypeStruct((), jnp.int32)
    return step, [{"k": kept, "v": kept}, state, array(sizes["batch"], width), place], 0


def lower(devices: Sequence[jax.Device], variant: str) -> jax.stages.Lowered:
    """Lower a program of a family: the data over 4 of 8 devices, weights' columns over 2."""
    kind, *given = variant.split(",")
    sizes = SIZES | {name: int(text) for name, _, text in (one.partition("=") for one in given)}
    if kind == "conv":
        function, arguments, data_place = convolve(sizes)
    elif kind == "decode":
        function, arguments, data_place = decode(sizes)
    else:
        function, arguments, data_place = transformer(kind, sizes)
    mesh = Mesh(np.array(devices[:8]).reshape(4, 2), ("data", "model"))

    def place(one: jax.ShapeDtypeStruct, number: int) -> jax.ShapeDtypeStruct:
        spec = P(*(None,) * (len(one.shape) - 1), "model") if len(one.shape) > 1 else P()
        if kind == "decode" and number == 0:
            spec = P(None, "data", None, "model")
        elif number == data_place or (kind == "decode" and number == 2):  # noqa: PLR2004
            spec = P("data")
        if one.shape and one.shape[-1] == 16:  # noqa: PLR2004 (the head of the net)
            spec = P()
        return jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=NamedSharding(mesh, spec))

    placed = [
        jax.tree.map(lambda one, n=n: place(one, n), part) for n, part in enumerate(arguments)
    ]
    donated = tuple(range(data_place)) if kind != "decode" else (0,)
    return jax.jit(function, donate_argnums=donated).lower(*placed)
