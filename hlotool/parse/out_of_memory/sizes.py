"""How does a message write a size, and how far may rounding have moved it?"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from hlotool.ir.out_of_memory import Size

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
