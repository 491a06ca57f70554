"""Compile a function several times, as people do and seldom mean to; run as a child process.

    PYTHONPATH=testdata JAX_PYTHON -m make.programs.recompiled CASE

XLA writes the dump as a side effect. Printed as JSON is what JAX says of each cache miss.
"""

import functools
import json
import logging
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

Tree = dict[str, Any]
CASES: dict[str, Callable[[], None]] = {}
TUNE = 15  # the first ones are to work with, the others are set aside


def case(compile_all: Callable[[], None]) -> Callable[[], None]:
    """Add a case under its function's name."""
    CASES[compile_all.__name__] = compile_all
    return compile_all


def ones(*shape: int, dtype: Any = np.float32) -> Any:
    """Give an array on the host."""
    return np.ones(shape, dtype)


def grid(*sizes: int) -> Mesh:
    """Lay the devices out along two axes."""
    return Mesh(
        np.array(jax.devices()).reshape(sizes), ("data", "model"), axis_types=(AxisType.Auto,) * 2
    )


def place(mesh: Mesh, spec: P, *shape: int) -> Any:
    """Give an array on the devices."""
    return jax.device_put(ones(*shape), NamedSharding(mesh, spec))


@case
def batch_shapes() -> None:
    """Three batches of other sizes, then another type."""
    step = jax.jit(named("step", lambda x: jnp.tanh(x).sum(0)))
    for rows in (128, 129, 130):
        step(ones(rows, 256))
    step(ones(130, 256, dtype=jnp.bfloat16))


@case
def last_batch() -> None:
    """The last batch of an epoch is short."""

    def step(params: Tree, batch: Tree) -> Any:
        hidden = params["table"][batch["tokens"]] * batch["mask"][..., None]
        return (hidden @ params["out"]).sum()

    jitted = jax.jit(step)
    params = {"table": ones(64, 16), "out": ones(16, 8)}
    for rows in (8, 8, 5):
        jitted(params, {"tokens": ones(rows, 32, dtype=np.int32), "mask": ones(rows, 32)})


@case
def int_type() -> None:
    """Images as bytes, then as whole numbers."""
    step = jax.jit(named("step", lambda image, w: (image.astype(jnp.float32) / 255) @ w))
    for dtype in (np.uint8, np.int32):
        step(ones(6, 12, dtype=dtype), ones(12, 4))


@case
def elided() -> None:
    """Another large constant in a function made anew: XLA's dumps leave its numbers out."""
    for seed in (0, 1):
        table = np.random.default_rng(seed).normal(size=(64, 64)).astype(np.float32)
        jax.jit(named("step", functools.partial(lambda table, x: x @ table, table)))(ones(8, 64))


@case
def weak() -> None:
    """A Python number, then an array."""
    step = jax.jit(named("step", lambda x, scale: x * scale))
    step(ones(32), 2.0)
    step(ones(32), jnp.float32(2.0))


@case
def made_anew() -> None:
    """The same function, made in each round of a loop."""
    for _ in range(3):
        jax.jit(named("step", lambda x: jax.nn.softmax(x)))(ones(32, 8))  # noqa: PLW0108


@case
def static_number() -> None:
    """A number as static argument."""
    step = jax.jit(named("step", lambda x, power: jnp.exp(x) * power), static_argnums=1)
    for power in (2, 3, 2, 5):
        step(ones(16), power)


@case
def static_word() -> None:
    """A word as static argument."""
    kinds = {"tanh": jnp.tanh, "relu": jax.nn.relu}
    step = jax.jit(named("step", lambda x, kind: kinds[kind](x)), static_argnums=1)
    for kind in kinds:
        step(ones(16), kind)


@case
def closure_number() -> None:
    """A function made anew with another learning rate."""
    for rate in (0.1, 0.05):
        update = functools.partial(lambda rate, w, g: w - rate * g, rate)
        jax.jit(named("step", update))(ones(16, 4), ones(16, 4))


@case
def donation() -> None:
    """The state is donated the second time."""

    def step(state: Tree, x: Any) -> Tree:
        return {"w": state["w"] + x, "count": state["count"] + 1}

    for donated in ((), (0,)):
        state = {"w": jnp.ones((64, 8)), "count": jnp.zeros((), jnp.int32)}
        jax.jit(step, donate_argnums=donated)(state, jnp.ones((64, 8)))


@case
def sharding() -> None:
    """A batch that is sharded, then replicated."""
    mesh = grid(4, 2)
    step = jax.jit(named("step", lambda x, w: x @ w))
    for spec in (P("data"), P()):
        step(place(mesh, spec, 32, 16), place(mesh, P(), 16, 8))


@case
def flag() -> None:
    """A compiler option."""

    def step(x: Any) -> Any:
        return jnp.exp(x).sum()

    for options in ({}, {"xla_cpu_enable_fast_math": True}):
        jax.jit(step, compiler_options=options)(ones(16, 16))


@case
def other_key() -> None:
    """One more array in a dictionary."""
    step = jax.jit(named("step", lambda params: sum(map(jnp.sum, jax.tree.leaves(params)))))
    step({"w": ones(8, 8)})
    step({"w": ones(8, 8), "bias": ones(8)})


@case
def idle_setting() -> None:
    """A setting that changes nothing here."""
    step = jax.jit(named("step", lambda x: jnp.sin(x) + 1))
    step(ones(8))
    with jax.default_matmul_precision("highest"):
        step(ones(8))


@case
def cleared() -> None:
    """All caches are cleared."""
    step = jax.jit(named("step", lambda x: jnp.cumsum(x)))  # noqa: PLW0108
    for _ in range(2):
        step(ones(8))
        jax.clear_caches()


