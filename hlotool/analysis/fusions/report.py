"""The costs of the fusions and custom calls of a module, and of what is in one: `hlotool fusions`.

Fusions with equal bodies share a row. What a fusion saves are the results inside its body that
reach no memory: all but its root, or what the root's tuple holds, behind bitcasts. Times are
estimates at a chip's peaks, and what a profile measured; the two never mix in one column.

A custom call may compute anything, and its text says nothing of it. What tells its flops and its
traffic (`CostSource`) is a cost estimate in the call, the computation it offloads, or a rule of the
user; figures of calls that nothing tells are None, and `known_*` leave them out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from hlotool.analysis.cost.arithmetic import find_offloaded
from hlotool.analysis.cost.chips import Chip, list_unstated, weigh_flops
from hlotool.analysis.cost.cost import (
    add_typed_flops,
    list_flops,
    list_types,
    pair_types,
    repeat_typed_flops,
)
from hlotool.analysis.cost.custom_calls import CostSource, CustomCall
from hlotool.analysis.cost.model import CostModel, CostReport
from hlotool.analysis.cost.traffic import MAIN_SPACE, VMEM
from hlotool.analysis.fusions.rows import (
    BodyRole,
    BodyRow,
    Bound,
    CustomCallRow,
    CustomCallTotals,
    FusionRow,
    FusionTotals,
    OutsideFusions,
    find_backend_kind,
    find_kind,
    flag_body,
)
from hlotool.analysis.graph.backend import Backend, find_backend, find_space_name
from hlotool.analysis.graph.executions import Executions, Runs, count_runs
from hlotool.analysis.measured import MeasuredInstruction, join_times
from hlotool.analysis.origin import Origin, find_telling, read_origin, share_origin
from hlotool.errors import UsageError
from hlotool.hlo import Computation, Instruction, Module
from hlotool.hlo.opcodes import ASYNC_DONES, ASYNC_STARTS, FREE, LATER_STEPS
from hlotool.hlo.shape import sum_known
from hlotool.hlo.values import Measurement

if TYPE_CHECKING:
    from hlotool.analysis.graph.equality import Fingerprints

Located: TypeAlias = tuple[Instruction, Origin]  # an operation, and where it comes from
_GIVEN: Final[Mapping[str, BodyRole]] = {"parameter": "operand", "constant": "constant"}
# What is started has no result before it is done.
_MAKES_NONE = FREE | ASYNC_STARTS | (LATER_STEPS - ASYNC_DONES)


class FusionReport(Struct, frozen=True):
    """Answer of `list_fusions`."""

    totals: FusionTotals
    rows: tuple[FusionRow, ...]


def list_fusions(
    prints: Fingerprints, costs: CostModel, *, tells_places: bool = False
) -> FusionReport:
    """List the fusions in executed computations, equal ones in one row.

    Two fusions are equal when their bodies have the same fingerprint, and they the same kind
    and backend kind. Bytes are those of shapes without tile padding. `bytes_accessed` is
    XLA's own (an operand only sliced is read by its slices, a result updated in place is written
    by its update), `traffic_bytes` what crosses memory space 0 (see
    `memory_traffic`), `operand_bytes` and `result_bytes` are the whole of both, `on_chip_bytes`
    the results inside the body that reach no memory. If it `tells_places`, equal fusions that come
    from different places have rows of their own. A fusion that names no computation has a
    row of its own, a lower bound. Rows come in dump order.
    """
    groups: defaultdict[object, list[Located]] = defaultdict(list)
    telling: dict[Computation, tuple[Instruction, ...]] = {}
    for computation in costs.executions.executed:
        for instruction in computation.instructions:
            if instruction.opcode == "fusion":
                origin = read_origin(instruction, _list_telling(instruction.callee(), telling))
                bodies = costs.graph.callees.get(instruction)
                same = prints.of(bodies[0]) if bodies else instruction
                kinds = find_kind(instruction), find_backend_kind(instruction)
                place = (computation.name, origin) if tells_places else None
                groups[same, kinds, place].append((instruction, origin))
    module = costs.graph.callees_first[0].module
    backend = find_backend(module)
    rows = tuple(_make_row(each, costs, backend) for each in groups.values())
    return FusionReport(add_up_fusions(rows, is_part=module.source.is_fragment), rows)


def _list_telling(
    body: Computation | None, known: dict[Computation, tuple[Instruction, ...]]
) -> Iterator[Instruction]:
    """Yield what in a body tells where it comes from; looked for once, as many may share it."""
    if body is not None:
        if body not in known:
            known[body] = find_telling(reversed(body.instructions))
        yield from known[body]


def _make_row(found: list[Located], costs: CostModel, backend: Backend | None) -> FusionRow:
    fusion = found[0][0]
    body, cost, by_space = fusion.callee(), costs.of(fusion), costs.memory_by_space(fusion)
    runs = count_runs((one for one, _ in found), costs.executions)
    roles = _assign_roles(body) if body else {}
    saved = sum(costs.size_bytes(one.shape) for one, role in roles.items() if role == "on chip")
    # Those of custom calls inside are not among the flops.
    products = () if cost.custom_call_flops else cost.products
    return FusionRow(
        **describe_alike(found, costs),
        kind=find_kind(fusion),
        backend_kind=find_backend_kind(fusion),
        root_opcode=body.root.opcode if body else None,
        fused_computation=body.name if body else None,
        instruction_count=len(body.instructions) if body else None,
        traffic_bytes_by_space=by_space,
        space_names=tuple(
            find_space_name(backend, number) or f"space {number}" for number, _ in by_space
        ),
        padded_traffic_bytes=cost.padded_bytes,
        matrix_flops=cost.matrix_flops,
        product_types=list_types(products),
        product_flops=list_flops(products),
        arithmetic_intensity=cost.flops / cost.traffic_bytes if cost.traffic_bytes else None,
        **runs.spread("flops", cost.flops),
        on_chip_bytes=saved,
        **runs.spread("on_chip_bytes", saved),
        flags=flag_body(body) if body else (),
        is_lower_bound=cost.is_lower_bound,
        is_flops_lower_bound=cost.is_flops_lower_bound,
    )


def describe_alike(found: Sequence[Located], costs: CostModel) -> dict[str, Any]:
    """Return what a row says of any equal operations: their place, sizes, runs and traffic.

    The name and the sizes are those of the first, the scope is what all share.
    """
    members = [one for one, _ in found]
    first, cost = members[0], costs.of(members[0])
    runs = count_runs(members, costs.executions)
    return {
        "name": first.full_name,
        "count": len(members),
        "computation": first.computation.name,
        "operand_bytes": costs.operand_bytes(first),
        "result_bytes": costs.size_bytes(first.shape),
        "flops": cost.flops,
        "transcendentals": cost.transcendentals,
        **runs.figures(),
        "members": tuple(one.full_name for one in members),
        "traffic_bytes": cost.traffic_bytes,
        **runs.spread("traffic_bytes", cost.traffic_bytes),
        "bytes_accessed": cost.bytes_accessed,
        **runs.spread("bytes_accessed", cost.bytes_accessed),
        **asdict(share_origin([origin for _, origin in found])),
    }


def _assign_roles(body: Computation) -> dict[Instruction, BodyRole]:
    """Say of the instructions of a fused computation what becomes of their results.

    The root, or what its tuple holds, reaches memory; a bitcast's result is its operand's. What is
    `FREE` makes none, fused or not; of asynchronous steps the last makes the result.
    """
    root = body.root
    outputs: set[Instruction] = set()
    for output in (root, *(root.operands if root.opcode == "tuple" else ())):
        found = output
        while found not in outputs:
            outputs.add(found)
            if found.opcode == "bitcast" and found.operands:
                found = found.operands[0]
    roles: dict[Instruction, BodyRole] = {}
    for one in body.instructions:
        roles[one] = "alias"
        if one.opcode in _GIVEN:
            roles[one] = _GIVEN[one.opcode]
        elif one in outputs and one.opcode != "tuple":
            roles[one] = "result"
        elif one not in outputs and one.opcode not in _MAKES_NONE:
            roles[one] = "on chip"
    return roles


_NAMED: Final = 3  # fusions named where several could be meant


def expand_fusion(name: str, module: Module, costs: CostModel) -> tuple[BodyRow, ...]:
    """List the body of the fusion that `expect_fusion` finds, in dump order.

    An operand's `bytes_accessed` is what the fusion reads of it: its slices where it is only
    sliced. Names are those of the text. Raises UsageError when there is no such fusion.
    """
    fusion = expect_fusion(name, module)
    body = fusion.callees("calls")[0]
    touched: Counter[Instruction] = Counter()  # traffic by the instruction that causes it
    if (traffic := costs.fusion_traffic(fusion)) is not None:
        for instruction, size in (*traffic.operands, *traffic.constants, *traffic.results):
            touched[instruction] += size
    rows = []
    for one, role in _assign_roles(body).items():
        cost, size = costs.of(one), costs.size_bytes(one.shape)
        rows.append(
            BodyRow(
                name=one.name,
                opcode=one.opcode,
                shape=str(one.shape),
                operands=tuple(operand.name for operand in one.operands),
                role=role,
                result_bytes=size,
                bytes_accessed=touched[one],
                on_chip_bytes=size if role == "on chip" else 0,
                flops=cost.flops,
                transcendentals=cost.transcendentals,
                **asdict(read_origin(one)),
            )
        )
    return tuple(rows)


def expect_fusion(name: str, module: Module) -> Instruction:
    """Return the fusion of this full name, else the first that calls a computation of this name.

    An asynchronous fusion has the name of its start, too. Raises UsageError when there is no
    such fusion.
    """
    wanted = name.removeprefix("%")
    fusions = [
        one for one in module.instructions() if one.opcode == "fusion" and one.callees("calls")
    ]
    named = [one for one in fusions if one.full_name == wanted]
    named = named or [one for one in fusions if one.callees("calls")[0].name == wanted]
    if named:
        return named[0]
    if (found := module.find_instruction(wanted)) is not None:
        callee = found.callee() if found.opcode == "async-start" else None
        if callee and callee.root in fusions:
            return callee.root
        if found.opcode == "fusion":
            raise UsageError(f"--body: {wanted!r} names no computation.")
        raise UsageError(f"--body: {wanted!r} is not a fusion; its opcode is {found.opcode}.")
    if alike := [one.full_name for one in fusions if one.name == wanted]:
        several = " or ".join(alike[:_NAMED])
        raise UsageError(f"--body: several computations have a {wanted!r}; give {several}.")
    raise UsageError(f"--body: there is no fusion {wanted!r}.")


def estimate_fusions(found: FusionReport, chip: Chip) -> FusionReport:
    """Set `bound` and `estimated_seconds` of every row, for all its executions per step.

    A fusion takes the longest of `flops` at the chip's matrix peaks, by the types that products
    compute in and that of the vector units, and of the bytes of each memory space at its
    bandwidth; a space whose bandwidth nobody states limits nothing. What a missing peak, or the
    padding of tiles, could overturn has no bound. Nothing is said of launch latency, of caches, of
    transcendentals and custom calls, which have no flops. None where the executions are unknown.
    The sum in `totals` leaves these rows out, and is a lower bound then.
    """
    spaces: list[tuple[Bound, int, float]] = [("memory", MAIN_SPACE, chip.hbm_bytes_per_second)]
    if chip.vmem_bytes_per_second is not None:
        spaces.append(("vmem", VMEM, chip.vmem_bytes_per_second))
    rows = []
    for row in found.rows:
        # The order breaks ties: memory before vmem before compute.
        sizes = {MAIN_SPACE: row.traffic_bytes}
        sizes.update((space, size) for space, size in row.traffic_bytes_by_space)
        times = {bound: sizes.get(space, 0) / speed for bound, space, speed in spaces}
        products = pair_types(row.product_types, row.product_flops)
        weighed = weigh_flops(row.flops, products, chip, row.flops - row.matrix_flops)
        times["compute"] = weighed / chip.flops_per_second
        longest = max(times, key=times.__getitem__)
        seconds = None if row.executions is None else times[longest] * row.executions
        is_open = longest == "compute" and (
            row.padded_traffic_bytes / chip.hbm_bytes_per_second > times[longest]
            or bool(list_unstated(products, chip))
        )
        is_open |= chip.backend == "tpu" and VMEM in sizes and chip.vmem_bytes_per_second is None
        bound = None if is_open or not times[longest] else longest
        rows.append(replace(row, bound=bound, estimated_seconds=seconds))
    known = [row.estimated_seconds for row in rows if row.estimated_seconds is not None]
    total = sum(known) if known or not rows else None
    return FusionReport(replace(found.totals, estimated_seconds=total), tuple(rows))


def estimate_call_times(rows: Iterable[CustomCallRow], chip: Chip) -> tuple[CustomCallRow, ...]:
    """Set `estimated_seconds` of every row of the census, as of fusions.

    Flops and space 0 alone are known of calls. None where either is unknown.
    """
    estimated = []
    for row in rows:
        seconds = None
        if row.flops_per_step is not None and row.traffic_bytes_per_step is not None:
            products = pair_types(row.product_types, row.product_flops_per_step)
            seconds = max(
                weigh_flops(row.flops_per_step, products, chip) / chip.flops_per_second,
                row.traffic_bytes_per_step / chip.hbm_bytes_per_second,
            )
        estimated.append(replace(row, estimated_seconds=seconds))
    return tuple(estimated)


_Timed = TypeVar("_Timed", FusionRow, CustomCallRow)


def add_measured_times(rows: Iterable[_Timed], measured: Measurement) -> tuple[_Timed, ...]:
    """Set what was measured of every row, all its members together.

    Calls in fusions have no times: a profile sees the fusion alone.
    """
    timed = ((row, join_times(measured, row.members)) for row in rows)
    return tuple(
        replace(row, measured_count=time.count, measured_seconds=time.seconds)
        for row, time in timed
    )


def measure_outside(rows: Iterable[MeasuredInstruction]) -> OutsideFusions | None:
    """Add up what took time outside fusions; None where no time of a step is known.

    Of `rank_instructions`, so that no time counts twice. What runs side by side is added up.
    """
    timed = [(row, row.measured_seconds) for row in rows if row.measured_seconds is not None]
    if not (total := sum(seconds for _, seconds in timed)):
        return None
    outside = [(row, seconds) for row, seconds in timed if row.opcode != "fusion"]
    longest, longest_seconds = max(outside, key=lambda each: each[1], default=(None, None))
    seconds = sum(each for _, each in outside)
    name = longest.name if longest else None
    return OutsideFusions(seconds, seconds / total, name, longest_seconds)


def add_up_fusions(rows: Sequence[FusionRow], *, is_part: bool) -> FusionTotals:
    """Add up all fusions of a module, or a part of one, unknown trip counts taken as one."""
    return FusionTotals(
        fusion_count=sum(row.count for row in rows),
        distinct_count=len(rows),
        flops_per_step=sum(row.known_flops_per_step for row in rows),
        traffic_bytes_per_step=sum(row.known_traffic_bytes_per_step for row in rows),
        bytes_accessed_per_step=sum(row.known_bytes_accessed_per_step for row in rows),
        on_chip_bytes_per_step=sum(row.known_on_chip_bytes_per_step for row in rows),
        is_lower_bound=is_part or any(row.executions is None or row.is_lower_bound for row in rows),
        is_flops_lower_bound=is_part
        or any(row.executions is None or row.is_flops_lower_bound for row in rows),
        is_upper_bound=any(row.is_conditional for row in rows),
    )


class _Found(Struct, frozen=True):
    """A custom call, what runs it (itself, or the fusion that holds it), and its cost."""

    call: Instruction
    runner: Instruction
    known: CustomCall
    traffic_bytes: int | None
    origin: Origin


def count_custom_calls(
    costs: CostModel, *, tells_places: bool = False
) -> tuple[CustomCallRow, ...]:
    """List the custom calls of executed computations and of the fusions in them.

    Calls of one target and the same shapes share a row, unless other things tell their cost. A
    call in the body of a fusion runs as often as that, and moves nothing itself: its fusion does.
    What a call stands for says where it comes from, if the call does not; if it `tells_places`,
    calls that come from different places have rows of their own. Rows come in dump order.
    """
    groups: dict[object, list[_Found]] = {}
    inside: dict[Computation, list[Instruction]] = {}  # many fusions may share a body
    callees = costs.graph.callees
    for computation in costs.executions.executed:
        for runner in computation.instructions:
            is_call = runner.opcode == "custom-call" and not runner.is_outside
            calls = [runner] if is_call else []
            for body in callees.get(runner, ()) if runner.opcode == "fusion" else ():
                if body not in inside:
                    inside[body] = [one for one in body.instructions if one.opcode == "custom-call"]
                calls += inside[body]
            for call in calls:
                found = _read_call(call, runner, costs)
                place = (call.computation, found.origin) if tells_places else None
                shapes = str(call.shape), *(str(each.shape) for each in call.operands)
                tells = found.known.flops_from, _memory_source(found)
                key = call.custom_call_target, shapes, tells, place
                groups.setdefault(key, []).append(found)
    return tuple(_make_call_row(found, costs.executions) for found in groups.values())


def _read_call(call: Instruction, runner: Instruction, costs: CostModel) -> _Found:
    offloaded = find_offloaded(call)
    origin = read_origin(call, reversed(offloaded.instructions if offloaded else ()))
    cost = costs.of(call)
    size = None if cost.unknown_traffic_count else cost.traffic_bytes
    # Its fusion moves its operands and result, and counts them.
    return _Found(call, runner, costs.read_call(call), size if call is runner else 0, origin)


def _memory_source(found: _Found) -> CostSource | None:
    return None if found.traffic_bytes is None else found.known.bytes_from or "shape"


def _make_call_row(found: list[_Found], executions: Executions) -> CustomCallRow:
    first = found[0]
    call, origin = first.call, share_origin([one.origin for one in found])
    each = [(one, count_runs((one.runner,), executions)) for one in found]
    runs = count_runs((one.runner for one in found), executions)
    flops = [(one.known.flops, times) for one, times in each]
    sizes = [(one.traffic_bytes, times) for one, times in each]
    products = add_typed_flops(
        repeat_typed_flops(one.known.products, times.known) for one, times in each
    )
    return CustomCallRow(
        target=call.custom_call_target,
        count=len(found),
        **runs.figures(),
        operand_shapes=tuple(str(operand.shape) for operand in call.operands),
        shape=str(call.shape),
        known=first.known.flops_from,
        flops_per_step=_add_exact(flops),
        known_flops_per_step=_add_known(flops),
        traffic_known=_memory_source(first),
        traffic_bytes_per_step=_add_exact(sizes),
        known_traffic_bytes_per_step=_add_known(sizes),
        name=call.full_name,
        computation=call.computation.name,
        scope=origin.scope,
        op_name=origin.op_name,
        source_file=origin.source_file,
        source_line=origin.source_line,
        is_upper_bound=any(one.known.is_upper_bound for one in found),
        members=tuple(one.call.full_name for one in found),
        product_types=list_types(products),
        product_flops_per_step=list_flops(products),
    )


def _add_exact(figures: Iterable[tuple[int | None, Runs]]) -> int | None:
    return sum_known(None if value is None else times.times(value) for value, times in figures)


def _add_known(figures: Iterable[tuple[int | None, Runs]]) -> int:
    return sum((value or 0) * times.known for value, times in figures)


def add_up_calls(rows: Sequence[CustomCallRow], cost: CostReport) -> CustomCallTotals:
    """Add up all custom calls of a module that costs `cost`.

    Calls in all branches of a conditional count, in the share those of the most expensive one.
    """
    times = [row.estimated_seconds for row in rows if row.estimated_seconds is not None]
    hidden, all_flops = cost.custom_call_flops_per_step, cost.total_flops_per_step
    return CustomCallTotals(
        call_count=_count(rows),
        distinct_count=len(rows),
        computing_count=_count(row for row in rows if row.known_flops_per_step),
        moving_count=_count(row for row in rows if row.known_traffic_bytes_per_step),
        unknown_flops_count=_count(row for row in rows if row.known is None),
        unknown_traffic_count=_count(row for row in rows if row.traffic_known is None),
        flops_per_step=sum(row.known_flops_per_step for row in rows),
        flops_share=hidden / all_flops if all_flops else None,
        traffic_bytes_per_step=sum(row.known_traffic_bytes_per_step for row in rows),
        estimated_seconds=sum(times) if times else None,
        is_flops_lower_bound=any(row.flops_per_step is None for row in rows),
        is_traffic_lower_bound=any(row.traffic_bytes_per_step is None for row in rows),
        is_time_lower_bound=bool(times) and len(times) < len(rows),
        is_upper_bound=any(row.is_conditional or row.is_upper_bound for row in rows),
    )


def _count(rows: Iterable[CustomCallRow]) -> int:
    return sum(row.count for row in rows)
