"""The `.debug_options` of a dump: which XLA flags the program was compiled under.

Which flags was a program compiled with? Those of the files beside its text.

Which mesh does the text before optimization name, beside the text of the same program?
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace

from hlotool.analysis.collectives.mesh import find_printed_mesh
from hlotool.analysis.summary.module_facts import Compilation, list_flags
from hlotool.dump.files import DumpFile, Input
from hlotool.dump.groups import read_header_line
from hlotool.dump.modules import read_module_head
from hlotool.dump.pairing import may_be_same_program
from hlotool.dump.siblings import find_build, find_tpu_flags
from hlotool.dump.text_kind import detect_kind
from hlotool.errors import HlotoolError
from hlotool.hlo import Mesh, Module
from hlotool.text import Source

_LINE = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*(?::\s*(?P<value>.*\S)|(?P<opens>\{))\s*")


def parse_debug_options(source: Source) -> Mapping[str, tuple[str, ...]]:
    """Return the values of each flag as printed; XLA prints those that are not at their default.

    options = { name ":" value newline | name "{" options "}" }

    A flag that is given several times has several values, in order; the fields of a nested
    message are joined to its name with a dot. Lines that are none of these are skipped.
    """
    found: dict[str, list[str]] = {}
    path: list[str] = []
    for line in source.text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            if line.strip() == "}" and path:
                path.pop()
        elif match["opens"]:
            path.append(match["name"])
        else:
            found.setdefault(".".join([*path, match["name"]]), []).append(match["value"])
    return {name: tuple(values) for name, values in found.items()}


def read_compilation(chosen: Input) -> Compilation:
    """Return what the files beside a program's text tell; the mesh stands in texts alone.

    A file of flags that cannot be read tells nothing: no figure depends on it.
    """
    text = chosen.module or chosen.buffers
    path = text.raw_path if text and not text.part else ""
    options, tpu_options = chosen.debug_options, find_tpu_flags(path)
    flags, tpu_flags = _read(options), _read(tpu_options)
    return Compilation(
        flags=None if flags is None else list_flags(flags),
        build=find_build(path),
        flags_path=options.path if options and flags is not None else None,
        tpu_flag_count=None if tpu_flags is None else len(tpu_flags),
        tpu_flags_path=tpu_options.path if tpu_options and tpu_flags is not None else None,
    )


def _read(file: DumpFile | None) -> Mapping[str, tuple[str, ...]] | None:
    """Return the flags of a file, None without one."""
    try:
        return parse_debug_options(file.read()) if file else None
    except HlotoolError:
        return None


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
