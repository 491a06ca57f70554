"""What does each fusion of a module cost?"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.cost import CostModel
from hlotool.analysis.fusions.flags import find_flags
from hlotool.analysis.graph.call_graph import CallGraph
from hlotool.analysis.graph.executions import Executions
from hlotool.analysis.graph.fingerprint import Fingerprints
from hlotool.analysis.graph.runs import count_runs
from hlotool.analysis.origin.origin import Origin, find_common_scope, find_origin
from hlotool.ir.module import Computation, Instruction
from hlotool.ir.opcodes import FREE


class FusionRow(Struct, frozen=True):
    """Fusions with equal bodies; figures of one execution of one of them, or of all per run.

    `known_*` take unknown trip counts as one. The name and what is said of its place are
    those of the first; `scope` is what all share, `members` names them all.
    """

    name: str
    count: int
    kind: str | None
    backend_kind: str | None
    root_opcode: str
    computation: str
    fused_computation: str
    instruction_count: int
    operand_bytes: int
    result_bytes: int
    bytes_accessed: int
    saved_bytes: int
    flops: int
    transcendentals: int
    flops_per_byte: float | None
    executions: int | None
    known_executions: int
    bytes_accessed_per_run: int | None
    known_bytes_accessed_per_run: int
    flops_per_run: int | None
    known_flops_per_run: int
    saved_bytes_per_run: int | None
    known_saved_bytes_per_run: int
    op_name: str | None
    scope: str | None
    source_file: str | None
    source_line: int | None
    flags: tuple[str, ...]
    is_conditional: bool
    is_lower_bound: bool
    members: tuple[str, ...]
    bound: str | None = None
    estimated_seconds: float | None = None


class FusionTotals(Struct, frozen=True):
    """All fusions of a module together."""

    fusion_count: int
    distinct_count: int
    flops_per_run: int
    bytes_accessed_per_run: int
    saved_bytes_per_run: int
    is_lower_bound: bool
    is_upper_bound: bool


class FusionReport(Struct, frozen=True):
    """Answer of `find_fusions`."""

    totals: FusionTotals
    rows: tuple[FusionRow, ...]


def find_fusions(
    graph: CallGraph, prints: Fingerprints, executions: Executions, costs: CostModel
) -> FusionReport:
    """List the fusions in executed computations, equal ones in one row.

    Two fusions are equal when their bodies have the same fingerprint, and they the same kind
    and backend kind. Bytes are those of shapes without tile padding. `bytes_accessed` is
    XLA's (an operand only sliced is read by its slices, a result updated in place is written
    by its update), `operand_bytes` and `result_bytes` are the whole of both, `saved_bytes`
    the results inside the body that reach no memory. Rows come in dump order.
    """
    groups: dict[tuple[str, str | None, str | None], list[Instruction]] = {}
    for computation in executions.executed:
        for instruction in computation.instructions:
            if instruction.opcode == "fusion" and instruction in graph.callees:
                body = graph.callees[instruction][0]
                key = (prints.of(body), find_kind(instruction), find_backend_kind(instruction))
                groups.setdefault(key, []).append(instruction)
    rows = tuple(_make_row(members, executions, costs) for members in groups.values())
    return FusionReport(_add_up(rows), rows)


def find_kind(fusion: Instruction) -> str | None:
    """Return `kind=` as printed, kLoop and its kin; None without one."""
    return fusion.attributes.get("kind")


def find_backend_kind(fusion: Instruction) -> str | None:
    """Return the emitter that the backend chose, None where the dump does not say.

    GPU prints it as `fusion_backend_config.kind` (`__triton_gemm`), CPU as
    `fusion_config.kind`.
    """
    if "kind" not in fusion.attributes.get("backend_config", ""):
        return None
    config = fusion.backend_config()
    for key in ("fusion_backend_config", "fusion_config"):
        kind = config.find(key, "kind") if config else None
        if isinstance(kind, str) and kind:
            return kind
    return None


def find_outputs(body: Computation) -> frozenset[Instruction]:
    """Return the instructions of a fused computation whose results reach memory.

    They are the root, or what its tuple holds; a bitcast's result is its operand's.
    """
    root = body.root
    outputs = set()
    for output in (root, *(root.operands if root.opcode == "tuple" else ())):
        found = output
        outputs.add(found)
        while found.opcode == "bitcast" and found.operands:
            found = found.operands[0]
            outputs.add(found)
    return frozenset(outputs)


def find_intermediates(body: Computation) -> list[Instruction]:
    """Return the instructions of a fused computation whose results reach no memory.

    What is `FREE` makes none, fused or not.
    """
    outputs = find_outputs(body)
    return [one for one in body.instructions if one.opcode not in FREE and one not in outputs]


def _make_row(members: list[Instruction], executions: Executions, costs: CostModel) -> FusionRow:
    """Make one row of fusions with equal bodies."""
    fusion = members[0]
    body = fusion.callees("calls")[0]
    cost = costs.of(fusion)
    saved = sum(costs.size_bytes(one.shape) for one in find_intermediates(body))
    runs = count_runs(members, executions)
    origin = _find_origin(members)
    return FusionRow(
        name=fusion.name,
        count=len(members),
        kind=find_kind(fusion),
        backend_kind=find_backend_kind(fusion),
        root_opcode=body.root.opcode,
        computation=fusion.computation.name,
        fused_computation=body.name,
        instruction_count=len(body.instructions),
        operand_bytes=sum(costs.size_bytes(one.shape) for one in dict.fromkeys(fusion.operands)),
        result_bytes=costs.size_bytes(fusion.shape),
        bytes_accessed=cost.bytes_accessed,
        saved_bytes=saved,
        flops=cost.flops,
        transcendentals=cost.transcendentals,
        flops_per_byte=cost.flops / cost.bytes_accessed if cost.bytes_accessed else None,
        executions=runs.exact,
        known_executions=runs.known,
        bytes_accessed_per_run=runs.times(cost.bytes_accessed),
        known_bytes_accessed_per_run=cost.bytes_accessed * runs.known,
        flops_per_run=runs.times(cost.flops),
        known_flops_per_run=cost.flops * runs.known,
        saved_bytes_per_run=runs.times(saved),
        known_saved_bytes_per_run=saved * runs.known,
        op_name=origin.op_name,
        scope=origin.scope,
        source_file=origin.source_file,
        source_line=origin.source_line,
        flags=find_flags(body),
        is_conditional=runs.is_conditional,
        is_lower_bound=cost.is_lower_bound,
        members=tuple(one.name for one in members),
    )


def _find_origin(members: list[Instruction]) -> Origin:
    """Return the first fusion's origin, with the scope that all have in common."""
    origins = [find_origin(one, reversed(one.callees("calls")[0].instructions)) for one in members]
    return replace(origins[0], scope=find_common_scope(one.scope for one in origins))


def _add_up(rows: tuple[FusionRow, ...]) -> FusionTotals:
    return FusionTotals(
        fusion_count=sum(row.count for row in rows),
        distinct_count=len(rows),
        flops_per_run=sum(row.known_flops_per_run for row in rows),
        bytes_accessed_per_run=sum(row.known_bytes_accessed_per_run for row in rows),
        saved_bytes_per_run=sum(row.known_saved_bytes_per_run for row in rows),
        is_lower_bound=any(row.executions is None or row.is_lower_bound for row in rows),
        is_upper_bound=any(row.is_conditional for row in rows),
    )
