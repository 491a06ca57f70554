"""How does XLA write the value of a constant?

Follows xla/literal.cc (`PrintWithoutShapeOneline`, `PrintWithLayoutOneline`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from hlotool.inputs.proto.messages import LiteralProto, ShapeProto
from hlotool.inputs.proto.values.numbers import (
    SMALL_FLOATS,
    render_exponent,
    render_f32,
    render_f32_nan,
    render_f64,
    render_small_float,
)
from hlotool.inputs.proto.values.shapes import TUPLE, ShapeTexts, primitive_name
from hlotool.inputs.proto.wire import list_fields

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
