"""Causes in the user's arrays: the mesh, how they are sharded, their global sizes, constants.

Somebody wrote these, and all that a device computes follows from them: the part of an array that a
device holds is no reason where its global size and its spec are known. Arrays are those of the
entry, by name; constraints and constants stand in the texts that XLA was given.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.shardings.report import ArrayRow, Placement, ShardingReport
from hlotool.analysis.shardings.witness import ask_module, find_constraints
from hlotool.compare.causes.cause import Cause, Claim, Evidence, fold_scope, list_sources
from hlotool.compare.causes.memory import MAKE_NOTHING
from hlotool.compare.changes.reasons import list_other_sizes, pair_arrays
from hlotool.hlo import Instruction, Mesh, Module
from hlotool.hlo.sharding import Spec
from hlotool.table.words import count_noun, list_some

_MOST_NAMED: Final = 2


_Side: TypeAlias = tuple[Sequence[ArrayRow], Sequence[Placement]]


class _Arrays(Struct, frozen=True):
    """One array of the program on both sides."""

    name: str
    old: ArrayRow
    new: ArrayRow
    specs: tuple[Spec | None, Spec | None]

    @property
    def delta_bytes(self) -> int:
        """By how much the part that a device holds is larger, 0 where that is unknown."""
        sizes = self.old.local_bytes, self.new.local_bytes
        return 0 if None in sizes else (sizes[1] or 0) - (sizes[0] or 0)


def _pair(old: _Side, new: _Side) -> list[_Arrays]:
    """Pair arrays of one name."""
    there = {row.name: (row, placed.spec) for row, placed in zip(*new, strict=True)}
    return [
        _Arrays(row.name, row, other, (placed.spec, spec))
        for row, placed in zip(*old, strict=True)
        if row.name and row.name in there
        for other, spec in (there[row.name],)
    ]


def find_arrays(evidence: Evidence) -> Iterator[Claim]:
    """Yield another mesh, what is sharded otherwise, and what is of another size."""
    found = list(_find_shardings(evidence))
    pairs = evidence.reasoner.changed
    cut = [
        one
        for pair in (pairs if found else ())
        if any(a.dims != b.dims for a, b in pair_arrays(pair[0].shape, pair[1].shape))
        for one in pair
    ]
    yield from (Claim(cause, cut) for cause in found)
    yield from _find_dimensions(evidence, is_cut_otherwise=bool(found))


def _find_shardings(evidence: Evidence) -> Iterator[Cause]:
    """Yield another mesh, and what is sharded otherwise.

    Of parameters and results sharded alike before and alike now, one cause; results only where
    nothing else is sharded otherwise, as XLA may choose for them. Bytes are those of parameters on
    a device.
    """
    old, new = evidence.shardings
    parameters = _pair(
        (old.parameters, old.placed_parameters), (new.parameters, new.placed_parameters)
    )
    found = list(_find_mesh(evidence, parameters))
    chosen = _list_chosen(evidence)
    found += _find_specs([pair for pair in parameters if pair.name not in chosen])
    found += _find_constraints(evidence)
    # Results are told by their places: of other ones, a place says nothing.
    if not found and _shape(old.results) == _shape(new.results):
        results = _pair((old.results, old.placed_results), (new.results, new.placed_results))
        found += _find_specs(results)
    yield from found


def _shape(rows: Iterable[ArrayRow]) -> list[tuple[str | None, str | None]]:
    return [(row.name, row.global_shape) for row in rows]


def _find_mesh(evidence: Evidence, parameters: Iterable[_Arrays]) -> Iterator[Cause]:
    """Yield another mesh, or another number of devices; `count` are parameters of other parts."""
    meshes = [report.mesh for report in evidence.shardings]
    counts = [module.header.device_count for module in evidence.modules]
    has_other_mesh = None not in meshes and meshes[0] != meshes[1]
    if not has_other_mesh and (None in counts or counts[0] == counts[1]):
        return
    is_reordered = has_other_mesh and len({mesh.axes for mesh in meshes if mesh}) == 1
    texts = [
        count_noun(str(count), "device")
        if mesh is None
        else write_mesh(mesh, with_devices=is_reordered)
        for mesh, count in zip(meshes, counts, strict=True)
    ]
    count = sum(pair.old.local_shape != pair.new.local_shape for pair in parameters) or None
    delta = sum(pair.delta_bytes for pair in parameters)
    yield Cause("mesh", count, None, None, texts[0], texts[1], "parameters", delta)


def write_mesh(mesh: Mesh, *, with_devices: bool) -> str:
    """Write the axes of a mesh with their sizes, and the order of its devices."""
    axes = " × ".join(f"{axis.name}={axis.size}" for axis in mesh.axes)
    if not with_devices:
        return axes
    return f"{axes} in the order {list_some(list(map(str, mesh.devices())), 8)}"


def _list_chosen(evidence: Evidence) -> frozenset[str]:
    """Return the parameters of which the user says on neither side how they are sharded."""
    inputs = evidence.inputs
    if not inputs.is_whole:
        return frozenset()
    free = [
        {
            one.metadata().op_name
            for one, told in zip(module.entry.parameters, witness.parameters, strict=False)
            if not told.shardings
        }
        for module in (program.expect_module() for program in inputs.programs)
        for witness in (ask_module(module, ""),)
        if len(witness.parameters) == len(module.entry.parameters)
    ]
    return frozenset.intersection(*map(frozenset, free)) if len(free) > 1 else frozenset()


def _find_specs(pairs: Iterable[_Arrays]) -> Iterator[Cause]:
    """Yield one cause for the arrays of each change of specs, the most bytes first."""
    changes: defaultdict[tuple[str, str], list[_Arrays]] = defaultdict(list)
    for pair in pairs:
        change = _compare_specs(*pair.specs)
        if change is not None:
            changes[change].append(pair)
    for (old, new), alike in changes.items():
        alike.sort(key=lambda pair: -(pair.new.local_bytes or 0))
        names = list_some([pair.name for pair in alike], _MOST_NAMED)
        delta = sum(pair.delta_bytes for pair in alike)
        yield Cause("sharding", len(alike), names, None, old, new, "parameters", delta)


def _compare_specs(old: Spec | None, new: Spec | None) -> tuple[str, str] | None:
    """Return two specs as text, None where they are the same or one is unknown.

    By names of axes where both have them: what lies otherwise by the same names does so because
    the mesh is another. Without names, of other numbers of devices nothing is said.
    """
    if old is None or new is None or old.is_equivalent_to(new):
        return None
    if len(old.parts) != len(new.parts):  # another array of that name
        return None
    if old.axes is None or new.axes is None:
        if old.device_count != new.device_count:
            return None
        old, new = replace(old, axes=None), replace(new, axes=None)
    return None if str(old) == str(new) else (str(old), str(new))


def _find_constraints(evidence: Evidence) -> Iterator[Cause]:
    """Yield, of each scope, the constraints in it that are gone, and those that are new.

    Each is as often there as the backward pass repeats it: only which there are is compared.
    """
    if not evidence.inputs.is_whole:
        return
    modules = [program.expect_module() for program in evidence.inputs.programs]
    old, new = (_list_constraints(module) for module in modules)
    if len({one.header.device_count for one in modules}) > 1 and not _are_named(old, new):
        return
    shared = {"", *(evidence.scopes[0] & evidence.scopes[1])}
    for scope in sorted((old.keys() | new.keys()) & shared):
        gone, come = (
            {spec: found for spec, found in some.items() if spec not in other}
            for some, other in ((old[scope], new[scope]), (new[scope], old[scope]))
        )
        if gone or come:
            specs = [list_some(sorted(each), _MOST_NAMED) or None for each in (gone, come)]
            count = max(sum(map(len, each.values())) for each in (gone, come))
            source = list_sources(one for found in (come or gone).values() for one in found)
            what = count, None, scope or None, specs[0], specs[1]
            yield Cause("constraint", *what, source=source)


_Constraints: TypeAlias = Mapping[str, Mapping[str, Sequence[Instruction]]]


def _list_constraints(module: Module) -> _Constraints:
    """List constraints by scope and spec, copies that the backward pass makes included."""
    found: defaultdict[str, defaultdict[str, list[Instruction]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for one, spec in find_constraints(module):
        found[fold_scope(one)][str(spec)].append(one)
    return found


def _are_named(*sides: _Constraints) -> bool:
    return not any(
        text.startswith("[") for side in sides for each in side.values() for text in each
    )


_Sizes: TypeAlias = tuple[int, int]  # of a dimension on the old side, on the new side


class _Change(Struct, frozen=True):
    """Another size of a dimension: that of the array, or of a device's part of it."""

    sizes: _Sizes
    is_global: bool


