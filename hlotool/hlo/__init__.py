"""The IR that every analysis reads, and the parser of HLO text that makes it.

* `module` has the nodes: module, computation, instruction, and the steps of what is asynchronous.
* `shape`, `values`, `groups` are what they hold, and the times that a profile has of them;
  `opcodes` says what is true of each opcode.
* `parser` is the way in from text. `fast_reader` takes the lines that machines print,
  `instruction_parser` all else; `inference` gives shapes that a text leaves out.
* `buffers` is the IR of a buffer assignment, `assignment_parser` reads its text, and
  `assignment_sections` what may stand behind the allocations, or in files of their own.
"""

from hlotool.hlo.groups import AxisRef as AxisRef
from hlotool.hlo.groups import Iota as Iota
from hlotool.hlo.groups import Mesh as Mesh
from hlotool.hlo.groups import MeshAxis as MeshAxis
from hlotool.hlo.groups import ReplicaGroups as ReplicaGroups
from hlotool.hlo.module import Computation as Computation
from hlotool.hlo.module import DebugInfo as DebugInfo
from hlotool.hlo.module import Instruction as Instruction
from hlotool.hlo.module import Module as Module
from hlotool.hlo.module import StackFrame as StackFrame
from hlotool.hlo.shape import ArrayShape as ArrayShape
from hlotool.hlo.shape import Layout as Layout
from hlotool.hlo.shape import Shape as Shape
from hlotool.hlo.shape import TupleShape as TupleShape
from hlotool.hlo.values import Alias as Alias
from hlotool.hlo.values import BackendConfig as BackendConfig
from hlotool.hlo.values import DimLabels as DimLabels
from hlotool.hlo.values import Donor as Donor
from hlotool.hlo.values import ShapeIndex as ShapeIndex
from hlotool.hlo.values import SourceLocation as SourceLocation
from hlotool.hlo.values import WindowDimension as WindowDimension
