"""The core IR: what every analysis reads. Imports nothing but `source`."""

from hlotool.ir.debug_info import DebugInfo, StackFrame
from hlotool.ir.groups import AxisRef, Iota, Mesh, MeshAxis, ReplicaGroups, Sharding
from hlotool.ir.module import AttributeReader, Computation, Header, Instruction, Module
from hlotool.ir.shape import ArrayShape, Layout, Shape, TupleShape
from hlotool.ir.values import (
    Alias,
    BackendConfig,
    DimLabels,
    Donor,
    DotDimensions,
    Metadata,
    PaddingDimension,
    SliceDimension,
    SourceLocation,
    WindowDimension,
)

__all__ = [
    "Alias",
    "ArrayShape",
    "AttributeReader",
    "AxisRef",
    "BackendConfig",
    "Computation",
    "DebugInfo",
    "DimLabels",
    "Donor",
    "DotDimensions",
    "Header",
    "Instruction",
    "Iota",
    "Layout",
    "Mesh",
    "MeshAxis",
    "Metadata",
    "Module",
    "PaddingDimension",
    "ReplicaGroups",
    "Shape",
    "Sharding",
    "SliceDimension",
    "SourceLocation",
    "StackFrame",
    "TupleShape",
    "WindowDimension",
]
