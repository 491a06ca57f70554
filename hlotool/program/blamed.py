"""Which program of a dump is an out-of-memory message about?

By its name, where the message has it: said outright, or as the outermost call of its op_names.
Else it is the program in which most of the listed buffers stand.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from msgspec import Struct

from hlotool.analysis.out_of_memory.report import find_instruction, strip_layout
from hlotool.errors import InputError
from hlotool.inputs import Failure, Input, Inputs, map_inputs
from hlotool.ir.out_of_memory import ListedBuffer, OutOfMemory

# What XLA calls a module that JAX compiles: `jit(train_step)/…` is of `jit_train_step`.
_OUTERMOST: Final = re.compile(r"(?P<how>[a-z]++)\((?P<name>[\w.<>\-]++)\)/")


_MOST_LISTED: Final = 6  # programs named in a refusal


class Blamed(Struct, frozen=True):
    """The program, how many of the listed buffers stand in it, and whether its name was said."""

    chosen: Input
    matched_count: int
    is_named: bool
    rival_count: int  # other programs that fit as well


def find_blamed(message: OutOfMemory, found: Inputs) -> Blamed:
    """Return the program of a dump that a message is about; raise InputError if none fits.

    A buffer stands in a program whose text has its op_name, or else an instruction of its name
    and shape; one of which the message tells the shape alone, in a text with that shape.
    """
    programs = [one for one in found.inputs if one.module]
    names = _list_names(message)
    named = [one for one in programs if one.name in names]
    candidates = named or programs
    if len(named) == 1:
        return Blamed(named[0], _count_matches(message.buffers, named[0]), True, 0)
    counts = [
        0 if isinstance(count, Failure) else count
        for count in map_inputs(partial(_count_matches, message.buffers), candidates)
    ]
    most = max(counts, default=0)
    if not candidates or not (most or named):
        raise InputError(
            f"{found.path}: no program here is that of the message"
            + (f", which is called {' or '.join(sorted(names))}." if names else ".")
        )
    rivals = counts.count(most) - 1
    if rivals and message.buffers and not most:
        places = ", ".join(sorted(one.path for one in candidates)[:_MOST_LISTED])
        raise InputError(
            f"{found.path}: {len(candidates)} programs are called as the message's is, and none "
            f"holds any of its {len(message.buffers):,} listed buffers; "
            f"if it is one of them, choose it with --module: {places}."
        )
    return Blamed(candidates[counts.index(most)], most, bool(named), rivals)


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
        return f'op_name="{one.op_name}"' in text
    if name:
        return f"{name} = {shape}" in text
    return bool(shape) and shape in text
