"""Who can have done it: the program that XLA was given, a flag, or the compiler?

Is the program that XLA was given the same? Asked of the texts before optimizations.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from typing import Annotated, Final

from msgspec import Struct

from hlotool.compare.changes.header import compare_headers
from hlotool.compare.match.pairing_steps import are_equal
from hlotool.dump.files import DumpFile
from hlotool.hlo.attribute_values import drop_metadata
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.table import COUNT, NUMBER, figure
from hlotool.text import Source


class Triage(Struct, frozen=True):
    """What both sides were compiled from, and under what. Null where a dump does not tell."""

    is_input_identical: Annotated[
        bool | None,
        figure(
            "whether the texts before optimizations are the same program; null where one is missing"
        ),
    ]
    has_same_operations: Annotated[
        bool | None,
        figure("whether these run the same operations on the same shapes, put into any functions"),
    ]
    flag_count: Annotated[
        int | None, figure("flags that differ; null where a side printed none", COUNT)
    ]
    left_build: Annotated[int | None, figure("number of the TPU compiler's build", NUMBER)]
    right_build: Annotated[int | None, figure("number of the TPU compiler's build", NUMBER)]
    left_backend: Annotated[str | None, figure("whose marks the text bears; null where none")] = (
        None
    )
    right_backend: Annotated[str | None, figure("whose marks the text bears; null where none")] = (
        None
    )

    @property
    def has_other_backend(self) -> bool:
        """Whether the sides were compiled for different backends, and both are known."""
        return None not in {self.left_backend, self.right_backend} and (
            self.left_backend != self.right_backend
        )


# What names places in the user's files is no part of a program.
_TABLES: Final = re.compile(
    r"^(?:FileNames|FunctionNames|FileLocations|StackFrames)\n(?:\d.*\n)*", re.MULTILINE
)
# What a function of its own adds to, or takes from, the same program.
_OF_CALLS: Final = frozenset(("call", "parameter", "tuple", "get-tuple-element", "constant"))


class InputPair:
    """What XLA was given on both sides; a side that has no such text is None."""

    def __init__(self, left: DumpFile | None, right: DumpFile | None) -> None:
        self._files = left, right

    @property
    def is_whole(self) -> bool:
        """Whether both sides have a text."""
        return None not in self._files

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """The texts there are."""
        return tuple(file.read() for file in self._files if file)

    @property
    def texts(self) -> tuple[str, str]:
        """Both texts."""
        left, right = self.sources
        return left.text, right.text

    @cached_property
    def programs(self) -> tuple[Program, Program]:
        """Both programs."""
        left, right = (parse_module(source) for source in self.sources)
        return Program(left.name, left), Program(right.name, right)

    @cached_property
    def is_same(self) -> bool | None:
        """Whether the programs are the same but for names and metadata; None without a text.

        Equal texts are the same; others are compared as all programs are.
        """
        if not self.is_whole:
            return None
        left, right = map(_plain, self.texts)
        if left == right:
            return True
        one, other = self.programs
        has_same_header = not compare_headers(one.expect_module(), other.expect_module())
        return has_same_header and are_equal(one, other)

    @cached_property
    def has_same_operations(self) -> bool | None:
        """Whether both run the same operations on the same shapes; None without a text.

        So do programs that differ in what is a function of its own: releases of JAX do.
        """
        if not self.is_whole or self.is_same:
            return self.is_same
        left, right = map(_count_operations, self.programs)
        return left == right


def _count_operations(program: Program) -> Counter[tuple[str, str]]:
    """Count the runs of each operation by opcode and shape; calls are what they call."""
    found: Counter[tuple[str, str]] = Counter()
    executions = program.executions
    for computation in executions.executed:
        runs = executions.lower_bound(computation)
        for one in computation.instructions:
            if one.opcode not in _OF_CALLS:
                found[one.opcode, str(one.shape)] += runs
    return found


def _plain(text: str) -> str:
    """Return a text without what names places in the user's files."""
    return _TABLES.sub("", drop_metadata(text))
