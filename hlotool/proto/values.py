"""Types and values as XLA writes them: shapes, constants, and foreign text between quotes.

Shapes follow xla/shape_util.cc (`PrintHumanString`) and xla/layout.cc (`Layout::Print`), constants
xla/literal.cc (`PrintWithoutShapeOneline`, `PrintWithLayoutOneline`) and `RoundTripFpToString` in
xla/util.cc: as few digits as read back the same. A float of Python has lost a bit of a NaN, so the
bits of those are read from the message.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Final

from msgspec import Struct

from hlotool.proto.kind import list_fields
from hlotool.proto.messages import LayoutProto, LiteralProto, ShapeProto, enum_names

_UNBOUNDED: Final = -(1 << 63)  # a dimension without a bound; in a tile: combine with the next
_NAMES: Final = {number: name.lower() for number, name in enum_names("PrimitiveType").items()}
_NUMBERS: Final = {name: number for number, name in enum_names("PrimitiveType").items()}
TUPLE: Final = _NUMBERS["TUPLE"]
_OPAQUE: Final = _NUMBERS["OPAQUE_TYPE"]
_TOKEN: Final = _NUMBERS["TOKEN"]
_BUFFER: Final = _NUMBERS["BUFFER"]
_INTEGRAL: Final = frozenset(number for name, number in _NUMBERS.items() if name[0] in "SU")
_MOST_SHAPES: Final = 1 << 12  # that are kept; a module has hundreds
_ANNOTATED_EVERY: Final = 5  # elements of a list, and operands, between two index comments


class ShapeTexts:
    """The texts of the shapes of a module; each different shape is printed once."""

    def __init__(self) -> None:
        # By the bytes of the message: a module has many instructions and few different shapes.
        self._print = cache(self._render)

    def long(self, shape: ShapeProto | bytes) -> str:
        """Return a shape with layouts: `f32[64,8]{1,0:T(8,128)}`."""
        return self._print(shape if isinstance(shape, bytes) else shape.SerializeToString(), True)

    def short(self, shape: ShapeProto | bytes) -> str:
        """Return a shape without layouts: `f32[64,8]`."""
        return self._print(shape if isinstance(shape, bytes) else shape.SerializeToString(), False)

    def _render(self, data: bytes, has_layout: bool) -> str:
        part = self.long if has_layout else self.short
        return _render(decode_shape(data), part, has_layout=has_layout)


@lru_cache(_MOST_SHAPES)
def decode_shape(data: bytes) -> ShapeProto:
    """Return the shape of an instruction; raises DecodeError."""
    return ShapeProto.FromString(data)


def primitive_name(element_type: int) -> str:
    """Return the name of an element type as in a shape."""
    return _NAMES.get(element_type, "primitive_type_invalid")


def join_annotated(parts: Sequence[str]) -> str:
    """Join with commas; every fifth part is preceded by a comment with its index."""
    if len(parts) <= _ANNOTATED_EVERY:
        return ", ".join(parts)
    return ", ".join(
        f"/*index={index}*/{part}" if index and index % _ANNOTATED_EVERY == 0 else part
        for index, part in enumerate(parts)
    )


def _render(
    shape: ShapeProto, render_part: Callable[[ShapeProto], str], *, has_layout: bool
) -> str:
    """Return a shape; `render_part` makes the texts of those inside it."""
    element_type = shape.element_type
    if element_type == TUPLE:
        return f"({join_annotated([render_part(each) for each in shape.tuple_shapes])})"
    if element_type == _BUFFER:
        return f"b({', '.join(render_part(each) for each in shape.tuple_shapes)})"
    if element_type in {_OPAQUE, _TOKEN}:
        return "opaque[]" if element_type == _OPAQUE else "token[]"
    dimensions, dynamic = shape.dimensions, shape.is_dynamic_dimension
    sizes = list(map(str, dimensions))
    if any(dynamic):
        sizes = [
            "?" if size == _UNBOUNDED else f"<={size}" if is_dynamic else str(size)
            for size, is_dynamic in zip(dimensions, [*dynamic, *dimensions], strict=False)
        ]
    text = f"{primitive_name(element_type)}[{','.join(sizes)}]"
    if not has_layout or not shape.HasField("layout"):
        return text
    order = ",".join(map(str, shape.layout.minor_to_major))
    more = "".join(_layout_parts(shape.layout))
    if not order and not more and not dimensions:
        return text
    return f"{text}{{{order}:{more}}}" if more else f"{text}{{{order}}}"


def _layout_parts(layout: LayoutProto) -> list[str]:
    """Return what a layout has besides the order of dimensions; it stands behind a colon."""
    parts: list[str] = []
    if layout.tiles:
        tiles = (
            ",".join("*" if n == _UNBOUNDED else str(n) for n in tile.dimensions)
            for tile in layout.tiles
        )
        parts.append("T" + "".join(f"({each})" for each in tiles))
    if layout.tail_padding_alignment_in_elements not in {0, 1}:
        parts.append(f"L({layout.tail_padding_alignment_in_elements})")
    for mark, number in (("#", layout.index_primitive_type), ("*", layout.pointer_primitive_type)):
        if number:
            parts.append(f"{mark}({primitive_name(number) if number in _INTEGRAL else 'invalid'})")
    if layout.element_size_in_bits:
        parts.append(f"E({layout.element_size_in_bits})")
    if layout.memory_space:
        parts.append(f"S({layout.memory_space})")
    if layout.split_configs:
        configs = (
            f"({each.dimension}:{','.join(map(str, each.split_indices))})"
            for each in layout.split_configs
        )
        parts.append("SC" + "".join(configs))
    if layout.HasField("physical_shape"):
        parts.append(f"P({ShapeTexts().long(layout.physical_shape)})")
    if layout.dynamic_shape_metadata_prefix_bytes > 0:
        parts.append(f"M({layout.dynamic_shape_metadata_prefix_bytes})")
    return parts


def join_numbers(numbers: Iterable[int]) -> str:
    """Return numbers in braces: `{0,2}`."""
    return f"{{{','.join(map(str, numbers))}}}"


_PLAIN_NAME: Final = re.compile(r"[ !#-&(-\[\]-~]*+")  # printable, but no quote and no backslash
_SHORT: Final = {9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 39: "\\'", 92: "\\\\"}
_PRINTABLE: Final = range(0x20, 0x7F)
_ESCAPES: Final = [
    _SHORT.get(byte, chr(byte) if byte in _PRINTABLE else f"\\{byte:03o}") for byte in range(256)
]
_JSON_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}"]', re.DOTALL)


def escape_text(text: str | bytes) -> str:
    """Escape what C would: quotes, backslashes, and each byte that is not printable ASCII."""
    if isinstance(text, str):
        if _PLAIN_NAME.fullmatch(text):
            return text
        text = text.encode("utf-8", "surrogateescape")
    return "".join(map(_ESCAPES.__getitem__, text))


def render_config(config: bytes) -> str:
    """Return a configuration as it stands if it is a JSON object, else as a quoted string."""
    try:
        text = config.decode("utf-8")
    except UnicodeDecodeError:
        return f'"{escape_text(config)}"'
    return text if is_json_object(text) else f'"{escape_text(config)}"'


@lru_cache(1 << 8)
def is_json_object(text: str) -> bool:
    """Whether a text can be told to be one JSON object: the braces outside of strings match.

    Nothing else is checked, as XLA's parser finds the end of such a text by that alone.
    """
    if not (text.startswith("{") and text.endswith("}")):
        return False
    depth = 0
    for token in _JSON_TOKEN.finditer(text):
        char = token[0]
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return token.end() == len(text)
        elif char == '"':  # opened and never closed
            return False
    return False


_LARGEST_SHOWN: Final = 10  # elements of a constant
_UNCOMMENTED_RANK: Final = 3  # arrays of more dimensions have comments between their braces
_HIGHEST_RANK: Final = 64
_MOST_BRACES: Final = 1000
_BYTE_BITS: Final = 8
_F32S: Final = 8  # numbers of fields of LiteralProto
_C64S: Final = 12
_WHOLE_WORDS: Final = frozenset(("s32", "s64", "u32", "u64"))
_NAN: Final = 0xFF  # of f8e8m0fnu, which is all exponent


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
    # XLA writes all braces of an array without elements, very many perhaps.
    outer = dimensions[: dimensions.index(0)] if 0 in dimensions else ()
    if len(dimensions) > _HIGHEST_RANK or math.prod(outer) > _MOST_BRACES:
        yield "{...}"
        return
    values = list(_list_values(literal))
    if len(values) != math.prod(dimensions):
        yield "{...}"
    elif not dimensions:
        yield values[0]
    else:
        strides = _compute_strides(dimensions, literal.shape.layout.minor_to_major)
        yield from _render_part(values, dimensions, strides, ())


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


def _compute_strides(dimensions: Sequence[int], minor_to_major: Sequence[int]) -> list[int]:
    """Return by how much each index moves in the values, which lie in the order of the layout."""
    order = list(minor_to_major)
    if sorted(order) != list(range(len(dimensions))):
        order = list(range(len(dimensions)))[::-1]
    strides, step = [0] * len(dimensions), 1
    for dimension in order:
        strides[dimension] = step
        step *= dimensions[dimension]
    return strides


def _list_values(literal: LiteralProto) -> Iterable[str]:
    """Return the texts of the values in the order they lie in; none for a type without values."""
    name = primitive_name(literal.shape.element_type)
    if name == "pred":
        words = ("0", "1") if literal.shape.dimensions else ("false", "true")
        return (words[bool(value)] for value in literal.preds)
    if name in _WHOLE_WORDS:
        return map(str, getattr(literal, f"{name}s"))
    if name == "f64":
        return map(_render_f64, literal.f64s)
    if name == "f32":
        return _render_f32s(literal, literal.f32s, _F32S)
    if name in {"c64", "c128"}:
        numbers = _render_f32s(literal, literal.c64s, _C64S)
        if name == "c128":
            numbers = [_render_f64(each) for each in literal.c128s]
        return map("({}, {})".format, numbers[::2], numbers[1::2])
    data = getattr(literal, f"{name}s", b"")
    if not isinstance(data, bytes):
        return ()
    if name == "f8e8m0fnu":
        return ("nan" if each == _NAN else f"{math.ldexp(1.0, each - 127):.2g}" for each in data)
    if name in _SMALL_FLOATS:
        kind = _SMALL_FLOATS[name]
        patterns = memoryview(_whole(data)).cast("H") if kind.bits > _BYTE_BITS else data
        return (_render_small_float(each, kind) for each in patterns)
    return map(str, _integers(data, name))


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


def _render_f32s(literal: LiteralProto, values: Sequence[float], field: int) -> list[str]:
    """Return numbers of f32; the bits of NaNs are those of the field in the message."""
    texts = [_render_f32(each) for each in values]
    if any(map(math.isnan, values)):
        data = literal.SerializeToString()
        fields = (each for each in list_fields(data, 0, len(data)) if each.number == field)
        patterns = memoryview(b"".join(data[each.begin : each.end] for each in fields)).cast("I")
        for number, pattern in enumerate(patterns):
            if math.isnan(values[number]):
                sign = "-nan" if pattern >> 31 else "nan"
                texts[number] = sign + _render_payload(pattern & ((1 << 23) - 1), 23)
    return texts


def _render_f32(value: float) -> str:
    text = f"{value:.6g}"
    if not math.isfinite(value):
        return text
    try:
        is_same = struct.unpack("<f", struct.pack("<f", float(text)))[0] == value
    except OverflowError:  # the short form is larger than any f32
        is_same = False
    return text if is_same else f"{value:.9g}"


def _render_f64(value: float) -> str:
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


class _SmallFloat(Struct, frozen=True):
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


_SMALL_FLOATS: Final = {
    "f16": _SmallFloat(5, 10, 15, "ieee", 5),
    "bf16": _SmallFloat(8, 7, 127, "ieee", 4),
    "f8e5m2": _SmallFloat(5, 2, 15, "ieee", 2),
    "f8e4m3": _SmallFloat(4, 3, 7, "ieee", 3),
    "f8e3m4": _SmallFloat(3, 4, 3, "ieee", 3),
    "f8e4m3fn": _SmallFloat(4, 3, 7, "fn", 3),
    "f8e4m3b11fnuz": _SmallFloat(4, 3, 11, "fnuz", 3),
    "f8e5m2fnuz": _SmallFloat(5, 2, 16, "fnuz", 2),
    "f8e4m3fnuz": _SmallFloat(4, 3, 8, "fnuz", 3),
    "f4e2m1fn": _SmallFloat(2, 1, 1, "none", 2),
    "f6e3m2fn": _SmallFloat(3, 2, 3, "none", 2),
    "f6e2m3fn": _SmallFloat(2, 3, 1, "none", 3),
}


def _render_small_float(pattern: int, kind: _SmallFloat) -> str:
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
