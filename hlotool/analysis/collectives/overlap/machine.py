"""What does the user know of the machine that times are estimated for?"""

from __future__ import annotations

from msgspec import Struct

from hlotool.analysis.collectives.overlap.link_times import LinkSpeed, find_link_speed
from hlotool.analysis.cost.chips import Chip, find_chip


class Machine(Struct, frozen=True):
    """A chip, the speed of a link, or both; None is what is not known."""

    chip: Chip | None = None
    link: LinkSpeed | None = None

    def __str__(self) -> str:
        known = (self.chip.description if self.chip else "", str(self.link) if self.link else "")
        return ", ".join(filter(None, known))


def find_machine(
    chip: str | None,
    bytes_per_second: float | None = None,
    latency_seconds: float | None = None,
    chip_file: str = "",
    *,
    needs_link: bool = True,
) -> Machine | None:
    """Return the machine that options name; None where neither chip nor bandwidth is given.

    Raises UsageError for an unknown chip, for options without one, and, where a link is needed,
    for a chip whose link no source states.
    """
    found = find_chip(chip, chip_file) if chip is not None else None
    is_linked = found is None or found.link_bytes_per_second is not None
    if not needs_link and not is_linked and bytes_per_second is None:
        return Machine(found)
    link = find_link_speed(chip, bytes_per_second, latency_seconds, chip_file)
    return None if found is None and link is None else Machine(found, link)
