"""The core IR: what every analysis reads. Knows no text but as a source of attributes.

`module`, `computation` and `instruction` are the nodes (`node` is what they share), `header` the
first line of a module. `attribute_reader` is what they ask of the text, `call_keys` the attributes
that name computations, `shape`, `values` and `groups` what their attributes hold, `debug_info` the
tables of source lines. `async_chain` follows an asynchronous operation through its steps. `opcodes`
gives every opcode its `traits`. `buffers` is the IR of a buffer assignment.
"""

from hlotool.hlo.groups import AxisRef, Iota, Mesh, MeshAxis, ReplicaGroups, Sharding
from hlotool.hlo.module import (
    AttributeReader,
    Computation,
    DebugInfo,
    Header,
    Instruction,
    Module,
    StackFrame,
)
from hlotool.hlo.shape import ArrayShape, Layout, Shape, TupleShape
from hlotool.hlo.values import (
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
