"""Where the arrays lie that a program is given, and those that it returns.

A row is an array: its shape as the user knows it, the part of it that a device holds, the mesh axes
over which it is sharded, and on how many devices each part is replicated. Sizes are those of the
elements, tiles of a TPU left out. What is between parameters and results is not here.

Who says so: the text itself and a proto after the partitioner, else the files from before it, as
far as XLA had to follow them. Where no file says it but the local shape is the global one, the
array lies whole on every device; where the shapes differ, only the number of copies follows. From
a local shape alone the global one is that of equal parts, which is what JAX demands of arguments.
A sharding that fits neither shape nor devices is told in `problem`, and says nothing. Of programs
of several replicas no file says what each is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Annotated, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.graph.backend import is_partitioned
from hlotool.analysis.origin import find_parameter_tree
from hlotool.analysis.shardings.rows import RESHARDS, WHY
from hlotool.analysis.shardings.witness import Dims, Told, Witness
from hlotool.hlo import ArrayShape, Mesh, Module, ShapeIndex
from hlotool.hlo.buffers import format_position
from hlotool.hlo.groups import Sharding
from hlotool.hlo.sharding import Names, Spec, find_spec, name_axes, write_steps
from hlotool.table import NUMBER, Block, DocumentSpec, RowList, column, figure


class Placement(Struct, frozen=True):
    """Where an array lies: its sizes, those of a device's part, its spec; None where unknown."""

    global_dims: Dims | None
    local_dims: Dims | None
    spec: Spec | None


ReplicatedOver: TypeAlias = Annotated[
    tuple[str, ...] | None, column("the mesh axes over which devices hold the same part")
]


class ArrayRow(Struct, frozen=True):
    """One array that the program is given, or returns."""

    name: Annotated[
        str | None,
        column("the program's name for it; of a result without a name, its place", is_path=True),
    ]
    global_shape: Annotated[str | None, column("its global shape", is_shape=True)]
    local_shape: Annotated[str | None, column("shape of the part on a device", is_shape=True)]
    spec: Annotated[
        tuple[tuple[str, ...], ...] | None,
        figure(
            "mesh axes over which each dimension is sharded; [] if none; unnamed axes as "
            "`4@2`, 4 devices 2 apart"
        ),
    ]
    spec_text: Annotated[str | None, column("the same in JAX notation", heading="spec")]
    copies: Annotated[int | None, column("devices that hold the same part", is_summed=False)]
    replicated_over: ReplicatedOver
    local_bytes: Annotated[
        int | None, column("bytes of the part on a device", heading="on a device")
    ]
    saves_bytes: Annotated[
        int | None,
        column("bytes saved on a device by sharding it over the axes it is replicated over"),
    ]
    global_bytes: Annotated[int | None, column("bytes of the array", heading="whole")]
    all_bytes: Annotated[int | None, figure("bytes on all devices, with copies")]
    origin: Annotated[
        str | None,
        figure(
            "its part of the tree of arguments or results: params, mu, batch", null_text="(none)"
        ),
    ]
    number: Annotated[int, figure("number of the parameter, or of the result")]
    spec_from: Annotated[str | None, figure("the file with its sharding")]
    problem: Annotated[str | None, figure("why its sharding in a file is invalid", null_text="")]


_LOWER: Final = "is_replicated_lower_bound"


class ShardingTotals(Struct, frozen=True):
    """All parameters together."""

    device_count: Annotated[int | None, figure("devices that the program runs on", NUMBER)]
    mesh: Annotated[tuple[str, ...] | None, figure("axes of the mesh and their sizes")]
    parameter_count: Annotated[int, figure("arguments of the program", is_exact=True)]
    local_bytes: Annotated[int, figure("bytes of parameters on a device")]
    replicated_bytes: Annotated[
        int, figure("the part that other devices hold too", lower_if=_LOWER)
    ]
    saves_bytes: Annotated[
        int, figure("bytes saved on a device if nothing were replicated", lower_if=_LOWER)
    ]
    unknown_count: Annotated[int, figure("parameters of unknown sharding", is_exact=True)]
    is_lower_bound: Annotated[bool, figure("whether the size of a part is unknown")]
    is_replicated_lower_bound: Annotated[
        bool, figure("whether the size or the sharding of some parameters is unknown")
    ]


class ShardingReport(Struct, frozen=True):
    """Where all arrays lie; `mesh` names the axes.

    `specs` says it of the parameters' arrays by number and index.
    """

    parameters: tuple[ArrayRow, ...]
    results: tuple[ArrayRow, ...]
    totals: ShardingTotals
    specs: Mapping[tuple[int, ShapeIndex], Spec]
    mesh: Mesh | None
    placed_parameters: tuple[Placement, ...]
    placed_results: tuple[Placement, ...]


