"""Small programs with one flaw each and without it, and near-misses that have none.

A trial is a function of devices and `mended`: it returns the function, its arguments and more for
jit. A half was drawn before any was compiled: it is in flaws_judge.py, and only judges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from make.programs.remedies_other import lay, lay_out, make_mesh, mapped
from make.programs.remedies_train import BF16, F32, I32, Case, Devices

Make: TypeAlias = Callable[..., Case]
POSITIONS = np.sin(np.arange(4096 * 512, dtype=np.float32)).reshape(4096, 512)
FROZEN = np.cos(np.arange(1024 * 2048, dtype=np.float32)).reshape(1024, 2048)


# constant-baked-in


def positions_of_numpy(devices: Devices, *, mended: bool) -> Case:
    """A table of positions is captured by the step."""

    def run(x: Any, table: Any = None) -> Any:
        return jnp.tanh(x + (jnp.asarray(POSITIONS) if table is None else table))

    given = (lay(devices, 4, 4096, 512),)
    return run, ((*given, lay(devices, 4096, 512)) if mended else given), {}


def captured_weights(devices: Devices, *, mended: bool) -> Case:
    """The weights of a frozen model are captured by the function that runs it."""

    def run(x: Any, w: Any = None) -> Any:
        w = jnp.asarray(FROZEN) if w is None else w
        return jax.nn.relu(x @ w) @ w.T

    given = (lay(devices, 64, 1024),)
    return run, ((*given, lay(devices, 1024, 2048)) if mended else given), {}


# cast-around-product


def widened_product(devices: Devices, *, mended: bool) -> Case:
    """Arrays of bf16 are widened for a product whose result is narrowed again."""

    def run(x: Any, w: Any) -> Any:
        if mended:
            return x @ w
        return (x.astype(F32) @ w.astype(F32)).astype(BF16)

    given = lay(devices, 2048, 1024, dtype=BF16), lay(devices, 1024, 4096, dtype=BF16)
    return run, given, {}


def wide_layers(devices: Devices, *, mended: bool) -> Case:
    """Each of scanned layers widens weights and input, and narrows its output."""

    def run(x: Any, layers: Any) -> Any:
        def layer(x: Any, w: Any) -> Any:
            if mended:
                return jnp.tanh(x @ w), None
            return jnp.tanh((x.astype(F32) @ w.astype(F32)).astype(BF16)), None

        return lax.scan(layer, x, layers)[0]

    given = lay(devices, 4096, 1024, dtype=BF16), lay(devices, 6, 1024, 1024, dtype=BF16)
    return run, given, {}


# computed-twice


def scan_twice(devices: Devices, *, mended: bool) -> Case:
    """The same layers run over the same input for the loss and for the metric."""

    def forward(layers: Any, x: Any) -> Any:
        return lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, layers)[0]

    def run(layers: Any, x: Any, wanted: Any) -> Any:
        y = forward(layers, x)
        again = y if mended else forward(layers, x)
        return ((y - wanted) ** 2).mean(), jnp.argmax(again, axis=-1)

    given = lay(devices, 8, 1024, 1024), lay(devices, 2048, 1024), lay(devices, 2048, 1024)
    return run, given, {}


def states_and_result(devices: Devices, *, mended: bool) -> Case:
    """The same layers run once for what each of them makes, and once for the last."""

    def run(layers: Any, x: Any) -> Any:
        def layer(x: Any, w: Any) -> Any:
            y = jnp.tanh(x @ w)
            return y, y.mean(axis=0)

        last, means = lax.scan(layer, x, layers)
        again = last if mended else lax.scan(lambda x, w: (layer(x, w)[0], None), x, layers)[0]
        return means, (again**2).mean()

    return run, (lay(devices, 6, 1024, 1024), lay(devices, 2048, 1024)), {}


def sorted_twice(devices: Devices, *, mended: bool) -> Case:
    """Rows are sorted for their values, and again for their order."""

    def run(x: Any) -> Any:
        order = jnp.argsort(x, axis=-1)
        values = jnp.take_along_axis(x, order, axis=-1) if mended else jnp.sort(x, axis=-1)
        return values[:, ::7], order[:, ::7]

    return run, (lay(devices, 512, 8192),), {}


# update-that-copies


def read_after_write(devices: Devices, *, mended: bool) -> Case:
    """In each round a row is written into a buffer whose old state is read after."""

    def run(held: Any, x: Any) -> Any:
        def step(at: Any, carry: Any) -> Any:
            held, total = carry
            if mended:
                total = total + held.sum(axis=0)
                held = lax.dynamic_update_index_in_dim(held, jnp.tanh(x + total), at, 0)
                return held, total
            new = lax.dynamic_update_index_in_dim(held, jnp.tanh(x + total), at, 0)
            total = total + held.sum(axis=0) + new[at] * 1e-3
            return new, total

        return lax.fori_loop(0, 64, step, (held, jnp.zeros_like(x)))

    given = lay(devices, 2048, 2048), lay(devices, 2048)
    return run, given, {"donate_argnums": (0,)}


def history_kept(devices: Devices, *, mended: bool) -> Case:
    """A row is written into a buffer that is not donated: all of it is copied."""

    def run(held: Any, x: Any, at: Any) -> Any:
        return lax.dynamic_update_slice_in_dim(held, jnp.tanh(x), at, 0)

    given = lay(devices, 8192, 2048), lay(devices, 16, 2048), lay(devices, dtype=I32)
    return run, given, {"donate_argnums": (0,)} if mended else {}


# padding


def few_columns(devices: Devices, *, mended: bool) -> Case:
    """The last dimension is 8, which takes the room of 128."""

    def run(x: Any, w: Any) -> Any:
        if mended:
            return jnp.tanh(x) * w[:, None]
        return jnp.tanh(x) * w

    shape = (4, 8, 65536) if mended else (4, 65536, 8)
    return run, (lay(devices, *shape), lay(devices, 8)), {}


def odd_width(devices: Devices, *, mended: bool) -> Case:
    """Rows of 33 numbers take the room of 128; mended, four of them lie side by side."""

    def run(x: Any) -> Any:
        return jnp.tanh(x) * 2.0, jnp.cumsum(x, axis=1)

    shape = (64, 1024, 128) if mended else (64, 4096, 33)
    return run, (lay(devices, *shape),), {}


def one_token_more(devices: Devices, *, mended: bool) -> Case:
    """Rows of 129 tokens and 130 numbers: whichever axis is last takes the room of 256."""
    length, width = (128, 128) if mended else (129, 130)

    def run(x: Any, w: Any) -> Any:
        return x + jax.nn.relu(x @ w)

    return run, (lay(devices, 129, length, width), lay(devices, width, width)), {}


# serial


def rows_at_experts(devices: Devices, *, mended: bool) -> Case:
    """Tokens are added up at one of 16 experts, where most of them collide."""

    def run(x: Any, expert: Any) -> Any:
        if mended:
            return jnp.tanh((expert[None] == jnp.arange(16)[:, None]).astype(F32) @ x)
        return jnp.tanh(jnp.zeros((16, 512), F32).at[expert].add(x))

    return run, (lay(devices, 32768, 512), lay(devices, 32768, dtype=I32)), {}


def sort_for_best(devices: Devices, *, mended: bool) -> Case:
    """A long axis is sorted, of which the best eight are used."""

    def run(x: Any) -> Any:
        if mended:
            return lax.top_k(x, 8)[0]
        return jnp.sort(x, axis=-1)[:, -8:][:, ::-1]

    return run, (lay(devices, 8, 262144),), {}


# one-hot-gather


def picked_logits(devices: Devices, *, mended: bool) -> Case:
    """The wanted logit of each row is picked by a sum over ones and zeros of the vocabulary."""

    def run(x: Any, head: Any, tokens: Any) -> Any:
        logits = jax.nn.log_softmax(x @ head)
        if mended:
            return -jnp.take_along_axis(logits, tokens[:, None], -1).mean()
        return -jnp.einsum("bv,bv->b", jax.nn.one_hot(tokens, 16384), logits).mean()

    given = lay(devices, 2048, 512), lay(devices, 512, 16384), lay(devices, 2048, dtype=I32)
    return run, given, {}


def permuted_rows(devices: Devices, *, mended: bool) -> Case:
    """Rows are put into another order by a product with a permutation matrix."""

    def run(x: Any, order: Any) -> Any:
        if mended:
            return jnp.cumsum(x[order], axis=0)
        return jnp.cumsum(jax.nn.one_hot(order, 4096) @ x, axis=0)

    return run, (lay(devices, 4096, 1024), lay(devices, 4096, dtype=I32)), {}


# dependent-collective


def sum_of_last_round(devices: Devices, *, mended: bool) -> Case:
    """A round's product waits for the sum of the round before; mended, it takes an older sum."""
    mesh = make_mesh(devices, model=8)

    def run(x: Any, layers: Any) -> Any:
        def multiply(x: Any, w: Any) -> Any:
            start = lax.axis_index("model") * w.shape[0]
            return lax.dynamic_slice_in_dim(x, start, w.shape[0], 1) @ w

        def layer(x: Any, w: Any) -> Any:
            return jnp.tanh(lax.psum(multiply(x, w), "model")), None

        def late(carry: Any, w: Any) -> Any:
            x, part = carry
            return (jnp.tanh(lax.psum(part, "model")), multiply(x, w)), None

        if mended:
            return lax.scan(late, (x, x), layers)[0][0]
        return lax.scan(layer, x, layers)[0]

    inside = mapped(mesh, run, (P(), P(None, "model")), P())
    given = lay_out(mesh, P(), 1024, 1024), lay_out(mesh, P(None, "model"), 8, 1024, 1024)
    return inside, given, {}


