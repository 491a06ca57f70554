"""How often do these instructions run, all together, in one run of the entry?"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from hlotool.analysis.graph.executions import Executions
from hlotool.ir.instruction import Instruction


class Runs(Struct, frozen=True):
    """Executions of some instructions: exact, or None; and with unknown trip counts as one."""

    exact: int | None
    known: int
    is_conditional: bool

    def times(self, figure: int) -> int | None:
        """Return a figure of one execution for all of them, None when their number is unknown."""
        return None if self.exact is None else figure * self.exact


def count_runs(instructions: Iterable[Instruction], executions: Executions) -> Runs:
    """Add up the executions of instructions."""
    exact: int | None = 0
    known = 0
    is_conditional = False
    for instruction in instructions:
        computation = instruction.computation
        runs = executions.of(computation)
        exact = None if exact is None or runs is None else exact + runs
        known += executions.lower_bound(computation)
        is_conditional = is_conditional or executions.is_conditional(computation)
    return Runs(exact, known, is_conditional)
