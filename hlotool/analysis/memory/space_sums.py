"""What do the allocations of one memory space add up to, by what they hold?"""

from __future__ import annotations

from msgspec import Struct

from hlotool.analysis.memory.memory_map import MemoryMap


class SpaceSums(Struct, frozen=True):
    """Bytes of all allocations of a space, and of those that hold something; without peaks.

    `argument` and `output` both count `alias`, the donated parameters; thread-local memory
    is in none.
    """

    allocated: int
    argument: int
    output: int
    alias: int
    temp: int
    constant: int


def add_up_space(memory: MemoryMap, color: int) -> SpaceSums:
    """Return the sums of a space in one pass over its allocations."""
    allocated = argument = output = alias = temp = constant = 0
    for one in memory.placed(color):
        size = one.size_bytes
        allocated += size
        if one.parameter is not None:
            argument += size
        if one.is_live_out:
            output += size
        if one.is_donated:
            alias += size
        if one.is_constant:
            constant += size
        elif one.allocation_class == "temp":
            temp += size
    return SpaceSums(allocated, argument, output, alias, temp, constant)
