"""What does the user say that no dump tells?"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from hlotool.analysis.collectives.overlap.machine import Machine
from hlotool.program.call_rules import CallRule


class Assumptions(Struct, frozen=True):
    """What custom calls cost whose text does not say, and what times are estimated for."""

    call_rules: tuple[CallRule, ...] = ()
    machine: Machine | None = None


NO_ASSUMPTIONS: Final = Assumptions()
