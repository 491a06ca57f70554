"""Which out-of-memory message is the last in a log, and what does it say?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from hlotool.errors import InputError
from hlotool.ir.out_of_memory import OutOfMemory, Size
from hlotool.parse.out_of_memory.heads import find_head, find_orphan
from hlotool.parse.out_of_memory.listing import ListReader
from hlotool.parse.out_of_memory.parts import PartReader
from hlotool.parse.out_of_memory.sizes import SIZE, parse_size
from hlotool.parse.out_of_memory.tensors import find_node
from hlotool.source import Source

_NODE_LINES: Final = 4  # of a message in which TensorFlow names the node
_ROUNDING_BYTES: Final = 512  # to which allocators round what is asked
_USED: Final = re.compile(
    rf"(?:Used|with size) (?P<used>{SIZE}) (?:of|and limit) (?P<available>{SIZE})"
)
_REPORTED: Final = re.compile(rf"Free memory/Total memory: (?P<available>{SIZE})/(?P<limit>{SIZE})")
_PROGRAM: Final = re.compile(r"\[executable_name='(?P<program>[^'\n]{1,300})'\]")
# What a logger puts before a line, up to the place in its program.
_LOGGER: Final = re.compile(r"(?:>\s?)*+(?:.{0,200}?\.(?:cc|cpp|cu|h|py):\d{1,6}\][ ]?)?+")
_COLORS: Final = re.compile(r"\x1b\[[\d;]*+m")


def parse_out_of_memory(source: Source) -> OutOfMemory:
    """Return the last message of a text; raise InputError if it has none.

    log     := { line | message }
    message := head NL { sum | list | line }

    A message goes on to the next head. Those in a row that ask for the same are one message that
    was said again, by another layer or in a traceback; what each of them lists is put together.
    """
    drafts: list[_Draft] = []
    for line in _list_lines(source.text):
        head = find_head(line)
        if head is None and not (drafts and drafts[-1].takes(line)):
            head = find_orphan(line)
        if head is not None:
            drafts.append(_Draft(head))
            drafts[-1].takes(line)
    if not drafts:
        raise InputError(f"{source.name}: this holds no out-of-memory message.")
    return _put_together([draft.finish() for draft in drafts])


def _list_lines(text: str) -> Iterator[str]:
    """Yield the lines of a log without colours and what loggers put before them.

    A message that stands in a string, on one line, is taken apart.
    """
    for line in text.split("\n"):
        plain = _COLORS.sub("", line) if "\x1b" in line else line
        prefix = _LOGGER.match(plain)
        rest = plain[prefix.end() if prefix else 0 :].rstrip()
        if "\\n" in rest and find_head(rest):
            unquoted = rest.replace("\\t", "\t").replace('\\"', '"')
            yield from unquoted.split("\\n")
        else:
            yield rest


class _Draft:
    """A message while it is read."""

    def __init__(self, head: OutOfMemory) -> None:
        self._head = head
        self._node_lines = _NODE_LINES if _is_tensor(head) else 0
        self._parts = PartReader()
        self._list = ListReader(is_listed=not head.has_beginning)

    def takes(self, line: str) -> bool:
        """Read a line; say whether it belongs to the message."""
        self._find_node(line)
        used = _USED.search(line) if self._head.requested is None else None
        if used is not None:
            available = parse_size(used["available"])
            self._head = replace(
                self._head,
                requested=parse_size(used["used"]),
                available=available,
                limit=available,
            )
        reported = _REPORTED.search(line)
        if reported is not None:
            available, limit = parse_size(reported["available"]), parse_size(reported["limit"])
            self._head = replace(self._head, available=available, limit=limit)
        program = _PROGRAM.search(line)
        if program is not None:
            self._head = replace(self._head, program=program["program"])
        return self._list.read(line) or self._parts.read(line)

    def _find_node(self, line: str) -> None:
        """Look for the node whose tensor was asked for, in the first lines."""
        if self._node_lines:
            self._node_lines -= 1
            node = find_node(line)
            if node:
                tensor = replace(self._head.buffers[0], op_name=node)
                self._head = replace(self._head, buffers=(tensor,))
                self._node_lines = 0

    def finish(self) -> OutOfMemory:
        """Return what was read."""
        has_end = not self._list.is_open
        self._list.finish()
        head = self._head
        limit = (
            head.limit or self._parts.find("Stats", "Limit")
            or self._parts.find("HBM capacity", "total")
        )  # fmt: skip
        in_use = self._parts.find("Stats", "InUse")
        available = head.available
        if available is None and limit and in_use:
            available = Size(max(limit.bytes - in_use.bytes, 0))
        return replace(
            head,
            limit=limit,
            available=available,
            buffers=tuple(self._list.buffers) or head.buffers,
            parts=tuple(self._parts.parts),
            has_end=has_end,
        )


def _is_tensor(head: OutOfMemory) -> bool:
    """Whether a sentence tells of a tensor: its shape, and no instruction."""
    return any(one.shape and not one.label for one in head.buffers)


def _put_together(messages: list[OutOfMemory]) -> OutOfMemory:
    """Return the last of some messages, with what was said of it before, and count them."""
    last, count = messages[0], 1
    for message in messages[1:]:
        if _is_same(last, message):
            last = _merge(last, message)
        else:
            last, count = message, count + 1
    return replace(last, message_count=count)


def _is_same(one: OutOfMemory, other: OutOfMemory) -> bool:
    """Whether two messages in a row ask for the same, as far as rounding lets tell.

    A driver's error without a size, and a list without its beginning, belong to what was before.
    """
    if not other.has_beginning and one.buffers:
        return False
    if one.space and other.space and one.space != other.space:
        return False
    if one.requested is None or other.requested is None:
        return other.requested is None
    near = one.requested.slack_bytes + other.requested.slack_bytes + _ROUNDING_BYTES
    return abs(one.requested.bytes - other.requested.bytes) <= near


def _merge(one: OutOfMemory, other: OutOfMemory) -> OutOfMemory:
    """Put two wordings of a message together: the exact size, the longer list."""
    sizes = [size for size in (one.requested, other.requested) if size is not None]
    longer = other if len(other.buffers) >= len(one.buffers) else one
    return OutOfMemory(
        one.when,
        other.space or one.space,
        other.device or one.device,
        other.program or one.program,
        min(reversed(sizes), key=lambda size: size.slack_bytes) if sizes else None,
        other.available or one.available,
        other.limit or one.limit,
        longer.buffers,
        other.parts if len(other.parts) >= len(one.parts) else one.parts,
        has_beginning=one.has_beginning,
        has_end=longer.has_end,
    )
