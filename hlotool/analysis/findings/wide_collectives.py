"""Which collectives send wider values than the program computes with?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.findings.evidence import Evidence
from hlotool.analysis.findings.finding import Finding
from hlotool.analysis.findings.precision import computes_in_16_bits
from hlotool.analysis.findings.sent import group_collectives, is_large_sent, make_finding
from hlotool.analysis.findings.wording import name_all
from hlotool.ir.opcodes import COLLECTIVES, MAY_CALL

_REDUCING: Final = COLLECTIVES & MAY_CALL  # they call what adds up


def find_f32_collectives(evidence: Evidence) -> Iterator[Finding]:
    """Find large collectives of f32 in a program whose matrix products have 16-bit operands.

    Of one that sends several types, the f32 counts. A warning where data only moves, which could
    be converted before; else, in a reduction, the wider sum may be meant.
    """
    large = [
        (rows, size)
        for rows in group_collectives(evidence)
        if (size := sum(_sent_f32(row) for row in rows)) and is_large_sent(evidence, size)
    ]
    if not large or not computes_in_16_bits(evidence.executions):
        return
    for rows, size in large:
        is_sum = rows[0].kind in _REDUCING
        names = name_all([row.name for row in rows])
        verb = "sends" if len(rows) == 1 else "send"
        others = [dtype for dtype in rows[0].dtype.split(",") if dtype != "f32"]
        beside = f" beside {', '.join(others)}" if others else ""
        one = make_finding(
            rows,
            "info" if is_sum else "warning",
            "f32-collective",
            f"{names} ({rows[0].kind}) {verb} f32{beside} in a program that computes in 16 bits.",
        )
        yield replace(one, bytes=size)


def _sent_f32(row: CollectiveRow) -> int:
    return dict(row.wire_bytes_by_dtype).get("f32", 0)
