"""From the PATH a user types to texts of known kind, and to the programs of a directory.

`find_inputs` is the way in: it returns frozen records that say which files belong together;
`DumpFile.read` gives the text. What a single file does not need is imported from its own
module: `directory.find_programs`, and `parallel.map_inputs`, which does the work for many.
Nothing of HLO is parsed here beyond telling kinds apart.
"""

from hlotool.inputs.dump.files import DumpFile, Input, Inputs, StageChoice
from hlotool.inputs.dump.names import DumpFileName, Role, Stage, find_dump_file_name
from hlotool.inputs.dump.one_file import NamedFiles
from hlotool.inputs.find import find_inputs
from hlotool.inputs.read.kinds import Kind, detect_kind
from hlotool.inputs.read.text import read_source

__all__ = [
    "DumpFile",
    "DumpFileName",
    "Input",
    "Inputs",
    "Kind",
    "NamedFiles",
    "Role",
    "Stage",
    "StageChoice",
    "detect_kind",
    "find_dump_file_name",
    "find_inputs",
    "read_source",
]
