"""How does XLA write a number of each element type?

Follows `RoundTripFpToString` in xla/util.cc: as few digits as read back the same.
"""

from __future__ import annotations

import math
import struct
from typing import Final

from msgspec import Struct


class SmallFloat(Struct, frozen=True):
    """A floating-point type of at most 16 bits: how its bits are shared out.

    `specials` says what the highest exponent means: "ieee" infinities and NaNs, "fn" a NaN where
    all bits are set, "fnuz" one NaN in place of -0, "none" neither.
    """

    exponent_bits: int
    mantissa_bits: int
    bias: int
    specials: str
    digits: int  # that read back the same

    @property
    def bits(self) -> int:
        """The sign counts, but for the type that has none."""
        return self.exponent_bits + self.mantissa_bits + 1


SMALL_FLOATS: Final = {
    "f16": SmallFloat(5, 10, 15, "ieee", 5),
    "bf16": SmallFloat(8, 7, 127, "ieee", 4),
    "f8e5m2": SmallFloat(5, 2, 15, "ieee", 2),
    "f8e4m3": SmallFloat(4, 3, 7, "ieee", 3),
    "f8e3m4": SmallFloat(3, 4, 3, "ieee", 3),
    "f8e4m3fn": SmallFloat(4, 3, 7, "fn", 3),
    "f8e4m3b11fnuz": SmallFloat(4, 3, 11, "fnuz", 3),
    "f8e5m2fnuz": SmallFloat(5, 2, 16, "fnuz", 2),
    "f8e4m3fnuz": SmallFloat(4, 3, 8, "fnuz", 3),
    "f4e2m1fn": SmallFloat(2, 1, 1, "none", 2),
    "f6e3m2fn": SmallFloat(3, 2, 3, "none", 2),
    "f6e2m3fn": SmallFloat(2, 3, 1, "none", 3),
}


def render_small_float(pattern: int, kind: SmallFloat) -> str:
    """Return the number that a bit pattern of a small type stands for."""
    mantissa_bits = kind.mantissa_bits
    sign = "-" if pattern >> (kind.bits - 1) & 1 else ""
    exponent = pattern >> mantissa_bits & ((1 << kind.exponent_bits) - 1)
    mantissa = pattern & ((1 << mantissa_bits) - 1)
    is_highest = exponent == (1 << kind.exponent_bits) - 1
    if kind.specials == "fnuz" and sign and not exponent and not mantissa:
        return "-nan"
    if kind.specials == "ieee" and is_highest:
        return sign + ("nan" + _render_payload(mantissa, mantissa_bits) if mantissa else "inf")
    if kind.specials == "fn" and is_highest and mantissa == (1 << mantissa_bits) - 1:
        return f"{sign}nan"
    scale = max(exponent, 1) - kind.bias - mantissa_bits
    value = math.ldexp(mantissa + ((exponent > 0) << mantissa_bits), scale)
    return f"{sign}{value:.{kind.digits}g}"


def render_exponent(pattern: int) -> str:
    """Return a number of f8e8m0fnu, which is all exponent."""
    return "nan" if pattern == 0xFF else f"{math.ldexp(1.0, pattern - 127):.2g}"  # noqa: PLR2004


def render_f32(value: float) -> str:
    """Return a number of f32, given as a float of Python; of a NaN see `render_f32_nan`."""
    text = f"{value:.6g}"
    if not math.isfinite(value):
        return text
    return text if _as_f32(float(text)) == value else f"{value:.9g}"


def render_f32_nan(pattern: int) -> str:
    """Return a NaN of f32 by its bits: a float of Python has lost one of them."""
    return ("-nan" if pattern >> 31 else "nan") + _render_payload(pattern & ((1 << 23) - 1), 23)


def render_f64(value: float) -> str:
    """Return a number of f64."""
    text = f"{value:.15g}"
    if math.isfinite(value):
        return text if float(text) == value else f"{value:.17g}"
    if math.isinf(value):
        return text
    pattern = struct.unpack("<Q", struct.pack("<d", value))[0]
    return ("-nan" if pattern >> 63 else "nan") + _render_payload(pattern & ((1 << 52) - 1), 52)


def _render_payload(mantissa: int, mantissa_bits: int) -> str:
    """Return the bits of a NaN in parentheses, nothing for the common one."""
    return "" if mantissa == 1 << (mantissa_bits - 1) else f"(0x{mantissa:x})"


def _as_f32(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.inf
