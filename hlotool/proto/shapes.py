"""How does XLA write the type of a value, with its layout and without?

Follows xla/shape_util.cc (`PrintHumanString`) and xla/layout.cc (`Layout::Print`).

How does XLA write windows, paddings, and which dimension of an operand is for what?

Follows xla/window_util.cc, xla/hlo/ir/hlo_instruction.cc and hlo_instructions.cc.

How does XLA write foreign text: as it stands, or escaped between quotes?
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final

from hlotool.proto.messages import (
    ConvolutionDimensionNumbers,
    DotDimensionNumbers,
    GatherDimensionNumbers,
    LayoutProto,
    PaddingConfig,
    RaggedDotDimensionNumbers,
    ScatterDimensionNumbers,
    ShapeProto,
    Window,
    WindowDimension,
    enum_names,
)

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


_MOST_DIMENSIONS: Final = 1000


def join_numbers(numbers: Iterable[int]) -> str:
    """Return numbers in braces: `{0,2}`."""
    return f"{{{','.join(map(str, numbers))}}}"


def render_window(window: Window) -> str:
    """Return a window in braces; what is the same as without it is left out, but for its size."""
    dimensions = window.dimensions
    fields: list[tuple[str, Callable[[WindowDimension], str], bool]] = [
        ("size", lambda each: str(each.size), bool(dimensions)),
        ("stride", lambda each: str(each.stride), any(each.stride != 1 for each in dimensions)),
        (
            "pad",
            lambda each: f"{each.padding_low}_{each.padding_high}",
            any(each.padding_low or each.padding_high for each in dimensions),
        ),
        (
            "lhs_dilate",
            lambda each: str(each.base_dilation),
            any(each.base_dilation != 1 for each in dimensions),
        ),
        (
            "rhs_dilate",
            lambda each: str(each.window_dilation),
            any(each.window_dilation != 1 for each in dimensions),
        ),
        (
            "rhs_reversal",
            lambda each: str(int(each.window_reversal)),
            any(each.window_reversal for each in dimensions),
        ),
    ]
    parts = [f"{key}={'x'.join(map(get, dimensions))}" for key, get, is_shown in fields if is_shown]
    return f"{{{' '.join(parts)}}}"


def render_padding(padding: PaddingConfig) -> str:
    """Return what is added at the edges, and between elements: `1_0_1x1_1_0`."""
    has_interior = any(each.interior_padding for each in padding.dimensions)
    return "x".join(
        f"{each.edge_padding_low}_{each.edge_padding_high}"
        + (f"_{each.interior_padding}" if has_interior else "")
        for each in padding.dimensions
    )


def render_labels(numbers: ConvolutionDimensionNumbers) -> str:
    """Return the letter of each dimension of a convolution: `b01f_01io->b01f`."""
    inputs = _label(
        ("b", numbers.input_batch_dimension),
        ("f", numbers.input_feature_dimension),
        numbers.input_spatial_dimensions,
    )
    kernel = _label(
        ("i", numbers.kernel_input_feature_dimension),
        ("o", numbers.kernel_output_feature_dimension),
        numbers.kernel_spatial_dimensions,
    )
    output = _label(
        ("b", numbers.output_batch_dimension),
        ("f", numbers.output_feature_dimension),
        numbers.output_spatial_dimensions,
    )
    return f"{inputs}_{kernel}->{output}"


def _label(first: tuple[str, int], second: tuple[str, int], spatial: Sequence[int]) -> str:
    """Return the letters in the order of the dimensions; `?` for one without."""
    places = [first, second, *((str(number), place) for number, place in enumerate(spatial))]
    size = max(place for _, place in places) + 1
    letters = ["?"] * min(size, _MOST_DIMENSIONS)
    for letter, place in places:
        if 0 <= place < len(letters):
            letters[place] = letter
    return "".join(letters)


def list_dot(numbers: DotDimensionNumbers) -> list[str]:
    """Return the dimensions of a dot as attributes."""
    parts = []
    if numbers.lhs_batch_dimensions:
        parts.append(f"lhs_batch_dims={join_numbers(numbers.lhs_batch_dimensions)}")
    parts.append(f"lhs_contracting_dims={join_numbers(numbers.lhs_contracting_dimensions)}")
    if numbers.rhs_batch_dimensions:
        parts.append(f"rhs_batch_dims={join_numbers(numbers.rhs_batch_dimensions)}")
    parts.append(f"rhs_contracting_dims={join_numbers(numbers.rhs_contracting_dimensions)}")
    return parts


def list_ragged_dot(numbers: RaggedDotDimensionNumbers) -> list[str]:
    """Return the dimensions of a ragged dot as attributes."""
    parts = list_dot(numbers.dot_dimension_numbers)
    parts.append(f"lhs_ragged_dims={join_numbers(numbers.lhs_ragged_dimensions)}")
    if numbers.rhs_group_dimensions:
        parts.append(f"rhs_group_dims={join_numbers(numbers.rhs_group_dimensions)}")
    return parts


def list_gather(numbers: GatherDimensionNumbers) -> list[str]:
    """Return the dimensions of a gather as attributes."""
    return [
        f"offset_dims={join_numbers(numbers.offset_dims)}",
        f"collapsed_slice_dims={join_numbers(numbers.collapsed_slice_dims)}",
        f"start_index_map={join_numbers(numbers.start_index_map)}",
        *_list_if("operand_batching_dims", numbers.operand_batching_dims),
        *_list_if("start_indices_batching_dims", numbers.start_indices_batching_dims),
        f"index_vector_dim={numbers.index_vector_dim}",
    ]


def list_scatter(numbers: ScatterDimensionNumbers) -> list[str]:
    """Return the dimensions of a scatter as attributes."""
    return [
        f"update_window_dims={join_numbers(numbers.update_window_dims)}",
        f"inserted_window_dims={join_numbers(numbers.inserted_window_dims)}",
        f"scatter_dims_to_operand_dims={join_numbers(numbers.scatter_dims_to_operand_dims)}",
        *_list_if("input_batching_dims", numbers.input_batching_dims),
        *_list_if("scatter_indices_batching_dims", numbers.scatter_indices_batching_dims),
        f"index_vector_dim={numbers.index_vector_dim}",
    ]


def _list_if(key: str, numbers: Sequence[int]) -> list[str]:
    return [f"{key}={join_numbers(numbers)}"] if numbers else []


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
