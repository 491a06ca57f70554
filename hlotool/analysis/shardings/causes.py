"""Why each collective is there: what it pays for, and from which spec to which a value goes.

The causes, and what proves each:

* `user`: JAX's own collectives (psum, ppermute), as in `shard_map`.
* `pipeline`: a permute inside a loop that hands on what a product of the loop made.
* `partial-sum`: it adds up what devices made of parts of a contracted or summed dimension.
* `replicated-gradient`: the same in the backward pass, of the gradient of a parameter, over an
  axis over which the parameter is replicated.
* `halo`: a permute of edges, as a convolution, a shift or a padding needs them of its neighbours.
* `involuntary`: the partitioner knew no way from one spec to another but to gather the value whole
  and to cut it. Only the text that the partitioner wrote proves it.
* `gathered-then-cut`: gathered, and nothing but a part of a device's own is used. The final text
  proves no more: a spec of the user's own between the two compiles to the same.
* `reshard`: from one spec to another, as the operation that uses it needs it.
* `unknown`: no text shows why.

Bytes are those of `collectives`. The specs come from the texts of passes, of parameters also from
the final text; null where no file says them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.collectives.mesh import MeshSource
from hlotool.analysis.collectives.report import find_outer
from hlotool.analysis.collectives.rows import Cause, CollectiveRow
from hlotool.analysis.collectives.transfers import Transfer
from hlotool.analysis.dataflow.flow import Flow
from hlotool.analysis.graph.calls import CallGraph
from hlotool.analysis.origin import write_short_source
from hlotool.analysis.shardings.cuts import CutFinder, find_placed
from hlotool.analysis.shardings.detour import find_detour
from hlotool.analysis.shardings.partitioned import Partitioned, Passage, is_constraint
from hlotool.analysis.shardings.report import ArrayRow, ShardingReport, list_axes
from hlotool.analysis.shardings.rows import MORE, ReshardRow
from hlotool.analysis.shardings.traced import Tracer
from hlotool.hlo import ArrayShape, Instruction, Mesh
from hlotool.hlo.groups import Order, Sharding
from hlotool.hlo.opcodes import MATRIX_PRODUCTS, MOVES
from hlotool.hlo.sharding import Names, Spec, find_spec, name_axes, name_steps


class SpecReader:
    """Reads the specs of values, and writes them; `find_mesh` is asked for names of axes once."""

    def __init__(self, device_count: int | None, find_mesh: MeshSource) -> None:
        self._device_count = device_count
        self._find_mesh = find_mesh

    @cached_property
    def mesh(self) -> Mesh | None:
        """The mesh that names axes."""
        return self._find_mesh()

    def read(self, sharding: Sharding | None, value: Instruction | None) -> Spec | None:
        """Return what a sharding of a value means; within groups of devices, for one group."""
        if sharding is None or value is None or not isinstance(value.shape, ArrayShape):
            return None
        return self.read_rank(sharding, len(value.shape.dims))

    def read_rank(self, sharding: Sharding, rank: int) -> Spec | None:
        """Return the same for an array of so many dimensions."""
        count = prod(sharding.tile_dims) if sharding.kind == "tiled" else self._device_count
        try:
            spec = find_spec(sharding, rank, count) if count else None
        except ValueError:
            return None
        return name_axes(spec, self.mesh) if spec and self.mesh else spec

    def write(self, spec: Spec | None) -> str | None:
        """Write a spec as users do, with the size of the groups if it is that of a group."""
        if spec is None:
            return None
        is_part = spec.device_count != self._device_count
        return f"{spec} in groups of {spec.device_count}" if is_part else str(spec)


class CauseEvidence(Struct, frozen=True):
    """What tells why collectives are there.

    `find_partitioned` reads the texts of passes, `find_arrays` says how the arrays lie that the
    program is given and returns; both are asked only where they are needed.
    """

    transfers: Sequence[Transfer]
    rows: Sequence[CollectiveRow]
    graph: CallGraph
    path: str  # of the final text
    find_partitioned: Callable[[], Partitioned]
    reader: SpecReader
    find_arrays: Callable[[], ShardingReport]


def explain_collectives(evidence: CauseEvidence) -> tuple[ReshardRow, ...]:
    """Return why each collective is there, in the order of the rows."""
    explainer = _Explainer(evidence)
    pairs = zip(evidence.transfers, evidence.rows, strict=True)
    return tuple(explainer.explain(transfer, row) for transfer, row in pairs)


SUMS: Final = frozenset(("partial-sum", "replicated-gradient"))  # causes that add parts up
_PERMUTES: Final = frozenset(("collective-permute", "send"))
_BACKWARD: Final = "transpose("
_PRODUCTS: Final = ("dot_general", "conv_general_dilated", "ragged_dot_general")
# Operations of JAX that need the edges of their neighbours' parts.
_WINDOWED: Final = (
    "concatenate", "conv", "cum", "dynamic_slice", "dynamic_update_slice", "pad", "reduce_window",
    "rev", "select_and", "slice", "split",
)  # fmt: skip
_VIEWS: Final = MOVES | {"bitcast", "convert", "get-tuple-element"}
_MOST_STEPS: Final = 64
_BY_USERS: Final = ("shard_map", "pmap(", "xmap")


class _Explainer:
    """Works out the causes of one module's collectives."""

    def __init__(self, evidence: CauseEvidence) -> None:
        self._evidence = evidence
        self._cuts = CutFinder()
        self._reader = evidence.reader

    @cached_property
    def _partitioned(self) -> Partitioned:
        return self._evidence.find_partitioned()

    @cached_property
    def _tracer(self) -> Tracer:
        module = self._evidence.transfers[0].collective.begin.module
        return Tracer(module, Flow(self._evidence.graph), self._evidence.find_arrays())

    @cached_property
    def _kept_shapes(self) -> frozenset[tuple[int, ...]]:
        """The shapes of parameters that have a new value: the next one, or the gradient.

        That is something of this shape that the program returns.
        """
        entry = self._evidence.transfers[0].collective.begin.module.entry
        given = {leaf.dims for one in entry.parameters for leaf in one.shape.leaves()}
        return frozenset(given & {leaf.dims for leaf in entry.root.shape.leaves()})

    @cached_property
    def _replicated(self) -> Mapping[tuple[int, ...], set[frozenset[str]]]:
        """Over which axes parameters are replicated, by the shapes of their parts."""
        found: dict[tuple[int, ...], set[frozenset[str]]] = {}
        for one in self._evidence.find_arrays().parameters:
            if (shape := _cut_shape(one)) is not None and one.replicated_over:
                found.setdefault(shape, set()).add(frozenset(one.replicated_over))
        return found

    @cached_property
    def _loop_bodies(self) -> frozenset[object]:
        callers = self._evidence.graph.callers.items()
        return frozenset(
            body for body, ones in callers if any(one.opcode == "while" for one in ones)
        )

    def explain(self, transfer: Transfer, row: CollectiveRow) -> ReshardRow:
        """Return why one collective is there."""
        source = _find_source(transfer)
        traced = [self._tracer.find(one.operand) for one in transfer.parts if one.operand]
        given = (one.argument.name for one in traced if one and one.argument)
        arguments = tuple(dict.fromkeys(filter(None, given)))
        is_user = row.inserted_by == "user"
        passage = None if is_user else self._partitioned.find(transfer.collective.operation)
        cause = self._find_cause(transfer, row, passage)
        begin, end = (passage.begin, passage.end) if passage else (None, None)
        value = passage.value if passage else source
        is_sum = cause in SUMS
        before = None if is_sum else self._reader.read(begin, value)
        after = self._reader.read(end, value)
        if before is None and not is_sum and len({one and one.spec for one in traced}) == 1:
            before = traced[0].spec if traced[0] else None
        if before is not None and row.kind == "all-gather" and cause not in SUMS | {"involuntary"}:
            after = _gather(before, row.axes or (), transfer.groups.find_steps()) or after
        needed_by = passage.needed_by if passage else None
        if cause == "reshard" and before == after:
            before = after = None  # one of both is not that of what is moved
        name = (row.op_name or _name_product(source)) if is_sum else None
        location = needed_by.source_location() if needed_by and not is_sum else None
        constraint = None
        if needed_by and end and self._partitioned.is_before(needed_by):
            way = self._partitioned.find_annotation(needed_by, end)
            constraint = way[-1] if way and is_constraint(way[-1]) else None
        place = constraint.source_location() if constraint else None
        via, via_bytes = self._find_detour(passage, before, after)
        return ReshardRow(
            collective=row.name,
            kind=row.kind,
            cause=cause,
            axes=row.axes,
            value=_name_all(
                name or _name_value(value) or next(iter(arguments), None),
                1 if row.kind == "all-to-all" else len(transfer.parts),  # parts of one value
            ),
            arguments=arguments,
            from_spec=list_axes(before),
            from_text=self._reader.write(before),
            to_spec=list_axes(after),
            to_text=self._reader.write(after),
            via_text=via,
            via_sent_bytes_per_step=(
                None if via_bytes is None or row.executions is None else via_bytes * row.executions
            ),
            needed_by=(needed_by.metadata().op_name if needed_by else None) or row.op_name,
            sent_bytes_per_step=row.sent_bytes_per_step,
            known_sent_bytes_per_step=row.known_sent_bytes_per_step,
            source=write_short_source(location.file, location.line) if location else row.source,
            constraint=write_short_source(place.file, place.line) if place else None,
            operation=row.operation,
            is_upper_bound=row.is_upper_bound,
            is_conditional=row.is_conditional,
            spec_from=(self._partitioned.texts.path if passage else self._evidence.path)
            if before or after
            else None,
        )

    def _find_cause(self, transfer: Transfer, row: CollectiveRow, passage: Passage | None) -> Cause:
        operation = transfer.collective.operation
        opcode = operation.opcode.removesuffix("-start")
        if row.inserted_by == "user":
            return "pipeline" if self._is_pipeline(operation) else "user"
        if passage and passage.is_involuntary:
            return "involuntary"
        is_placed = opcode == "all-reduce" and (
            passage.summed is None if passage else find_placed(operation)
        )
        if opcode == "all-gather" or is_placed:
            results = [transfer.collective.done or transfer.collective.begin]
            if all(self._cuts.is_only_cut(one) for one in results):
                return "gathered-then-cut"
        if passage is None and row.inserted_by is None and not _is_under_jit(transfer):
            return "unknown"
        if opcode in {"all-reduce", "reduce-scatter"} and not is_placed:
            return "replicated-gradient" if self._is_gradient(transfer, row) else "partial-sum"
        primitive = (row.op_name or "").rpartition("/")[2]
        is_shift = opcode in _PERMUTES and _is_shift(transfer)
        if is_shift and primitive in _PRODUCTS and _is_made_by_product(operation):
            return "partial-sum"  # handed round, each device adding its part
        if is_shift and primitive.startswith(_WINDOWED):
            return "pipeline" if self._is_pipeline(operation) else "halo"
        return "reshard"

    def _is_pipeline(self, operation: Instruction) -> bool:
        """Whether a permute in a loop hands on what a product of the loop made."""
        if operation.opcode.removesuffix("-start") not in _PERMUTES:
            return False
        return operation.computation in self._loop_bodies and _is_made_by_product(operation)

    def _is_gradient(self, transfer: Transfer, row: CollectiveRow) -> bool:
        """Whether it adds up gradients of parameters that are replicated over its axes."""
        if _BACKWARD not in (row.op_name or ""):
            return False
        shapes = [one.shape.dims for one in transfer.parts if one.shape.dims in self._kept_shapes]
        steps = transfer.groups.find_steps() if shapes and not transfer.groups.problem else None
        names = name_steps(steps, self._reader.mesh) if steps and self._reader.mesh else None
        over = set(names or row.axes or ())
        return bool(over) and any(
            over <= axes for shape in shapes for axes in self._replicated.get(shape, ())
        )

    def _find_detour(
        self, passage: Passage | None, begin: Spec | None, end: Spec | None
    ) -> tuple[str, int] | tuple[None, None]:
        """Return the specs between two by which a value need not be gathered, and their bytes.

        Only what was seen to hold: parts are even, and at most half of the bytes are left.
        """
        mesh = self._reader.mesh
        if passage is None or not passage.is_involuntary:
            return None, None
        whole = self._partitioned.find_operation(passage.value)
        if whole is None or not isinstance(whole.shape, ArrayShape) or 0 in whole.shape.dims:
            return None, None
        if not (begin and end and begin.axes and end.axes and mesh and whole.shape.unpadded_bytes):
            return None, None
        dims, size = whole.shape.dims, whole.shape.unpadded_bytes
        sizes = {axis.name: axis.size for axis in mesh.axes}
        if any(name not in sizes for axes in (*begin.axes, *end.axes) for name in axes):
            return None, None  # a part of an axis
        found = find_detour(begin.axes, end.axes, sizes, dims, size // prod(dims))
        if found is None or found[1] * 2 > size - size // prod(begin.parts):
            return None, None
        way, sent = found
        return " → ".join(str(Spec(1, (), 1, axes=axes)) for axes in way), sent


def _name_all(first: str | None, count: int) -> str | None:
    """Say how many values are moved with the first."""
    return f"{first}{MORE}{count - 1} more" if first and count > 1 else first


def _name_value(one: Instruction | None) -> str | None:
    """Return the op_name of a value; of an argument without one its name in the text."""
    if one is None:
        return None
    is_given = one.opcode == "parameter" and one.computation is one.module.entry
    return one.metadata().op_name or (one.name if is_given else None)


def _gather(spec: Spec, axes: Names, steps: Order | None) -> Spec | None:
    """Return a spec without some axes, or without some steps; None where these are none of it.

    What the partitioner writes at a gathered value may hold for a group of devices alone.
    """
    if spec.axes is not None and set(axes) <= {name for names in spec.axes for name in names}:
        kept = tuple(tuple(name for name in names if name not in axes) for names in spec.axes)
        return replace(spec, axes=kept, dims=None)
    if spec.dims is None or not steps or spec.axes is not None:
        return None
    if not set(steps) <= {step for each in spec.dims for step in each}:
        return None
    dims = tuple(tuple(step for step in each if step not in steps) for each in spec.dims)
    parts = tuple(prod(size for size, _ in each) for each in dims)
    return replace(spec, dims=dims, parts=parts, replicated=None)


def _cut_shape(row: ArrayRow) -> tuple[int, ...] | None:
    """Return the sizes of the part of an array that a device holds."""
    if row.local_shape is None:
        return None
    inside = row.local_shape.partition("[")[2].partition("]")[0]
    return tuple(int(size) for size in inside.split(",") if size)


def _find_source(transfer: Transfer) -> Instruction | None:
    """Return what a collective moves, before it was copied or converted."""
    first = transfer.parts[0].operand if transfer.parts else None
    one = find_outer(first, transfer.collective.begin)
    for _ in range(_MOST_STEPS):
        if one is None or one.opcode not in _VIEWS or not one.operands:
            break
        one = one.operands[0]
    return one


def _is_under_jit(transfer: Transfer) -> bool:
    """Whether a collective of no op_name works for a line of jit, outside of shard_map and pmap.

    There the user has no collectives, so it can only be the partitioner's.
    """
    source = _find_source(transfer)
    around = [*transfer.collective.members, *transfer.collective.begin.users]
    around += [each for one in (transfer.collective.done,) if one for each in one.users]
    if source is not None:
        around += [source, *source.operands]
    names = [name for one in around if (name := one.metadata().op_name)]
    is_jit = any(name.startswith("jit(") for name in names)
    return is_jit and not any(mark in name for name in names for mark in _BY_USERS)


def _name_product(made: Instruction | None) -> str | None:
    """Return the op_name of the product that makes a value."""
    pending = [made] if made is not None else []
    for one in pending:
        if _is_product(one):
            return one.metadata().op_name or None
        pending += [each for each in one.operands if each not in pending]
        if len(pending) > _MOST_STEPS:
            break
    return None


def _is_made_by_product(operation: Instruction) -> bool:
    """Whether a product of the same computation makes what is sent, in this round or the last."""
    body = operation.computation
    pending, seen = list(operation.operands), set(operation.operands)
    for one in pending:
        if _is_product(one):
            return True
        before = one.operands
        if one.opcode == "get-tuple-element" and before and before[0].opcode == "parameter":
            last = body.root.operands
            before = (last[one.tuple_index],) if one.tuple_index < len(last) else ()
        pending += [each for each in before if each not in seen]
        seen.update(before)
    return False


def _is_product(one: Instruction) -> bool:
    if one.opcode in MATRIX_PRODUCTS or one.metadata().op_name.rpartition("/")[2] in _PRODUCTS:
        return True
    body = one.callee() if one.opcode == "fusion" else None
    return body is not None and any(each.opcode in MATRIX_PRODUCTS for each in body.instructions)


def _is_shift(transfer: Transfer) -> bool:
    """Whether a permute hands edges to neighbours, instead of laying devices out anew.

    Another order of the devices leaves some in their place, and what each sends another takes.
    """
    pairs = None if transfer.groups.problem else transfer.groups.expand_pairs()
    if not pairs:
        return False
    sources, targets = ({pair[at] for pair in pairs} for at in (0, 1))
    stays = any(source == target for source, target in pairs)
    universe = transfer.groups.num_partitions * transfer.groups.replica_count
    return sources != targets or (not stays and len(sources) == universe)
