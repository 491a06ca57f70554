"""The type of a value as XLA writes it, lists, and foreign text, escaped between quotes.

Follows xla/shape_util.cc (`PrintHumanString`) and xla/layout.cc (`Layout::Print`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final

from hlotool.proto.messages import LayoutProto, ShapeProto, enum_names

_UNBOUNDED: Final = -(1 << 63)  # a dimension without a bound; in a tile: combine with the next
_NAMES: Final = {number: name.lower() for number, name in enum_names("PrimitiveType").items()}
_NUMBERS: Final = {name: number for number, name in enum_names("PrimitiveType").items()}
TUPLE: Final = _NUMBERS["TUPLE"]
_OPAQUE: Final = _NUMBERS["OPAQUE_TYPE"]
_TOKEN: Final = _NUMBERS["TOKEN"]
_BUFFER: Final = _NUMBERS["BUFFER"]
_INTEGRAL: Final = frozenset(number for name, number in _NUMBERS.items() if name[0] in "SU")
_ANNOTATED_EVERY: Final = 5  # elements of a list, and operands, between two index comments


class ShapeTexts:
    """The texts of the shapes of a module; each different shape is printed once."""

    def __init__(self) -> None:
        # By the bytes of the message: a module has many instructions and few different shapes.
        self._long: dict[bytes, str] = {}
        self._short: dict[bytes, str] = {}

    def long(self, shape: ShapeProto) -> str:
        """Return a shape with layouts: `f32[64,8]{1,0:T(8,128)}`."""
        key = shape.SerializeToString()
        if key not in self._long:
            self._long[key] = _render(shape, self.long, has_layout=True)
        return self._long[key]

    def short(self, shape: ShapeProto) -> str:
        """Return a shape without layouts: `f32[64,8]`."""
        key = shape.SerializeToString()
        if key not in self._short:
            self._short[key] = _render(shape, self.short, has_layout=False)
        return self._short[key]


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
        parts.append(f"P({_render_whole(layout.physical_shape)})")
    if layout.dynamic_shape_metadata_prefix_bytes > 0:
        parts.append(f"M({layout.dynamic_shape_metadata_prefix_bytes})")
    return parts


def _render_whole(shape: ShapeProto) -> str:
    return _render(shape, _render_whole, has_layout=True)


def join_numbers(numbers: Iterable[int]) -> str:
    """Return numbers in braces: `{0,2}`."""
    return f"{{{','.join(map(str, numbers))}}}"


_PLAIN: Final = re.compile(r"[ !#-&(-\[\]-~]*+")  # printable, but no quote and no backslash
_SHORT: Final = {9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 39: "\\'", 92: "\\\\"}
_PRINTABLE: Final = range(0x20, 0x7F)
_ESCAPES: Final = [
    _SHORT.get(byte, chr(byte) if byte in _PRINTABLE else f"\\{byte:03o}") for byte in range(256)
]
_JSON_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}"]', re.DOTALL)


def escape_text(text: str | bytes) -> str:
    """Escape what C would: quotes, backslashes, and each byte that is not printable ASCII."""
    if isinstance(text, str):
        if _PLAIN.fullmatch(text):
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
