"""Compile small programs of every kind of sharding; run as a child process, in an empty folder.

    PYTHONPATH=testdata python -m make.shardings PLATFORM TOPOLOGY TARGET

XLA writes the dumps as a side effect. Printed as one JSON document is where JAX says that each
array lies: of each, by the programs' names, its global shape, the spec as JAX prints it, and for
each dimension which of its parts each device has, the devices in the order of the program.
"""

import functools
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src import source_info_util
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from make.compile import find_devices

Devices = list[jax.Device]


def array(mesh: Mesh, spec: P, *shape: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
    """Describe an argument."""
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))


def make_mesh(devices: Devices, *, explicit: bool = False, **axes: int) -> Mesh:
    """Lay the first devices out along axes."""
    sizes = tuple(axes.values())
    kind = AxisType.Explicit if explicit else AxisType.Auto
    grid = np.array(devices[: int(np.prod(sizes))]).reshape(sizes)
    return Mesh(grid, tuple(axes), axis_types=(kind,) * len(sizes))


def mlp(params: dict[str, Any], x: Any) -> dict[str, Any]:
    """Two layers, and the mean of their result."""
    y = jnp.tanh(x @ params["up"]) @ params["down"] + params["bias"]
    return {"y": y, "loss": (y * y).mean()}


def train(state: dict[str, Any], x: Any) -> tuple[dict[str, Any], Any]:
    """One step of gradient descent on the same."""
    loss, gradient = jax.value_and_grad(lambda p: mlp(p, x)["loss"])(state)
    return jax.tree.map(lambda p, g: p - 0.1 * g, state, gradient), loss


def describe_mlp(
    mesh: Mesh, up: P, down: P, x: P, *, bias: P | None = None, shape: tuple[int, ...] = ()
) -> tuple[Any, ...]:
    """Describe the arguments of both."""
    rows, width, hidden = shape or (32, 64, 128)
    params = {
        "up": array(mesh, up, width, hidden),
        "down": array(mesh, down, hidden, width),
        "bias": array(mesh, bias or P(), width),
    }
    return params, array(mesh, x, rows, width)


def list_cases(devices: Devices) -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...], Any]]:
    """Yield the name, the function, its arguments, and more for jit."""
    two = make_mesh(devices, data=4, model=2)
    yield "data", mlp, describe_mlp(two, P(), P(), P("data")), {}
    yield (
        "tensor",
        mlp,
        describe_mlp(two, P(None, "model"), P("model"), P("data"), bias=P("model")),
        {},
    )
    yield (
        "fsdp",
        train,
        describe_mlp(two, P("data", "model"), P("model", "data"), P("data"), bias=P("data")),
        {"donate_argnums": 0},
    )
    one = make_mesh(devices, fsdp=8)
    yield "one_axis", train, describe_mlp(one, P("fsdp"), P(None, "fsdp"), P("fsdp")), {}
    both, swapped = P(("data", "model")), P(None, ("model", "data"))
    yield "joined", mlp, describe_mlp(two, both, swapped, P("data", None)), {}
    turned = Mesh(np.array(devices[:8]).reshape(4, 2).T, ("model", "data"))
    yield "turned", mlp, describe_mlp(turned, P("model"), P("data", "model"), P("data")), {}
    odd = Mesh(np.array(devices[:8])[[3, 1, 0, 2, 7, 4, 6, 5]].reshape(2, 4), ("a", "b"))
    yield "odd_order", mlp, describe_mlp(odd, P("b"), P("a", "b"), P("a")), {}
    three = make_mesh(devices, dp=2, fsdp=2, tp=2)
    yield (
        "three",
        train,
        describe_mlp(three, P("fsdp", "tp"), P("tp", "fsdp"), P(("dp", "fsdp"))),
        {"donate_argnums": 0},
    )
    yield "corners", mlp, describe_mlp(three, P(("tp", "dp")), P("fsdp"), P("tp", "fsdp")), {}
    explicit = make_mesh(devices, explicit=True, x=2, y=4)

    def add(a: Any, b: Any) -> Any:
        return jnp.sin(a) + b, a.sum(axis=0)

    spec = P("x", "y")
    yield "explicit", add, (array(explicit, spec, 16, 16), array(explicit, spec, 16, 16)), {}
    few = make_mesh(devices, data=2, model=2)
    yield "four", mlp, describe_mlp(few, P(None, "model"), P("model"), P("data")), {}
    single = make_mesh(devices, data=1)
    yield "single", mlp, describe_mlp(single, P(), P(), P("data")), {}
    long = make_mesh(devices, data=8, model=1)
    yield "ones", mlp, describe_mlp(long, P("model"), P("data", "model"), P("data")), {}

    def shapes(x: Any, n: Any, unused: Any) -> Any:
        del unused
        y = x.reshape(4, 2, 6, -1)
        return {"cut": y, "turned": y.transpose(3, 0, 1, 2), "odd": x[:5, :3], "n": n + 1}

    arguments = (
        array(one, P("fsdp"), 8, 48),
        array(one, P(), dtype=jnp.int32),
        array(one, P(), 3),
    )
    yield "reshaped", shapes, arguments, {}

    @functools.partial(
        jax.shard_map, mesh=three, in_specs=P("dp"), out_specs=P("dp"), axis_names={"dp"}
    )
    def inside(x: Any) -> Any:
        return lax.psum(x * 2, "dp") + x

    yield (
        "manual",
        lambda x, w: inside(x @ w),
        (
            array(three, P("dp", "tp"), 16, 32),
            array(three, P("tp", "fsdp"), 32, 64),
        ),
        {},
    )
    out = {
        "y": NamedSharding(two, P("model", "data")),
        "loss": NamedSharding(two, P()),
    }
    yield (
        "chosen",
        mlp,
        describe_mlp(two, P("data"), P("data"), P("data"), shape=(16, 8, 24)),
        {"out_shardings": out},
    )

    def constrained(x: Any, key: Any) -> Any:
        y = lax.with_sharding_constraint(x * 2, NamedSharding(three, P(None, "tp", "dp")))
        noise = jax.random.normal(jax.random.wrap_key_data(key), x.shape)
        return y + noise, x.astype(jnp.bfloat16).sum(), x

    pair = (
        array(three, P("fsdp", None, "tp"), 4, 6, 8),
        array(three, P(), 2, dtype=jnp.uint32),
    )
    yield "constrained", constrained, pair, {}

    yield from list_more(devices)


