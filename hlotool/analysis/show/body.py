"""What is inside a fusion, a loop or a computation?"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from hlotool.analysis.cost import CostModel
from hlotool.analysis.origin.origin import find_origin
from hlotool.fields import BYTES, FLOPS, column, figure
from hlotool.ir.module import Computation


class BodyRow(Struct, frozen=True):
    """One instruction inside; figures of one execution."""

    of: Annotated[str, figure("the subject")]
    computation: Annotated[str, figure("the computation that holds it", heading="in")]
    name: Annotated[str, column("the instruction", heading="instruction")]
    opcode: Annotated[str, column("the opcode")]
    shape: Annotated[str, column("the result's shape, without layout", give_way=2)]
    operands: Annotated[tuple[str, ...], column("its operands by name", give_way=3)]
    size_bytes: Annotated[
        int, figure("size of the result; 0 where unknown", BYTES, is_summed=False)
    ]
    flops: Annotated[int, column("known flops of one execution", FLOPS, give_way=1)]
    scope: Annotated[str | None, column("module path in the op_name", is_path=True)]


def list_body(of: str, computation: Computation, costs: CostModel) -> tuple[BodyRow, ...]:
    """Return the instructions of a computation, in the order of the text."""
    return tuple(
        BodyRow(
            of,
            computation.name,
            one.name,
            one.opcode,
            str(one.shape),
            tuple(operand.name for operand in one.operands),
            costs.size_bytes(one.shape),
            costs.of(one).total_flops,
            find_origin(one).scope,
        )
        for one in computation.instructions
    )
