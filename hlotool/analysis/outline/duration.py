"""How long does something take, and what does that time go to?"""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class Duration(Struct, frozen=True):
    """Seconds by what they go to: what arithmetic limits, what memory limits, waiting for links.

    `moving` are the seconds in which memory moves bytes, here or beside what comes later: never
    more than `total` of a whole computation. `is_known` is false where a part is unknown to
    anybody, and left out.
    """

    compute: float = 0.0
    memory: float = 0.0
    exposed: float = 0.0
    is_known: bool = True
    moving: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return self.compute + self.memory + self.exposed

    @property
    def work(self) -> float:
        """All but waiting for links."""
        return self.compute + self.memory

    @property
    def idle(self) -> float:
        """The time in which memory moves nothing, and is free for what runs beside."""
        return max(self.total - self.moving, 0.0)

    def plus(self, other: Duration, times: int = 1) -> Duration:
        """Add another, so many times."""
        return Duration(
            self.compute + times * other.compute,
            self.memory + times * other.memory,
            self.exposed + times * other.exposed,
            self.is_known and other.is_known,
            self.moving + times * other.moving,
        )


NO_TIME: Final = Duration()
