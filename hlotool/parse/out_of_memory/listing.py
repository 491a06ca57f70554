"""What holds memory, as a message lists it?

XLA's compilers for TPU number the entries, its runtimes for CPU and GPU call them `Buffer N`.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from hlotool.ir.out_of_memory import ListedBuffer
from hlotool.parse.out_of_memory.sizes import SIZE, parse_size

_MOST: Final = 100_000
_LONGEST: Final = 1 << 20  # characters of a line that are read
_HEADING: Final = re.compile(r"Largest program allocations in |Peak buffers:")
_BEGIN: Final = re.compile(rf"(?:^|\s)(?:\d{{1,9}}\. Size: (?P<size>{SIZE})|Buffer \d{{1,9}}:)\s*$")
_END: Final = "====="
_FIELD: Final = re.compile(
    r"(?:^|\s)(?P<key>Size|Operator|XLA [Ll]abel|Shape|Entry Parameter Subshape|Unpadded size"
    r"|Extra memory due to padding|Allocation type): (?P<value>.*)$"
)
_TEXT: Final = r'="(?P<text>(?:[^"\\]++|\\.)*+)'
_OP_NAME: Final = re.compile(f"op_name{_TEXT}")
_SOURCE_FILE: Final = re.compile(f"source_file{_TEXT}")
_SOURCE_LINE: Final = re.compile(r"source_line=(?P<line>\d{1,18})")
_SIZE: Final = re.compile(SIZE)


class ListReader:
    """Reads the lines of lists, one after the other."""

    def __init__(self, *, is_listed: bool) -> None:
        self.buffers: list[ListedBuffer] = []
        self._entry: ListedBuffer | None = None
        self._is_listed = is_listed  # whether a list has begun, from a line that was lost

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
            self._is_listed = True
            return True
        begin = _BEGIN.search(line, 0, _LONGEST)
        if begin is not None:
            self.finish()
            self._is_listed = True
            size = begin["size"]
            self._entry = ListedBuffer(size_bytes=parse_size(size).bytes if size else None)
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
        if key == "Allocation type" and entry.size_bytes is None:
            self.finish()


def _add_field(entry: ListedBuffer, key: str, value: str) -> ListedBuffer:
    """Return an entry with one more field."""
    if key in {"XLA label", "XLA Label"}:
        return replace(entry, label=value)
    if key == "Allocation type":
        return replace(entry, allocation_type=value)
    if key == "Operator":
        return _add_operator(entry, value)
    if key in {"Shape", "Entry Parameter Subshape"}:
        return replace(entry, shape=value, is_parameter=key != "Shape")
    size = _SIZE.match(value)
    if size is None:
        return entry
    count = parse_size(size.group()).bytes
    if key == "Size":
        return replace(entry, size_bytes=count)
    if key == "Unpadded size":
        return replace(entry, unpadded_bytes=count)
    if entry.unpadded_bytes is None and entry.size_bytes is not None:
        return replace(entry, unpadded_bytes=max(entry.size_bytes - count, 0))
    return entry


def _add_operator(entry: ListedBuffer, value: str) -> ListedBuffer:
    """Read the metadata of an instruction: `op_name="…" source_file="…" source_line=1059`."""
    op_name, file = _OP_NAME.search(value), _SOURCE_FILE.search(value)
    line = _SOURCE_LINE.search(value)
    return replace(
        entry,
        op_name=op_name["text"] if op_name else None,
        source_file=file["text"] if file else None,
        source_line=int(line["line"]) if line else None,
    )
