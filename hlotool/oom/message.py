"""The last out-of-memory message of a log: its head, the sums below it, and what it lists.

A compiler's message, a runtime's error around it and a framework's traceback say the same thing
several times, each with other details, so that messages in a row that ask for the same are put
together. What stands before a message, or between its lines, is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from msgspec.structs import replace

from hlotool.errors import InputError
from hlotool.oom.wordings import (
    SIZE,
    ListedBuffer,
    MemoryPart,
    OutOfMemory,
    Size,
    find_head,
    find_node,
    find_orphan,
    find_size,
    parse_size,
    unwrap,
)
from hlotool.text import Source

_NODE_LINES: Final = 4  # of a message in which TensorFlow names the node
_ROUNDING_BYTES: Final = 512  # to which allocators round what is asked
_USED: Final = re.compile(
    rf"(?:Used|with size) (?P<used>{SIZE}) (?:of|and limit) (?P<available>{SIZE})"
)
_REPORTED: Final = re.compile(rf"Free memory/Total memory: (?P<available>{SIZE})/(?P<limit>{SIZE})")
_EXCESS: Final = re.compile(
    rf"(?:Exceeded \w+ capacity|exceeded scoped \w+ limit) by (?P<excess>{SIZE})"
)
EXECUTABLE: Final = re.compile(r"\[executable_name='(?P<program>[^'\n]{1,300})'\]")
# What a logger puts before a line, up to the place in its program.
_LOGGER: Final = re.compile(r"(?:>\s?)*+(?:.{0,200}?\.(?:cc|cpp|cu|h|py):\d{1,6}\][ ]?)?+")
_COLORS: Final = re.compile(r"\x1b\[[\d;]*+m")
_ITEM: Final = re.compile(
    r""""(?:[^"\\]|\\.)*+"|(?<![\w.])(?P<item>\d{1,6}\. Size: |Buffer \d{1,6}:|(?<!\d\. )Size: """
    r"|Operator: |XLA [Ll]abel: |Shape: |Entry Parameter Subshape: |Unpadded size: "
    r"|Extra memory due to padding: |Allocation type: |={8,}+|Largest program allocations in "
    r"|Peak buffers:|Total \w++ usage )"
)
_MOST_FIELDS: Final = 8  # of an entry


def parse_out_of_memory(source: Source) -> OutOfMemory:
    """Return the last message of a text; raise InputError if it has none.

    log     := { item }
    message := head { sum | list | item }

    An item is a sentence, or a field of a list; it ends with its line, or where on that line the
    next one begins. A message goes on to the next head. Those in a row that ask for the same are
    one message that was said again, by another layer or in a traceback; what each of them lists is
    put together. Where no line has a head, lines are taken for wrapped ones.
    """
    last = source.text.rpartition("\n")[2].rstrip()  # without a newline at its end it may be cut
    drafts = _read_drafts(list_lines(source.text), last) or _read_drafts(
        _split_items(unwrap(source.text[:_LONGEST])), last
    )
    if not drafts:
        raise InputError(f"{source.name}: this holds no out-of-memory message.")
    return _put_together([draft.finish() for draft in drafts])


def _read_drafts(lines: Iterable[str], last: str) -> list[_Draft]:
    drafts: list[_Draft] = []
    before: list[str] = []  # items of an entry whose beginning, like the message's, is lost
    for line in lines:
        is_last = bool(last) and (last.endswith(line) or line.endswith(last))
        head = find_head(line, is_cut=is_last)
        if head is None and not (drafts and drafts[-1].takes(line)):
            head = find_orphan(line)
            if head is None:
                is_field = _BEGIN.search(line, 0, _LONGEST) or _FIELD.search(line, 0, _LONGEST)
                before = [*before[-_MOST_FIELDS:], line] if is_field else []
        if head is not None:
            drafts.append(_Draft(head))
            for each in (*(() if head.has_beginning else before), line):
                drafts[-1].takes(each)
    return drafts