# nondeterministic


def pooled_gradient(devices: Devices, *, mended: bool) -> Case:
    """The gradient of a pool is scattered to the largest of each window."""

    def pool(x: Any) -> Any:
        if mended:
            return x.reshape(8, 32, 2, 32, 2, 128).max(axis=(2, 4))
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def run(x: Any) -> Any:
        return jax.grad(lambda x: (pool(x) ** 2).sum())(x)

    return run, (lay(devices, 8, 64, 64, 128),), {}


def scattered_bias(devices: Devices, *, mended: bool) -> Case:
    """Gradients of a bias of buckets are added up where their indices collide."""

    def run(bias: Any, buckets: Any, grads: Any) -> Any:
        if mended:
            order = jnp.argsort(buckets)
            sums = jnp.cumsum(grads[order], axis=0)
            ends = jnp.searchsorted(buckets[order], jnp.arange(256), side="right")
            upto = jnp.concatenate([jnp.zeros((1, 64), F32), sums])[ends]
            return bias - 0.1 * (upto - jnp.concatenate([jnp.zeros((1, 64), F32), upto[:-1]]))
        return bias - 0.1 * jnp.zeros_like(bias).at[buckets].add(grads)

    given = lay(devices, 256, 64), lay(devices, 65536, dtype=I32), lay(devices, 65536, 64)
    return run, given, {}


