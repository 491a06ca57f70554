"""Small programs with one flaw each, and the same as the finding says to write them.

A trial is a function of a mesh's devices and `mended`: it returns the function, its arguments and
more for jit. Rules were made with `TRIALS`; those of advice_judges.py only judge. `QUIET` have no
flaw, though they come near to one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

Devices: TypeAlias = list[jax.Device]
Case: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
Make: TypeAlias = Callable[..., Case]
F32, BF16, I32 = jnp.float32, jnp.bfloat16, jnp.int32


def make_mesh(devices: Devices, **axes: int) -> Mesh:
    """Lay the first devices out along axes."""
    sizes = tuple(axes.values())
    return Mesh(np.array(devices[: int(np.prod(sizes))]).reshape(sizes), tuple(axes))


def array(mesh: Mesh, spec: P, *shape: int, dtype: Any = F32) -> jax.ShapeDtypeStruct:
    """Describe an argument."""
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))


def mapped(mesh: Mesh, function: Callable[..., Any], into: Any, out: Any) -> Callable[..., Any]:
    """Run a function on each device."""
    run: Callable[..., Any] = jax.shard_map(
        function, mesh=mesh, in_specs=into, out_specs=out, check_vma=False
    )
    return run


def gather(x: Any, axis: str, dimension: int = 0) -> Any:
    """Gather an array whole."""
    return lax.all_gather(x, axis, axis=dimension, tiled=True)


# gathered-twice


def remat_perceptron(devices: Devices, *, mended: bool) -> Case:
    """A layer under checkpoint gathers its weights again in the backward pass."""
    mesh = make_mesh(devices, fsdp=8)

    def layer(x: Any, up: Any, down: Any) -> Any:
        return jnp.tanh(x @ up) @ down

    def loss(params: Any, x: Any) -> Any:
        if mended:
            whole = [gather(one, "fsdp") for one in params]
            return (jax.checkpoint(layer)(x, *whole) ** 2).sum()
        inside = jax.checkpoint(lambda x, *some: layer(x, *(gather(one, "fsdp") for one in some)))
        return (inside(x, *params) ** 2).sum()

    specs = ((P("fsdp"), P("fsdp")), P("fsdp"))
    function = mapped(mesh, jax.grad(loss), specs, specs[0])
    shapes = array(mesh, P("fsdp"), 1024, 4096), array(mesh, P("fsdp"), 4096, 1024)
    return function, (shapes, array(mesh, P("fsdp"), 512, 1024)), {}


def tied_embedding(devices: Devices, *, mended: bool) -> Case:
    """A table is gathered for the tokens, and gathered again for the logits."""
    mesh = make_mesh(devices, data=8)

    def logits(table: Any, tokens: Any) -> Any:
        whole = gather(table, "data")
        x = jnp.tanh(whole[tokens])
        again = whole if mended else gather(table.T, "data", 1).T
        return x @ again.T

    function = mapped(mesh, logits, (P("data"), P("data")), P("data"))
    arguments = array(mesh, P("data"), 8192, 512), array(mesh, P("data"), 1024, dtype=I32)
    return function, arguments, {}


def fsdp_layers(devices: Devices, *, mended: bool) -> Case:
    """Scanned layers, sharded by the partitioner, gather each weight on both ways."""
    mesh = make_mesh(devices, fsdp=8)

    def layer(x: Any, w: Any) -> Any:
        whole = lax.with_sharding_constraint(w, NamedSharding(mesh, P()))
        if mended:
            whole = checkpoint_name(whole, "whole")
        return jnp.tanh(x @ whole), None

    policy = jax.checkpoint_policies.save_only_these_names("whole")
    kept = jax.checkpoint(layer, policy=policy, prevent_cse=False)

    def loss(layers: Any, x: Any) -> Any:
        x, _ = lax.scan(kept, x, layers)
        return (x**2).sum()

    arguments = (
        array(mesh, P(None, "fsdp"), 6, 1024, 1024, dtype=BF16),
        array(mesh, P("fsdp"), 512, 1024, dtype=BF16),
    )
    return jax.grad(loss, 1), arguments, {}


# loop-invariant-collective


def gather_in_batches(devices: Devices, *, mended: bool) -> Case:
    """A weight is gathered in each of eight micro-batches."""
    mesh = make_mesh(devices, data=8)

    def accumulate(shard: Any, batches: Any) -> Any:
        whole = gather(shard, "data") if mended else None

        def add(total: Any, x: Any) -> Any:
            w = whole if mended else gather(shard, "data")
            return total + jnp.tanh(x @ w).sum(), None

        total, _ = lax.scan(add, jnp.float32(0), batches)
        return lax.psum(total, "data")

    function = mapped(mesh, accumulate, (P("data"), P(None, "data")), P())
    return (
        function,
        (array(mesh, P("data"), 2048, 1024), array(mesh, P(None, "data"), 8, 256, 2048)),
        {},
    )


def sum_in_steps(devices: Devices, *, mended: bool) -> Case:
    """What is added to each step of a recurrence is the same sum over devices."""
    mesh = make_mesh(devices, data=4, model=2)

    def run(bias: Any, x: Any) -> Any:
        total = lax.psum(bias, "model") if mended else None

        def step(_: Any, x: Any) -> Any:
            return jnp.sin(x + (total if mended else lax.psum(bias, "model")))

        return lax.fori_loop(0, 20, step, x)

    function = mapped(mesh, run, (P("data", "model"), P("data")), P("data"))
    return (
        function,
        (array(mesh, P("data", "model"), 2048, 2048), array(mesh, P("data"), 2048, 1024)),
        {},
    )


# reduce-in-loop


def gradient_in_batches(devices: Devices, *, mended: bool) -> Case:
    """A gradient is added up over devices in each micro-batch."""
    mesh = make_mesh(devices, data=8)

    def step(w: Any, batches: Any) -> Any:
        def add(total: Any, x: Any) -> Any:
            one = jax.grad(lambda w: (jnp.tanh(x @ w) ** 2).sum())(w)
            return total + (one if mended else lax.psum(one, "data")), None

        total, _ = lax.scan(add, jnp.zeros_like(w), batches)
        return w - 0.1 * (lax.psum(total, "data") if mended else total)

    function = mapped(mesh, step, (P(), P(None, "data")), P())
    arguments = array(mesh, P(), 1024, 2048), array(mesh, P(None, "data"), 8, 512, 1024)
    return function, arguments, {}


def partitioned_batches(devices: Devices, *, mended: bool) -> Case:
    """The same by the partitioner, over one axis of two; mended, each device has its own sum."""
    mesh = make_mesh(devices, data=4, model=2)

    def gradient(w: Any, x: Any) -> Any:
        return jax.grad(lambda w: (jnp.tanh(x @ w) ** 2).sum())(w)

    def step(w: Any, batches: Any) -> Any:
        if not mended:
            whole = NamedSharding(mesh, P(None, "model"))
            start = lax.with_sharding_constraint(jnp.zeros_like(w), whole)

            def add(total: Any, x: Any) -> Any:
                return lax.with_sharding_constraint(total + gradient(w, x) * 0.125, whole), None

            return w - lax.scan(add, start, batches)[0]

        def inside(w: Any, batches: Any) -> Any:
            def add(total: Any, x: Any) -> Any:
                return total + gradient(w, x) * 0.125, None

            return w - lax.psum(lax.scan(add, jnp.zeros_like(w), batches)[0], "data")

        return mapped(mesh, inside, (P(None, "model"), P(None, "data")), P(None, "model"))(
            w, batches
        )

    arguments = (
        array(mesh, P(None, "model"), 1024, 2048),
        array(mesh, P(None, "data"), 16, 256, 1024),
    )
    return step, arguments, {}


def convolution_gradients(devices: Devices, *, mended: bool) -> Case:
    """The gradients of two kernels are averaged over devices in each micro-batch."""
    mesh = make_mesh(devices, replica=8)

    def step(kernels: Any, batches: Any) -> Any:
        def loss(kernels: Any, x: Any) -> Any:
            for kernel in kernels:
                names = ("NHWC", "HWIO", "NHWC")
                x = jax.nn.relu(
                    lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=names)
                )
            return (x**2).mean()

        def add(total: Any, x: Any) -> Any:
            one = jax.grad(loss)(kernels, x)
            if not mended:
                one = jax.tree.map(lambda g: lax.pmean(g, "replica"), one)
            return jax.tree.map(jnp.add, total, one), None

        total, _ = lax.scan(add, jax.tree.map(jnp.zeros_like, kernels), batches)
        return jax.tree.map(lambda g: lax.pmean(g, "replica"), total) if mended else total

    function = mapped(mesh, step, (P(), P(None, "replica")), P())
    kernels = array(mesh, P(), 3, 3, 256, 512), array(mesh, P(), 3, 3, 512, 256)
    return function, (kernels, array(mesh, P(None, "replica"), 5, 16, 16, 16, 256)), {}


# gather-then-slice


def part_of_width(devices: Devices, *, mended: bool) -> Case:
    """Rows are gathered whole, of which a quarter of the columns is used."""
    mesh = make_mesh(devices, data=8)

    def use(x: Any, w: Any) -> Any:
        part = gather(x[:, :512], "data") if mended else gather(x, "data")[:, :512]
        return jnp.tanh(part) @ w

    function = mapped(mesh, use, (P("data"), P(None, "data")), P(None, "data"))
    return (
        function,
        (array(mesh, P("data"), 4096, 2048), array(mesh, P(None, "data"), 512, 1024)),
        {},
    )


def own_columns(devices: Devices, *, mended: bool) -> Case:
    """Rows are gathered whole, of which each device takes its columns."""
    mesh = make_mesh(devices, data=8)

    def turn(x: Any) -> Any:
        if mended:
            y = lax.all_to_all(x, "data", 1, 0, tiled=True)
        else:
            width = x.shape[1] // 8
            y = lax.dynamic_slice_in_dim(
                gather(x, "data"), lax.axis_index("data") * width, width, axis=1
            )
        return jnp.cumsum(y, axis=0)

    return mapped(mesh, turn, P("data"), P(None, "data")), (array(mesh, P("data"), 8192, 1024),), {}


def heads_of_device(devices: Devices, *, mended: bool) -> Case:
    """Sequences are gathered whole, of which each device takes its heads."""
    mesh = make_mesh(devices, seq=8)

    def turn(q: Any) -> Any:
        if mended:
            mine = lax.all_to_all(q, "seq", 2, 1, tiled=True)
        else:
            whole = gather(q, "seq", 1)
            mine = lax.dynamic_slice_in_dim(whole, lax.axis_index("seq") * 2, 2, axis=2)
        return jax.nn.softmax(mine, axis=1)

    specs = P(None, "seq"), P(None, None, "seq")
    return mapped(mesh, turn, *specs), (array(mesh, specs[0], 4, 512, 16, 64),), {}


# wide-collective


def cast_after(devices: Devices, *, mended: bool) -> Case:
    """A weight is gathered in f32 and converted to bf16 after."""
    mesh = make_mesh(devices, fsdp=8)

    def product(x: Any, w: Any) -> Any:
        whole = gather(w.astype(BF16), "fsdp") if mended else gather(w, "fsdp").astype(BF16)
        return x @ whole

    function = mapped(mesh, product, (P("fsdp"), P("fsdp")), P("fsdp"))
    arguments = array(mesh, P("fsdp"), 1024, 2048, dtype=BF16), array(mesh, P("fsdp"), 2048, 4096)
    return function, arguments, {}


def constrained_cast(devices: Devices, *, mended: bool) -> Case:
    """The partitioner gathers in f32 what is converted after."""
    mesh = make_mesh(devices, data=4, model=2)

    def product(x: Any, w: Any) -> Any:
        place = NamedSharding(mesh, P(None, "model"))
        w = w * 2.0
        if mended:
            w = lax.with_sharding_constraint(
                lax.with_sharding_constraint(
                    w.astype(BF16), NamedSharding(mesh, P("data", "model"))
                ),
                place,
            )
        else:
            w = lax.with_sharding_constraint(w, place).astype(BF16)
        return x @ w

    arguments = (
        array(mesh, P("data"), 1024, 2048, dtype=BF16),
        array(mesh, P("data", "model"), 2048, 4096),
    )
    return product, arguments, {}


# replicated-compute


def same_on_model(devices: Devices, *, mended: bool) -> Case:
    """Both devices of the model axis compute the same product."""
    mesh = make_mesh(devices, data=4, model=2)

    def product(x: Any, w: Any) -> Any:
        if mended:
            x = lax.with_sharding_constraint(x, NamedSharding(mesh, P(("data", "model"))))
        return jnp.tanh(x @ w)

    return product, (array(mesh, P("data"), 4096, 2048), array(mesh, P(), 2048, 2048)), {}


def same_everywhere(devices: Devices, *, mended: bool) -> Case:
    """Eight devices compute the same two layers."""
    mesh = make_mesh(devices, data=8)

    def loss(x: Any, up: Any, down: Any) -> Any:
        if mended:
            x = lax.with_sharding_constraint(x, NamedSharding(mesh, P("data")))
        return jnp.tanh(x @ up) @ down

    arguments = (
        array(mesh, P(), 4096, 1024),
        array(mesh, P(), 1024, 4096),
        array(mesh, P(), 4096, 1024),
    )
    return loss, arguments, {}


# involuntary-reshard


def reshard(mesh: Mesh, x: Any, *specs: P) -> Any:
    """Compute on each element of an array that is sharded in one way after another."""
    for number, spec in enumerate(specs):
        with jax.named_scope(f"step_{number}"):
            x = jnp.sin(lax.with_sharding_constraint(x, NamedSharding(mesh, spec)))
    return x


def rows_to_features(devices: Devices, *, mended: bool) -> Case:
    """What is sharded by rows and tokens is needed sharded by features."""
    mesh = make_mesh(devices, y=4, x=2)
    between = (P(None, "x", "y"),) if mended else ()

    def run(x: Any) -> Any:
        return reshard(mesh, x, P("y", "x"), *between, P(None, None, ("y", "x")))

    return run, (array(mesh, P("y", "x"), 64, 256, 512),), {}


def rows_to_columns(devices: Devices, *, mended: bool) -> Case:
    """What is sharded by rows over both axes is needed sharded by columns over one."""
    mesh = make_mesh(devices, x=2, y=4)
    between = (P("x", "y"),) if mended else ()

    def run(x: Any) -> Any:
        return reshard(mesh, x, P(("x", "y")), *between, P(None, "y"))

    return run, (array(mesh, P(("x", "y")), 4096, 1024),), {}


# replicated-large-parameter


def whole_weights(devices: Devices, *, mended: bool) -> Case:
    """Weights lie whole on every device."""
    mesh = make_mesh(devices, data=8)
    spec = P("data") if mended else P()

    def step(params: Any, x: Any) -> Any:
        gradient = jax.grad(lambda p: (jnp.tanh(x @ p[0]) @ p[1]).sum())(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient)

    params = array(mesh, spec, 2048, 4096), array(mesh, spec, 4096, 2048)
    place = NamedSharding(mesh, spec)
    return step, (params, array(mesh, P("data"), 64, 2048)), {"out_shardings": (place, place)}


def whole_state(devices: Devices, *, mended: bool) -> Case:
    """The state of an optimizer lies whole on every device of two axes."""
    mesh = make_mesh(devices, data=4, model=2)
    spec = P("data", "model") if mended else P()

    def update(state: Any, gradient: Any) -> Any:
        place = NamedSharding(mesh, spec)
        mu = lax.with_sharding_constraint(0.9 * state["mu"] + gradient, place)
        nu = lax.with_sharding_constraint(0.99 * state["nu"] + gradient**2, place)
        return {"mu": mu, "nu": nu}

    state = {name: array(mesh, spec, 4096, 1024) for name in ("mu", "nu")}
    return update, (state, array(mesh, P("data", "model"), 4096, 1024)), {}


TRIALS: Mapping[str, tuple[Make, ...]] = {
    "gathered-twice": (remat_perceptron, tied_embedding, fsdp_layers),
    "loop-invariant-collective": (gather_in_batches, sum_in_steps),
    "reduce-in-loop": (gradient_in_batches, partitioned_batches, convolution_gradients),
    "gather-then-slice": (part_of_width, own_columns, heads_of_device),
    "wide-collective": (cast_after, constrained_cast),
    "involuntary-reshard": (rows_to_features, rows_to_columns),
    "replicated-compute": (same_on_model, same_everywhere),
    "replicated-large-parameter": (whole_weights, whole_state),
}


# No flaw, though near to one.


def other_axis(devices: Devices) -> Case:
    """One weight is gathered over one axis, then over both."""
    mesh = make_mesh(devices, data=4, model=2)

    def use(x: Any, w: Any) -> Any:
        over_model = gather(w, "model", 1)
        over_data = gather(w, "data", 0)
        return (x @ over_model.T).sum() + (over_data**2).sum()

    function = mapped(mesh, use, (P("data"), P("data", "model")), P())
    return (
        function,
        (array(mesh, P("data"), 512, 2048), array(mesh, P("data", "model"), 1024, 2048)),
        {},
    )


def updated_between(devices: Devices) -> Case:
    """A weight is gathered, updated, and gathered again."""
    mesh = make_mesh(devices, data=8)

    def use(x: Any, w: Any) -> Any:
        y = x @ gather(w, "data")
        w = w - 0.1 * w * jnp.mean(y)
        return jnp.tanh(y) @ gather(w, "data"), w

    specs = P("data"), P("data")
    return mapped(mesh, use, specs, specs), (
        array(mesh, P("data"), 1024, 1024),
        array(mesh, P("data"), 1024, 1024),
    ), {}  # fmt: skip


def changing_in_loop(devices: Devices) -> Case:
    """What a loop gathers changes with each round."""
    mesh = make_mesh(devices, data=8)

    def run(w: Any, x: Any) -> Any:
        def step(_: Any, pair: Any) -> Any:
            w, x = pair
            return w * 0.99, jnp.tanh(x @ gather(w, "data"))

        return lax.fori_loop(0, 8, step, (w, x))[1]

    return mapped(mesh, run, (P("data"), P("data")), P("data")), (
        array(mesh, P("data"), 1024, 1024),
        array(mesh, P("data"), 1024, 1024),
    ), {}  # fmt: skip


def layers_in_loop(devices: Devices) -> Case:
    """A loop gathers another layer in each round."""
    mesh = make_mesh(devices, data=8)

    def run(layers: Any, x: Any) -> Any:
        return lax.scan(lambda x, w: (jnp.tanh(x @ gather(w, "data")), None), x, layers)[0]

    return mapped(mesh, run, (P(None, "data"), P("data")), P("data")), (
        array(mesh, P(None, "data"), 6, 1024, 1024),
        array(mesh, P("data"), 1024, 1024),
    ), {}  # fmt: skip


def sum_needed_in_loop(devices: Devices) -> Case:
    """A sum over devices is needed in the next round of the loop."""
    mesh = make_mesh(devices, data=8)

    def run(w: Any, batches: Any) -> Any:
        def step(w: Any, x: Any) -> Any:
            gradient = jax.grad(lambda w: (jnp.tanh(x @ w) ** 2).sum())(w)
            return w - 0.1 * lax.psum(gradient, "data"), None

        return lax.scan(step, w, batches)[0]

    function = mapped(mesh, run, (P(), P(None, "data")), P())
    return function, (array(mesh, P(), 1024, 1024), array(mesh, P(None, "data"), 8, 256, 1024)), {}


def square_of_sum(devices: Devices) -> Case:
    """Squares of sums over devices are added up: no sum of the whole makes them."""
    mesh = make_mesh(devices, data=8)

    def run(w: Any, batches: Any) -> Any:
        def add(total: Any, x: Any) -> Any:
            gradient = jax.grad(lambda w: (jnp.tanh(x @ w) ** 2).sum())(w)
            return total + lax.psum(gradient, "data") ** 2, None

        return lax.scan(add, jnp.zeros_like(w), batches)[0]

    function = mapped(mesh, run, (P(), P(None, "data")), P())
    return function, (array(mesh, P(), 1024, 1024), array(mesh, P(None, "data"), 8, 256, 1024)), {}


def whole_and_part(devices: Devices) -> Case:
    """Of what is gathered a part is used, and all of it elsewhere."""
    mesh = make_mesh(devices, data=8)

    def use(x: Any, w: Any) -> Any:
        whole = gather(x, "data")
        return jnp.tanh(whole[:, :512]) @ w, jnp.cumsum(whole, axis=0).sum(axis=0)

    function = mapped(mesh, use, (P("data"), P(None, "data")), (P(None, "data"), P()))
    return (
        function,
        (array(mesh, P("data"), 4096, 2048), array(mesh, P(None, "data"), 512, 1024)),
        {},
    )


def wide_and_narrow(devices: Devices) -> Case:
    """What is gathered in f32 is used so, and in bf16."""
    mesh = make_mesh(devices, fsdp=8)

    def product(x: Any, w: Any) -> Any:
        whole = gather(w, "fsdp")
        return x @ whole.astype(BF16), jnp.sin(whole).sum()

    function = mapped(mesh, product, (P("fsdp"), P("fsdp")), (P("fsdp"), P()))
    arguments = array(mesh, P("fsdp"), 1024, 2048, dtype=BF16), array(mesh, P("fsdp"), 2048, 4096)
    return function, arguments, {}


def tensor_parallel(devices: Devices) -> Case:
    """Products are divided among the devices of both axes."""
    mesh = make_mesh(devices, data=4, model=2)

    def run(x: Any, up: Any, down: Any) -> Any:
        return jnp.tanh(x @ up) @ down

    arguments = (
        array(mesh, P("data"), 4096, 1024),
        array(mesh, P(None, "model"), 1024, 4096),
        array(mesh, P("model"), 4096, 1024),
    )
    return run, arguments, {}


def fsdp_step(devices: Devices) -> Case:
    """A train step whose batch and state are sharded alike."""
    mesh = make_mesh(devices, fsdp=8)

    def step(params: Any, x: Any) -> Any:
        gradient = jax.grad(lambda p: (jnp.tanh(x @ p[0]) @ p[1]).sum())(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient)

    params = array(mesh, P("fsdp"), 1024, 4096), array(mesh, P("fsdp"), 4096, 1024)
    place = NamedSharding(mesh, P("fsdp"))
    return step, (params, array(mesh, P("fsdp"), 8192, 1024)), {"out_shardings": (place, place)}


QUIET: tuple[Make, ...] = (
    other_axis, updated_between, changing_in_loop, layers_in_loop, sum_needed_in_loop,
    square_of_sum, whole_and_part, wide_and_narrow, tensor_parallel, fsdp_step,
)  # fmt: skip
