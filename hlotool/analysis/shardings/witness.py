"""What each file of a program says of the arrays that it is given and returns.

The final text of GPU and CPU has the shardings of parameters, a proto those of results too. The
text before optimization, and the program in MLIR, have the shapes that the user knows, and the
shardings that the user asked for: where XLA was allowed to choose others, they say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

from msgspec import Struct

from hlotool.analysis.graph.backend import is_partitioned
from hlotool.errors import ParseError
from hlotool.hlo import Instruction, Mesh, Module, Shape
from hlotool.hlo.attribute_values import parse_sharding
from hlotool.hlo.groups import Sharding
from hlotool.hlo.scanner import Scanner
from hlotool.hlo.sharding import Spec, find_spec
from hlotool.hlo.shardy import MlirArray, MlirProgram, find_meshes, find_sdy_shardings
from hlotool.text import Source

Dims: TypeAlias = tuple[int, ...]
_PARAMETERS_MAY: Final = "allow_spmd_sharding_propagation_to_parameters"
_RESULTS_MAY: Final = "allow_spmd_sharding_propagation_to_output"


class Told(Struct, frozen=True):
    """What a file says of an array: shardings, the best named first; its global sizes; its name.

    `problem` is why a sharding that stands there is none.
    """

    shardings: tuple[Sharding, ...] = ()
    dims: Dims | None = None
    name: str | None = None
    problem: str | None = None


class Witness(Struct, frozen=True):
    """What a file says of all parameters and of all results, array by array."""

    path: str
    parameters: tuple[Told, ...] = ()
    results: tuple[Told, ...] = ()
    meshes: tuple[Mesh, ...] = ()


def ask_module(module: Module, path: str, *, is_settled: bool = False) -> Witness:
    """Return what the text of a module says, before or after it was partitioned.

    In a settled one, right before the partitioner, nothing is a wish any more.
    """
    is_local = is_partitioned(module)
    header, entry = module.header, module.entry
    meshes = find_declared_meshes(module)
    parameters = [
        told
        for parameter in entry.parameters
        for told in _ask_instruction(parameter, meshes, is_local=is_local)
    ]
    results: list[Told] = []
    if not is_local:  # what stands at an operation of the partitioned text is not the result's
        results += _ask_instruction(entry.root, meshes, is_local=is_local)
    if not is_local and not is_settled:
        _forget_wishes(parameters, header.attributes.get(_PARAMETERS_MAY, ""))
        _forget_wishes(results, header.attributes.get(_RESULTS_MAY, ""))
    return Witness(path, tuple(parameters), tuple(results), tuple(meshes.values()))


def find_declared_meshes(module: Module) -> dict[str, Mesh]:
    """Return the meshes that the header of a module declares, by name."""
    return find_meshes(module.header.frontend_attributes.get("xla.sdy.meshes", ""))


def is_constraint(one: Instruction) -> bool:
    """Whether an instruction does nothing but say how a value is sharded."""
    return one.attributes.get("custom_call_target") == '"Sharding"'


def find_constraints(module: Module) -> Iterator[tuple[Instruction, Spec]]:
    """Yield the sharding constraints of a text before it was partitioned, as far as they fit."""
    meshes, devices = find_declared_meshes(module), module.header.num_partitions
    for one in module.instructions():
        if not is_constraint(one) or devices is None:
            continue
        rank = len(next(one.shape.leaves()).dims)
        for told in _ask_instruction(one, meshes, is_local=False):
            with suppress(ValueError):
                spec = find_spec(told.shardings[0], rank, devices) if told.shardings else None
                if spec is not None:
                    yield one, spec


def are_parameters_told(witnesses: Sequence[Witness]) -> bool:
    """Whether of each parameter any of these says how it is sharded."""
    counts = {len(one.parameters) for one in witnesses if one.parameters}
    told = zip(*(one.parameters for one in witnesses if one.parameters), strict=False)
    return len(counts) == 1 and all(any(each.shardings for each in one) for one in told)


def _ask_instruction(
    one: Instruction, meshes: Mapping[str, Mesh], *, is_local: bool
) -> Iterator[Told]:
    """Yield what stands at a parameter, or at the result, of each of its arrays."""
    leaves = list(one.shape.leaves())
    named = find_sdy_shardings(one.frontend_attributes().get("xla.sdy.sharding", ""), meshes)
    problem = None
    try:
        printed = one.sharding()
    except ParseError as error:
        printed, problem = None, error.sentence()
    said = [named, flatten_sharding(printed, len(leaves)) if printed else []]
    for at, leaf in enumerate(leaves):
        shardings = tuple(each[at] for each in said if len(each) == len(leaves))
        yield Told(shardings, None if is_local else leaf.dims, problem=problem)


def _forget_wishes(arrays: list[Told], may: str) -> None:
    """Drop what is said of arrays for which XLA may choose otherwise."""
    flags = [word == "true" for word in re.findall("true|false", may)] or [False]
    if len(flags) == 1:
        flags *= len(arrays)
    for at, told in enumerate(arrays):
        if len(flags) != len(arrays) or flags[at] or any(s.open_dims for s in told.shardings):
            arrays[at] = Told((), told.dims, told.name, told.problem)


def flatten_sharding(sharding: Sharding, count: int) -> list[Sharding]:
    """Return the shardings of so many arrays of a value; one that is of no tuple is of each."""
    if sharding.kind != "tuple":
        return [sharding] * count
    pending, found = [sharding], []
    while pending:
        one = pending.pop()
        if one.kind == "tuple":
            pending.extend(reversed(one.elements))
        else:
            found.append(one)
    return found


def ask_proto(module: Module, parameters: Sequence[str], result: str | None, path: str) -> Witness:
    """Return what the fields of a proto say, which are texts of shardings.

    Raises ParseError where they are none.
    """

    def ask(shape: Shape, text: str) -> list[Told]:
        count = sum(1 for _ in shape.leaves())
        found = flatten_sharding(Scanner(Source(text, path)).parse_whole(parse_sharding), count)
        return [Told((each,)) for each in found] if len(found) == count else [Told()] * count

    shapes = [each.shape for each in module.entry.parameters]
    pairs = zip(shapes, parameters, strict=True) if len(shapes) == len(parameters) else ()
    return Witness(
        path,
        tuple(told for pair in pairs for told in ask(*pair)),
        tuple(ask(module.entry.root.shape, result)) if result else (),
    )


def ask_mlir(program: MlirProgram, path: str) -> Witness:
    """Return what the program in MLIR says."""

    def ask(array: MlirArray) -> Told:
        said = array.sharding
        shardings = () if said is None or said.open_dims else (said,)
        return Told(shardings, array.dims, array.name)

    return Witness(
        path,
        tuple(map(ask, program.arguments)),
        tuple(map(ask, program.results)),
        tuple(program.meshes.values()),
    )
