"""Which outputs could lie in a parameter's memory, and beside which argument do they lie?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hlotool.analysis.dataflow.dataflow import find_values
from hlotool.analysis.dataflow.schedule import find_problem, require_schedule
from hlotool.analysis.memory.donation import DonationRow, find_donations
from hlotool.ir.buffers import ValueKey
from hlotool.ir.module import Module

_ARGUMENT: Final = re.compile(r"[^.\[{]+")


def find_missed(module: Module) -> Iterator[tuple[ValueKey, str]]:
    """Yield the outputs that could lie in a parameter, and the argument that it is of."""
    for row, key in find_missed_outputs(module):
        argument = _ARGUMENT.match(row.parameter_name or "")
        yield key, argument[0] if argument else f"parameter {row.parameter_number}"


def find_missed_outputs(module: Module) -> Iterator[tuple[DonationRow, ValueKey]]:
    """Yield the parameters that are not donated, and the outputs that could lie in them."""
    rows = [row for row in find_donations(module) if row.status == "not-donated"]
    if not rows or find_problem(module):
        return
    flow = find_values(require_schedule(module))
    for row in rows:
        value = flow.value_at(module.entry.root, row.output_index or ())
        if value is None:
            continue
        yield row, (value.instruction.name, value.index)  # as assignments name it
        yield row, (value.instruction.full_name, value.index)  # and estimates
