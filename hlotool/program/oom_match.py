"""The program of a dump that an out-of-memory message is about.

It is found by its name, where the message has that: said outright, or as the outermost call of its
op_names. Else it is the program in which most of the listed buffers stand. What was asked decides
among several: by it a program can also be none that the message is about, or would have fitted.
Where the message tells neither, the user must say.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.memory.memory_map import MemoryMap
from hlotool.analysis.memory.report import add_up_space
from hlotool.analysis.memory_text import find_instruction, strip_layout
from hlotool.dump.files import Input, Inputs
from hlotool.dump.names import short_path
from hlotool.dump.workers import Failure, map_inputs
from hlotool.errors import InputError
from hlotool.hlo.assignment_parser import parse_buffer_assignment
from hlotool.oom.wordings import ListedBuffer, OutOfMemory
from hlotool.table import Block, figure
from hlotool.table.words import list_some

# What XLA calls a module that JAX compiles: `jit(train_step)/…` is of `jit_train_step`.
_OUTERMOST: Final = re.compile(r"(?P<how>[a-z]++)\((?P<name>[\w.<>\-]++)\)/")
_MOST_LISTED: Final = 6  # programs named in a refusal
# What a message may count and a dump does not hold: the program's code, and what is rounded up.
_UNSEEN_BYTES: Final = 64 << 20
_LEAST_SHARE: Final = 0.75  # of what is asked; a program that needs less is another


class ProgramNeed(Struct, frozen=True):
    """What a program reserves in the default space: in all, for temporaries, and piece by piece."""

    allocated_bytes: int
    temp_bytes: int
    allocations_bytes: frozenset[int]


class MatchedProgram(Struct, frozen=True):
    """The program, how many of the listed buffers stand in it, and how it was found."""

    chosen: Input
    matched_count: int
    is_named: bool  # its name was said
    is_by_size: bool  # what was asked decided among several
    rival_count: int  # other programs that fit as well
    need: ProgramNeed | None  # what it reserves, None where nothing tells

    @property
    def is_found(self) -> bool:
        """Whether the message tells of it at all; else it is the only one there is."""
        return self.is_named or self.matched_count > 0


class _Candidate(Struct, frozen=True):
    """A program, and what speaks for it; the least `rank` is chosen.

    That is whether it is too small, less the buffers that stand in it, and how far it is from what
    was asked.
    """

    one: Input
    matched_count: int
    need: ProgramNeed | None
    rank: tuple[bool, int, float]


def find_program(message: OutOfMemory, found: Inputs) -> MatchedProgram:
    """Return the program of a dump that a message is about; raise InputError if none fits.

    A buffer stands in a program whose text has its op_name and shape, or else an instruction of
    its name and shape; one of which the message tells the shape alone, in a text with that shape.
    Of several the one that holds most of them, then the one that needs what was asked; one that
    is far too small comes last. The only program is taken where the message names none.
    """
    path = found.path
    programs = [one for one in found.inputs if one.module or one.buffers]
    names = _list_names(message)
    named = [one for one in programs if one.name in names]
    counted = _count_all(message, named or programs)
    most = max((count for _, count in counted), default=0)
    if not (named or most):
        _expect_only(message, path, programs, names)
    if message.buffers and not most and len(counted) > 1:
        raise InputError(
            f"{path}: {len(counted)} programs have the message's name, but none has any "
            f"of its {len(message.buffers):,} listed buffers. Choose one with --module: "
            f"{_list_places(path, named)}."
        )
    candidates = _weigh(message, [pair for pair in counted if named or pair[1] or not most])
    best = min(candidates, key=lambda each: each.rank)
    beaten = [each for each in candidates if each.rank > best.rank]
    return MatchedProgram(
        best.one,
        best.matched_count,
        bool(named),
        any(each.matched_count >= best.matched_count for each in beaten),
        sum(each.rank == best.rank for each in candidates) - 1,
        best.need,
    )


def _expect_only(message: OutOfMemory, path: str, programs: list[Input], names: set[str]) -> None:
    """Raise InputError unless there is one program only, and nothing says that it is another."""
    if names or not programs:
        called = f", which is called {' or '.join(sorted(names))}" if names else ""
        raise InputError(f"{path}: no program here matches the message{called}.")
    if len(programs) > 1:
        listed = ", and no program has its list" if message.buffers else ""
        raise InputError(
            f"{path}: the message names no program{listed}, and the dump has "
            f"{len(programs):,}; choose one with --module: {_list_places(path, programs)}."
        )


def _list_places(path: str, programs: list[Input]) -> str:
    """Name some programs by their places, which choose them."""
    places = sorted(short_path(one.path, path) for one in programs)
    return list_some(places, _MOST_LISTED, ", …")


def _count_all(message: OutOfMemory, programs: list[Input]) -> list[tuple[Input, int]]:
    """Return each program with how many of the listed buffers stand in it."""
    if not message.buffers:
        return [(one, 0) for one in programs]
    counts = map_inputs(partial(_count_matches, message.buffers), programs)
    return [
        (one, 0 if isinstance(count, Failure) else count)
        for one, count in zip(programs, counts, strict=True)
    ]


def _weigh(message: OutOfMemory, counted: list[tuple[Input, int]]) -> list[_Candidate]:
    """Return programs with what they need."""
    needs = map_inputs(_read_need, [one for one, _ in counted])
    made = []
    for (one, count), found in zip(counted, needs, strict=True):
        need = None if isinstance(found, Failure) else found
        distance = measure_distance(message, need)
        from_asked = float("inf") if distance is None else distance
        rank = is_far_smaller(message, need), -count, from_asked
        made.append(_Candidate(one, count, need, rank))
    return made


def _read_need(chosen: Input) -> ProgramNeed | None:
    """Return what a program reserves in the default space; None where nothing tells."""
    if chosen.buffers is None:
        return None
    memory = MemoryMap(parse_buffer_assignment(chosen.buffers.read()), None)
    sums = add_up_space(memory, 0)
    sizes = frozenset(one.size_bytes for one in memory.placed(0))
    return ProgramNeed(sums.allocated_bytes, sums.temp_bytes, sizes)


def _list_names(message: OutOfMemory) -> set[str]:
    """Return what the module may be called."""
    if message.program:
        return {message.program}
    matches = (_OUTERMOST.match(one.op_name or "") for one in message.buffers)
    return {f"{match['how']}_{match['name']}" for match in matches if match}


def _count_matches(buffers: tuple[ListedBuffer, ...], chosen: Input) -> int:
    """Count the listed buffers that stand in the text of a program."""
    text = chosen.module.read().text if chosen.module else ""
    return sum(_stands_in(text, one) for one in buffers)


def _stands_in(text: str, one: ListedBuffer) -> bool:
    shape = strip_layout(one.shape) if one.shape else ""
    name = find_instruction(one.label)
    if one.op_name:
        # A tuple's shape stands in a text with the layouts between.
        return (shape.startswith("(") or shape in text) and f'op_name="{one.op_name}"' in text
    return f"{name} = {shape}" in text if name else bool(shape) and shape in text


# What a program needs, beside what was asked.


class Suspicion(Struct, frozen=True):
    """A message beside the program that it may be about; None where the message does not say."""

    requested_bytes: Annotated[int | None, figure("requested bytes", extra_digits=1)]
    available_bytes: Annotated[int | None, figure("bytes available", extra_digits=1)]
    needed_bytes: Annotated[int, figure("bytes that the program reserves", extra_digits=1)]
    temp_bytes: Annotated[int, figure("its part for temporaries", extra_digits=1)]
    is_excluded: bool  # the program is far smaller than what was asked
    is_doubtful: bool  # the compiler was not of this size, and nothing else excludes it
    fits: bool | None  # None where that depends on what of it was there already


SUSPICION: Final = Block("suspicion", Suspicion, "a message and its program")


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
    most = _UNSEEN_BYTES + (1 - _LEAST_SHARE) * (requested.bytes if requested else 0)
    is_other = distance is not None and distance > most
    fits: bool | None = None
    if available is not None and need.allocated_bytes <= available.bytes:
        fits = True
    # Its arguments may be there before it is loaded or run: then its temporaries are to fit.
    elif available is not None and (message.when == "compile" or need.temp_bytes > available.bytes):
        fits = False
    return Suspicion(
        requested.bytes if requested else None,
        available.bytes if available else None,
        need.allocated_bytes,
        need.temp_bytes,
        is_excluded,
        is_other and message.when == "compile" and not is_excluded,
        fits,
    )
