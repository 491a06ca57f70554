"""How does XLA write the type of a value, with its layout and without?

Follows xla/shape_util.cc (`PrintHumanString`) and xla/layout.cc (`Layout::Print`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from hlotool.inputs.proto.messages import LayoutProto, ShapeProto, enum_names

UNBOUNDED: Final = -(1 << 63)  # a dimension without a bound; in a tile: combine with the next
_NAMES: Final = {number: name.lower() for number, name in enum_names("PrimitiveType").items()}
_NUMBERS: Final = {name: number for number, name in enum_names("PrimitiveType").items()}
TUPLE: Final = _NUMBERS["TUPLE"]
_OPAQUE: Final = _NUMBERS["OPAQUE_TYPE"]
TOKEN: Final = _NUMBERS["TOKEN"]
_BUFFER: Final = _NUMBERS["BUFFER"]
_INTEGRAL: Final = frozenset(number for name, number in _NUMBERS.items() if name[0] in "SU")
_ANNOTATED_EVERY: Final = 5  # elements of a list, and operands, between two index comments


class ShapeTexts:
    """The texts of the shapes of a module; each different shape is printed once."""

    def __init__(self) -> None:
        self._long: dict[bytes, str] = {}
        self._short: dict[bytes, str] = {}

    def long(self, shape: ShapeProto) -> str:
        """Return a shape with layouts: `f32[64,8]{1,0:T(8,128)}`."""
        key = shape.SerializeToString()
        text = self._long.get(key)
        if text is None:
            text = self._long[key] = _render(shape, self.long, has_layout=True)
        return text

    def short(self, shape: ShapeProto) -> str:
        """Return a shape without layouts: `f32[64,8]`."""
        key = shape.SerializeToString()
        text = self._short.get(key)
        if text is None:
            text = self._short[key] = _render(shape, self.short, has_layout=False)
        return text


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
    if element_type in {_OPAQUE, TOKEN}:
        return "opaque[]" if element_type == _OPAQUE else "token[]"
    dimensions = shape.dimensions
    text = f"{primitive_name(element_type)}[{_render_dimensions(shape)}]"
    if not has_layout or not shape.HasField("layout"):
        return text
    layout = render_layout(shape.layout)
    return text if layout == "{}" and not dimensions else text + layout


def _render_dimensions(shape: ShapeProto) -> str:
    dimensions, dynamic = shape.dimensions, shape.is_dynamic_dimension
    if not any(dynamic):
        return ",".join(map(str, dimensions))
    parts = [
        "?" if size == UNBOUNDED else f"<={size}" if is_dynamic else str(size)
        for size, is_dynamic in zip(dimensions, [*dynamic, *dimensions], strict=False)
    ]
    return ",".join(parts)


def render_layout(layout: LayoutProto) -> str:
    """Return a layout in braces: the order of dimensions, and after a colon what else it has."""
    order = ",".join(map(str, layout.minor_to_major))
    more = "".join(_layout_parts(layout))
    return f"{{{order}:{more}}}" if more else f"{{{order}}}"


def _layout_parts(layout: LayoutProto) -> list[str]:
    parts: list[str] = []
    if layout.tiles:
        tiles = (
            ",".join("*" if n == UNBOUNDED else str(n) for n in tile.dimensions)
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
