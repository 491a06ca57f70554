"""Compile programs with each remedy applied to the source, in an empty folder.

    PYTHONPATH=testdata python -m make.remedies TABLE BACKEND PLATFORM TOPOLOGY TARGET [NAME ...]

TABLE is a `programs.toml`: of each program its kind, sizes, mesh, backends and remedies. XLA writes
the dumps as a side effect, of functions named PROGRAM__VARIANT, where `base` is the program as it
is; a line of JSON in `said.jsonl` says of each what XLA says of its memory, or why it does not
compile. What has a line there is not compiled again. With a module's name for TABLE its flaws are
compiled: PROGRAM__flaw, PROGRAM__mended, PROGRAM__quiet. NAME is a program or PROGRAM__VARIANT.
"""

from __future__ import annotations

import functools
import importlib
import json
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
from jax._src import source_info_util

from make.compile import MEMORY_FIELDS, find_devices
from make.programs import (
    remedies_aside,
    remedies_fresh,
    remedies_other,
    remedies_sealed,
    remedies_unseen,
)
from make.programs.remedies_train import Model, build_step
from make.proto import read_buffer_assignment
from make.wire import Message

BUILDERS = {
    **remedies_other.BUILDERS,
    **remedies_fresh.BUILDERS,
    **remedies_unseen.BUILDERS,
    **remedies_aside.BUILDERS,
    **remedies_sealed.BUILDERS,
}
SAID = Path("said.jsonl")
BASE = "base"
AND = "_and_"  # between remedies that are applied together, in names
Make = Callable[[list[jax.Device]], tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]


def list_remedies(path: Path, backend: str) -> Iterator[tuple[str, Make]]:
    """Yield the name of each program of a table with each remedy, and what makes it."""
    for program in tomllib.loads(path.read_text("utf-8"))["program"]:
        name, remedies = program["name"], program["remedies"]
        if backend not in program["backends"]:
            continue
        sizes = program["sizes"]
        for variant in (BASE, *remedies, *program.get("remedies_of", {}).get(backend, ())):
            changes = frozenset(() if variant == BASE else variant.split(" + "))
            if program["build"] == "train":
                model = Model(**sizes, mesh=tuple(program.get("mesh", {}).items()))
                make: Make = functools.partial(build_train, model, changes)
            else:
                make = functools.partial(build_other, program["build"], sizes, changes)
            yield f"{name}__{name_variant(variant)}", make


def name_variant(remedy: str) -> str:
    """Return a remedy as a part of a name."""
    return remedy.replace(" + ", AND).replace("-", "_")


def build_train(model: Model, changes: frozenset[str], devices: list[jax.Device]) -> Any:
    """Build a train step."""
    return build_step(model, changes, devices)


def build_other(
    build: str, sizes: dict[str, Any], changes: frozenset[str], devices: list[jax.Device]
) -> Any:
    """Build what is no train step."""
    return BUILDERS[build](devices, changes, **sizes)


def list_flaws(programs: str, backend: str) -> Iterator[tuple[str, Make]]:
    """Yield the name of each program with a flaw and without it, and what makes it."""
    module = importlib.import_module(f"make.programs.{programs}")
    for makers in module.TRIALS.values():
        for make, backends in makers.items():
            for variant in ("flaw", "mended"):
                if backend in backends:
                    part = functools.partial(make, mended=variant == "mended")
                    yield f"{make.__name__}__{variant}", part
    for make, backends in module.QUIET.items():
        if backend in backends:
            yield f"{make.__name__}__quiet", make


def measure_assignment(name: str) -> dict[str, int]:
    """Return the bytes of device memory that the buffer assignment reserves, and that are live.

    What is live at the peak is all that has a place of its own, and the peak of each heap.
    """
    (path,) = Path("xla_dump").glob(f"module_*.jit_{name}.*after_optimizations.hlo.pb")
    (assignment,) = Message(path.read_bytes()).messages(3)
    found = read_buffer_assignment(assignment)
    device = [
        one
        for one in found["allocations"]
        if not one.get("color") and not one.get("thread_local") and one.get("size")
    ]
    away = {one.get("index", 0) for one in found["allocations"] if one.get("color")}
    own = sum(one["size"] for one in device if has_own_place(one))
    peaks = sum(
        one["peak_live_bytes"]
        for one in found["heap_simulator_traces"]
        if one["allocation"] not in away
    )
    reserved = sum(one["size"] for one in device)
    return {
        "reserved": reserved,
        "live_at_peak": min(own + peaks, reserved),
        "constants": sum(one["size"] for one in device if one.get("constant")),
    }


def has_own_place(allocation: dict[str, int]) -> bool:
    """Whether an allocation is none of the temporary ones."""
    return any(allocation.get(name) for name in ("entry_parameter", "maybe_live_out", "constant"))


def compile_one(name: str, make: Make, devices: list[jax.Device]) -> dict[str, Any]:
    """Compile a program, and say what XLA says."""
    function, arguments, more = make(devices)

    @functools.wraps(function)
    def program(*given: Any) -> Any:
        return function(*given)

    program.__name__ = program.__qualname__ = name
    memory = jax.jit(program, **more).lower(*arguments).compile().memory_analysis()
    said = {one.removesuffix("_in_bytes"): getattr(memory, one) for one in MEMORY_FIELDS}
    return {**{key: size for key, size in said.items() if size}, **measure_assignment(name)}


def main() -> None:
    """Compile each."""
    table, backend, platform, topology, target, *only = sys.argv[1:]
    devices = find_devices(platform, topology, target)
    source_info_util.register_exclusion(__file__)
    path = Path(table)
    listed = list_remedies(path, backend) if path.suffix else list_flaws(table, backend)
    done = {json.loads(line)["name"] for line in SAID.read_text("utf-8").splitlines()}
    for name, make in listed:
        asked = not only or name in only or name.partition("__")[0] in only
        if name in done or not asked:
            continue
        try:
            said = compile_one(name, make, devices)
        except (RuntimeError, ValueError, TypeError, NotImplementedError) as error:
            said = {"error": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
        line = json.dumps({"name": name, "kind": devices[0].device_kind, "said": said})
        with SAID.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        print(name, said.get("error", ""), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
