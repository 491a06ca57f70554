"""Which mesh does the text before optimization name, beside the text of the same program?"""

from __future__ import annotations

from msgspec.structs import replace

from hlotool.analysis.collectives.groups.program_mesh import find_printed_mesh
from hlotool.inputs import DumpFile
from hlotool.inputs.dump.header import read_header_line
from hlotool.inputs.dump.same_program import may_be_same_program
from hlotool.inputs.read.module_head import read_module_head
from hlotool.inputs.read.text_kind import detect_kind
from hlotool.ir import Mesh, Module


class MeshBeside:
    """The mesh that another text of a program names; looked for once, when first asked for.

    `path` is that of the text, None as long as no mesh was found there.
    """

    def __init__(self, before: DumpFile) -> None:
        self.path: str | None = None
        self._before = before
        self._mesh: Mesh | None = None
        self._is_known = False

    def find(self, module: Module) -> Mesh | None:
        """Return the mesh that names the axes of a module, None where the text has none."""
        if not self._is_known:
            self._mesh, self._is_known = find_mesh_beside(module, self._before), True
            self.path = self._before.path if self._mesh else None
        return self._mesh


def find_mesh_beside(module: Module, before: DumpFile) -> Mesh | None:
    """Return the mesh that a text before optimization names, None where it has none.

    Of that text only the header line is read. It has to be able to be the same program.
    """
    line = read_header_line(before)
    begin = detect_kind(module.source.text).begin
    header = module.header
    own = replace(
        read_module_head(module.source.text, begin),
        num_partitions=header.num_partitions,
        replica_count=header.replica_count,
    )
    if not line or not may_be_same_program(read_module_head(line), own):
        return None
    return find_printed_mesh(line, header.device_count)
