"""The other half of the trials of advice.py: other models, written before any rule was finished."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from make.programs.advice import (
    BF16,
    I32,
    Case,
    Devices,
    Make,
    array,
    gather,
    make_mesh,
    mapped,
    reshard,
)

STEPS = 32  # of decoding

# gathered-twice


def attention_block(devices: Devices, *, mended: bool) -> Case:
    """Attention under checkpoint, whose joined projection is gathered on both ways."""
    mesh = make_mesh(devices, fsdp=4, tensor=2)

    def attend(x: Any, qkv: Any, out: Any) -> Any:
        q, k, v = jnp.split(jnp.einsum("btd,de->bte", x, qkv), 3, axis=-1)
        scores = jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k) / 32.0, axis=-1)
        return jnp.einsum("bqk,bkd,de->bqe", scores, v, out)

    def loss(params: Any, x: Any) -> Any:
        def gathered(*some: Any) -> list[Any]:
            return [gather(one, "fsdp", 1) for one in some]

        if mended:
            y = jax.checkpoint(attend)(x, *gathered(*params))
        else:
            y = jax.checkpoint(lambda x, *some: attend(x, *gathered(*some)))(x, *params)
        return lax.psum((y**2).sum(), ("fsdp", "tensor"))

    specs = ((P(None, "fsdp"), P(None, "fsdp")), P(("fsdp", "tensor")))
    params = array(mesh, specs[0][0], 768, 2304), array(mesh, specs[0][1], 768, 768)
    function = mapped(mesh, jax.grad(loss), specs, specs[0])
    return function, (params, array(mesh, specs[1], 16, 128, 768)), {}


def convolution_twice(devices: Devices, *, mended: bool) -> Case:
    """The kernel of two convolutions in a row is the same, and gathered for each."""
    mesh = make_mesh(devices, x=8)

    def run(kernel: Any, images: Any) -> Any:
        def convolve(images: Any, kernel: Any) -> Any:
            names = ("NHWC", "HWIO", "NHWC")
            return lax.conv_general_dilated(images, kernel, (1, 1), "SAME", dimension_numbers=names)

        first = gather(kernel, "x", 3)
        y = jax.nn.relu(convolve(images, first))
        if mended:
            second = first
        else:
            kernel, y = lax.optimization_barrier((kernel, y))
            second = gather(kernel, "x", 3)
        return convolve(y, second)

    function = mapped(mesh, run, (P(None, None, None, "x"), P("x")), P("x"))
    kernel = array(mesh, P(None, None, None, "x"), 3, 3, 512, 512)
    return function, (kernel, array(mesh, P("x"), 16, 16, 16, 512)), {}


# loop-invariant-collective


def decode_with_sharded_head(devices: Devices, *, mended: bool) -> Case:
    """Each step of a decoding loop gathers the same head."""
    mesh = make_mesh(devices, d=2, t=4)

    def decode(head: Any, embed: Any, tokens: Any) -> Any:
        whole = gather(head, "t", 1) if mended else None

        def step(state: Any) -> Any:
            number, tokens = state
            w = whole if mended else gather(head, "t", 1)
            logits = embed[tokens] @ w
            return number + 1, jnp.argmax(logits, axis=-1).astype(I32)

        return lax.while_loop(lambda state: state[0] < STEPS, step, (jnp.int32(0), tokens))[1]

    function = mapped(mesh, decode, (P(None, "t"), P(), P(("d", "t"))), P(("d", "t")))
    arguments = (
        array(mesh, P(None, "t"), 512, 8192, dtype=BF16),
        array(mesh, P(), 8192, 512, dtype=BF16),
        array(mesh, P(("d", "t")), 64, dtype=I32),
    )
    return function, arguments, {}


def norm_of_table(devices: Devices, *, mended: bool) -> Case:
    """A diffusion loop takes the same mean of a table over devices in each step."""
    mesh = make_mesh(devices, x=8)

    def run(table: Any, image: Any) -> Any:
        mean = lax.pmean(table, "x") if mended else None

        def step(image: Any, time: Any) -> Any:
            m = mean if mended else lax.pmean(table, "x")
            return image - time * jnp.tanh(image * m), None

        return lax.scan(step, image, jnp.linspace(1.0, 0.0, 12))[0]

    function = mapped(mesh, run, (P("x"), P("x")), P("x"))
    return function, (array(mesh, P("x"), 8192, 512), array(mesh, P("x"), 8192, 512)), {}


# reduce-in-loop


def three_layers(devices: Devices, *, mended: bool) -> Case:
    """The gradients of three layers are scaled and added up over devices in each of ten rounds."""
    mesh = make_mesh(devices, data=8)

    def step(params: Any, batches: Any) -> Any:
        def loss(params: Any, x: Any) -> Any:
            for name in ("first", "second", "third"):
                x = jax.nn.silu(x @ params[name])
            return jnp.abs(x).sum()

        def add(number: Any, total: Any) -> Any:
            one = jax.grad(loss)(params, batches[number])
            if not mended:
                one = lax.psum(one, "data")
            return jax.tree.map(lambda t, g: t + 0.1 * g, total, one)

        total = lax.fori_loop(0, 10, add, jax.tree.map(jnp.zeros_like, params))
        return lax.psum(total, "data") if mended else total

    function = mapped(mesh, step, (P(), P(None, "data")), P())
    params = {
        "first": array(mesh, P(), 512, 1536),
        "second": array(mesh, P(), 1536, 768),
        "third": array(mesh, P(), 768, 512),
    }
    return function, (params, array(mesh, P(None, "data"), 10, 128, 512)), {}


def scattered_gradients(devices: Devices, *, mended: bool) -> Case:
    """Gradients are scattered over devices in each micro-batch, and added up there."""
    mesh = make_mesh(devices, fsdp=8)

    def step(w: Any, batches: Any) -> Any:
        def scatter(gradient: Any) -> Any:
            return lax.psum_scatter(gradient, "fsdp", scatter_dimension=0, tiled=True)

        def add(total: Any, x: Any) -> Any:
            one = jax.grad(lambda w: (jax.nn.gelu(x @ w) ** 2).sum())(w)
            return total + (one if mended else scatter(one)), None

        start = jnp.zeros(w.shape if mended else (w.shape[0] // 8, w.shape[1]), w.dtype)
        total, _ = lax.scan(add, start, batches)
        return scatter(total) if mended else total

    function = mapped(mesh, step, (P(), P(None, "fsdp")), P("fsdp"))
    return function, (array(mesh, P(), 768, 3072), array(mesh, P(None, "fsdp"), 6, 256, 768)), {}


# gather-then-slice


def features_of_expert(devices: Devices, *, mended: bool) -> Case:
    """Tokens are gathered whole, of which each device uses its features twice."""
    mesh = make_mesh(devices, data=2, expert=4)

    def use(x: Any, w: Any) -> Any:
        if mended:
            mine = lax.all_to_all(x, "expert", 1, 0, tiled=True)
        else:
            whole = gather(x, "expert")
            mine = lax.dynamic_slice_in_dim(whole, lax.axis_index("expert") * 256, 256, axis=1)
        return jnp.tanh(mine) @ w, jnp.abs(mine).max(axis=0)

    specs = P(("data", "expert")), P()
    function = mapped(mesh, use, specs, (P("data", "expert"), P(("data", "expert"))))
    return function, (array(mesh, specs[0], 8192, 1024), array(mesh, P(), 256, 256)), {}


def last_token(devices: Devices, *, mended: bool) -> Case:
    """All tokens of a batch are gathered, of which the last is used."""
    mesh = make_mesh(devices, data=4, model=2)

    def use(x: Any, head: Any) -> Any:
        last = gather(x[:, -1], "data") if mended else gather(x, "data")[:, -1]
        return jnp.tanh(last) @ head

    function = mapped(
        mesh, use, (P("data"), P(None, ("data", "model"))), P(None, ("data", "model"))
    )
    arguments = (
        array(mesh, P("data"), 32, 64, 1024),
        array(mesh, P(None, ("data", "model")), 1024, 2048),
    )
    return function, arguments, {}


# wide-collective


def wide_activations(devices: Devices, *, mended: bool) -> Case:
    """Activations go from sequences to heads in f32, and are converted there."""
    mesh = make_mesh(devices, seq=4, data=2)

    def turn(q: Any, w: Any) -> Any:
        def move(q: Any) -> Any:
            return lax.all_to_all(q, "seq", 2, 1, tiled=True)

        mine = move(q.astype(BF16)) if mended else move(q).astype(BF16)
        return jnp.einsum("bthd,de->bthe", mine, w)

    specs = P("data", "seq"), P("data", None, "seq")
    function = mapped(mesh, turn, (specs[0], P()), specs[1])
    return (
        function,
        (array(mesh, specs[0], 8, 512, 16, 128), array(mesh, P(), 128, 128, dtype=BF16)),
        {},
    )


def wide_table(devices: Devices, *, mended: bool) -> Case:
    """A table of f32 is gathered for tokens that are read in bf16."""
    mesh = make_mesh(devices, fsdp=8)

    def embed(table: Any, tokens: Any, w: Any) -> Any:
        whole = gather(table.astype(BF16), "fsdp", 1) if mended else gather(table, "fsdp", 1)
        return whole[tokens].astype(BF16) @ w if mended else whole.astype(BF16)[tokens] @ w

    function = mapped(mesh, embed, (P(None, "fsdp"), P("fsdp"), P()), P("fsdp"))
    arguments = (
        array(mesh, P(None, "fsdp"), 4096, 1024),
        array(mesh, P("fsdp"), 4096, dtype=I32),
        array(mesh, P(), 1024, 1024, dtype=BF16),
    )
    return function, arguments, {}


def keys_of_sequence(devices: Devices, *, mended: bool) -> Case:
    """The partitioner gathers keys in f32 that are scaled and converted to f16 after."""
    mesh = make_mesh(devices, data=2, seq=4)
    whole = NamedSharding(mesh, P("data"))

    def scores(q: Any, k: Any) -> Any:
        if mended:
            k = (k * 0.125).astype(jnp.float16)
            k = lax.with_sharding_constraint(k, NamedSharding(mesh, P("data", "seq")))
            k = lax.with_sharding_constraint(k, whole)
        else:
            k = (lax.with_sharding_constraint(k, whole) * 0.125).astype(jnp.float16)
        return jnp.einsum("bqd,bkd->bqk", q, k)

    spec = P("data", "seq")
    arguments = (
        array(mesh, spec, 8, 2048, 256, dtype=jnp.float16),
        array(mesh, spec, 8, 2048, 256),
    )
    return scores, arguments, {}


# replicated-compute


def same_convolution(devices: Devices, *, mended: bool) -> Case:
    """A convolution is computed alike on the four devices of an axis."""
    mesh = make_mesh(devices, batch=2, spare=4)

    def run(images: Any, kernel: Any) -> Any:
        if mended:
            place = NamedSharding(mesh, P(("batch", "spare")))
            images = lax.with_sharding_constraint(images, place)
        names = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(images, kernel, (1, 1), "SAME", dimension_numbers=names)

    arguments = array(mesh, P("batch"), 32, 16, 16, 128), array(mesh, P(), 3, 3, 128, 256)
    return run, arguments, {}


def same_scores(devices: Devices, *, mended: bool) -> Case:
    """Every device computes the scores of all heads."""
    mesh = make_mesh(devices, data=2, model=4)

    def run(q: Any, k: Any) -> Any:
        if mended:
            place = NamedSharding(mesh, P("data", "model"))
            q = lax.with_sharding_constraint(q, place)
            k = lax.with_sharding_constraint(k, place)
        return jax.nn.relu(jnp.einsum("bhqd,bhkd->bhqk", q, k))

    return run, (array(mesh, P("data"), 8, 16, 512, 64), array(mesh, P("data"), 8, 16, 512, 64)), {}


# involuntary-reshard


def heads_to_sequence(devices: Devices, *, mended: bool) -> Case:
    """Scores that are sharded by batch and heads are needed sharded by sequence."""
    mesh = make_mesh(devices, y=2, x=4)
    between = (P(None, "y", "x"),) if mended else ()

    def run(q: Any, w: Any) -> Any:
        return reshard(mesh, q @ w, P("y", None, "x"), *between, P(None, ("y", "x")))

    return run, (array(mesh, P("y"), 16, 256, 512), array(mesh, P(None, "x"), 512, 512)), {}


def gradient_of_reshard(devices: Devices, *, mended: bool) -> Case:
    """The same, there and back again: the gradient goes the other way."""
    mesh = make_mesh(devices, c=2, b=2, a=2)
    between = (P("c", ("b", "a")),) if mended else ()

    def loss(x: Any) -> Any:
        return reshard(mesh, x, P(("c", "b", "a")), *between, P("c", "b")).sum()

    return jax.grad(loss), (array(mesh, P(("c", "b", "a")), 2048, 2048),), {}


# replicated-large-parameter


def whole_table(devices: Devices, *, mended: bool) -> Case:
    """A table of embeddings lies whole on every device."""
    mesh = make_mesh(devices, data=8)

    def embed(table: Any, tokens: Any, w: Any) -> Any:
        return jnp.tanh(table[tokens] @ w)

    arguments = (
        array(mesh, P("data") if mended else P(), 32768, 512),
        array(mesh, P("data"), 2048, dtype=I32),
        array(mesh, P(), 512, 64),
    )
    return embed, arguments, {}


def whole_experts(devices: Devices, *, mended: bool) -> Case:
    """All experts lie on every device."""
    mesh = make_mesh(devices, data=2, expert=4)
    spec = P(("data", "expert")) if mended else P()

    def run(experts: Any, x: Any) -> Any:
        return jax.nn.relu(jnp.einsum("end,edf->enf", x, experts))

    arguments = (
        array(mesh, spec, 16, 512, 1024, dtype=BF16),
        array(mesh, P(("data", "expert")), 16, 128, 512, dtype=BF16),
    )
    return run, arguments, {}


TRIALS: Mapping[str, tuple[Make, ...]] = {
    "gathered-twice": (attention_block, convolution_twice),
    "loop-invariant-collective": (decode_with_sharded_head, norm_of_table),
    "reduce-in-loop": (three_layers, scattered_gradients),
    "gather-then-slice": (last_token, features_of_expert),
    "wide-collective": (wide_activations, wide_table, keys_of_sequence),
    "involuntary-reshard": (heads_to_sequence, gradient_of_reshard),
    "replicated-compute": (same_convolution, same_scores),
    "replicated-large-parameter": (whole_table, whole_experts),
}
QUIET: tuple[Make, ...] = ()
