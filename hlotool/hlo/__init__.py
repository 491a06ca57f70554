"""The IR that every analysis reads, and the parser of HLO text that makes it.

* `module` has the nodes: module, computation, instruction, and the steps of what is asynchronous.
* `shape`, `values`, `groups` are what they hold, and the times that a profile has of them;
  `opcodes` says what is true of each opcode.
* `parser` is the way in from text. `fast_reader` takes the lines that machines print,
  `instruction_parser` all else; `inference` gives shapes that a text leaves out.
* `buffers` is the IR of a buffer assignment, `assignment_parser` reads its text, and
  `assignment_sections` what may stand behind the allocations, or in files of their own.
"""

from hlotool.hlo.groups import AxisRef, Iota, Mesh, MeshAxis, ReplicaGroups
from hlotool.hlo.module import Computation, DebugInfo, Instruction, Module, StackFrame
from hlotool.hlo.shape import ArrayShape, Layout, Shape, TupleShape
from hlotool.hlo.values import (
    Alias,
    BackendConfig,
    DimLabels,
    Donor,
    ShapeIndex,
    SourceLocation,
    WindowDimension,
)

__all__ = [
    "Alias",
    "ArrayShape",
    "AxisRef",
    "BackendConfig",
    "Computation",
    "DebugInfo",
    "DimLabels",
    "Donor",
    "Instruction",
    "Iota",
    "Layout",
    "Mesh",
    "MeshAxis",
    "Module",
    "ReplicaGroups",
    "Shape",
    "ShapeIndex",
    "SourceLocation",
    "StackFrame",
    "TupleShape",
    "WindowDimension",
]
