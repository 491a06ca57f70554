"""From the PATH a user types to texts of known kind, and to the programs of a directory.

`find_inputs` is the way in, `find_inputs_in_text` and `find_inputs_in_compiled` for what is no
file: they return frozen records that say which files belong together; `DumpFile.read` gives the
text. `map_inputs` does the same work for each of many. Nothing of HLO is parsed here beyond
telling kinds apart, and where a module begins and ends.

The map, in the order of the work:

* `find` takes the PATH: a file, standard input, or a directory.
* `stores` are where files lie: here, in an archive, at an address.
* `read` makes text of a file and says what kind of text it is, or why it is refused.
* `dump` finds what belongs together: the files beside one, the programs of a directory.
* `live` takes what JAX has compiled in this process.
* `workers` applies a function to many inputs, in `processes` of our own or any executor.
* `saved` reads JSON documents that hlotool wrote.
"""

from hlotool.inputs.dump.directory import find_programs
from hlotool.inputs.dump.files import DumpFile, Input, Inputs, StageChoice
from hlotool.inputs.dump.named import choose_programs
from hlotool.inputs.dump.one_file import NamedFiles
from hlotool.inputs.dump.program import DumpedProgram, PassText
from hlotool.inputs.dump.short_path import folder_below, short_path
from hlotool.inputs.dump.siblings import (
    find_build,
    find_tpu_flags,
    find_usage_report,
    list_twins,
)
from hlotool.inputs.find import find_inputs, find_inputs_in_text, parse_module_pattern
from hlotool.inputs.live import Compiled, find_inputs_in_compiled
from hlotool.inputs.workers import Failure, map_inputs

__all__ = [
    "Compiled",
    "DumpFile",
    "DumpedProgram",
    "Failure",
    "Input",
    "Inputs",
    "NamedFiles",
    "PassText",
    "StageChoice",
    "choose_programs",
    "find_build",
    "find_inputs",
    "find_inputs_in_compiled",
    "find_inputs_in_text",
    "find_programs",
    "find_tpu_flags",
    "find_usage_report",
    "folder_below",
    "list_twins",
    "map_inputs",
    "parse_module_pattern",
    "short_path",
]