class _Array(Struct, frozen=True):
    """An array of the text: its name, the number of its parameter or result, its shape there."""

    name: str | None
    number: int
    shape: ArrayShape


def report_shardings(
    module: Module, witnesses: Sequence[Witness], mesh: Mesh | None
) -> ShardingReport:
    """Return where the arrays of a module lie, as its witnesses say, the first before others.

    `mesh` names axes that no witness names.
    """
    header, entry = module.header, module.entry
    devices = header.num_partitions if header.replica_count == 1 else None
    cutter = _Cutter(devices, mesh, is_local=is_partitioned(module))
    places = [(one.parameter_number, index) for one, index, _ in entry.parameter_arrays()]
    given = [
        _Array(format_position(name, index or None) if name else None, one.parameter_number, shape)
        for one, index, shape in entry.parameter_arrays()
        for name in (one.metadata().op_name,)
    ]
    returned = [
        _Array(format_position("result", index or None), number, shape)
        for number, (index, shape) in enumerate(entry.root.shape.leaves_with_index())
    ]
    cuts = cutter.cut(given, [(each.path, each.parameters) for each in witnesses])
    parameters = tuple(row for row, _ in cuts)
    results = cutter.cut(returned, [(each.path, each.results) for each in witnesses])
    return ShardingReport(
        parameters,
        tuple(row for row, _ in results),
        _add_up(parameters, devices, mesh),
        {place: one.spec for place, (_, one) in zip(places, cuts, strict=True) if one.spec},
        mesh,
        tuple(placement for _, placement in cuts),
        tuple(placement for _, placement in results),
    )


class _Cutter:
    """Works out what the shapes and the shardings of arrays say together."""

    def __init__(self, device_count: int | None, mesh: Mesh | None, *, is_local: bool) -> None:
        self._devices = device_count
        self._mesh = mesh
        self._is_local = is_local or device_count == 1  # nothing is cut then

    def cut(
        self, arrays: Sequence[_Array], told: Sequence[tuple[str, tuple[Told, ...]]]
    ) -> list[tuple[ArrayRow, Placement]]:
        """Return the rows of arrays, of each of which every file tells something, or nothing."""
        known = [(path, each) for path, each in told if len(each) == len(arrays)]
        return [
            self._describe(array, [(path, each[at]) for path, each in known])
            for at, array in enumerate(arrays)
        ]

    def _describe(
        self, array: _Array, told: Sequence[tuple[str, Told]]
    ) -> tuple[ArrayRow, Placement]:
        rank = len(array.shape.dims)
        shapes = [
            (one.dims, path) for path, one in told if one.dims is not None and len(one.dims) == rank
        ]
        whole, shape_from = shapes[0] if shapes else (None, None)
        local = array.shape.dims if self._is_local else None
        if self._devices == 1:
            whole = local
        found, spec_from, problem = self._find_spec(told, whole, local, rank)
        is_open = found is None and problem is None  # what contradicts itself tells nothing
        if is_open and whole is not None and whole == local and self._devices is not None:
            # Nobody says so, but nothing is cut: every device holds all of it.
            found, spec_from = find_spec(_REPLICATED, rank, self._devices), shape_from
        if found is not None:
            if self._mesh is not None and found.axes is None:
                found = name_axes(found, self._mesh)
            if whole is None and local is not None:
                whole = found.global_dims(local)
            elif local is None and whole is not None:
                local = found.local_dims(whole)
        copies = found.copies if found else self._count_copies(whole, local) if is_open else None
        local_shape = _resize(array.shape, local)
        global_shape = _resize(array.shape, whole)
        local_bytes = local_shape.unpadded_bytes if local_shape else None
        name = next((one.name for _, one in told if one.name), None) or array.name
        row = ArrayRow(
            name=name,
            global_shape=str(global_shape) if global_shape else None,
            local_shape=str(local_shape) if local_shape else None,
            spec=list_axes(found),
            spec_text=str(found) if found else None,
            copies=copies,
            replicated_over=_list_replicated_axes(found),
            local_bytes=local_bytes,
            saves_bytes=_save(local_bytes, copies),
            global_bytes=global_shape.unpadded_bytes if global_shape else None,
            all_bytes=(
                None if local_bytes is None or not self._devices else local_bytes * self._devices
            ),
            origin=find_parameter_tree(name) if name else None,
            number=array.number,
            spec_from=spec_from,
            problem=problem,
        )
        return row, Placement(whole, local, found)

    def _find_spec(
        self, told: Sequence[tuple[str, Told]], whole: Dims | None, local: Dims | None, rank: int
    ) -> tuple[Spec | None, str | None, str | None]:
        """Return what the first file says that says something, by the axes that any names.

        Returned are the file, too, and what contradicts what it says, if anything does.
        """
        found: Spec | None = None
        found_in = None
        problem = next((one.problem for _, one in told if one.problem), None)
        for path, sharding in ((path, each) for path, one in told for each in one.shardings):
            try:
                spec = find_spec(sharding, rank, self._devices) if self._devices else None
                if spec and whole and local and spec.local_dims(whole) != local:
                    raise ValueError(  # noqa: TRY301  told as what a notation itself contradicts
                        f"it cuts {list(whole)} to {list(spec.local_dims(whole))} on a "
                        f"device, but the text has {list(local)}"
                    )
            except ValueError as error:
                problem = problem or f"{{{sharding.text}}} in {path} does not fit: {error}"
                continue
            if found is None:
                found, found_in = spec, path
            elif spec and spec.axes is not None and spec.is_equivalent_to(found):
                # Closer to what the user wrote: of several meshes XLA keeps one.
                found = replace(found, axes=spec.axes, replicated_axes=spec.replicated_axes)
        if problem:
            return None, None, problem
        return found, found_in, None

    def _count_copies(self, whole: Dims | None, local: Dims | None) -> int | None:
        """Return how many devices hold each part where the shapes alone tell: parts are equal."""
        if whole is None or local is None or self._devices is None or 0 in local:
            return None
        if any(size % part for size, part in zip(whole, local, strict=True)):
            return None
        parts = prod(whole) // prod(local)
        return None if self._devices % parts else self._devices // parts