def list_more(devices: Devices) -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...], Any]]:
    """Yield programs of several meshes, with loops, and with arguments that XLA may cut."""
    one = make_mesh(devices, fsdp=8)
    two = make_mesh(devices, data=4, model=2)
    three = make_mesh(devices, dp=2, fsdp=2, tp=2)
    both = P(("data", "model"))

    def both_meshes(x: Any, y: Any) -> Any:
        return (x @ y).sum(), x.astype(jnp.bfloat16) > 0

    arguments = (array(two, P("data"), 16, 32), array(three, P("tp", "dp"), 32, 64))
    yield "two_meshes", both_meshes, arguments, {}

    def split(x: Any) -> Any:
        return jnp.sin(x).reshape(4, 2, 4, 6), x.reshape(4, -1).sum(axis=1)

    yield "split", split, (array(two, P(("data", "model")), 32, 6),), {}
    yield "split_axis", split, (array(one, P("fsdp"), 32, 6),), {}

    def scanned(layers: Any, x: Any) -> Any:
        return lax.scan(lambda h, w: (jnp.tanh(h @ w), h.mean()), x, layers)

    arguments = (array(two, P(None, "data", "model"), 3, 32, 32), array(two, P("data"), 16, 32))
    yield "scanned", scanned, arguments, {}
    for name, w in (("whole", P()), ("partly", P("model")), ("everywhere", both)):
        sizes = (256, 1024, 2048)
        yield f"large_{name}", mlp, describe_mlp(two, w, P(both[0]), P("data"), shape=sizes), {}
    free = jax.ShapeDtypeStruct((32, 64), jnp.float32)
    yield "free", lambda x, w: (x @ w, w.sum()), (array(two, P("data", "model"), 16, 32), free), {}


def describe_sharding(sharding: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    """Say where an array lies: its parts by device, one digit each."""
    local = sharding.shard_shape(shape)
    devices = sharding._device_assignment  # noqa: SLF001 (their order is that of the partitions)
    cuts = sharding.devices_indices_map(shape)
    parts = [
        "".join(
            str((cuts[device][number].start or 0) // max(local[number], 1)) for device in devices
        )
        for number in range(len(shape))
    ]
    spec = sharding.spec if isinstance(sharding, NamedSharding) else None
    return {
        "shape": list(shape),
        "spec": None if spec is None else str(spec).replace("PartitionSpec", "P"),
        "parts": parts,
    }


def describe_tree(infos: Any, shardings: Any, heads: list[str]) -> dict[str, Any]:
    """Describe every array of a tree by its name; those that JAX left out have no sharding."""
    leaves = jax.tree_util.tree_leaves_with_path(infos)
    places = jax.tree.leaves(shardings, is_leaf=lambda one: one is None)
    found = {}
    for (path, info), sharding in zip(leaves, places, strict=True):
        head = heads[path[0].idx] if heads else "result"
        if sharding is not None:
            name = head + jax.tree_util.keystr(path[1:] if heads else path)
            found[name] = describe_sharding(sharding, info.shape)
    return found


def main() -> None:
    """Compile each, and say what JAX says."""
    devices = find_devices(*sys.argv[1:])
    source_info_util.register_exclusion(__file__)
    answer = {}
    for name, function, arguments, more in list_cases(devices):
        heads = list(function.__code__.co_varnames)

        @functools.wraps(function)
        def program(*given: Any, function: Callable[..., Any] = function) -> Any:
            return function(*given)

        program.__name__ = program.__qualname__ = name
        lowered = jax.jit(program, **more).lower(*arguments)
        compiled = lowered.compile()
        inputs = describe_tree(lowered.args_info[0], compiled.input_shardings[0], heads)
        results = describe_tree(lowered.out_info, compiled.output_shardings, [])
        meshes = {
            one.sharding.mesh for one in jax.tree.leaves(arguments) if one.sharding is not None
        }
        axes = sorted([dict(mesh.shape) for mesh in meshes], key=str)
        answer[name] = {"meshes": axes, "inputs": inputs, "results": results}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
