"""How far would the allocated size fall if outputs lay in the parameters they could lie in?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from hlotool.analysis.dataflow.schedule import find_problem
from hlotool.analysis.memory.donation import DonationRow
from hlotool.analysis.memory.gains.gain import offer
from hlotool.analysis.memory.gains.missed_donation import find_missed_outputs
from hlotool.analysis.memory.gains.part import Part
from hlotool.analysis.memory.gains.reserved import Reserved
from hlotool.analysis.memory.gains.tenure import Tenures
from hlotool.analysis.memory.report import MemoryReport
from hlotool.ir.module import Module
from hlotool.ir.values import ShapeIndex


def measure_donation(report: MemoryReport, module: Module) -> int | None:
    """Return what space 0 would reserve less, as `find_relief` has it; None where nobody knows.

    An output takes its allocation with it, and the temporaries that lay there need room among
    the others: so it is less than the outputs' sizes. Only their allocations are looked at.
    """
    if report.map.lifetimes is None or find_problem(module):
        return None
    donations = _Donations(report, module)
    return donations.measure(donations.parts)


def add_gains(
    rows: Sequence[DonationRow], report: MemoryReport, module: Module
) -> tuple[DonationRow, ...]:
    """Return donations with what each gains alone, in the same way; unknown where nobody knows."""
    if report.map.lifetimes is None or find_problem(module):
        return tuple(rows)
    measure = _Donations(report, module).measure
    found = []
    for row in rows:
        donatable = offer(measure, row.output_index if row.status == "not-donated" else None)
        gain = donatable.together((donatable,))
        found.append(replace(row, gain_bytes=gain, donatable=donatable))
    return tuple(found)


class _Donations:
    """The outputs that could lie in parameters, by their index, and what else lies with them."""

    def __init__(self, report: MemoryReport, module: Module) -> None:
        missed = {key: row.output_index or () for row, key in find_missed_outputs(module)}
        self.parts = {index: Part("missed-donation", "") for index in missed.values()}
        rest = Part("temporaries", "")
        outputs = [
            one
            for one in report.map.assignment.allocations
            if one.allocation_class == "output"
            and not one.color
            and any(value.key in missed for value in one.values)
        ]
        tenures = Tenures(report.map, {value for one in outputs for value in one.values})
        for allocation in outputs:
            for tenure in set(tenures.of(allocation).values()):
                of = {missed[value.key] for value in tenure.values if value.key in missed}
                parts = [self.parts[index] for index in of] if tenure.is_owner else []
                for part in parts or [rest]:
                    part.tenures.append(tenure)
        self._reserved = Reserved(report, (*self.parts.values(), rest))

    def measure(self, outputs: Iterable[ShapeIndex]) -> int:
        """Return what is reserved less if these outputs lay in parameters."""
        return self._reserved.gain(self.parts[one] for one in set(outputs) if one in self.parts)