_REPLICATED: Final = Sharding("replicated", "replicated")


def _resize(shape: ArrayShape, dims: Dims | None) -> ArrayShape | None:
    return None if dims is None else replace(shape.without_layout(), dims=dims)


def list_axes(spec: Spec | None) -> tuple[Names, ...] | None:
    """Return the axes of each dimension, or strides; None where they are neither."""
    if spec is None or spec.device is not None or spec.manual > 1:
        return None
    if spec.axes is not None:
        return spec.axes
    return None if spec.dims is None else tuple(map(write_steps, spec.dims))


def _list_replicated_axes(spec: Spec | None) -> Names | None:
    if spec is None:
        return None
    if spec.replicated_axes is None and spec.replicated is not None:
        return write_steps(spec.replicated)
    return spec.replicated_axes


def _save(local_bytes: int | None, copies: int | None) -> int | None:
    if local_bytes is None or copies is None:
        return None
    return local_bytes - -(-local_bytes // copies)


def _add_up(
    rows: Sequence[ArrayRow], device_count: int | None, mesh: Mesh | None
) -> ShardingTotals:
    def sum_bytes(chosen: Iterable[ArrayRow]) -> int:
        return sum(row.local_bytes or 0 for row in chosen)

    unknown = sum(row.copies is None for row in rows)
    is_lower = any(row.local_bytes is None for row in rows)
    return ShardingTotals(
        device_count=device_count,
        mesh=tuple(f"{axis.name}={axis.size}" for axis in mesh.axes) if mesh else None,
        parameter_count=len(rows),
        local_bytes=sum_bytes(rows),
        replicated_bytes=sum_bytes(row for row in rows if (row.copies or 1) > 1),
        saves_bytes=sum(row.saves_bytes or 0 for row in rows),
        unknown_count=unknown,
        is_lower_bound=is_lower,
        is_replicated_lower_bound=is_lower or unknown > 0,
    )


PARAMETERS: Final = RowList(
    "parameters",
    ArrayRow,
    "arguments of the program, largest on a device first",
    sort="-local_bytes",
    size="local_bytes",
    title="parameters",
    screen="name,global_shape,spec_text,copies,local_bytes,saves_bytes",
    wide_screen="local_shape,replicated_over",
)
RESULTS: Final = replace(
    PARAMETERS, name="results", meaning="results of the program", title="results"
)
TOTALS: Final = Block("totals", ShardingTotals, "all parameters together")
SHARDINGS: Final = DocumentSpec(
    "shardings",
    "shardings of arguments and results, and causes of communication",
    blocks=(TOTALS,),
    row_lists=(PARAMETERS, RESULTS, RESHARDS, WHY),
)
