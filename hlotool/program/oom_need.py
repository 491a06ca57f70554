"""Can a program be the one that a message is about, by what it needs, and would it have fitted?"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.memory.memory_map import MemoryMap
from hlotool.analysis.memory.report import add_up_space
from hlotool.oom.records import OutOfMemory
from hlotool.table import BYTES, Block, figure

# What a message may count and a dump does not hold: the program's code, and what is rounded up.
_UNSEEN_BYTES: Final = 64 << 20
_LEAST_SHARE: Final = 0.75  # of what is asked; a program that needs less is another


class ProgramNeed(Struct, frozen=True):
    """What a program reserves in the default space: in all, for temporaries, and piece by piece."""

    allocated_bytes: int
    temp_bytes: int
    allocations_bytes: frozenset[int]


class Suspicion(Struct, frozen=True):
    """A message beside the program that it may be about; None where the message does not say."""

    requested_bytes: Annotated[int | None, figure("what was asked", BYTES, extra_digits=1)]
    available_bytes: Annotated[int | None, figure("what was there for it", BYTES, extra_digits=1)]
    needed_bytes: Annotated[int, figure("what the program reserves in all", BYTES, extra_digits=1)]
    temp_bytes: Annotated[int, figure("what of it is for temporaries", BYTES, extra_digits=1)]
    is_excluded: bool  # the program is far smaller than what was asked
    is_doubtful: bool  # the compiler was not of this size, and nothing else excludes it
    fits: bool | None  # None where that depends on what of it was there already


SUSPICION: Final = Block("suspicion", Suspicion, "a message beside a program")


def measure_need(memory: MemoryMap) -> ProgramNeed:
    """Return what a program reserves in the default space."""
    sums = add_up_space(memory, 0)
    sizes = frozenset(one.size_bytes for one in memory.placed(0))
    return ProgramNeed(sums.allocated_bytes, sums.temp_bytes, sizes)


def asks_for_main_memory(message: OutOfMemory) -> bool:
    """Say whether a message is about the memory that the default space is, not vmem or the host."""
    return message.space in {None, "hbm"}


def measure_distance(message: OutOfMemory, need: ProgramNeed | None) -> int | None:
    """Return how far a program is from what was asked; None where nothing tells.

    A compiler asks for all or, where arguments are apart, for the temporaries; who runs a program
    asks for one allocation of it.
    """
    if need is None or message.requested is None or not asks_for_main_memory(message):
        return None
    sizes = {need.allocated_bytes, need.temp_bytes}
    if message.when == "run":
        sizes |= need.allocations_bytes
    return min(abs(size - message.requested.bytes) for size in sizes)


def is_far_smaller(message: OutOfMemory, need: ProgramNeed | None) -> bool:
    """Say whether a program, its code included, needs far less than what was asked."""
    if need is None or message.requested is None or not asks_for_main_memory(message):
        return False
    return need.allocated_bytes + _UNSEEN_BYTES < _LEAST_SHARE * message.requested.bytes


def suspect(message: OutOfMemory, need: ProgramNeed | None) -> Suspicion | None:
    """Return what speaks for and against a program; None where its size tells nothing."""
    if need is None or not asks_for_main_memory(message):
        return None
    requested, available = message.requested, message.available
    is_excluded = is_far_smaller(message, need)
    distance = measure_distance(message, need)
    is_other = distance is not None and requested is not None and (
        distance > _UNSEEN_BYTES + (1 - _LEAST_SHARE) * requested.bytes
    )  # fmt: skip
    return Suspicion(
        requested.bytes if requested else None,
        available.bytes if available else None,
        need.allocated_bytes,
        need.temp_bytes,
        is_excluded,
        is_other and message.when == "compile" and not is_excluded,
        None if available is None else _fits(message, need, available.bytes),
    )


def _fits(message: OutOfMemory, need: ProgramNeed, available_bytes: int) -> bool | None:
    """Say whether a program fits; its arguments may be there before it is loaded or run."""
    if need.allocated_bytes <= available_bytes:
        return True
    return False if message.when == "compile" or need.temp_bytes > available_bytes else None
