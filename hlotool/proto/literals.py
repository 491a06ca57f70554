"""How does XLA write a number of each element type?

Follows `RoundTripFpToString` in xla/util.cc: as few digits as read back the same.

How does XLA write the value of a constant?

Follows xla/literal.cc (`PrintWithoutShapeOneline`, `PrintWithLayoutOneline`).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from hlotool.proto.kind import list_fields
from hlotool.proto.messages import LiteralProto, ShapeProto
from hlotool.proto.shapes import TUPLE, ShapeTexts, primitive_name


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


_LARGEST_SHOWN: Final = 10  # elements of a constant
_UNCOMMENTED_RANK: Final = 3  # arrays of more dimensions have comments between their braces
_HIGHEST_RANK: Final = 64
_MOST_BRACES: Final = 1000
_BYTE_BITS: Final = 8
_F32S: Final = 8  # numbers of fields of LiteralProto
_C64S: Final = 12


def render_constant(literal: LiteralProto, shape: ShapeProto) -> str:
    """Return what stands between the parentheses of a constant: its value if that is small."""
    if shape.element_type == TUPLE or math.prod(shape.dimensions) > _LARGEST_SHOWN:
        return "{...}"
    return "".join(_render_array(literal))


def render_literal(literal: LiteralProto, shapes: ShapeTexts) -> str:
    """Return a value with its type in front, however large."""
    if literal.shape.element_type == TUPLE:
        parts = [render_literal(each, shapes) for each in literal.tuple_literals]
        return f"( {', '.join(parts)} )" if parts else "(  )"
    return f"{shapes.long(literal.shape)} {''.join(_render_array(literal))}"


def _render_array(literal: LiteralProto) -> Iterator[str]:
    """Yield the parts of an array's text, or of a scalar's."""
    dimensions = tuple(literal.shape.dimensions)
    if len(dimensions) > _HIGHEST_RANK or _too_many_braces(dimensions):
        yield "{...}"
        return
    values = list(_values(literal))
    if len(values) != math.prod(dimensions):
        yield "{...}"
    elif not dimensions:
        yield values[0]
    else:
        strides = _strides(dimensions, literal.shape.layout.minor_to_major)
        yield from _render_part(values, dimensions, strides, ())


def _too_many_braces(dimensions: Sequence[int]) -> bool:
    """Whether an array without elements is written in very many braces; XLA writes them all."""
    return 0 in dimensions and math.prod(dimensions[: dimensions.index(0)]) > _MOST_BRACES


def _render_part(
    values: Sequence[str],
    dimensions: tuple[int, ...],
    strides: Sequence[int],
    index: tuple[int, ...],
) -> Iterator[str]:
    """Yield the text of the part of an array that the first indices choose.

    part := "{" value { ", " value } "}"                    of an array of one dimension
          | "{ " value { ", " value } " }" | "{" value "}"  innermost
          | "{ " [ "/*i" N "=" INDEX "*/ " ] part { ", " part } " }"
    """
    rank, depth = len(dimensions), len(index)
    size, is_innermost = dimensions[depth], depth == rank - 1
    if is_innermost:
        offset = sum(map(int.__mul__, index, strides))
        stride = strides[-1]
        parts = [values[offset + number * stride] for number in range(size)]
        blank = " " if rank > 1 and size > 1 else ""
        yield f"{{{blank}{', '.join(parts)}{blank}}}"
        return
    comment = f"/*i{depth - 1}={index[-1]}*/ " if rank > _UNCOMMENTED_RANK and index else ""
    yield f"{{ {comment}"
    for number in range(size):
        yield ", " if number else ""
        yield from _render_part(values, dimensions, strides, (*index, number))
    yield " }"


def _strides(dimensions: Sequence[int], minor_to_major: Sequence[int]) -> list[int]:
    """Return by how much each index moves in the values, which lie in the order of the layout."""
    order = list(minor_to_major)
    if sorted(order) != list(range(len(dimensions))):
        order = list(range(len(dimensions)))[::-1]
    strides, step = [0] * len(dimensions), 1
    for dimension in order:
        strides[dimension] = step
        step *= dimensions[dimension]
    return strides


def _values(literal: LiteralProto) -> Iterable[str]:
    """Return the texts of the values in the order they lie in; none for a type without values."""
    name = primitive_name(literal.shape.element_type)
    if name == "pred":
        words = ("0", "1") if literal.shape.dimensions else ("false", "true")
        return (words[bool(value)] for value in literal.preds)
    if name in _PLAIN:
        return map(_PLAIN[name][1], _PLAIN[name][0](literal))
    if name == "f32":
        return _render_f32s(literal, literal.f32s, _F32S)
    if name in {"c64", "c128"}:
        is_double = name == "c128"
        numbers = (
            [render_f64(each) for each in literal.c128s]
            if is_double
            else _render_f32s(literal, literal.c64s, _C64S)
        )
        return map("({}, {})".format, numbers[::2], numbers[1::2])
    data = getattr(literal, f"{name}s", b"")
    if not isinstance(data, bytes):
        return ()
    if name == "f8e8m0fnu":
        return map(render_exponent, data)
    if name in SMALL_FLOATS:
        kind = SMALL_FLOATS[name]
        patterns = memoryview(_whole(data)).cast("H") if kind.bits > _BYTE_BITS else data
        return (render_small_float(each, kind) for each in patterns)
    return map(str, _integers(data, name))


def _render_f32s(literal: LiteralProto, values: Sequence[float], field: int) -> list[str]:
    """Return numbers of f32; the bits of NaNs are those of the field in the message."""
    if not any(map(math.isnan, values)):
        return [render_f32(each) for each in values]
    data = literal.SerializeToString()
    raw = b"".join(
        data[each.begin : each.end]
        for each in list_fields(data, 0, len(data))
        if each.number == field
    )
    patterns = memoryview(raw).cast("I")
    return [
        render_f32_nan(pattern) if math.isnan(value) else render_f32(value)
        for value, pattern in zip(values, patterns, strict=True)
    ]


def _integers(data: bytes, name: str) -> Iterable[int]:
    """Return the integers of a type of at most 16 bits; smaller ones fill a byte each."""
    bits = int(name[1:]) if name[1:].isdigit() else 0
    if bits > _BYTE_BITS:
        return memoryview(_whole(data)).cast("h" if name[0] == "s" else "H")
    half = (1 << bits) >> 1 if name[0] == "s" else 0
    return (((each & ((1 << bits) - 1)) ^ half) - half for each in data)


def _whole(data: bytes) -> bytes:
    """Return data up to the last whole pair of bytes."""
    return data[: len(data) & ~1]


_PLAIN: Final[dict[str, tuple[Callable[[LiteralProto], Sequence[float]], Callable[..., str]]]] = {
    "s32": (lambda literal: literal.s32s, str),
    "s64": (lambda literal: literal.s64s, str),
    "u32": (lambda literal: literal.u32s, str),
    "u64": (lambda literal: literal.u64s, str),
    "f64": (lambda literal: literal.f64s, render_f64),
}
