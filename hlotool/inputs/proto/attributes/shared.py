"""Which attributes do instructions of several kinds share?

Follows the `PrintExtraAttributesImpl` of each class in xla/hlo/ir/hlo_instructions.cc.
"""

from __future__ import annotations

from typing import Final

from hlotool.inputs.proto.messages import HloInstructionProto, enum_names
from hlotool.inputs.proto.nodes import Node
from hlotool.inputs.proto.values.dimensions import join_numbers, render_window
from hlotool.inputs.proto.values.shapes import ShapeTexts

_NO_ALGORITHM: Final = 0


def list_precision(proto: HloInstructionProto) -> list[str]:
    """Return how exactly the operands are taken, and how they are multiplied."""
    if not proto.HasField("precision_config"):
        return []
    config, parts = proto.precision_config, []
    if any(config.operand_precision):
        names = enum_names("PrecisionConfig.Precision")
        words = ",".join(names.get(each, "").lower() for each in config.operand_precision)
        parts.append(f"operand_precision={{{words}}}")
    if config.algorithm != _NO_ALGORITHM:
        name = enum_names("PrecisionConfig.Algorithm").get(config.algorithm, "")
        parts.append(f"algorithm={name.removeprefix('ALG_').lower()}")
    return parts


def list_convolution_counts(proto: HloInstructionProto) -> list[str]:
    """Return how many groups a convolution has, where that is not one; 0 is one, too."""
    return [
        f"{key}={count}"
        for key, count in (
            ("feature_group_count", proto.feature_group_count),
            ("batch_group_count", proto.batch_group_count),
        )
        if count not in {0, 1}
    ]


def list_aliasing(proto: HloInstructionProto) -> list[str]:
    """Return which output lies in the memory of which operand."""
    if not proto.output_operand_aliasing:
        return []
    pairs = ", ".join(
        f"{join_numbers(each.output_shape_index)}: "
        f"({each.operand_index}, {join_numbers(each.operand_shape_index)})"
        for each in proto.output_operand_aliasing
    )
    return [f"output_to_operand_aliasing={{{pairs}}}"]


def list_dimensions(node: Node, _: ShapeTexts) -> list[str]:
    """Return the dimensions, whatever the opcode does along them."""
    return [f"dimensions={join_numbers(node.proto.dimensions)}"]


def list_window(node: Node, _: ShapeTexts) -> list[str]:
    """Return the window, where it has a dimension."""
    window = node.proto.window
    return [f"window={render_window(window)}"] if window.dimensions else []