# layout-copy


def turned_cache(devices: Devices, *, mended: bool) -> Case:
    """Keys lie with the length last, and are written and used with the width last."""

    def run(keys: Any, k: Any, q: Any, at: Any) -> Any:
        if mended:
            keys = lax.dynamic_update_slice_in_dim(keys, k[:, None], at, 1)
            return keys, jnp.cumsum(keys, axis=-1)[:, ::2] * q[:, None]
        turned = keys.transpose(0, 2, 1)
        turned = lax.dynamic_update_slice_in_dim(turned, k[:, None], at, 1)
        return turned.transpose(0, 2, 1), jnp.cumsum(turned, axis=-1)[:, ::2] * q[:, None]

    shape = (16, 4096, 512) if mended else (16, 512, 4096)
    given = (
        lay(devices, *shape),
        lay(devices, 16, 512),
        lay(devices, 16, 512),
        lay(devices, dtype=I32),
    )
    return run, given, {"donate_argnums": (0,)}


def channels_first(devices: Devices, *, mended: bool) -> Case:
    """Images come with channels first and are convolved with channels last, layer by layer."""

    def run(x: Any, kernels: Any) -> Any:
        for kernel in kernels:
            x = x if mended else x.transpose(0, 2, 3, 1)
            names = ("NHWC", "HWIO", "NHWC")
            x = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=names)
            x = jnp.cumsum(x, axis=3)
            x = x if mended else x.transpose(0, 3, 1, 2)
            x = jnp.cumsum(x, axis=1)
        return x

    shape = (16, 64, 64, 128) if mended else (16, 128, 64, 64)
    kernels = [lay(devices, 3, 3, 128, 128) for _ in range(2)]
    return run, (lay(devices, *shape), kernels), {}


