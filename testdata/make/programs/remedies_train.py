"""Train steps of every build, as they are and with each remedy applied to the source.

A program is a `Model`: which layers, how many, of which sizes, how written. A remedy is a set of
changes to its source, by name. `build` gives the function, its arguments and more for jit.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import Mesh, NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P

Devices: TypeAlias = list[jax.Device]
Case: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
Change: TypeAlias = frozenset[str]
F32, BF16, I32 = jnp.float32, jnp.bfloat16, jnp.int32
HEADS = 8
EXPERTS = 8
CHUNKS = 8


@dataclass(frozen=True)
class Model:
    """A train step: its layers, its sizes, and how it is written."""

    block: str  # a name in BLOCKS
    layers: int = 6
    batch: int = 16
    length: int = 256  # of convolutions, the side of an image
    width: int = 256
    inner: int = 1024
    vocabulary: int = 4096
    scanned: bool = True
    scoped: bool = False
    optimizer: str = "momentum"  # or "sgd", "adam"
    loss: str = "entropy"  # or "squares"
    micro: int = 1  # batches, one after another, whose gradients are added up
    mesh: tuple[tuple[str, int], ...] = ()
    checkpointed: bool = False
    donated: bool = False
    inputs_kept: bool = False  # the batch comes back beside the state


Shapes: TypeAlias = Mapping[str, tuple[int, ...]]


def normalize(x: Any) -> Any:
    """Divide each row by its length."""
    return x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + jnp.asarray(1e-6, x.dtype))


def perceptron(layer: Any, x: Any) -> Any:
    """Run two products and what is between them."""
    hidden = checkpoint_name(x @ layer["up"], "hidden")
    return x + jax.nn.gelu(hidden) @ layer["down"]


def gated(layer: Any, x: Any) -> Any:
    """Run a perceptron one of whose products gates the other."""
    y = normalize(x)
    hidden = checkpoint_name(jax.nn.silu(y @ layer["gate"]) * (y @ layer["up"]), "hidden")
    return x + hidden @ layer["down"]


def attention(layer: Any, x: Any) -> Any:
    """Run causal attention of several heads, then a perceptron."""
    batch, length, width = x.shape
    heads = (batch, length, HEADS, width // HEADS)
    q, k, v = (one.reshape(heads) for one in jnp.split(normalize(x) @ layer["qkv"], 3, axis=-1))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (width // HEADS) ** -0.5
    allowed = jnp.tril(jnp.ones((length, length), bool))
    weights = jax.nn.softmax(jnp.where(allowed, scores, -1e9), axis=-1).astype(x.dtype)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", checkpoint_name(weights, "hidden"), v)
    x = x + mixed.reshape(x.shape) @ layer["out"]
    return x + jax.nn.gelu(normalize(x) @ layer["up"]) @ layer["down"]


def convolution(layer: Any, x: Any) -> Any:
    """Run two convolutions of 3 × 3 around which the input is led."""
    names = ("NHWC", "HWIO", "NHWC")

    def convolve(x: Any, kernel: Any) -> Any:
        return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=names)

    hidden = checkpoint_name(convolve(x, layer["first"]), "hidden")
    return x + convolve(jax.nn.relu(hidden), layer["second"])


def experts(layer: Any, x: Any) -> Any:
    """Send each token to the expert that it likes best, as far as there is room."""
    tokens = x.reshape(-1, x.shape[-1])
    room = tokens.shape[0] // EXPERTS * 2
    gates = jax.nn.softmax((tokens @ layer["router"]).astype(F32), axis=-1)
    chosen = jax.nn.one_hot(jnp.argmax(gates, axis=-1), EXPERTS)
    place = jnp.cumsum(chosen, axis=0) * chosen - 1.0
    sent = jax.nn.one_hot(place.astype(I32), room, dtype=x.dtype) * chosen[..., None].astype(
        x.dtype
    )
    taken = jnp.einsum("tec,td->ecd", sent, tokens)
    hidden = checkpoint_name(jnp.einsum("ecd,edf->ecf", taken, layer["up"]), "hidden")
    given = jnp.einsum("ecf,efd->ecd", jax.nn.gelu(hidden), layer["down"])
    weight = jnp.max(gates, axis=-1).astype(x.dtype)
    back = jnp.einsum("tec,ecd->td", sent, given) * weight[:, None]
    return x + back.reshape(x.shape)


def recurrent(layer: Any, x: Any) -> Any:
    """Run along a sequence with a state that a gate lets through."""

    def step(state: Any, now: Any) -> tuple[Any, Any]:
        both = now + state @ layer["again"]
        gate, value = jnp.split(both, 2, axis=-1)
        gate = jax.nn.sigmoid(gate)
        state = gate * state + (1 - gate) * jnp.tanh(value)
        return state, state

    given = checkpoint_name(x @ layer["up"], "hidden")
    _, found = lax.scan(step, jnp.zeros_like(x[:, 0]), given.swapaxes(0, 1))
    return x + found.swapaxes(0, 1)


BLOCKS: Mapping[str, tuple[Callable[[Any, Any], Any], Callable[[Model], Shapes]]] = {
    "perceptron": (
        perceptron,
        lambda m: {"up": (m.width, m.inner), "down": (m.inner, m.width)},
    ),
    "gated": (
        gated,
        lambda m: {
            "up": (m.width, m.inner),
            "gate": (m.width, m.inner),
            "down": (m.inner, m.width),
        },
    ),
    "attention": (
        attention,
        lambda m: {
            "qkv": (m.width, 3 * m.width),
            "out": (m.width, m.width),
            "up": (m.width, m.inner),
            "down": (m.inner, m.width),
        },
    ),
    "convolution": (
        convolution,
        lambda m: {"first": (3, 3, m.width, m.inner), "second": (3, 3, m.inner, m.width)},
    ),
    "experts": (
        experts,
        lambda m: {
            "router": (m.width, EXPERTS),
            "up": (EXPERTS, m.width, m.inner),
            "down": (EXPERTS, m.inner, m.width),
        },
    ),
    "recurrent": (
        recurrent,
        lambda m: {"up": (m.width, 2 * m.width), "again": (m.width, 2 * m.width)},
    ),
}


class Step:
    """A train step with changes."""

    def __init__(self, model: Model, changes: Change, devices: Devices) -> None:
        if "half-batch" in changes:
            model = replace(model, batch=model.batch // 2)
        if "accumulate" in changes:
            model = replace(model, micro=model.micro * 4)
        if "more-devices" in changes:
            name, size = model.mesh[0]
            model = replace(model, mesh=((name, size * 2), *model.mesh[1:]))
        self.model, self.changes = model, changes
        self.devices = devices
        sizes = [size for _, size in model.mesh]
        names = tuple(name for name, _ in model.mesh)
        used = np.array(devices[: math.prod(sizes)]).reshape(sizes)
        self.mesh = Mesh(used, names) if names else None
        self.held = BF16 if changes & {"bf16-params", "bf16"} else F32
        self.used = BF16 if changes & {"bf16-activations", "bf16"} else F32

    def scope(self, name: str) -> contextlib.AbstractContextManager[Any]:
        """Name a part, where the model does."""
        return jax.named_scope(name) if self.model.scoped else contextlib.nullcontext()

    def place(self, shape: tuple[int, ...], dtype: Any, *, whole: bool, host: bool = False) -> Any:
        """Describe an argument: weights lie on the axes that they are divided over."""
        if self.mesh is None:
            kind = {"memory_kind": "pinned_host"} if host else {}
            return jax.ShapeDtypeStruct(
                shape, dtype, sharding=SingleDeviceSharding(self.devices[0], **kind)
            )
        spec: list[Any] = [None] * len(shape)
        names = dict(self.model.mesh)
        if not whole:
            spec[0] = tuple(name for name in names if name != "model")
        elif shape:
            if "fsdp" in names or "divide-state" in self.changes:
                spec[-2 if len(shape) > 1 else 0] = "fsdp" if "fsdp" in names else "data"
            if "model" in names:
                spec[-1] = "model"
        return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(self.mesh, P(*spec)))

    def list_weights(self, dtype: Any, *, host: bool = False) -> Any:
        """Describe the parameters."""
        model = self.model
        shapes = BLOCKS[model.block][1](model)

        def one(*shape: int) -> Any:
            return self.place(shape, dtype, whole=True, host=host)

        if model.scanned:
            layers: Any = {name: one(model.layers, *shape) for name, shape in shapes.items()}
        else:
            layers = [
                {name: one(*shape) for name, shape in shapes.items()} for _ in range(model.layers)
            ]
        weights = {"layers": layers, "head": one(model.width, model.vocabulary)}
        if model.block != "convolution":
            weights["embed"] = one(model.vocabulary, model.width)
        return weights

    def list_arguments(self) -> tuple[Any, Any]:
        """Describe the state and the batch."""
        model = self.model
        moments = {"sgd": (), "momentum": ("mu",), "adam": ("mu", "nu")}[model.optimizer]
        host = "offload-state" in self.changes
        state = {"params": self.list_weights(self.held)}
        for name in moments:
            state[name] = self.list_weights(self.held, host=host)
        if model.block == "convolution":
            side = (model.batch, model.length, model.length, model.width)
            images = self.place(side, F32, whole=False)
            labels = self.place((model.batch,), I32, whole=False)
            return state, (images, labels)
        tokens = self.place((model.batch, model.length), I32, whole=False)
        if model.loss == "squares":
            shape = (model.batch, model.length, model.vocabulary)
            return state, (tokens, self.place(shape, F32, whole=False))
        return state, (tokens, tokens)

    def run_layers(self, layers: Any, x: Any) -> Any:
        """Run all layers."""
        block = BLOCKS[self.model.block][0]

        def run(layer: Any, x: Any) -> Any:
            with self.scope(self.model.block):
                return block(jax.tree.map(lambda w: w.astype(self.used), layer), x)

        if "offload" in self.changes:
            policy = jax.checkpoint_policies.save_and_offload_only_these_names(
                names_which_can_be_saved=[],
                names_which_can_be_offloaded=["hidden"],
                offload_src="device",
                offload_dst="pinned_host",
            )
            run = jax.checkpoint(run, policy=policy)
        elif self.model.checkpointed != ("checkpoint" in self.changes):
            run = jax.checkpoint(run)
        if self.model.scanned:
            return lax.scan(lambda x, layer: (run(layer, x), None), x, layers)[0]
        for number, layer in enumerate(layers):
            with self.scope(f"layer_{number}"):
                x = run(layer, x)
        return x

    def measure(self, head: Any, x: Any, wanted: Any) -> Any:
        """Return the loss of each row."""
        logits = (x @ head.astype(self.used)).astype(F32)
        if self.model.loss == "squares":
            return jnp.mean((logits - wanted) ** 2, axis=-1)
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), wanted[..., None], -1)
        return -picked[..., 0]

    def lose(self, params: Any, batch: Any) -> Any:
        """Return the mean loss."""
        given, wanted = batch
        if self.model.block == "convolution":
            x = self.run_layers(params["layers"], given.astype(self.used))
            x = x.mean(axis=(1, 2))
        else:
            x = params["embed"][given].astype(self.used)
            x = self.run_layers(params["layers"], x)
        with self.scope("head"):
            if "chunked-loss" not in self.changes:
                return self.measure(params["head"], x, wanted).mean()
            axis = 1  # the sequence: the batch may be divided among devices
            count = x.shape[axis] // CHUNKS

            def cut(one: Any) -> Any:
                parts = one.reshape(one.shape[0], CHUNKS, count, *one.shape[2:])
                return parts.swapaxes(0, 1)

            measured = jax.checkpoint(lambda x, wanted: self.measure(params["head"], x, wanted))

            def add(total: Any, part: Any) -> tuple[Any, None]:
                return total + measured(*part).sum(), None

            total, _ = lax.scan(add, jnp.float32(0), (cut(x), cut(wanted)))
            return total / (x.shape[0] * x.shape[1])

    def find_gradient(self, params: Any, batch: Any) -> Any:
        """Return loss and gradient, of micro-batches added up."""
        micro = self.model.micro
        grad = jax.value_and_grad(self.lose)
        if micro == 1:
            return grad(params, batch)

        def cut(one: Any) -> Any:
            # One row of each micro-batch after the other: no device sends its rows away.
            return one.reshape(one.shape[0] // micro, micro, *one.shape[1:]).swapaxes(0, 1)

        def add(total: Any, part: Any) -> tuple[Any, None]:
            return jax.tree.map(jnp.add, total, grad(params, part)), None

        start = jnp.float32(0), jax.tree.map(jnp.zeros_like, params)
        total, _ = lax.scan(add, start, jax.tree.map(cut, batch))
        return jax.tree.map(lambda one: one / micro, total)

    def update(self, state: Any, grads: Any) -> Any:
        """Take one step."""
        tree = jax.tree.map
        host = "offload-state" in self.changes
        here = SingleDeviceSharding(self.devices[0])
        away = SingleDeviceSharding(self.devices[0], memory_kind="pinned_host") if host else here

        def fetch(one: Any) -> Any:
            return jax.device_put(one, here) if host else one

        def store(one: Any) -> Any:
            return tree(lambda each: jax.device_put(each, away), one) if host else one

        if self.model.optimizer == "sgd":
            return {"params": tree(lambda p, g: p - 0.01 * g, state["params"], grads)}
        mu = tree(lambda m, g: 0.9 * fetch(m) + 0.1 * g, state["mu"], grads)
        if self.model.optimizer == "momentum":
            params = tree(lambda p, m: p - 0.01 * m, state["params"], mu)
            return {"params": params, "mu": store(mu)}
        nu = tree(lambda n, g: 0.99 * fetch(n) + 0.01 * g * g, state["nu"], grads)
        params = tree(
            lambda p, m, n: p - 0.01 * m / (jnp.sqrt(n) + jnp.asarray(1e-8, n.dtype)),
            state["params"], mu, nu,
        )  # fmt: skip
        return {"params": params, "mu": store(mu), "nu": store(nu)}

    def __call__(self, state: Any, batch: Any) -> Any:
        """Run one step."""
        loss, grads = self.find_gradient(state["params"], batch)
        with self.scope("update"):
            state = self.update(state, grads)
        return (state, loss, batch) if self.model.inputs_kept else (state, loss)


def build_step(model: Model, changes: Change, devices: Devices) -> Case:
    """Build a train step with changes."""
    step = Step(model, changes, devices)
    state, batch = step.list_arguments()
    more: dict[str, Any] = {}
    if model.donated != bool(changes & {"donate", "undonate"}):
        more["donate_argnums"] = (0,)
    if step.mesh is not None or "offload-state" in changes:
        kept = jax.tree.map(lambda one: one.sharding, state)
        more["out_shardings"] = (kept, None)

    def train_step(state: Any, batch: Any) -> Any:
        return step(state, batch)

    return train_step, (state, batch), more