def list_lines(text: str) -> Iterator[str]:
    """Yield the items of a log without colours and what loggers put before a line.

    A message that stands in a string, on one line, is taken apart, and so are items that something
    has joined: Markdown makes one line of a paragraph.
    """
    for line in text.split("\n"):
        plain = _COLORS.sub("", line) if "\x1b" in line else line
        prefix = _LOGGER.match(plain)
        rest = plain[prefix.end() if prefix else 0 :].rstrip()
        if "\\n" in rest and find_head(rest):
            unquoted = rest.replace("\\t", "\t").replace('\\"', '"')
            yield from unquoted.split("\\n")
        else:
            yield from _split_items(rest)


def _split_items(line: str) -> Iterator[str]:
    """Take a line apart where items begin behind others; strings hold none.

    1. Size: 1.00G Shape: f32[268435456] ===== 2. Size: 2.00M …
    """
    if ": " not in line:
        yield line
        return
    starts = [
        match.start()
        for match in _ITEM.finditer(line, 0, _LONGEST)
        if match.lastgroup and match.start() > 0
    ]
    if not starts or not line[: starts[0]].strip(" \t>*-"):
        yield line
        return
    for start, end in pairwise((0, *starts, len(line))):
        yield line[start:end].rstrip()


class _Draft:
    """A message while it is read."""

    def __init__(self, head: OutOfMemory) -> None:
        self._head = head
        is_tensor = any(one.shape and not one.label for one in head.buffers)
        self._node_lines = _NODE_LINES if is_tensor else 0
        self._parts = PartReader()
        self._list = ListReader(is_listed=not head.has_beginning)

    def takes(self, line: str) -> bool:
        """Read a line; say whether it belongs to the message."""
        self._find_node(line)
        used = _USED.search(line) if self._head.requested is None else None
        if used is not None:
            requested, limit = find_size(used["used"]), find_size(used["available"])
            self._head = replace(self._head, requested=requested, available=limit, limit=limit)
        for told in filter(None, (_REPORTED.search(line), _EXCESS.search(line))):
            sizes = {name: find_size(text) for name, text in told.groupdict().items()}
            self._head = replace(self._head, **sizes)
        program = EXECUTABLE.search(line)
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
        has_end = not (self._list.is_open or self._list.is_broken)
        self._list.finish()
        head = self._head
        limit = head.limit or self._parts.find(_STATS, "Limit")
        limit = limit or self._parts.find("HBM capacity", "total")
        in_use = self._parts.find(_STATS, "InUse")
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
            cut_size=None if has_end else self._list.unread_size,
        )


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
        other.excess or one.excess,
        longer.buffers,
        other.parts if len(other.parts) >= len(one.parts) else one.parts,
        has_beginning=one.has_beginning,
        has_end=longer.has_end,
        cut_size=longer.cut_size,
    )


_MOST: Final = 100_000
_LONGEST: Final = 1 << 20  # characters of a line that are read
_HEADING: Final = re.compile(r"Largest program allocations in |Peak buffers:")
_BEGIN: Final = re.compile(
    r"(?:^|\s)(?:(?P<number>\d{1,9})\. Size: "
    rf"(?P<size>{SIZE})|Buffer (?P<other>\d{{1,9}}):)\s*$"
)
_END: Final = "====="
_FIELD: Final = re.compile(
    r"(?:^|\s)(?P<key>Size|Operator|XLA [Ll]abel|Shape|Entry Parameter Subshape|Unpadded size"
    r"|Extra memory due to padding|Allocation type): (?P<value>.*)$"
)
_TEXT: Final = r'="(?P<text>(?:[^"\\]++|\\.)*+)"'  # what is cut has no second quote
_OP_NAME: Final = re.compile(f"op_name{_TEXT}")
_SOURCE_FILE: Final = re.compile(f"source_file{_TEXT}")
_SOURCE_LINE: Final = re.compile(r"source_line=(?P<line>\d{1,18})")
_SIZE: Final = re.compile(SIZE)


