"""What is the module itself: its name, backend, partitions, parameters?

Under what was a program compiled, as far as its files tell?
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.graph.backend import Backend, find_backend
from hlotool.analysis.graph.executions import Executions
from hlotool.hlo import ArrayShape, Mesh, Module, Shape
from hlotool.table import BYTES, COUNT, NUMBER, figure


class ModuleFacts(Struct, frozen=True):
    """The module itself. Bytes are those of shapes, per device."""

    name: Annotated[str, figure("the module's name")]
    backend: Annotated[
        Backend | None,
        figure("the backend, recognized by its marks in the text; null before optimization"),
    ]
    is_scheduled: Annotated[bool, figure("whether the order of instructions is a schedule")]
    num_partitions: Annotated[
        int | None, figure("partitions the program is split into; null if nothing says", COUNT)
    ]
    replica_count: Annotated[
        int | None, figure("copies of the program that run; null if nothing says", COUNT)
    ]
    entry: Annotated[str, figure("the entry computation")]
    computation_count: Annotated[int, figure("computations in the text", COUNT)]
    instruction_count: Annotated[int, figure("instructions in the text", COUNT)]
    executed_instruction_count: Annotated[
        int,
        figure(
            "instructions of computations that run on their own: entry, loop bodies, branches",
            COUNT,
        ),
    ]
    parameter_count: Annotated[int, figure("parameters of the entry", COUNT)]
    parameter_bytes: Annotated[
        int | None, figure("size of the parameters, tile padding included", BYTES)
    ]
    result_bytes: Annotated[int | None, figure("the size of the entry's result", BYTES)]
    donated_parameter_count: Annotated[
        int,
        figure(
            "parameters whose memory is donated: aliased with a result, or buffer donors", COUNT
        ),
    ]
    donated_bytes: Annotated[int | None, figure("the size of the donated memory", BYTES)]


def describe_module(module: Module, executions: Executions) -> ModuleFacts:
    """Return what is known of a module; sizes are None where a shape's is unknown."""
    parameters = module.entry.parameters
    header = module.header
    donated = {(one.number, one.index) for one in header.aliases}
    donated |= {(one.parameter, one.index) for one in header.donors}
    shapes = {one.parameter_number: one.shape for one in parameters}
    return ModuleFacts(
        name=module.name,
        backend=find_backend(module),
        is_scheduled=header.is_scheduled,
        num_partitions=header.num_partitions,
        replica_count=header.replica_count,
        entry=module.entry.name,
        computation_count=len(module.computations),
        instruction_count=module.instruction_count(),
        executed_instruction_count=sum(len(one.instructions) for one in executions.executed),
        parameter_count=len(parameters),
        parameter_bytes=_add_sizes(one.shape for one in parameters),
        result_bytes=module.entry.root.shape.size_bytes,
        donated_parameter_count=len({number for number, _ in donated}),
        donated_bytes=_add_sizes(_element(shapes.get(number), index) for number, index in donated),
    )


def _element(shape: Shape | None, index: tuple[int, ...]) -> Shape | None:
    """Return one element of a parameter; None where there is no such element."""
    for place in index:
        if shape is None or isinstance(shape, ArrayShape) or place >= len(shape.elements):
            return None
        shape = shape.elements[place]
    return shape


def _add_sizes(shapes: Iterable[Shape | None]) -> int | None:
    """Add the sizes of shapes up; None as soon as one is unknown."""
    total = 0
    for shape in shapes:
        size = shape.size_bytes if shape else None
        if size is None:
            return None
        total += size
    return total


_DUMPING: Final = "xla_dump_"  # where and how the dump was written is no part of the program


class Compilation(Struct, frozen=True):
    """The mesh of the user's program, the compiler's flags and its build."""

    mesh: Annotated[
        tuple[str, ...] | None,
        figure("the axes of the mesh, as axis=size; null if no text names the one mesh there is"),
    ] = None
    flags: Annotated[
        tuple[str, ...] | None,
        figure(
            "flags that are not at their default, as .debug_options prints them, but for those "
            "about dumping; null without that file"
        ),
    ] = None
    build: Annotated[
        int | None, figure("the build of TPU's compiler, N of cl_N in the file's name", NUMBER)
    ] = None
    flags_path: Annotated[str | None, figure("the file that prints the flags")] = None
    tpu_flag_count: Annotated[
        int | None,
        figure(
            "flags that tpu_comp_env.txt prints, at their default or not, which nothing tells; "
            "null without that file",
            COUNT,
        ),
    ] = None
    tpu_flags_path: Annotated[str | None, figure("the tpu_comp_env.txt of the program")] = None


def list_axes(mesh: Mesh | None) -> tuple[str, ...] | None:
    """Write the axes of a mesh, the slowest-varying first."""
    return tuple(f"{axis.name}={axis.size}" for axis in mesh.axes) if mesh else None


def list_flags(printed: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Write flags with their values, those of a repeated flag joined, in the order of the file."""
    return tuple(
        f"{name}={','.join(values)}"
        for name, values in printed.items()
        if not name.startswith(_DUMPING)
    )