@case
def lengths() -> None:
    """A cache of keys that grows."""

    def decode(cache: Tree, tokens: Any) -> Any:
        return cache["k"][:, :1] + jax.nn.one_hot(tokens, 8).sum(1)[:, None, :]

    jitted = jax.jit(decode)
    for length in (32, 64, 128):
        jitted({"k": ones(4, length, 8)}, ones(4, 1, dtype=np.int32))


@case
def half_params() -> None:
    """All parameters in half precision."""

    def loss(params: Tree, x: Any) -> Any:
        return jnp.square(x @ params["up"] @ params["down"]).mean()

    jitted = jax.jit(loss)
    for dtype in (np.float32, np.float16):
        jitted({"up": ones(8, 32, dtype=dtype), "down": ones(32, 8, dtype=dtype)}, ones(4, 8))


@case
def scalar_to_vector() -> None:
    """One number, then one for each column."""
    scale = jax.jit(named("scale", lambda x, by: x * by))
    for shape in ((), (4,)):
        scale(ones(6, 4), ones(*shape))


@case
def list_or_tuple() -> None:
    """The same arrays in a list, then in a tuple."""
    total = jax.jit(named("total", lambda xs: xs[0] + xs[1]))
    total([ones(8), ones(8)])
    total((ones(8), ones(8)))


@case
def static_axes() -> None:
    """Axes as static argument."""

    def norm(x: Any, axes: tuple[int, ...]) -> Any:
        return jnp.sqrt(jnp.square(x).sum(axes, keepdims=True))

    jitted = jax.jit(norm, static_argnames=("axes",))
    for axes in ((1,), (1, 2)):
        jitted(ones(4, 6, 8), axes=axes)


@case
def static_eps() -> None:
    """A small number as static argument."""

    def norm(x: Any, eps: float) -> Any:
        return x / jnp.sqrt(jnp.square(x).mean(-1, keepdims=True) + eps)

    jitted = jax.jit(norm, static_argnums=(1,))
    for eps in (1e-5, 1e-6):
        jitted(ones(4, 8), eps)


@case
def closure_array() -> None:
    """A function made anew with other weights, few enough that the dump has them."""
    for weights in ([1, 2, 3, 4], [4, 3, 2, 1]):
        array = np.asarray(weights, np.float32)
        mix = functools.partial(lambda array, x: (x * array).sum(-1), array)
        jax.jit(named("mix", mix))(ones(5, 4))


@case
def more_donated() -> None:
    """The moments are donated as well."""

    def update(params: Tree, moments: Tree, grads: Tree) -> tuple[Tree, Tree]:
        moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, grads)
        return jax.tree.map(lambda p, m: p - 0.1 * m, params, moments), moments

    for donated in ((0,), (0, 1)):
        trees = [{"a": jnp.ones((8, 8)), "b": jnp.ones((8,))} for _ in range(3)]
        jax.jit(update, donate_argnums=donated)(*trees)


@case
def other_axis() -> None:
    """A weight that is sharded along its other dimension."""
    mesh = grid(4, 2)
    forward = jax.jit(named("forward", lambda w, x: jnp.tanh(x @ w)))
    for spec in (P(None, "model"), P("model", None)):
        forward(place(mesh, spec, 8, 8), place(mesh, P("data"), 16, 8))


@case
def other_mesh() -> None:
    """The same specs on a mesh of another form."""
    forward = jax.jit(named("forward", lambda w, x: x @ w))
    for sizes in ((4, 2), (2, 4)):
        mesh = grid(*sizes)
        forward(place(mesh, P(None, "model"), 8, 8), place(mesh, P("data"), 16, 8))


@case
def optional() -> None:
    """A mask that is None at first."""

    def attend(q: Any, mask: Any = None) -> Any:
        return jax.nn.softmax(q if mask is None else q + mask)

    jitted = jax.jit(attend)
    jitted(ones(4, 4))
    jitted(ones(4, 4), ones(4, 4))


@case
def precision() -> None:
    """A setting that products heed."""
    product = jax.jit(named("product", lambda a, b: a @ b))
    product(ones(8, 8), ones(8, 8))
    with jax.default_matmul_precision("float32"):
        product(ones(8, 8), ones(8, 8))


@case
def weak_counter() -> None:
    """A counter that is a Python number at first."""
    advance = jax.jit(named("advance", lambda state: (state["step"] + 1, state["x"] * 2)))
    for step in (0, jnp.int32(1)):
        advance({"step": step, "x": ones(4)})


@case
def partial_anew() -> None:
    """A function around the same one, made anew in each round."""
    for _ in range(2):
        run = functools.partial(lambda name, x: jnp.log1p(x) if name else x, "a")
        jax.jit(named("run", run))(ones(9))


@case
def fewer_passes() -> None:
    """Another compiler option."""

    def reduce(x: Any) -> Any:
        return jax.lax.reduce_max(x, (0,))

    for options in ({}, {"xla_llvm_disable_expensive_passes": True}):
        jax.jit(reduce, compiler_options=options)(ones(64, 32))


def named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function the name that its program is to have; each is another function."""

    @functools.wraps(function, assigned=())
    def renamed(*arguments: Any) -> Any:
        return function(*arguments)

    renamed.__name__ = renamed.__qualname__ = name
    return renamed


class Keep(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self.said.append(record.getMessage())


if __name__ == "__main__":
    keep = Keep()
    logging.getLogger("jax").addHandler(keep)
    jax.config.update("jax_explain_cache_misses", True)
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    CASES[sys.argv[1]]()
    print(json.dumps(keep.said))