class ListReader:
    """Reads the lines of lists of what holds memory, one after the other.

    XLA's compilers for TPU number the entries, its runtimes for CPU and GPU call them `Buffer N`.
    """

    def __init__(self, *, is_listed: bool) -> None:
        self.buffers: list[ListedBuffer] = []
        self.is_broken = False  # whether an entry is missing, or stands twice, by the numbers
        self.unread_size: str | None = None  # of the last entry: a size without a unit
        self._entry: ListedBuffer | None = None
        self._is_listed = is_listed  # whether a list has begun, from a line that was lost
        self._number = 0  # of the last entry; 0 at the beginning of a list

    @property
    def is_open(self) -> bool:
        """Whether an entry has not come to its end."""
        return self._entry is not None

    def read(self, line: str) -> bool:
        """Read a line; say whether it belongs to a list.

        list  := ( "Largest program allocations in " space ":" | "Peak buffers:" ) { entry }
        entry := ( N ". Size: " size | "Buffer " N ":" ) { field } "==========="
        field := name ": " value

        Old compilers neither number nor measure what stands in vmem: there an entry begins with
        its first field, and ends with its type.
        """
        if _HEADING.search(line, 0, _LONGEST):
            self.finish()
            self._is_listed, self._number = True, 0
            return True
        begin = _BEGIN.search(line, 0, _LONGEST)
        if begin is not None:
            self.finish()
            self._is_listed = True
            number = int(begin["number"] or begin["other"])
            self.is_broken |= number != self._number + 1
            self._number = number
            size = find_size(begin["size"], has_unit=True) if begin["size"] else None
            self.unread_size = begin["size"] if size is None else None
            self._entry = ListedBuffer(
                size.bytes if size else None, slack_bytes=size.slack_bytes if size else 0
            )
            return True
        field = _FIELD.search(line, 0, _LONGEST) if self._is_listed else None
        if field is not None:
            self._take(field["key"], field["value"].strip())
            return True
        if self._entry is not None and _END in line:
            self.finish()
            return True
        return False

    def finish(self) -> None:
        """Put the entry that was begun into the list."""
        if self._entry is not None and len(self.buffers) < _MOST:
            self.buffers.append(self._entry)
        self._entry = None

    def _take(self, key: str, value: str) -> None:
        """Add a field to the entry; a second label begins another one."""
        entry = self._entry or ListedBuffer()
        if key == "XLA label" and entry.label is not None:
            self.finish()
            entry = ListedBuffer()
        self._entry = _add_field(entry, key, value)
        has_size = key != "Size" or self._entry.size_bytes is not None
        self.unread_size = None if has_size else value
        if key == "Allocation type" and entry.size_bytes is None:
            self.finish()


def _add_field(entry: ListedBuffer, key: str, value: str) -> ListedBuffer:
    """Return an entry with one more field."""
    if key in {"XLA label", "XLA Label"}:
        return replace(entry, label=value)
    if key == "Allocation type":
        return replace(entry, allocation_type=value)
    if key == "Operator":
        op_name, file, line = read_operator(value)
        return replace(entry, op_name=op_name, source_file=file, source_line=line)
    if key in {"Shape", "Entry Parameter Subshape"}:
        return replace(entry, shape=value, is_parameter=key != "Shape")
    written = _SIZE.match(value)
    size = find_size(written.group(), has_unit=True) if written else None
    if size is None:
        return entry
    count, slack = size.bytes, max(size.slack_bytes, entry.slack_bytes)
    if key == "Size":
        return replace(entry, size_bytes=count, slack_bytes=slack)
    if key == "Unpadded size":
        return replace(entry, unpadded_bytes=count, slack_bytes=slack)
    entry = replace(entry, padding=size, slack_bytes=slack)
    if entry.unpadded_bytes is None and entry.size_bytes is not None:
        return replace(entry, unpadded_bytes=max(entry.size_bytes - count, 0))
    return entry


