"""What the options of `hlotool diff` ask, beside rows and output."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from hlotool.compare.comparison import DiffOptions
from hlotool.compare.threshold import Threshold
from hlotool.inputs import StageChoice
from hlotool.program.assumptions import Assumptions


class Asked(Struct, frozen=True):
    """Which programs, what of them is compared, and how much worse one may get."""

    stage: StageChoice
    module: str | None
    compared: DiffOptions
    assumptions: Assumptions
    threshold: Threshold | None

    def for_several(self) -> Asked:
        """Return the same for several programs, of which a chip need not fit each."""
        return replace(self, assumptions=self.assumptions.for_several())