# replicated-weight


def experts_on_all(devices: Devices, *, mended: bool) -> Case:
    """All experts lie on each device, though tokens of each run on one."""
    mesh = make_mesh(devices, expert=8)
    spec = P("expert") if mended else P()

    def run(up: Any, down: Any, x: Any) -> Any:
        return jnp.einsum("ecf,efd->ecd", jax.nn.gelu(jnp.einsum("ecd,edf->ecf", x, up)), down)

    given = (
        lay_out(mesh, spec, 8, 1024, 2048),
        lay_out(mesh, spec, 8, 2048, 1024),
        lay_out(mesh, P("expert"), 8, 256, 1024),
    )
    return run, given, {}


def moments_on_all(devices: Devices, *, mended: bool) -> Case:
    """The moments of an optimizer lie whole on each device."""
    mesh = make_mesh(devices, data=8)
    spec = P("data") if mended else P()

    def run(state: Any, x: Any) -> Any:
        grads = jax.grad(lambda w: (jnp.tanh(x @ w) ** 2).mean())(state["w"])
        mu = 0.9 * state["mu"] + grads
        nu = 0.99 * state["nu"] + grads**2
        w = state["w"] - 0.1 * mu / (jnp.sqrt(nu) + 1e-8)
        return {"w": w, "mu": mu, "nu": nu}

    place, whole = NamedSharding(mesh, spec), NamedSharding(mesh, P())
    state = {name: lay_out(mesh, spec, 2048, 2048) for name in ("mu", "nu")}
    state["w"] = lay_out(mesh, P(), 2048, 2048)
    kept = {"w": whole, "mu": place, "nu": place}
    return run, (state, lay_out(mesh, P("data"), 1024, 2048)), {"out_shardings": kept}


# No flaw, though near to one.


def mask_of_iota(devices: Devices) -> Case:
    """A mask is made in the program."""

    def run(x: Any) -> Any:
        return jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((2048, 2048), bool)), x, -1e9), axis=-1)

    return run, (lay(devices, 2048, 2048),), {}


def wide_sum(devices: Devices) -> Case:
    """A product of bf16 is added up in f32 and used so."""

    def run(x: Any, w: Any) -> Any:
        return jax.nn.softmax(jnp.dot(x, w, preferred_element_type=F32), axis=-1)

    given = lay(devices, 2048, 1024, dtype=BF16), lay(devices, 1024, 4096, dtype=BF16)
    return run, given, {}


def recomputed_on_purpose(devices: Devices) -> Case:
    """A layer under checkpoint is computed again in the backward pass."""

    def lose(layers: Any, x: Any) -> Any:
        layer = jax.checkpoint(lambda x, w: (jnp.tanh(jnp.tanh(x @ w) @ w.T), None))
        return (lax.scan(layer, x, layers)[0] ** 2).mean()

    return jax.grad(lose), (lay(devices, 6, 512, 2048), lay(devices, 4096, 512)), {}


def same_form(devices: Devices) -> Case:
    """Two products of the same form are of different weights."""

    def run(x: Any, a: Any, b: Any) -> Any:
        return jnp.tanh(x @ a) + jax.nn.relu(x @ b)

    return run, tuple(lay(devices, 2048, 2048) for _ in range(3)), {}


def written_in_place(devices: Devices) -> Case:
    """A loop writes rows into the buffer that it carries."""

    def run(held: Any, x: Any) -> Any:
        def step(at: Any, held: Any) -> Any:
            return lax.dynamic_update_index_in_dim(held, jnp.tanh(x + held[at]), at, 0)

        return lax.fori_loop(0, 64, step, held)

    return run, (lay(devices, 2048, 2048), lay(devices, 2048)), {"donate_argnums": (0,)}


