"""Findings about collectives that send wider types than their results are for."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from hlotool.analysis.collectives.transfers import Transfer, measure_share
from hlotool.analysis.dataflow.flow import MOST_STEPS, Flow, Use
from hlotool.analysis.dataflow.values import Position
from hlotool.analysis.findings import collectives
from hlotool.analysis.findings.finding import LEAST_BYTES, Evidence, Finding, name_all
from hlotool.analysis.graph.backend import find_backend
from hlotool.analysis.graph.executions import Executions
from hlotool.hlo import ArrayShape
from hlotool.hlo.opcodes import COLLECTIVES, ELEMENTWISE, MATRIX_PRODUCTS, MAY_CALL
from hlotool.hlo.shape import DTYPE_BITS
from hlotool.table.words import plural

# What comes out is a part of what goes in, at other places.
_CHOOSING: Final = frozenset(("broadcast", "dynamic-slice", "gather", "reverse", "slice"))


def find_wide_collectives(evidence: Evidence) -> Iterator[Finding]:
    """Find collectives whose results are only used in a narrower type, or that look like it.

    On CPU, where XLA sends bf16 as f32, only f16 is narrower. What only moves data could be
    converted before; in a reduction the wider sum may be meant.
    """
    if (report := evidence.collectives) is None:
        return
    is_cpu = find_backend(evidence.module) == "cpu"
    wastes = [
        collectives.Waste(row, waste, dtype)
        for row, transfer in zip(report.rows, evidence.transfers, strict=True)
        for waste, dtype in [_narrow(transfer, evidence.flow)]
        if waste and (not is_cpu or dtype == "f16")
    ]

    def say(group: list[collectives.Waste], names: str) -> str:
        row = group[0].row
        sends = plural(len(group), "sends", "send")
        return (
            f"{names} ({row.kind}) {sends} {row.dtype}, but the result is used only as "
            f"{group[0].beside}."
        )

    moving = [one for one in wastes if one.row.kind not in _REDUCING]
    adding = [one for one in wastes if one.row.kind in _REDUCING]
    yield from collectives.find_waste(evidence, "wide-collective", moving, say)
    yield from collectives.find_waste(evidence, "wide-collective", adding, say, "info")
    yield from _find_f32_collectives(evidence, {one.row.name for one in wastes})


def _narrow(transfer: Transfer, flow: Flow) -> tuple[int, str]:
    """Return the bytes per step that narrower types would not send, and the widest of these."""
    saved, names = 0, set[str]()
    for part, result in collectives.list_results(transfer):
        shape = part.shape
        bits = DTYPE_BITS.get(shape.dtype, 0)
        types = _list_types(flow, result) if _is_float(shape.dtype) else None
        widest = max((DTYPE_BITS.get(one, bits) for one in types or ()), default=bits)
        if widest < bits and part.size_bytes is not None:
            sent = measure_share(part.size_bytes, transfer.share, transfer.collective.runs)
            saved += sent.known_per_step * (bits - widest) // bits
            names |= types or set()
    return saved, " and ".join(sorted(names))


def _list_types(flow: Flow, result: Position) -> set[str] | None:
    """Return the types that a value is converted to before anything else is done with it.

    Choosing parts of it does not count, nor what can be done as well before it is sent: arithmetic
    on each element alone, with constants. None where it is used as it is.
    """
    found: set[str] = set()
    pending = [result]
    for _ in range(MOST_STEPS):
        if not pending:
            return found
        for use in flow.uses(*pending.pop()):
            user = use.instruction
            if user is None or not isinstance(user.shape, ArrayShape):
                return None
            if user.opcode == "convert" and _is_float(user.shape.dtype):
                found.add(user.shape.dtype)
            elif (user.opcode in _CHOOSING and use.place == 0) or _is_local(use):
                pending.append((user, ()))
            else:
                return None
    return None


def _is_float(dtype: str) -> bool:
    return dtype.startswith(("bf", "f"))


def _is_local(use: Use) -> bool:
    """Whether each element of a user is made of one element of a value, and of constants."""
    user = use.instruction
    return (
        user is not None
        and user.opcode in ELEMENTWISE
        and all(
            one is use.value
            or one.opcode == "constant"
            or (
                one.opcode == "broadcast" and {each.opcode for each in one.operands} == {"constant"}
            )
            for one in user.operands
        )
    )


_MATRIX_TARGETS = ("__cublas$", "__cudnn$", "te_fused_attn")
_HALF_BITS = 16
# They call what adds up; a sum in f32 may be meant, to lose no bits.
_REDUCING: Final = COLLECTIVES & MAY_CALL


def _find_f32_collectives(evidence: Evidence, named: Collection[str]) -> Iterator[Finding]:
    """Find large collectives of f32 in a program whose matrix products have 16-bit operands.

    Not those that are `named` already. Of one that sends several types, the f32 counts. A
    warning where data only moves, which could be converted before; else, in a
    reduction, the wider sum may be meant.
    """
    least = max(LEAST_BYTES, collectives.LEAST_SENT_SHARE * evidence.sent_bytes)
    large = []
    for group in collectives.group_collectives(evidence):
        rows = [row for row in group if row.name not in named]
        size = sum(dict(row.sent_bytes_by_dtype).get("f32", 0) for row in rows)
        if size >= least:
            large.append((rows, size))
    # The precision takes a walk over the program, so it comes last.
    if not large or not computes_in_16_bits(evidence.executions):
        return
    for rows, size in large:
        names = name_all([row.name for row in rows])
        verb = plural(len(rows), "sends", "send")
        others = [dtype for dtype in rows[0].dtype.split(",") if dtype != "f32"]
        beside = f" beside {', '.join(others)}" if others else ""
        yield collectives.make_finding(
            rows,
            size,
            "info" if rows[0].kind in _REDUCING else "warning",
            "f32-collective",
            f"{names} ({rows[0].kind}) {verb} f32{beside} in a program that computes in 16 bits.",
        )


def computes_in_16_bits(executions: Executions) -> bool:
    """Whether more than half of the matrix products have operands of 16 bits or fewer.

    Counted are dots, convolutions and the custom calls that stand for them, in executed
    computations and the fusions there, each once. The first operand's type is that of a product.
    """
    products = [
        one
        for computation in executions.executed
        for instruction in computation.instructions
        for body in [instruction.callee() if instruction.opcode == "fusion" else None]
        for one in (body.instructions if body else (instruction,))
        if (
            one.custom_call_target.startswith(_MATRIX_TARGETS)
            if one.opcode == "custom-call"
            else one.opcode in MATRIX_PRODUCTS
        )
    ]
    shapes = [one.operands[0].shape for one in products if one.operands]
    bits = [DTYPE_BITS.get(one.dtype, 64) for one in shapes if isinstance(one, ArrayShape)]
    return 2 * sum(each <= _HALF_BITS for each in bits) > len(products)
