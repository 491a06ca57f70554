"""Compile small programs of random reshards, and note where XLA warns of them.

    PYTHONPATH=testdata python -m make.involuntary cpu|TOPOLOGY SEED COUNT > programs.json
    PYTHONPATH=testdata python -m make.involuntary cpu|TOPOLOGY < programs.json

A program is data: a mesh, an array and its spec, and steps. The second form compiles programs as
they stand. Both print them with the warnings of "Involuntary full rematerialization", each as the
op_name of the value, and the shardings from which and to which it had to go. Run it in an empty
folder, for 8 CPU devices or a TPU topology such as `v5e:2x4`, whose compiler warns with
`TPU_STDERR_LOG_LEVEL=0 TPU_MIN_LOG_LEVEL=0`; for the texts of passes with
`--xla_dump_hlo_pass_re=spmd|shardy|pipeline-start`.
"""

import json
import os
import random
import re
import sys
import tempfile
from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import source_info_util
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from make.compile import find_devices

Spec: TypeAlias = list[list[str]]  # of each dimension the axes
Place: TypeAlias = Callable[[Spec], NamedSharding]
MESHES = ([["a", 2], ["b", 2], ["c", 2]], [["x", 4], ["y", 2]], [["x", 2], ["y", 4]], [["d", 8]])
SHAPES = ([32, 16, 64], [64, 32], [16, 8, 8, 16], [24, 40], [8, 48, 16], [128, 64], [12, 20, 8])
WARNING = re.compile(
    r"Involuntary full rematerialization\. The compiler cannot go from sharding (\{.*?\}) to "
    r"(\{.*?\}) efficiently for HLO operation %(\S+) = (\S+) .*?(?:op_name=\"([^\"]*)\".*?)?\. As"
)
MOST_SIZE = 1 << 18  # elements
LEAST_RANK, MOST_RANK = 2, 4
# How often each is drawn: an axis, a constraint behind a step, two dimensions as one, a gradient.
AXIS, CONSTRAINT, JOIN, GRADIENT = 0.95, 0.85, 0.6, 0.3


def draw_spec(
    rng: random.Random, mesh: list[Any], dims: list[int], *, is_even: bool = False
) -> Spec:
    """Draw which axes of a mesh shard each dimension; evenly, as JAX demands of arguments."""
    spec: Spec = [[] for _ in dims]
    left = list(dims)
    for name, size in rng.sample(mesh, len(mesh)):
        places = [at for at in range(len(dims)) if not is_even or left[at] % size == 0]
        if places and rng.random() < AXIS:
            at = rng.choice(places)
            spec[at].append(name)
            left[at] //= size
    return spec


