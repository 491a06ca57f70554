"""One file a subcommand: its options, one analysis, one rendering.

`COMMANDS` is what `hlotool --help` shows without importing any of them; the module of a
command has its name and holds a click command of that name.
"""

from typing import Final

COMMANDS: Final = {
    "summary": "One screen about a module; a table of modules for a directory.",
    "buffers": "Who holds memory at the peak.",
    "fusions": "What each fusion costs.",
    "collectives": "What crosses the interconnect.",
    "diff": "What changed between two dumps.",
    "check": "Budgets from hlotool.toml, for CI.",
}