def _find_dimensions(evidence: Evidence, *, is_cut_otherwise: bool) -> Iterator[Claim]:
    """Yield each change of a dimension's size that parameters of the entry have.

    That is the global size; where no file says it, that of a device's part. `count` are the arrays
    that counterparts make, fused ones aside, in which a dimension has grown by the same factor;
    bytes those of all their runs. Where the mesh or a sharding is another, nobody can tell which
    did, and none are counted. `subject` names the parameters. Nothing is said where one side has
    more of them, as a model has whose layers are unrolled.
    """
    here, there = (module.entry.parameters for module in evidence.modules)
    if len(here) != len(there):
        return  # stacked on one side, apart on the other: those that are counterparts say nothing
    placed = [_list_placements(report) for report in evidence.shardings]
    inputs: dict[_Change, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    local: dict[_Change, set[_Sizes]] = defaultdict(set)
    for one in here:
        other = evidence.reasoner.pairs.get(one)
        if other is None or other.opcode != "parameter":
            continue
        arrays = placed[0][one.parameter_number], placed[1][other.parameter_number]
        for old, new in zip(*arrays, strict=True) if len(arrays[0]) == len(arrays[1]) else ():
            for axis, change, part in _list_placed(old, new, is_cut_otherwise=is_cut_otherwise):
                inputs[change][one.metadata().op_name or one.name].append(axis)
                local[change].add(part)
    factors = [each for parts in local.values() for each in set(map(_factor, parts))]
    results = list(_list_results(evidence)) if inputs and not is_cut_otherwise else []
    for change, found in inputs.items():
        parts = local[change]
        own = {each for each in map(_factor, parts) if factors.count(each) == 1}
        followed = [
            (delta, one)
            for changed, delta, one in results
            if not parts.isdisjoint(changed) or not own.isdisjoint(map(_factor, changed))
        ]
        axes = {axis for each in found.values() for axis in each}
        title = f"dimension {axes.pop()}" if len(axes) == 1 else "a dimension"
        whose = "" if change.is_global else "a device's part of "
        work = evidence.metrics.get("cost.matrix_flops_per_step")
        if not change.is_global and work and work.old and not work.delta:
            # A larger weight would take more flops: it is cut into fewer parts.
            size = [f"in parts of {size}" for size in change.sizes]
            names = list_some(list(found))
            yield Claim(Cause("sharding", len(found), names, None, size[0], size[1]))
            continue
        subject = f"{title} of {whose}{list_some(list(found))}"
        before, after = map(str, change.sizes)
        cause = Cause("dimension", len(followed) or None, subject, None, before, after)
        if followed:
            delta = sum(each for each, _ in followed)
            cause = replace(cause, measure="results", delta_bytes=delta)
        yield Claim(cause, [one for _, one in followed])


def _list_placements(report: ShardingReport) -> defaultdict[int, list[Placement]]:
    """Return where the arrays of each parameter lie, by its number."""
    found: defaultdict[int, list[Placement]] = defaultdict(list)
    for row, placed in zip(report.parameters, report.placed_parameters, strict=True):
        found[row.number].append(placed)
    return found


def _list_placed(
    old: Placement, new: Placement, *, is_cut_otherwise: bool
) -> Iterator[tuple[int, _Change, _Sizes]]:
    """Yield each dimension of another size, the change, and that of a device's part."""
    parts = list_other_sizes(old.local_dims or (), new.local_dims or ())
    if old.global_dims is None or new.global_dims is None:
        for axis, a, b in () if is_cut_otherwise else parts:
            yield axis, _Change((a, b), is_global=False), (a, b)
        return
    of_axis = {axis: (a, b) for axis, a, b in parts}
    for axis, a, b in list_other_sizes(old.global_dims, new.global_dims):
        yield axis, _Change((a, b), is_global=True), of_axis.get(axis, (a, b))


def _list_results(evidence: Evidence) -> Iterator[tuple[list[_Sizes], int, Instruction]]:
    """Yield which dimensions changed of each array, by how many bytes, and what makes it."""
    executions = evidence.old.executions, evidence.new.executions
    for one, other in evidence.reasoner.changed:
        # The done of an asynchronous operation hands on what its start made: it counts once.
        if other.opcode in MAKE_NOTHING or other.opcode.endswith("-done"):
            continue
        before = executions[0].lower_bound(one.computation)
        now = executions[1].lower_bound(other.computation)
        for old, new in pair_arrays(one.shape, other.shape) if before and now else ():
            changed = [(a, b) for _, a, b in list_other_sizes(old.dims, new.dims)]
            if changed:
                more = (new.size_bytes or 0) * now - (old.size_bytes or 0) * before
                yield changed, more, other


def _factor(sizes: _Sizes) -> Fraction:
    return Fraction(sizes[1], sizes[0])
