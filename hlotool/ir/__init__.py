"""The core IR: what every analysis reads. Knows no text but as a source of attributes.

`module`, `computation` and `instruction` are the nodes (`node` is what they share), `header` the
first line of a module. `attribute_reader` is what they ask of the text, `call_keys` the attributes
that name computations, `shape`, `values` and `groups` what their attributes hold, `debug_info` the
tables of source lines. `async_chain` follows an asynchronous operation through its steps. `opcodes`
gives every opcode its `traits`. `buffers` is the IR of a buffer assignment.
"""

from hlotool.ir.attribute_reader import AttributeReader
from hlotool.ir.computation import Computation
from hlotool.ir.debug_info import DebugInfo, StackFrame
from hlotool.ir.groups import AxisRef, Iota, Mesh, MeshAxis, ReplicaGroups, Sharding
from hlotool.ir.header import Header
from hlotool.ir.instruction import Instruction
from hlotool.ir.module import Module
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
