"""Which devices of which TPU slices talk to each other in a transfer between slices?"""

from __future__ import annotations

import re
from typing import Final

from hlotool.analysis.collectives.groups.device_groups import DeviceGroups
from hlotool.ir import Instruction

_TARGET: Final = "_xla_megascale_target"
_RANGE: Final = r"\d{1,9}(?::\d{1,9})?"
_RANGES: Final = rf"\{{({_RANGE}(?:,{_RANGE})*+)\}}"
_PRODUCT: Final = re.compile(rf"{_RANGES}x{_RANGES}")
_PAIR: Final = r"\{(\d{1,18})->(\d{1,18})\}"
_PAIRS: Final = re.compile(rf"\{{{_PAIR}(?:,{_PAIR})*+\}}")
_GROUP: Final = r"\{(\d{1,18}(?:,\d{1,18})*+)\}"
_GROUPS: Final = re.compile(rf"\{{{_GROUP}(?:,{_GROUP})*+\}}")

_UNKNOWN: Final = DeviceGroups("cross_slice")


def find_target(instruction: Instruction) -> str:
    """Return the text that says who takes part, '' where there is none."""
    return instruction.frontend_attributes().get(_TARGET, "")


def read_slice_groups(target: str) -> DeviceGroups:
    """Return the groups or pairs of a target; of a text of another form nobody knows them.

        target   = slices "x" devices | "{" group { "," group } "}" | "{" pair { "," pair } "}"
        slices   = devices = "{" range { "," range } "}"
        range    = number [ ":" number ]        both are in it
        group    = "{" endpoint { "," endpoint } "}"
        pair     = "{" endpoint "->" endpoint "}"
        endpoint = slice number × 100000 + number of the device in its slice

    `{1,2}x{0:127}` are 128 groups: each device of slice 1 with the same one of slice 2. The
    bytes that real networks carry say so, and XProf, which lists the groups.
    """
    text = target.replace(" ", "")
    if product := _PRODUCT.fullmatch(text):
        size, count = _count(product[1]), _count(product[2])
        return DeviceGroups("cross_slice", size, count, size) if size and count else _UNKNOWN
    if _PAIRS.fullmatch(text):
        pairs = tuple((int(source), int(target)) for source, target in re.findall(_PAIR, text))
        return DeviceGroups("cross_slice", pairs=pairs, has_pairs=True)
    if _GROUPS.fullmatch(text):
        sizes = [group.count(",") + 1 for group in re.findall(_GROUP, text)]
        return DeviceGroups("cross_slice", max(sizes), len(sizes), min(sizes))
    return _UNKNOWN


def _count(ranges: str) -> int | None:
    """Return how many numbers ranges name; None where one of them ends before it begins."""
    total = 0
    for one in ranges.split(","):
        first, _, last = one.partition(":")
        length = int(last or first) - int(first) + 1
        if length < 1:
            return None
        total += length
    return total