def soft_lookup(devices: Devices) -> Case:
    """Weights of a softmax mix the rows of a table."""

    def run(table: Any, x: Any) -> Any:
        return jax.nn.softmax(x @ table.T, axis=-1) @ table

    return run, (lay(devices, 16384, 512), lay(devices, 2048, 512)), {}


def gathered_ahead(devices: Devices) -> Case:
    """Each round of a loop gathers weights that no other round makes."""
    mesh = make_mesh(devices, fsdp=8)

    def run(x: Any, layers: Any) -> Any:
        def layer(x: Any, w: Any) -> Any:
            return jnp.tanh(x @ lax.all_gather(w, "fsdp", axis=0, tiled=True)), None

        return lax.scan(layer, x, layers)[0]

    inside = mapped(mesh, run, (P("fsdp"), P(None, "fsdp")), P("fsdp"))
    given = lay_out(mesh, P("fsdp"), 8192, 1024), lay_out(mesh, P(None, "fsdp"), 6, 1024, 1024)
    return inside, given, {}


def small_and_whole(devices: Devices) -> Case:
    """A scale of a few KiB lies whole on each device; what is large is divided."""
    mesh = make_mesh(devices, data=8)

    def run(scale: Any, w: Any, x: Any) -> Any:
        return jnp.tanh((x * scale) @ w)

    given = (
        lay_out(mesh, P(), 1024),
        lay_out(mesh, P(None, "data"), 1024, 8192),
        lay_out(mesh, P("data"), 1024, 1024),
    )
    return run, given, {}


TRIALS: Mapping[str, Mapping[Make, tuple[str, ...]]] = {
    "constant-baked-in": {
        positions_of_numpy: ("cpu", "gpu_h100", "tpu_v5e"),
        captured_weights: ("cpu", "gpu_h100", "tpu_v5e"),
    },
    "cast-around-product": {
        widened_product: ("gpu_h100", "tpu_v5e", "cpu"),
        wide_layers: ("gpu_h100", "tpu_v5e", "cpu"),
    },
    "computed-twice": {
        scan_twice: ("cpu", "gpu_h100", "tpu_v5e"),
        states_and_result: ("cpu", "gpu_h100", "tpu_v5e"),
        sorted_twice: ("cpu", "gpu_h100", "tpu_v5e"),
    },
    "update-that-copies": {
        read_after_write: ("cpu", "gpu_h100", "tpu_v5e"),
        history_kept: ("cpu", "gpu_h100", "tpu_v5e"),
    },
    "padding": {few_columns: ("tpu_v5e",), odd_width: ("tpu_v5e",), one_token_more: ("tpu_v5e",)},
    "serial": {
        sort_for_best: ("tpu_v5e", "gpu_h100"),
        rows_at_experts: ("tpu_v5e", "gpu_h100"),
    },
    "one-hot-gather": {
        picked_logits: ("cpu", "gpu_h100", "tpu_v5e"),
        permuted_rows: ("cpu", "gpu_h100", "tpu_v5e"),
    },
    "dependent-collective": {sum_of_last_round: ("gpu_h100", "tpu_v5e")},
    "nondeterministic": {pooled_gradient: ("gpu_h100",), scattered_bias: ("gpu_h100",)},
    "layout-copy": {turned_cache: ("gpu_h100", "tpu_v5e"), channels_first: ("gpu_h100", "tpu_v5e")},
    "replicated-weight": {experts_on_all: ("cpu", "tpu_v5e"), moments_on_all: ("cpu", "tpu_v5e")},
}

QUIET: Mapping[Make, tuple[str, ...]] = {
    mask_of_iota: ("cpu", "gpu_h100", "tpu_v5e"),
    wide_sum: ("cpu", "gpu_h100", "tpu_v5e"),
    recomputed_on_purpose: ("cpu", "gpu_h100", "tpu_v5e"),
    same_form: ("cpu", "gpu_h100", "tpu_v5e"),
    written_in_place: ("cpu", "gpu_h100", "tpu_v5e"),
    soft_lookup: ("cpu", "gpu_h100", "tpu_v5e"),
    gathered_ahead: ("gpu_h100", "tpu_v5e"),
    small_and_whole: ("cpu", "tpu_v5e"),
}