def draw_step(rng: random.Random, mesh: list[Any], dims: list[int]) -> tuple[list[Any], list[int]]:
    """Draw an operation for an array, and return it with the dimensions of its result."""
    rank = len(dims)
    kind = rng.choice(("sin", "transpose", "reshape", "matmul", "sum", "slice", "add", "roll"))
    if kind == "transpose":
        perm = rng.sample(range(rank), rank)
        return [kind, perm], [dims[at] for at in perm]
    if kind == "reshape" and rank > LEAST_RANK and rng.random() < JOIN:
        at = rng.randrange(rank - 1)
        dims = [*dims[:at], dims[at] * dims[at + 1], *dims[at + 2 :]]
        return [kind, dims], dims
    if kind == "reshape" and rank < MOST_RANK:
        at = rng.randrange(rank)
        part = rng.choice([each for each in (2, 4, 8) if dims[at] % each == 0] or [1])
        dims = [*dims[:at], part, dims[at] // part, *dims[at + 1 :]]
        return [kind, dims], dims
    if kind == "matmul":
        width = rng.choice((16, 32, 64))
        sizes = [dims[-1], width]
        return [kind, sizes, draw_spec(rng, mesh, sizes, is_even=True)], [*dims[:-1], width]
    if kind == "sum" and rank > LEAST_RANK:
        at = rng.randrange(rank)
        return [kind, at], [*dims[:at], *dims[at + 1 :]]
    if kind == "slice":
        at = rng.randrange(rank)
        return [kind, at], [*dims[:at], max(dims[at] // 2, 1), *dims[at + 1 :]]
    if kind == "add":
        return [kind, dims, draw_spec(rng, mesh, dims, is_even=True)], dims
    return [kind if kind == "roll" else "sin", rng.randrange(rank)], dims


def draw(seed: int) -> dict[str, Any]:
    """Draw a program."""
    rng = random.Random(seed)  # noqa: S311  (nothing secret)
    mesh, shape = rng.choice(MESHES), rng.choice(SHAPES)
    steps: list[Any] = []
    dims = shape
    for _ in range(rng.randint(2, 5)):
        step, made = draw_step(rng, mesh, dims)
        if np.prod(made) <= MOST_SIZE:
            dims = made
            steps.append(step)
        if rng.random() < CONSTRAINT:
            steps.append(["constrain", draw_spec(rng, mesh, dims)])
    return {
        "name": f"p{seed}",
        "mesh": mesh,
        "shape": shape,
        "spec": draw_spec(rng, mesh, shape, is_even=True),
        "steps": steps,
        "is_gradient": rng.random() < GRADIENT,
    }


def apply_step(step: list[Any], x: Any, others: list[Any], place: Place) -> Any:
    """Apply one step to an array; products and sums take the next of the other arrays."""
    kind, *how = step
    if kind == "slice":
        return jax.lax.slice_in_dim(x, 0, max(x.shape[how[0]] // 2, 1), axis=how[0])
    simple: dict[str, Callable[[], Any]] = {
        "constrain": lambda: jax.lax.with_sharding_constraint(x, place(how[0])),
        "transpose": lambda: x.transpose(how[0]),
        "reshape": lambda: x.reshape(how[0]),
        "matmul": lambda: x @ others.pop(0),
        "sum": lambda: x.sum(axis=how[0]),
        "add": lambda: x + others.pop(0),
        "roll": lambda: jnp.roll(x, 1, axis=how[0]),
        "sin": lambda: jnp.sin(x),
    }
    return simple[kind]()


def compile_program(program: dict[str, Any], devices: list[jax.Device]) -> None:
    """Lower a program, and compile it; each step has a scope of its own."""
    names = [name for name, _ in program["mesh"]]
    sizes = [size for _, size in program["mesh"]]
    mesh = Mesh(np.array(devices[: int(np.prod(sizes))]).reshape(sizes), names)

    def place(spec: Spec) -> NamedSharding:
        return NamedSharding(mesh, P(*(tuple(axes) or None for axes in spec)))

    steps = program["steps"]
    given = [[program["shape"], program["spec"]]]
    given += [step[1:] for step in steps if step[0] in {"matmul", "add"}]

    def run(x: Any, *others: Any) -> Any:
        rest = list(others)
        for at, step in enumerate(steps):
            with jax.named_scope(f"s{at}"):
                x = apply_step(step, x, rest, place)
        return x

    def loss(*arrays: Any) -> Any:
        return (run(*arrays) ** 2).sum()

    chosen = jax.grad(loss, argnums=tuple(range(len(given)))) if program["is_gradient"] else run
    chosen.__name__ = chosen.__qualname__ = program["name"]
    arrays = [jax.ShapeDtypeStruct(shape, jnp.float32, sharding=place(s)) for shape, s in given]
    jax.jit(chosen).lower(*arrays).compile()


def note_warnings(program: dict[str, Any], devices: list[jax.Device]) -> None:
    """Compile a program, and add what XLA says of it on stderr."""
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            compile_program(program, devices)
            program["error"] = None
        except Exception as error:  # noqa: BLE001  (what XLA cannot compile is no case)
            program["error"] = str(error)[:200]
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        said = file.read().decode(errors="replace")
    found = WARNING.findall(said)
    if len(found) != said.count("Involuntary full remat"):
        program["error"] = "a warning of another form"
    program["warnings"] = sorted(
        {(op_name, begin, end, shape) for begin, end, _, shape, op_name in found}
    )


def main() -> None:
    """Draw programs, or read them; compile each."""
    source_info_util.register_exclusion(__file__)
    backend, *numbers = sys.argv[1:]
    devices = find_devices("cpu" if backend == "cpu" else "tpu", backend, "")
    if numbers:
        seed, count = map(int, numbers)
        programs = [draw(seed * 100_000 + at) for at in range(count)]
    else:
        programs = json.load(sys.stdin)
    for program in programs:
        note_warnings(program, devices)
    print(json.dumps(programs))


if __name__ == "__main__":
    main()
