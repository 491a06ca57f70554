"""What an out-of-memory message says: its figures, and what it lists.

Sizes are rounded as the message writes them; `Size.slack_bytes` keeps how far that may be, so that
`63.80G` and an exact number of bytes can be found to be the same.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from msgspec import Struct

When: TypeAlias = Literal["compile", "load", "run"]


class Size(Struct, frozen=True):
    """A size as a message writes it; `slack_bytes` is how far rounding may have moved it."""

    bytes: int
    slack_bytes: int = 0


class ListedBuffer(Struct, frozen=True):
    """One entry of the list of what holds memory; None where the message does not say."""

    size_bytes: int | None = None
    unpadded_bytes: int | None = None
    shape: str | None = None  # as it is written, with the layout where there is one
    op_name: str | None = None
    source_file: str | None = None
    source_line: int | None = None
    label: str | None = None  # the instruction, or its opcode alone
    allocation_type: str | None = None
    is_parameter: bool = False


class MemoryPart(Struct, frozen=True):
    """One line of a sum that a message writes out: `program 63.80G` of `Total hbm usage`."""

    group: str
    name: str
    size_bytes: int | None  # None where the message says that it is unknown


class OutOfMemory(Struct, frozen=True):
    """The last message of a text; None where it does not say."""

    when: When
    space: str | None = None  # hbm, vmem, … where it is named
    device: str | None = None
    program: str | None = None
    requested: Size | None = None
    available: Size | None = None
    limit: Size | None = None  # all that a program may have, whatever else is allocated
    buffers: tuple[ListedBuffer, ...] = ()
    parts: tuple[MemoryPart, ...] = ()
    message_count: int = 1  # messages in the text that ask for something else count once each
    has_beginning: bool = True  # False where only the list is left
    has_end: bool = True  # False where it stops inside the list


# A size in a pattern: `63.80G`, `12.50GiB`, `2.00 MiB`, `-2.55G`, `0B`, `4,237,689,856 bytes`.
SIZE: Final = (
    r"-?\d{1,30}+(?:,\d{3}){0,8}+(?:\.\d{1,6}+)?+"
    r"(?:\ ?(?:[KMGTPEkmgtpe](?:iB|B)?+|bytes?+|B)(?![A-Za-z]))?+"
)
_PARTS: Final = re.compile(
    r"(?P<number>-?[\d,]++)(?:\.(?P<decimals>\d++))?\s?(?P<unit>[A-Za-z]?)(?P<rest>\w*)"
)
_SCALE: Final = {letter: 1 << (10 * power) for power, letter in enumerate("KMGTPE", 1)}


def parse_size(text: str) -> Size:
    """Read a size that `SIZE` has matched.

    size := number [ "." digits ] [ " " ] [ ("K" | "M" | "G" | "T" | "P" | "E") ["i"] ["B"]
          | "B" | "bytes" ]

    A lone K, M, G is KiB, MiB, GiB, as XLA means it. What is scaled is rounded to its last digit.
    """
    match = _PARTS.match(text)
    if match is None:
        return Size(0)
    decimals = match["decimals"] or ""
    number = Fraction(int(f"{match['number'].replace(',', '')}{decimals}"), 10 ** len(decimals))
    unit = match["unit"].upper()
    scale = _SCALE.get(unit, 1)
    slack = Fraction(scale, 2 * 10 ** len(decimals)) if scale > 1 else Fraction(0)
    return Size(int(number * scale), int(slack))
