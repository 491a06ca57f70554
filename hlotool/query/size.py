"""One size as a user types it: `80GiB`, `16 GB`, `1.5e9`."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from hlotool.errors import UsageError
from hlotool.query.expression import SIZES

_SIZE: Final = re.compile(
    r"\s*([0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE]\+?[0-9]{1,2})?)\s*([A-Za-z]*)\s*"
)


def parse_size(text: str, option: str) -> int:
    """Return a size in bytes; a bare number is bytes.

    size = number [ unit ]      unit as in expressions; a lone K, M, G, T means KiB, MiB, …

    Raises UsageError, with the option's name, for anything else.
    """
    match = _SIZE.fullmatch(text)
    unit = match[2] if match else ""
    scale = SIZES.get(unit or "B") or SIZES.get(f"{unit.upper()}iB")
    if match is None or scale is None:
        raise UsageError(f"{option} {text!r} is no size; write 80GiB, 16 GB or 1500000.")
    return int(Fraction(match[1]) * scale)
