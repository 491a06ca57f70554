"""Under what a program was compiled, as far as its files tell: mesh, flags, the compiler's build.

Every load of a program makes one of these, so the file imports no analysis.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import Struct

from hlotool.hlo import Mesh
from hlotool.table import COUNT, NUMBER, figure

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
