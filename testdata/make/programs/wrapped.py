"""Small programs of several devices whose operations a compiler makes asynchronous.

Each is a function of its name and its arguments; `lower` takes the name as variant.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental.xla_metadata import set_xla_metadata
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

Made = tuple[Callable[..., Any], tuple[jax.ShapeDtypeStruct, ...]]
SIZE = 512
NAMES = (
    *("accumulate", "all_to_all", "attributes", "conditional", "convolution", "einsum", "fsdp"),
    *("gather_product", "gradient", "permute", "permute_in_loop", "psum_scatter", "sort_gather"),
)


def make(name: str, mesh: Mesh) -> Made:
    """Return a program and its arguments."""
    count = mesh.shape["y"]
    local = partial(jax.shard_map, mesh=mesh, check_vma=False)

    def array(shape: tuple[int, ...], *spec: Any, dtype: Any = jnp.float32) -> Any:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, P(*spec)))

    square, rows = (SIZE, SIZE), array((SIZE, SIZE), "x", None)

    def scan(ws: jax.Array, a: jax.Array) -> jax.Array:
        return lax.scan(lambda c, w: (jnp.tanh(c @ w), None), a, ws)[0]

    def accumulate(xs: jax.Array, w: jax.Array) -> jax.Array:
        def add(total: jax.Array, x: jax.Array) -> tuple[jax.Array, None]:
            return total + jax.grad(lambda w: jnp.tanh(x @ w).sum())(w), None

        return w - lax.scan(add, jnp.zeros_like(w), xs)[0]

    def attributes(a: jax.Array) -> jax.Array:
        with jax.named_scope("outer"), set_xla_metadata(key="v", other="1"):
            b = lax.with_sharding_constraint(jnp.sin(a), NamedSharding(mesh, P(None, "y")))
        return b @ b.T

    def loop(a: jax.Array) -> jax.Array:
        ring = [(one, (one + 1) % count) for one in range(count)]
        return lax.fori_loop(0, 5, lambda _, c: lax.ppermute(jnp.sin(c), "y", ring), a)

    swap = [(0, 1), (1, 0)]
    made: dict[str, Made] = {
        "accumulate": (accumulate, (array((16, *square), "x"), array(square, "y", None))),
        "all_to_all": (
            local(
                lambda a: lax.all_to_all(a, "y", 1, 0, tiled=True) * 2,
                in_specs=P("x"),
                out_specs=P("x", "y"),
            ),
            (rows,),
        ),
        "attributes": (attributes, (rows,)),
        "conditional": (
            lambda a: lax.cond(a.sum() > 0, jnp.sin, lambda a: a @ a, a),
            (array(square, "x", "y"),),
        ),
        "convolution": (
            lambda a: lax.conv_general_dilated(
                a[None, None], jnp.ones((8, 1, 3, 3)), (1, 1), "SAME"
            ),
            (rows,),
        ),
        "einsum": (
            lambda a, b: jnp.einsum("bij,jk->bik", a, b).sum((0, 1)),
            (
                array((64, 128, 128), "x", "y", dtype=jnp.bfloat16),
                array((128, 128), dtype=jnp.bfloat16),
            ),
        ),
        "fsdp": (scan, (array((8, *square), "x", None, "y"), rows)),
        "gather_product": (
            lambda a, w: jnp.tanh(a @ w) @ w.T,
            (array(square, "x", "y"), array(square, "y", None)),
        ),
        "gradient": (
            lambda a, w, v: jax.grad(lambda w: (jax.nn.relu(a @ w) @ v).sum())(w),
            (rows, array(square, None, "y"), array(square, "y", None)),
        ),
        "permute": (
            local(
                lambda a: lax.ppermute(jnp.sin(a), "x", swap) + a, in_specs=P("x"), out_specs=P("x")
            ),
            (rows,),
        ),
        "permute_in_loop": (local(loop, in_specs=P("x"), out_specs=P("x")), (rows,)),
        "psum_scatter": (
            local(
                lambda a: lax.psum_scatter(jnp.tanh(a), "y", scatter_dimension=1, tiled=True),
                in_specs=P(("x", "y")),
                out_specs=P("x", "y"),
            ),
            (array(square, ("x", "y"), None),),
        ),
        "sort_gather": (
            lambda i, t: t[jnp.argsort(i)],
            (array((SIZE,), "x"), array(square, "y", None)),
        ),
    }
    return made[name]


def lower(devices: Sequence[jax.Device], variant: str) -> list[jax.stages.Lowered]:
    """Lower one of the programs, or all."""
    mesh = Mesh(np.array(devices[:8]).reshape(2, -1), ("x", "y"))
    names = (variant,) if variant else NAMES
    lowered = []
    for name in names:
        function, arguments = make(name, mesh)
        called = partial(function)
        called.__name__ = name  # type: ignore[attr-defined]
        lowered.append(jax.jit(called).lower(*arguments))
    return lowered