def read_operator(text: str) -> tuple[str | None, str | None, int | None]:
    """Read the metadata of an instruction: `op_name="…" source_file="…" source_line=1059`."""
    op_name, file = _OP_NAME.search(text), _SOURCE_FILE.search(text)
    line = _SOURCE_LINE.search(text)
    return (
        op_name["text"] if op_name else None,
        file["text"] if file else None,
        int(line["line"]) if line else None,
    )


_LONGEST_PART: Final = 300  # characters of a line of a sum
_MOST_PARTS: Final = 1000
_PAIR: Final = rf"[ \t]++(?P<name>[a-z][a-z ]*?)[ \t]++(?P<size>{SIZE})(?!\w)"
_ANY_PAIR: Final = re.sub(r"\?P<\w+>", "?:", _PAIR)
_SUM: Final = re.compile(
    rf"(?P<group>Total \w++ usage|Program \w++ requirement|\w++ capacity|BufferAssignment stats"
    rf"|Heap allocator status|Persistent allocations[\w ]*+|Stats)"
    rf"(?: (?:>= )?(?P<size>{SIZE}))?+:(?P<rest>(?:{_ANY_PAIR})*+)[ \t]*+$"
)
_PART: Final = re.compile(
    rf"[ \t]*+(?P<name>[A-Za-z][^:\n]*?)(?::[ \t]*+|[ \t]++)(?P<size>{SIZE}|unknown size)(?!\w)"
    rf"(?:[ \t]++\([ \t]*+(?P<exact>-?[\d,]++) bytes\))?+"
)
_UNREAD: Final = re.compile(r"[ \t]++(?P<name>[A-Za-z][\w \-]*?)(?::|[ \t]{2,})[^:=]*\d[^:=]*$")
_RULE: Final = re.compile(r"[ \t]*-{3,}")
_STATS: Final = "Stats"  # of the BFC allocator: plain numbers of bytes, and counts
_COUNTS: Final = ("Num", "num")


class PartReader:
    """Reads the lines of sums, one after the other.

    Total hbm usage >= 65.05G:
        reserved          1.25G
        program          63.80G
        arguments            0B
    """

    def __init__(self) -> None:
        self.parts: list[MemoryPart] = []
        self._group = ""

    def read(self, line: str) -> bool:
        """Read a line; say whether it belongs to a sum.

        sum  := heading NL { part NL }
        part := name ( ":" | " " ) ( size [ "(" exact " bytes)" ] | "unknown size" ) …
        """
        if len(line) > _LONGEST_PART:
            self._group = ""
            return False
        heading = _SUM.search(line)
        if heading is not None:
            self._group = heading["group"]
            if heading["size"]:
                self._add("total", parse_size(heading["size"]))
            for pair in re.finditer(_PAIR, heading["rest"]):
                self._add(pair["name"], parse_size(pair["size"]))
            return True
        if not self._group or _RULE.match(line):
            return bool(self._group)
        part = _PART.match(line)
        if part is None:
            unread = _UNREAD.match(line)
            if unread is not None:  # of the sum, and no size: it is unknown
                self._add(unread["name"], None)
                return True
            self._group = ""
            return False
        name = part["name"].strip()
        if not (self._group == _STATS and name.startswith(_COUNTS)):
            size = part["exact"] or part["size"]
            self._add(name, None if size.startswith("unknown") else parse_size(size))
        return True

    def find(self, group: str, name: str) -> Size | None:
        """Return the size of a part, None where it was not read, or is below zero."""
        for part in self.parts:
            size = part.size_bytes
            if part.group == group and part.name == name and size is not None and size >= 0:
                return Size(size)
        return None

    def _add(self, name: str, size: Size | None) -> None:
        if len(self.parts) < _MOST_PARTS:
            told = (size.bytes, size.slack_bytes) if size else (None, 0)
            self.parts.append(MemoryPart(self._group, name, *told))
