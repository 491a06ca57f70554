"""What does the user say that no dump tells?"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.collectives.overlap.machine import Machine
from hlotool.program.call_rules import CallRule


class Assumptions(Struct, frozen=True):
    """What custom calls cost whose text does not say, and what times are estimated for."""

    call_rules: tuple[CallRule, ...] = ()
    machine: Machine | None = None

    def for_several(self) -> Assumptions:
        """Return the same for several programs, of which a chip need not fit each."""
        if self.machine is None or not self.machine.must_fit:
            return self
        return replace(self, machine=replace(self.machine, must_fit=False))


NO_ASSUMPTIONS: Final = Assumptions()
