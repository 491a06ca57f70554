"""What is inside a fusion, a loop or a computation?"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from hlotool.analysis.cost import CostModel
from hlotool.analysis.origin.origin import find_origin
from hlotool.analysis.show.shared_figures import InstructionName, ShapeText
from hlotool.fields import BYTES, FLOPS, column, figure
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction


class BodyRow(Struct, frozen=True):
    """One instruction inside; figures of one execution."""

    of: Annotated[str, figure("the subject")]
    computation: Annotated[str, figure("the computation that holds it", heading="in")]
    name: InstructionName
    opcode: Annotated[str, column("the opcode")]
    shape: ShapeText
    operands: Annotated[tuple[str, ...], column("its operands by name", give_way=3)]
    size_bytes: Annotated[int | None, figure("size of the result", BYTES, is_summed=False)]
    flops: Annotated[
        int | None,
        column(
            "flops of one execution; null where nothing is known of them",
            FLOPS,
            give_way=1,
            lower_if="is_flops_lower_bound",
        ),
    ]
    is_flops_lower_bound: Annotated[bool, figure("whether a part of its flops is unknown")]
    scope: Annotated[str | None, column("module path in the op_name", is_path=True)]


def list_body(of: str, computation: Computation, costs: CostModel) -> tuple[BodyRow, ...]:
    """Return the instructions of a computation, in the order of the text."""
    return tuple(_make_row(of, one, costs) for one in computation.instructions)


def _make_row(of: str, one: Instruction, costs: CostModel) -> BodyRow:
    cost = costs.of(one)
    is_unknown = cost.is_total_lower_bound and not cost.total_flops
    return BodyRow(
        of,
        one.computation.name,
        one.name,
        one.opcode,
        str(one.shape),
        tuple(operand.name for operand in one.operands),
        costs.find_size_bytes(one.shape),
        None if is_unknown else cost.total_flops,
        cost.is_total_lower_bound,
        find_origin(one).scope,
    )
