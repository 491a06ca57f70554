"""What does the `HloModule` line say beside the name?"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from hlotool.ir.shape import Shape
from hlotool.ir.values import Alias, Donor


class Header(Struct, frozen=True):
    """What the `HloModule` line says beside the name; `attributes` holds all of it, raw.

    `entry_parameters` and `entry_result` are the shapes of `entry_computation_layout`,
    None where the dump has none. The counts of devices are None where nobody knows them: a proto
    need not say them.
    """

    is_scheduled: bool = False
    replica_count: int | None = 1
    num_partitions: int | None = 1
    aliases: tuple[Alias, ...] = ()
    donors: tuple[Donor, ...] = ()
    entry_parameters: tuple[Shape, ...] | None = None
    entry_result: Shape | None = None
    frontend_attributes: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)

    @property
    def device_count(self) -> int | None:
        """All devices the program runs on."""
        if self.replica_count is None or self.num_partitions is None:
            return None
        return self.replica_count * self.num_partitions
