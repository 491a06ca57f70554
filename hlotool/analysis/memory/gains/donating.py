"""How far would the allocated size fall if every output lay in the parameter it could lie in?"""

from __future__ import annotations

from hlotool.analysis.dataflow.schedule import find_problem
from hlotool.analysis.memory.gains.missed_donation import find_missed
from hlotool.analysis.memory.gains.part import Part
from hlotool.analysis.memory.gains.reserved import Reserved
from hlotool.analysis.memory.gains.tenure import Tenures
from hlotool.analysis.memory.report import MemoryReport
from hlotool.ir.module import Module


def measure_donation(report: MemoryReport, module: Module) -> int | None:
    """Return what space 0 would reserve less, as `find_relief` has it; None where nobody knows.

    An output takes its allocation with it, and the temporaries that lay there need room among
    the others: so it is less than the outputs' sizes. Only their allocations are looked at.
    """
    if report.map.lifetimes is None or find_problem(module):
        return None
    missed = {key for key, _ in find_missed(module)}
    outputs = [
        one
        for one in report.map.assignment.allocations
        if one.allocation_class == "output"
        and not one.color
        and any(value.key in missed for value in one.values)
    ]
    tenures = Tenures(report.map, {value for one in outputs for value in one.values})
    gone, kept = Part("missed-donation", ""), Part("temporaries", "")
    for allocation in outputs:
        for tenure in set(tenures.of(allocation).values()):
            is_missed = tenure.is_owner and any(value.key in missed for value in tenure.values)
            (gone if is_missed else kept).tenures.append(tenure)
    return Reserved(report, (gone, kept)).gain((gone,))
