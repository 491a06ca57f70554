"""Programs that are no plain train step, as they are and with each remedy applied to the source.

A builder is a function of the devices, the changes and the program's sizes; it returns what
`remedies_train.build_step` returns.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P
from make.programs.remedies_train import BF16, F32, I32, Case, Change, Devices

Build: TypeAlias = Callable[..., Case]
ENOUGH = 1e-3


def lay(devices: Devices, *shape: int, dtype: Any = F32) -> Any:
    """Describe an argument on one device."""
    return jax.ShapeDtypeStruct(shape, dtype, sharding=SingleDeviceSharding(devices[0]))


def lay_out(mesh: Mesh, spec: P, *shape: int, dtype: Any = F32) -> Any:
    """Describe an argument on several devices."""
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))


def make_mesh(devices: Devices, **axes: int) -> Mesh:
    """Lay the first devices out along axes."""
    sizes = tuple(axes.values())
    return Mesh(np.array(devices[: math.prod(sizes)]).reshape(sizes), tuple(axes))


def mapped(mesh: Mesh, function: Callable[..., Any], into: Any, out: Any) -> Callable[..., Any]:
    """Run a function on each device."""
    run: Callable[..., Any] = jax.shard_map(
        function, mesh=mesh, in_specs=into, out_specs=out, check_vma=False
    )
    return run


def donating(changes: Change, *numbers: int, donated: bool = False) -> dict[str, Any]:
    """Donate arguments, where the changes or the program say so."""
    is_donated = donated != bool(changes & {"donate", "undonate"})
    return {"donate_argnums": numbers} if is_donated else {}


def halve(changes: Change, batch: int) -> int:
    """Return the batch, or half of it."""
    return batch // 2 if "half-batch" in changes else batch


# Caches


def attend(
    weights: Any, x: Any, keys: Any, values: Any, at: Any, *, turned: int
) -> tuple[Any, Any, Any]:
    """Write keys and values of one token into the cache of a layer, and attend to all before."""
    batch, dtype = x.shape[0], keys.dtype
    axis = 2 if turned else 1
    length, width = keys.shape[axis], keys.shape[3]
    heads = keys.shape[3 - axis]
    q, k, v = (one.reshape(batch, heads, width) for one in jnp.split(x @ weights, 3, axis=-1))
    new_k, new_v = (jnp.expand_dims(one, axis).astype(dtype) for one in (k, v))
    keys = lax.dynamic_update_slice_in_dim(keys, new_k, at, axis)
    values = lax.dynamic_update_slice_in_dim(values, new_v, at, axis)
    seen, known = keys, values
    if turned:
        seen, known = (
            jax.nn.standardize(one.transpose(0, 2, 1, 3).reshape(batch, length, -1), axis=-1)
            for one in (keys, values)
        )
        seen, known = (one.reshape(batch, length, heads, width) for one in (seen, known))
    scores = jnp.einsum("bhd,blhd->bhl", q.astype(dtype), seen)
    scores = jnp.where(jnp.arange(length) <= at, scores.astype(F32), -1e9)
    mixed = jnp.einsum("bhl,blhd->bhd", jax.nn.softmax(scores, axis=-1).astype(dtype), known)
    return x + mixed.reshape(x.shape).astype(F32), keys, values


def run_scanned(weights: Any, cache: Any, x: Any, at: Any, *, turned: int) -> Any:
    """Run layers over slices of the cache."""

    def layer(x: Any, given: Any) -> Any:
        x, k, v = attend(given[0], x, given[1], given[2], at, turned=turned)
        return x, (k, v)

    return lax.scan(layer, x, (weights, *cache))


def run_carried(weights: Any, cache: Any, x: Any, at: Any, *, turned: int) -> Any:
    """Run layers in a loop that carries the whole cache."""

    def turn(number: Any, carry: Any) -> Any:
        x, keys, values = carry
        x, k, v = attend(weights[number], x, keys[number], values[number], at, turned=turned)
        keys = lax.dynamic_update_index_in_dim(keys, k, number, 0)
        return x, keys, lax.dynamic_update_index_in_dim(values, v, number, 0)

    x, keys, values = lax.fori_loop(0, weights.shape[0], turn, (x, *cache))
    return x, (keys, values)


def run_unrolled(weights: Any, cache: Any, x: Any, at: Any, *, turned: int) -> Any:
    """Run layers each of which has its own cache."""
    found = []
    for w, keys, values in zip(weights, *cache, strict=True):
        x, *held = attend(w, x, keys, values, at, turned=turned)
        found.append(held)
    return x, ([k for k, _ in found], [v for _, v in found])


FORMS = {"scan": run_scanned, "carry": run_carried, "unrolled": run_unrolled}


def decode(
    devices: Devices, changes: Change, *, layers: int, batch: int, heads: int, length: int,
    width: int, form: str = "scan", turned: int = 0, shared: int = 0,
) -> Case:  # fmt: skip
    """Decode one token with a cache of keys and values, a slice of which is written.

    `form`: layers are scanned over slices of the cache (`scan`), or a loop carries it (`carry`),
    or each layer has its own (`unrolled`). `turned`: the cache lies with heads before length, and
    is used the other way. `shared`: devices that the heads are divided over.
    """
    batch = halve(changes, batch)
    turned = 0 if "one-layout" in changes else turned
    dtype = BF16 if "bf16-cache" in changes else F32
    model = heads * width
    run = functools.partial(FORMS[form], turned=turned)
    held = (batch, heads, length, width) if turned else (batch, length, heads, width)
    more = donating(changes, 1)
    if shared:
        mesh = make_mesh(devices, model=shared * (2 if "more-devices" in changes else 1))
        spec = P(None, None, "model") if turned else P(None, None, None, "model")
        caches: Any = tuple(lay_out(mesh, spec, layers, *held, dtype=dtype) for _ in range(2))
        arguments = (
            lay_out(mesh, P(), layers, model, 3 * model),
            caches,
            lay_out(mesh, P(), batch, model),
            lay_out(mesh, P(), dtype=I32),
        )
        kept = jax.tree.map(lambda one: one.sharding, caches)
        return run, arguments, {**more, "out_shardings": (None, kept)}
    if form == "unrolled":
        weights: Any = [lay(devices, model, 3 * model) for _ in range(layers)]
        caches = tuple([lay(devices, *held, dtype=dtype) for _ in range(layers)] for _ in range(2))
    else:
        weights = lay(devices, layers, model, 3 * model)
        caches = tuple(lay(devices, layers, *held, dtype=dtype) for _ in range(2))
    return run, (weights, caches, lay(devices, batch, model), lay(devices, dtype=I32)), more


def generate(
    devices: Devices, changes: Change, *, layers: int, batch: int, length: int, width: int,
    vocabulary: int,
) -> Case:  # fmt: skip
    """Decode until a token says that it is the end: a loop of unknown length carries the cache."""
    batch = halve(changes, batch)
    dtype = BF16 if "bf16-cache" in changes else F32

    def run(params: Any, cache: Any, token: Any) -> Any:
        def going(carry: Any) -> Any:
            at, token, _ = carry
            return (at < length) & jnp.any(token != 0)

        def step(carry: Any) -> Any:
            at, token, cache = carry
            x = params["embed"][token]

            def layer(x: Any, given: Any) -> Any:
                w, known = given
                q, k = jnp.split(x @ w, 2, axis=-1)
                known = lax.dynamic_update_slice_in_dim(known, k[:, None].astype(dtype), at, 1)
                scores = jnp.einsum("bd,bld->bl", q.astype(dtype), known).astype(F32)
                scores = jnp.where(jnp.arange(length) <= at, scores, -1e9)
                mixed = jnp.einsum("bl,bld->bd", jax.nn.softmax(scores).astype(dtype), known)
                return x + mixed.astype(F32), known

            x, cache = lax.scan(layer, x, (params["layers"], cache))
            token = jnp.argmax(x @ params["embed"].T, axis=-1).astype(I32)
            return at + 1, token, cache

        return lax.while_loop(going, step, (jnp.int32(0), token, cache))

    params = {
        "embed": lay(devices, vocabulary, width),
        "layers": lay(devices, layers, width, 2 * width),
    }
    cache = lay(devices, layers, batch, length, width, dtype=dtype)
    return run, (params, cache, lay(devices, batch, dtype=I32)), donating(changes, 1)


# Donation


def read_and_donated(devices: Devices, changes: Change, *, size: int, form: str) -> Case:
    """An array is donated and its old value is needed after the new one is there."""

    def pair(a: Any, x: Any) -> Any:
        return [a[0] + x, a[1] * 2.0 + x], a[1]

    def swap(a: Any, x: Any) -> Any:
        return [a[1] + x, a[0] * x], jnp.tanh(a[0] - a[1])

    def turned(a: Any, x: Any) -> Any:
        return [a[0] * 0.9 + a[0].T, a[1] + x], a[1][::-1]

    def unchanged(a: Any, x: Any) -> Any:
        return [a[0], a[1] + a[0]], a[0] * x

    def products(a: Any, x: Any) -> Any:
        return [a[0] @ a[1], a[0] @ a[0]], x.sum()

    run = {
        "products": products,
        "pair": pair,
        "swap": swap,
        "turned": turned,
        "unchanged": unchanged,
    }[form]
    arrays = [lay(devices, size, size) for _ in range(2)]
    donated = donating(changes, 0, donated=True)
    return run, (arrays, lay(devices, size, size)), donated


def partly_donated(devices: Devices, changes: Change, *, size: int, form: str) -> Case:
    """Of what could be donated a part has an output of its form."""

    def narrowed(state: Any, x: Any) -> Any:
        grads = jax.grad(lambda w: (jnp.tanh(x @ w) ** 2).sum())(state["w"])
        mu = 0.9 * state["mu"] + grads
        return {"w": state["w"] - 0.1 * mu, "mu": mu.astype(BF16), "old": (state["w"]).sum()}

    def averaged(state: Any, x: Any) -> Any:
        grads = jax.grad(lambda w: (jnp.tanh(x @ w) ** 2).sum())(state["w"])
        w = state["w"] - 0.1 * grads
        return {"w": w, "mu": 0.99 * state["mu"] + 0.01 * w, "loss": grads.mean()}

    def grown(state: Any, x: Any) -> Any:
        y = jnp.tanh(x @ state["w"])
        mu = jnp.concatenate([state["mu"], y[:size]], axis=0)
        return {"w": state["w"] + y.mean(), "mu": mu}

    run = {"narrowed": narrowed, "averaged": averaged, "grown": grown}[form]
    state = {name: lay(devices, size, size) for name in ("w", "mu")}
    return run, (state, lay(devices, 2 * size, size)), donating(changes, 0)


# Constants


def baked(
    devices: Devices, changes: Change, *, rows: int, width: int, batch: int, form: str
) -> Case:
    """A table is part of the program: its values were there when it was traced."""
    batch = halve(changes, batch)
    table = np.random.default_rng(7).standard_normal((rows, width)).astype(np.float32)

    def look_up(table: Any, x: Any, w: Any) -> Any:
        return jnp.tanh(jnp.asarray(table)[x]) @ w

    def project(table: Any, x: Any, w: Any) -> Any:
        return jax.nn.relu(w[x] @ jnp.asarray(table).T)

    def train(table: Any, x: Any, w: Any) -> Any:
        def loss(w: Any) -> Any:
            return ((jnp.asarray(table)[x] @ w) ** 2).mean()

        return w - 0.1 * jax.grad(loss)(w)

    inner = {"look-up": look_up, "project": project, "train": train}[form]
    rows_of_w = rows if form == "project" else width
    x, w = lay(devices, batch, dtype=I32), lay(devices, rows_of_w, width)
    if "constant-to-argument" in changes:
        given = inner, (lay(devices, rows, width), x, w)
        return *given, donating(changes, 2)
    return (lambda x, w: inner(table, x, w)), (x, w), donating(changes, 1)


# Pipelines


def pipeline(
    devices: Devices, changes: Change, *, stages: int, micro: int, rows: int, width: int,
    layers: int, scoped: int = 0,
) -> Case:  # fmt: skip
    """Train stages on devices of their own, which pass micro-batches on in a loop."""
    rows = halve(changes, rows)
    if "more-devices" in changes:
        stages, layers = stages * 2, layers // 2
    if "more-micro-batches" in changes:
        rows, micro = rows // 2, micro * 2
    mesh = make_mesh(devices, stage=stages)
    held = BF16 if changes & {"bf16-params", "bf16"} else F32
    used = BF16 if changes & {"bf16-activations", "bf16"} else F32

    def run_stage(weights: Any, x: Any) -> Any:
        for number in range(layers):
            x = jnp.tanh(x @ weights[0, number].astype(used))
        return x

    stage = jax.checkpoint(run_stage) if "checkpoint" in changes else run_stage
    onward = [(i, (i + 1) % stages) for i in range(stages)]

    def forward(weights: Any, batch: Any) -> Any:
        here = lax.axis_index("stage")

        def step(carry: Any, now: Any) -> Any:
            fed = lax.dynamic_index_in_dim(batch, jnp.minimum(now, micro - 1), 0, keepdims=False)
            x = jnp.where(here == 0, fed.astype(used), carry)
            if scoped:
                with jax.named_scope("stage"):
                    y = stage(weights, x)
            else:
                y = stage(weights, x)
            return lax.ppermute(y, "stage", onward), y

        start = jnp.zeros(batch.shape[1:], used)
        _, found = lax.scan(step, start, jnp.arange(micro + stages - 1))
        last = jnp.where(here == stages - 1, found[stages - 1 :], 0.0)
        return lax.psum((last.astype(F32) ** 2).mean(), "stage")

    inside = jax.shard_map(
        forward, mesh=mesh, in_specs=(P("stage"), P()), out_specs=P(), check_vma=False
    )

    def pipeline_step(weights: Any, batch: Any) -> Any:
        loss, grads = jax.value_and_grad(inside)(weights, batch)
        return weights - 0.1 * grads, loss

    weights = lay_out(mesh, P("stage"), stages, layers, width, width, dtype=held)
    batch = lay_out(mesh, P(), micro, rows, width)
    kept = weights.sharding, NamedSharding(mesh, P())
    return pipeline_step, (weights, batch), {**donating(changes, 0), "out_shardings": kept}


# Loops of unknown length


def solve(devices: Devices, changes: Change, *, size: int, columns: int, form: str) -> Case:
    """Iterate until the error is small."""
    columns = halve(changes, columns)
    dtype = BF16 if "bf16" in changes else F32

    def conjugate(matrix: Any, wanted: Any, x: Any) -> Any:
        def going(carry: Any) -> Any:
            return carry[3].max() > ENOUGH

        def step(carry: Any) -> Any:
            x, r, p, error = carry
            ap = matrix @ p
            alpha = error / ((p * ap).sum(axis=0) + jnp.asarray(1e-6, dtype))
            x, r = x + alpha * p, r - alpha * ap
            now = (r * r).sum(axis=0)
            return x, r, r + now / error * p, now

        r = wanted - matrix @ x
        return lax.while_loop(going, step, (x, r, r, (r * r).sum(axis=0)))[0]

    def relax(matrix: Any, wanted: Any, x: Any) -> Any:
        def step(carry: Any) -> Any:
            x, _ = carry
            y = jnp.tanh(matrix @ x) + wanted
            return y, jnp.abs(y - x).max()

        found = lax.while_loop(lambda c: c[1] > ENOUGH, step, (x, jnp.asarray(1, dtype)))
        return found[0]

    run = {"conjugate": conjugate, "relax": relax}[form]
    arguments = (
        lay(devices, size, size, dtype=dtype),
        lay(devices, size, columns, dtype=dtype),
        lay(devices, size, columns, dtype=dtype),
    )
    return run, arguments, donating(changes, 2)


# Without a backward pass


def predict(
    devices: Devices, changes: Change, *, layers: int, batch: int, length: int, width: int,
    inner: int, heads: int = 0,
) -> Case:  # fmt: skip
    """Run layers forward: nothing is saved, what is large is what one layer makes."""
    batch = halve(changes, batch)
    held = BF16 if changes & {"bf16-params", "bf16"} else F32
    used = BF16 if changes & {"bf16-activations", "bf16"} else F32

    def run_layer(layer: Any, x: Any) -> Any:
        layer = jax.tree.map(lambda w: w.astype(used), layer)
        if heads:
            q = (x @ layer["qkv"]).reshape(*x.shape[:2], 3, heads, width // heads)
            scores = jnp.einsum("bqhd,bkhd->bhqk", q[:, :, 0], q[:, :, 1])
            weights = jax.nn.softmax(scores, axis=-1)
            x = x + jnp.einsum("bhqk,bkhd->bqhd", weights, q[:, :, 2]).reshape(x.shape)
        return x + jax.nn.gelu(x @ layer["up"]) @ layer["down"]

    def run(params: Any, x: Any) -> Any:
        def whole(x: Any) -> Any:
            return lax.scan(lambda x, layer: (run_layer(layer, x), None), x, params)[0]

        if "batch-in-parts" in changes:
            parts = lax.map(whole, x.astype(used).reshape(4, batch // 4, *x.shape[1:]))
            return parts.reshape(x.shape)
        return whole(x.astype(used))

    shapes = {"up": (width, inner), "down": (inner, width)}
    if heads:
        shapes["qkv"] = (width, 3 * width)
    params = {name: lay(devices, layers, *shape, dtype=held) for name, shape in shapes.items()}
    return run, (params, lay(devices, batch, length, width)), donating(changes, 1)


BUILDERS: Mapping[str, Build] = {
    "decode": decode,
    "generate": generate,
    "read_and_donated": read_and_donated,
    "partly_donated": partly_donated,
    "baked": baked,
    "pipeline": pipeline,
    "solve": solve,
    "predict": predict,
}
