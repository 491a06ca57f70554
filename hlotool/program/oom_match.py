"""The program of a dump that an out-of-memory message is about.

It is found by its name, where the message has that: said outright, or as the outermost call of its
op_names. Else it is the program in which most of the listed buffers stand. What was asked decides
among several. Where the message tells neither, the user must say.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from msgspec import Struct

from hlotool.analysis.memory.memory_map import MemoryMap
from hlotool.analysis.memory_text import find_instruction, strip_layout
from hlotool.dump.files import Input, Inputs
from hlotool.dump.names import short_path
from hlotool.dump.workers import Failure, map_inputs
from hlotool.errors import InputError
from hlotool.hlo.assignment.parser import parse_buffer_assignment
from hlotool.oom.records import ListedBuffer, OutOfMemory
from hlotool.program.oom_need import ProgramNeed, is_far_smaller, measure_distance, measure_need
from hlotool.table.words import list_some

# What XLA calls a module that JAX compiles: `jit(train_step)/…` is of `jit_train_step`.
_OUTERMOST: Final = re.compile(r"(?P<how>[a-z]++)\((?P<name>[\w.<>\-]++)\)/")


_MOST_LISTED: Final = 6  # programs named in a refusal


class Blamed(Struct, frozen=True):
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
    """A program, and what speaks for it."""

    one: Input
    matched_count: int
    need: ProgramNeed | None
    is_too_small: bool
    distance_bytes: float  # from what was asked

    @property
    def rank(self) -> tuple[bool, int, float]:
        """What chooses, the least first."""
        return self.is_too_small, -self.matched_count, self.distance_bytes


def find_blamed(message: OutOfMemory, found: Inputs) -> Blamed:
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
            f"{path}: {len(counted)} programs are called as the message's is, and none "
            f"holds any of its {len(message.buffers):,} listed buffers; "
            f"if it is one of them, choose it with --module: {_list_places(path, named)}."
        )
    candidates = _weigh(message, [pair for pair in counted if named or pair[1] or not most])
    best = min(candidates, key=lambda each: each.rank)
    beaten = [each for each in candidates if each.rank > best.rank]
    return Blamed(
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
        raise InputError(f"{path}: no program here is that of the message{called}.")
    if len(programs) > 1:
        listed = ", and what it lists stands in none" if message.buffers else ""
        raise InputError(
            f"{path}: the message names no program{listed}, and there are {len(programs):,}; "
            f"choose one with --module: {_list_places(path, programs)}."
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
        made.append(
            _Candidate(
                one,
                count,
                need,
                is_far_smaller(message, need),
                float("inf") if distance is None else distance,
            )
        )
    return made


def _read_need(chosen: Input) -> ProgramNeed | None:
    """Return what a program reserves in the default space; None where nothing tells."""
    if chosen.buffers is None:
        return None
    return measure_need(MemoryMap(parse_buffer_assignment(chosen.buffers.read()), None))


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
        is_there = shape.startswith("(") or shape in text
        return is_there and f'op_name="{one.op_name}"' in text
    if name:
        return f"{name} = {shape}" in text
    return bool(shape) and shape in text
