"""One line of an allocation: which memory it is, and what for."""

from __future__ import annotations

import re
from typing import Final

from hlotool.errors import ParseError
from hlotool.ir.buffers import Allocation
from hlotool.ir.values import ShapeIndex
from hlotool.source import Source

_INTEGER: Final = r"[0-9]{1,19}+"
_FIELD = re.compile(
    rf"""
    ,[ ](?:color[ ](?P<color>{_INTEGER})
    | parameter[ ](?P<parameter>{_INTEGER}),[ ]shape[ ]\|[^|]*+\|
        (?:[ ]at[ ]ShapeIndex[ ]\{{(?P<index>[0-9,]*+)\}})?+
    | output[ ]shape[ ]is[ ](?P<output>\|[^|]*+\|)
    | (?P<flag>constant|thread-local|maybe-live-out|preallocated-temp)
    | (?P<other>(?:[^,|]|\|[^|]*+\|)++))(?=,[ ]|\Z)
    """,
    re.VERBOSE,
)


class ShapeIndices(dict[str, ShapeIndex]):
    """Shape indices by their text, `0,1`; few are ever spelled."""

    def __missing__(self, text: str) -> ShapeIndex:
        """Read an index and keep it."""
        index = tuple(int(digits[:19]) for digits in text.split(",") if digits)
        self[text] = index
        return index


def read_allocation_line(source: Source, match: re.Match[str], indices: ShapeIndices) -> Allocation:
    """Turn an allocation line into a record; its fields keep a fixed order in dumps."""
    allocation = Allocation(int(match["own_number"]), int(match["own_size"]), start=match.start())
    fields = match["allocation"][:-1]
    other: list[str] = []
    at = 0
    while at < len(fields):
        field = _FIELD.match(fields, at)
        if field is None:
            place = match.start("allocation") + at
            raise ParseError("this field cannot be read", source, place, match.end("allocation"))
        at = field.end()
        if field["color"]:
            allocation.color = int(field["color"])
        elif field["parameter"]:
            allocation.parameter = int(field["parameter"])
            allocation.parameter_index = indices[field["index"] or ""]
        elif field["flag"]:
            allocation.is_constant |= field["flag"] == "constant"
            allocation.is_thread_local |= field["flag"] == "thread-local"
            allocation.is_live_out |= field["flag"] == "maybe-live-out"
        elif not field["output"]:
            other.append(field["other"])
    allocation.other = tuple(other)
    return allocation
