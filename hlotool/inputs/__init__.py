"""From the PATH a user types to texts of known kind, and to the programs of a directory.

`find_inputs` is the way in: it returns frozen records that say which files belong together;
`DumpFile.read` gives the text. `map_inputs` does the work for many of them in parallel.
Imports only `errors` and `source`; nothing of HLO is parsed here beyond telling kinds apart.
"""

from hlotool.inputs.files import DumpFile, Input, Inputs
from hlotool.inputs.find import find_inputs, find_programs
from hlotool.inputs.kinds import Kind, detect_kind
from hlotool.inputs.names import DumpFileName, Role, Stage, find_dump_file_name
from hlotool.inputs.parallel import Failure, map_inputs
from hlotool.inputs.programs import PassText, Program, StageChoice
from hlotool.inputs.reading import read_source
from hlotool.inputs.single import NamedFiles

__all__ = [
    "DumpFile",
    "DumpFileName",
    "Failure",
    "Input",
    "Inputs",
    "Kind",
    "NamedFiles",
    "PassText",
    "Program",
    "Role",
    "Stage",
    "StageChoice",
    "detect_kind",
    "find_dump_file_name",
    "find_inputs",
    "find_programs",
    "map_inputs",
    "read_source",
]
