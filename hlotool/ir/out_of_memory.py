"""What does an out-of-memory message say? Its figures, what it lists, and nothing else of a log."""

from __future__ import annotations

from typing import Literal, TypeAlias

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
