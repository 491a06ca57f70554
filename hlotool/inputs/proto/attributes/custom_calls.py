"""Which attributes does XLA write for a custom call?

Follows `HloCustomCallInstruction` in xla/hlo/ir/hlo_instructions.cc.
"""

from __future__ import annotations

from typing import Final

from hlotool.inputs.proto.attributes.shared import (
    list_aliasing,
    list_convolution_counts,
    list_precision,
)
from hlotool.inputs.proto.messages import HloInstructionProto, enum_names
from hlotool.inputs.proto.values.dimensions import render_labels, render_window
from hlotool.inputs.proto.values.escape import escape_text
from hlotool.inputs.proto.values.literals import render_literal
from hlotool.inputs.proto.values.shapes import ShapeTexts

_ORIGINAL: Final = 1  # the version that is not written; what an old proto leaves out is that


def list_custom_call(proto: HloInstructionProto, shapes: ShapeTexts) -> list[str]:
    """Return the attributes of a custom call but the computations it calls."""
    parts: list[str] = []
    if proto.HasField("window"):
        parts.append(f"window={render_window(proto.window)}")
    if proto.HasField("convolution_dimension_numbers"):
        parts.append(f"dim_labels={render_labels(proto.convolution_dimension_numbers)}")
    parts += list_convolution_counts(proto)
    parts += list_precision(proto)
    if proto.padding_type:
        parts.append(f"padding_type={enum_names('PaddingType').get(proto.padding_type, '')}")
    parts.append(f'custom_call_target="{escape_text(proto.custom_call_target)}"')
    if proto.constrain_layout:
        operands = ", ".join(map(shapes.long, proto.operand_shapes_with_layout))
        parts.append(f"operand_layout_constraints={{{operands}}}")
    if proto.custom_call_has_side_effect:
        parts.append("custom_call_has_side_effect=true")
    if proto.HasField("literal"):
        parts.append(f"literal={render_literal(proto.literal, shapes)}")
    parts += list_aliasing(proto)
    if proto.custom_call_schedule:
        name = enum_names("CustomCallSchedule").get(proto.custom_call_schedule, "")
        parts.append(f"schedule={name}")
    if proto.custom_call_api_version not in {0, _ORIGINAL}:
        name = enum_names("CustomCallApiVersion").get(proto.custom_call_api_version, "")
        parts.append(f"api_version={name}")
    return parts
