"""How does XLA write windows, paddings, and which dimension of an operand is for what?

Follows xla/window_util.cc, xla/hlo/ir/hlo_instruction.cc and hlo_instructions.cc.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from hlotool.inputs.proto.messages import (
    ConvolutionDimensionNumbers,
    DotDimensionNumbers,
    GatherDimensionNumbers,
    PaddingConfig,
    RaggedDotDimensionNumbers,
    ScatterDimensionNumbers,
    Window,
    WindowDimension,
)

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
