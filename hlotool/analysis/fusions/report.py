"""What does each fusion of a module cost, and what does it save?"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.cost import CostModel
from hlotool.analysis.cost.products import list_flops, list_types
from hlotool.analysis.fusions.body import find_intermediates
from hlotool.analysis.fusions.flags import Flag, find_flags
from hlotool.analysis.fusions.kinds import find_backend_kind, find_kind
from hlotool.analysis.fusions.rows import FusionRow, FusionTotals, add_up_fusions
from hlotool.analysis.graph.backend import Backend, find_backend
from hlotool.analysis.graph.call_graph import CallGraph
from hlotool.analysis.graph.executions import Executions
from hlotool.analysis.graph.fingerprint import Fingerprints
from hlotool.analysis.graph.runs import count_runs
from hlotool.analysis.graph.space_names import find_space_name
from hlotool.analysis.origin.origin import Origin, find_common_scope, find_origin
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction


class FusionReport(Struct, frozen=True):
    """Answer of `find_fusions`."""

    totals: FusionTotals
    rows: tuple[FusionRow, ...]


def find_fusions(
    graph: CallGraph,
    prints: Fingerprints,
    executions: Executions,
    costs: CostModel,
    *,
    tells_places: bool = False,
) -> FusionReport:
    """List the fusions in executed computations, equal ones in one row.

    Two fusions are equal when their bodies have the same fingerprint, and they the same kind
    and backend kind. Bytes are those of shapes without tile padding. `bytes_accessed` is
    XLA's own (an operand only sliced is read by its slices, a result updated in place is written
    by its update), `memory_bytes` what crosses memory space 0 (see
    `memory_traffic`), `operand_bytes` and `result_bytes` are the whole of both, `saved_bytes`
    the results inside the body that reach no memory. If it `tells_places`, equal fusions that come
    from different places have rows of their own. A fusion that names no computation has a
    row of its own, a lower bound. Rows come in dump order.
    """
    groups: dict[object, list[Instruction]] = {}
    inside = _Bodies(costs)
    for computation in executions.executed:
        for instruction in computation.instructions:
            if instruction.opcode == "fusion":
                bodies = graph.callees.get(instruction)
                same = prints.of(bodies[0]) if bodies else instruction
                kinds = find_kind(instruction), find_backend_kind(instruction)
                place = _place(instruction, inside) if tells_places else None
                groups.setdefault((same, kinds, place), []).append(instruction)
    backend = find_backend(graph.callees_first[0].module)
    rows = tuple(
        _make_row(members, executions, costs, backend, inside) for members in groups.values()
    )
    return FusionReport(add_up_fusions(rows), rows)


class _Body(Struct, frozen=True):
    """What the instructions of a fused computation say of the fusions that call it."""

    saved_bytes: int
    flags: tuple[Flag, ...]


class _Bodies:
    """Looks at each fused computation once, however many fusions call it."""

    def __init__(self, costs: CostModel) -> None:
        self._costs = costs
        self._known: dict[Computation | None, _Body] = {None: _Body(0, ())}
        self._origins: dict[Computation | None, Origin] = {None: Origin()}

    def of(self, fusion: Instruction) -> _Body:
        """Return what the body of a fusion says."""
        body = fusion.callee()
        if body is not None and body not in self._known:
            saved = sum(self._costs.size_bytes(one.shape) for one in find_intermediates(body))
            self._known[body] = _Body(saved, find_flags(body))
        return self._known[body]

    def find_origin(self, fusion: Instruction) -> Origin:
        """Return where a fusion comes from; its body says what it does not say itself."""
        own = find_origin(fusion)
        if own.scope is not None and own.source_file is not None:
            return own
        body = fusion.callee()
        if body is not None and body not in self._origins:
            last, *others = reversed(body.instructions)
            self._origins[body] = find_origin(last, others)
        return _join_origins(own, self._origins[body])


def _make_row(
    members: list[Instruction],
    executions: Executions,
    costs: CostModel,
    backend: Backend | None,
    bodies: _Bodies,
) -> FusionRow:
    fusion = members[0]
    by_space = costs.memory_by_space(fusion)
    body = fusion.callee()
    inside = bodies.of(fusion)
    cost = costs.of(fusion)
    saved = inside.saved_bytes
    runs = count_runs(members, executions)
    origin = _find_origin(members, bodies)
    # Those of custom calls inside are not among the flops.
    products = () if cost.custom_call_flops else cost.products
    return FusionRow(
        name=fusion.full_name,
        count=len(members),
        kind=find_kind(fusion),
        backend_kind=find_backend_kind(fusion),
        root_opcode=body.root.opcode if body else None,
        computation=fusion.computation.name,
        fused_computation=body.name if body else None,
        instruction_count=len(body.instructions) if body else None,
        operand_bytes=costs.operand_bytes(fusion),
        result_bytes=costs.size_bytes(fusion.shape),
        memory_bytes=cost.memory_bytes,
        memory_bytes_by_space=by_space,
        space_names=tuple(
            find_space_name(backend, number) or f"space {number}" for number, _ in by_space
        ),
        bytes_accessed=cost.bytes_accessed,
        saved_bytes=saved,
        flops=cost.flops,
        product_types=list_types(products),
        product_flops=list_flops(products),
        transcendentals=cost.transcendentals,
        flops_per_byte=cost.flops / cost.memory_bytes if cost.memory_bytes else None,
        executions=runs.exact,
        known_executions=runs.known,
        memory_bytes_per_run=runs.times(cost.memory_bytes),
        known_memory_bytes_per_run=cost.memory_bytes * runs.known,
        bytes_accessed_per_run=runs.times(cost.bytes_accessed),
        known_bytes_accessed_per_run=cost.bytes_accessed * runs.known,
        flops_per_run=runs.times(cost.flops),
        known_flops_per_run=cost.flops * runs.known,
        saved_bytes_per_run=runs.times(saved),
        known_saved_bytes_per_run=saved * runs.known,
        flags=inside.flags,
        scope=origin.scope,
        op_name=origin.op_name,
        source_file=origin.source_file,
        source_line=origin.source_line,
        is_conditional=runs.is_conditional,
        is_lower_bound=cost.is_lower_bound,
        is_flops_lower_bound=cost.is_flops_lower_bound,
        members=tuple(one.full_name for one in members),
        stack_frame=origin.frame or None,
    )


def _place(fusion: Instruction, bodies: _Bodies) -> tuple[str, Origin]:
    """Say where a fusion stands, and where in the user's program it comes from."""
    return fusion.computation.name, bodies.find_origin(fusion)


def _find_origin(members: list[Instruction], bodies: _Bodies) -> Origin:
    """Return the first fusion's origin, with the scope that all have in common."""
    origins = [bodies.find_origin(one) for one in members]
    return replace(origins[0], scope=find_common_scope(one.scope for one in origins))


def _join_origins(own: Origin, inside: Origin) -> Origin:
    """Take from the body what a fusion does not say itself."""
    scope = own.scope or inside.scope
    if own.source_file is not None:
        return replace(own, scope=scope)
    return replace(inside, op_name=own.op_name, scope=scope)
